"""Writes the table of the versions that were tested into docs/frameworks.md, from the notes of `make test` and `make test-frameworks`.

    make versions

A row is written as it was tested: its version is the one that was installed when its tests passed. What was not run here keeps no row
of its own but says so.
"""

from __future__ import annotations

import json
import re
import sys
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from environments import ENVIRONMENTS, ROOT

PAGE = ROOT / "docs" / "frameworks.md"
LINE = r"^\| ([\w-]+) \| ([^|]*)\| ([^|]*)\| (`make [\w-]+`) \| ([^|]*)\|$"
BEGIN, END = "<!-- versions: written by `make versions` -->", "<!-- versions end -->"


@dataclass(frozen=True, slots=True)
class Row:
    """A line of the table: the package, how it is heard, where its tests run, and which those are."""

    package: str
    how: str
    where: str
    prefix: Path
    tests: tuple[str, ...]


def adapters(*names: str) -> tuple[str, ...]:
    """Files of tests/adapters."""
    return tuple(f"tests/adapters/test_{name}.py" for name in names)


MAIN = tuple(
    Row(package, how, "`make test`", ROOT / ".venv", tests)
    for package, how, tests in (
        ("openai", "streams", adapters("openai_chat", "openai_responses", "stream_clients", "tool_runners")),
        ("anthropic", "streams", adapters("anthropic_messages", "stream_clients", "tool_runners")),
        ("google-genai", "streams", adapters("google_genai", "stream_clients")),
        ("langchain", "adapter", adapters("langchain", "langchain_tools")),
        ("langgraph", "adapter", adapters("langgraph")),
        ("deepagents", "adapter", adapters("langgraph")),
        ("pydantic-ai-slim", "adapter", adapters("pydantic_ai", "pydantic_ai_spans")),
        ("openai-agents", "adapter", adapters("openai_agents")),
        ("smolagents", "adapter", adapters("smolagents")),
        ("dspy", "adapter", adapters("dspy", "dspy_hearing", "dspy_late")),
        ("llama-index-core", "adapter", adapters("llama_index")),
        ("ag-ui-protocol", "streams, both ways", adapters("ag_ui")),
        ("opentelemetry-sdk", "spans", adapters("opentelemetry")),
        ("mcp", "progress", adapters("mcp")),
    )
)


def rows() -> tuple[Row, ...]:
    """All lines: the project's own environment first."""
    apart = (
        Row(one.packages[0].partition("==")[0].partition("[")[0], one.how, "`make test-frameworks`", one.folder, one.tests)
        for one in ENVIRONMENTS
    )
    return (*MAIN, *apart)


def line_of(row: Row) -> str:
    """A row as it was tested."""
    notes = row.prefix / "tested.json"
    told = json.loads(notes.read_text(encoding="utf-8")) if notes.exists() else {"packages": {}, "files": {}}
    ran = [told["files"].get(test) for test in row.tests]
    version = told["packages"].get(row.package, "")
    if not all(ran) or not version:
        return f"| {row.package} | | {row.how} | {row.where} | not run |"
    wrong = sum(count.get("failed", 0) + count.get("error", 0) for count in ran)
    passed = sum(count.get("passed", 0) for count in ran)
    return f"| {row.package} | {version} | {row.how} | {row.where} | {f'{wrong} failed' if wrong else f'{passed} passed'} |"


def table() -> str:
    """The table, in Markdown."""
    head = ["| package | version | heard by | tested by | tests |", "| --- | --- | --- | --- | --- |"]
    return "\n".join([*head, *map(line_of, rows())])


def written() -> dict[tuple[str, str], list[str]]:
    """The versions in the page as it is, by package and where they were tested."""
    found: dict[tuple[str, str], list[str]] = {}
    for package, version, _, where, _ in re.findall(LINE, _between(), re.MULTILINE):
        found.setdefault((package, where.strip()), []).append(version.strip())
    return found


def _between() -> str:
    text = PAGE.read_text(encoding="utf-8")
    return text[text.index(BEGIN) + len(BEGIN) : text.index(END)]


def main() -> int:
    """Writes the page; returns the exit code, 1 when a row was not run or failed."""
    text = PAGE.read_text(encoding="utf-8")
    new = table()
    before, after = text[: text.index(BEGIN) + len(BEGIN)], text[text.index(END) :]
    PAGE.write_text(f"{before}\n{new}\n{after}", encoding="utf-8")
    bad = [line for line in new.splitlines() if "not run |" in line or " failed |" in line]
    print("\n".join(bad) or "every row was run, and passed")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
