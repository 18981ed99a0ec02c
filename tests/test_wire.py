"""Both sides of the wire have one description."""

from pathlib import Path

from agentcell import wire
from agentcell.widget import AgentCell

ROOT = Path(__file__).resolve().parents[1]


def test_typescript_has_the_types_that_python_has():
    written = (ROOT / "js" / "src" / "wire.ts").read_text(encoding="utf-8")
    assert written == wire.typescript(), "run: python -m agentcell.wire > js/src/wire.ts"


def test_every_key_of_the_view_is_a_synced_trait_and_no_other_is():
    ours = {name for name in AgentCell.class_traits(sync=True) if name in AgentCell.__dict__}
    assert ours - {"_esm", "_css"} == set(wire.View.__annotations__)
