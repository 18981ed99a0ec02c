"""Who may import whom: the layers point one way."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1] / "src" / "agentcell"

# What each part may import of agentcell; a part is a module or a whole folder, and a folder's own modules may import each other.
ALLOWED = {
    "errors": set(),
    "events": set(),
    "fields": {"events", "errors"},
    "wire": set(),
    "markup": set(),
    "text": {"errors"},
    "redact": {"errors"},
    "log": {"events", "text"},
    "jsonl": {"events", "fields", "log", "errors"},
    "thinking_handlers": {"events", "errors", "text"},
    "thinking": {"events", "errors", "text", "thinking_handlers"},
    "projections": {"events", "errors", "text"},
    "cost": {"events", "errors", "projections"},
    "markdown": {"markup", "errors"},
    "markdown_stream": {"markup", "markdown", "errors"},
    "render": {"cost", "events", "errors", "projections", "wire", "markup", "text"},
    "spending": {"cost", "events", "projections"},
    "panel": {"cost", "spending", "render", "projections", "events", "wire", "markup", "text"},
    "calm": set(),
    "view": {"cost", "panel", "calm", "render", "markdown", "markdown_stream", "projections", "wire", "markup", "text"},
    "snapshot": {"view", "render", "redact", "projections", "wire", "markup", "text"},
    "pacer": {"errors"},
    "actions": {"wire"},
    "tool_call": {"events", "errors"},
    "stopping": {"errors"},
    "reach": set(),
    "pause": {"reach"},
    "widget": {"cost", "log", "projections", "view", "render", "wire", "pacer", "actions", "errors", "markup"},
    "options": {"redact"},
    "faults": {"errors"},
    "requests": {"events"},
    "running": {"events"},
    "cleaning": {"events", "redact"},
    "intake": {"events", "log", "projections", "faults", "text"},
    "context": set(),
    "recorder": {
        *("events", "errors", "fields", "options", "redact", "cleaning", "requests", "running", "faults", "intake"),
        *("projections", "thinking", "stopping"),
    },
    "readings": {"recorder", "cost", "events", "markup", "projections"},
    "asking": {"recorder", "errors", "events", "options", "pause", "reach", "tool_call"},
    # Run is the face of the whole: what it offers to show, to ask or to read itself it imports only when it is asked for.
    "run": {
        *("events", "errors", "options", "cleaning", "context", "recorder", "asking", "readings"),
        *("tool_call", "jsonl", "frameworks", "view", "snapshot", "widget", "adapters"),
    },
    "frameworks": {"adapters"},
    "exchange": {"run", "text", "errors"},
    "tool_generators": {"context"},
    "tools": {"context", "errors", "tool_generators"},
    "adapters": {"events", "errors", "projections", "text", "thinking", "cleaning", "redact", "run", "context", "tool_call"},
    "live_line": {"pacer", "text"},
    "terminal": {"run", "render", "snapshot", "projections", "pacer", "live_line"},
    "marimo": {"run", "snapshot", "pacer"},
    "cell_output": set(),
    "console": set(),
    "shelf": set(),
    "display": {
        *("run", "options", "redact", "snapshot", "pacer", "widget", "errors", "projections"),
        *("cell_output", "console", "shelf", "terminal", "marimo"),
    },
    "magic": {"display", "run"},
    "cells": {"adapters", "context", "display", "errors", "run"},
    "testing": {"events", "errors", "pacer", "recorder"},
}
STANDARD_LIBRARY_ONLY = {"errors", "events", "wire", "markup"}
THIRD_PARTY = {
    "anywidget": {"widget"},
    "traitlets": {"widget"},
    "IPython": {"display", "cell_output", "actions", "cells", "magic"},
    "comm": {"testing"},
    "markdown_it": {"markdown", "markdown_stream"},
    "bleach": {"markdown"},
    "agents": {"adapters"},
    "opentelemetry": {"adapters"},
    "genai_prices": {"cost"},
}

# The frameworks that adapters listen to. They are imported in functions only: `import agentcell` loads none, and needs none.
FRAMEWORKS = {
    "agents",
    "anthropic",
    "dspy",
    "google",
    "langchain_core",
    "llama_index_instrumentation",
    "mcp",
    "opentelemetry",
    "pydantic_ai",
    "pydantic_core",
    "smolagents",
    "workflows",
}


def modules() -> list[Path]:
    return sorted(path for path in ROOT.rglob("*.py") if path.name != "__init__.py" or path.parent != ROOT)


def part_of(dotted: str) -> str:
    return dotted.split(".")[1] if "." in dotted else "agentcell"


def imports(path: Path) -> Iterator[tuple[int, str]]:
    """Every import that runs, those inside functions included; those for type checkers alone do not count."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for_types = {
        inner
        for node in ast.walk(tree)
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
        for inner in ast.walk(node)
    }
    for node in ast.walk(tree):
        if node in for_types:
            continue
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}:{node.lineno}: write whole names, from agentcell... import ..."
            if node.module == "agentcell":
                yield from ((node.lineno, f"agentcell.{alias.name}") for alias in node.names)
            else:
                yield node.lineno, str(node.module)


@pytest.mark.parametrize("path", modules(), ids=lambda path: str(path.relative_to(ROOT)))
def test_a_module_imports_only_what_lies_below_it(path: Path):
    part = path.relative_to(ROOT).parts[0].removesuffix(".py")
    assert part in ALLOWED, f"{part} is new: give it its place in the layers, in {__file__}"
    for line, name in imports(path):
        if name.split(".")[0] == "agentcell":
            other = part_of(name)
            assert other == part or other in ALLOWED[part], f"{path}:{line}: {part} must not import {other}"


@pytest.mark.parametrize("path", modules(), ids=lambda path: str(path.relative_to(ROOT)))
def test_other_packages_are_imported_at_one_place_each(path: Path):
    import sys

    part = path.relative_to(ROOT).parts[0].removesuffix(".py")
    for line, name in imports(path):
        top = name.split(".")[0]
        if top in sys.stdlib_module_names or top == "agentcell":
            continue
        assert part not in STANDARD_LIBRARY_ONLY, f"{path}:{line}: {part} imports the standard library alone, not {top}"
        if part == "adapters" and top in FRAMEWORKS:
            continue
        assert part in THIRD_PARTY.get(top, set()), f"{path}:{line}: {top} is not imported in {part}"


@pytest.mark.parametrize("path", sorted((ROOT / "adapters").glob("*.py")), ids=lambda path: path.name)
def test_a_framework_is_imported_only_when_its_adapter_is_used(path: Path):
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        names += [str(node.module)] if isinstance(node, ast.ImportFrom) else []
        assert not [name for name in names if name.split(".")[0] in FRAMEWORKS], f"{path}:{node.lineno}"


def test_the_layers_have_no_circle():
    # What a run hands over to the adapters, which are typed against Run; agentfootprint's alone makes one.
    lazily = {("run", "adapters"), ("frameworks", "adapters")}
    done: list[str] = []
    while len(done) < len(ALLOWED):
        ready = [
            part
            for part, below in ALLOWED.items()
            if part not in done and all(other in done or (part, other) in lazily for other in below)
        ]
        assert ready, f"these import each other: {sorted(set(ALLOWED) - set(done))}"
        done += ready
