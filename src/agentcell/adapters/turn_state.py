"""What is known of a turn: its agents, its model calls and its tool calls, by the keys that their framework gave them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from agentcell.errors import first_line
from agentcell.tool_call import is_interruption

if TYPE_CHECKING:
    from collections.abc import Mapping

    from agentcell.adapters.ledger import Ledger, Turn
    from agentcell.events import AnyEvent, CallOutcome


@dataclass(slots=True)
class ModelPart:
    """A model call that goes on, under the id that the run knows it by, with the pieces that were told.

    `voice` is the agent whose words they are: the run's own also for a sub-agent that speaks to the person.
    """

    call_id: str
    agent_id: str
    voice: str
    text: list[str] = field(default_factory=list)
    thought: list[str] = field(default_factory=list)
    thinks_from: int | None = None  # the first piece of the stretch of reasoning that goes on


@dataclass(slots=True)
class ToolPart:
    """A tool call; `waiting` is one that a person has to approve first. `model` is the key of the model call that asked for it."""

    call_id: str
    agent_id: str
    turn: Turn
    name: str = ""
    arguments: Mapping[str, Any] = field(default_factory=dict)
    model: str = ""
    state: Literal["asked", "running", "waiting", "over"] = "asked"


class Strand:
    """One of the conversations with models that go on side by side in a turn: what one asked for, another says nothing of."""

    def __init__(self, turn: TurnState) -> None:
        self._turn = turn

    @property
    def over(self) -> bool:
        """Whether its turn is."""
        return self._turn.over


class TurnState:
    """A turn's books, which are kept under the ledger's lock."""

    def __init__(self, ledger: Ledger, key: str) -> None:
        self.key = key
        self.run = ledger.run
        self._ledger = ledger
        self._agents: dict[str, str] = {}  # ids by key
        self._open_agents: dict[str, str] = {}  # agent that each was started by, by key
        self._speakers: set[str] = set()  # keys
        self._models: dict[str, ModelPart] = {}
        self._ended_models: dict[str, str] = {}  # ids by key
        self._adopted = ""
        self._spoken: list[str] = []  # what was said last in the agent's own name
        self._answered: list[str] = []  # the same, as far as no model call of the agent's said it
        self._tools: list[ToolPart] = []  # those that were told here; one may have gone on in a later turn
        self._own_keys: dict[tuple[str, str], str] = {}  # keys of tool calls, by their owner and their provider's id
        self._owners: dict[str, str] = {}  # the other way round
        self._strand_of: dict[str, str] = {}  # by the keys of model calls
        self._strands: dict[str, Strand] = {}
        self.over = False

    @property
    def voice(self) -> str:
        """The agent whose words the turn's are: "" for the run's own, which speaks to the person."""
        return self._agents.get("", "")

    @property
    def is_inside(self) -> bool:
        """Whether a tool of another framework, or of the user's own code, waits for what the turn gives."""
        return bool(self.voice)

    def _record(self, event: AnyEvent, model: str = "") -> None:
        """Tells the run; `model` is the key of the model call that the event belongs to."""
        strand = self._strand_of.get(model, "")
        self.run.record(event, self._strands.setdefault(strand, Strand(self)))


def verdict(error: BaseException | str | None) -> tuple[CallOutcome, str | None, str | None]:
    """How something ended: the outcome, what the error says in one line, and its class."""
    if error is None:
        return "done", None, None
    if isinstance(error, str):
        return "failed", error, None
    return ("cancelled" if is_interruption(error) else "failed"), first_line(error), type(error).__name__
