"""Thinking handlers: what each provider's reasoning becomes, and that a failing handler costs nothing else."""

from __future__ import annotations

import json
from dataclasses import dataclass
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

import agentcell
from agentcell.adapters.agentthinkingui import write_trace
from agentcell.errors import AgentcellWarning
from agentcell.events import ModelEnded, ModelStarted, TextDelta, ThinkingBlock, ThinkingEnded, ThinkingFailed
from agentcell.testing.comms import recorded_comms
from agentcell.thinking import HANDLERS, ThinkingHandler, handler_for, normalize_thinking
from shared import shared_path

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path


def plain(blocks: Sequence[ThinkingBlock]) -> list[dict[str, Any]]:
    """Blocks as agentfootprint writes them; a signature takes no part in comparing blocks, so it is compared here."""
    return [
        {
            "type": block.type,
            "content": block.content,
            **({"signature": block.signature} if block.signature is not None else {}),
            **({"summary": True} if block.summary else {}),
        }
        for block in blocks
    ]


def handler(provider: str) -> ThinkingHandler:
    found = handler_for(provider)
    assert found is not None
    return found


TEXT = {"type": "text", "text": "An answer."}
THOUGHT = {"type": "thinking", "thinking": "Hm.", "signature": "sig=="}


@pytest.mark.parametrize(
    ("provider", "raw", "expected"),
    [
        ("anthropic", [TEXT, THOUGHT], [{"type": "thinking", "content": "Hm.", "signature": "sig=="}]),
        ("anthropic", [SimpleNamespace(type="thinking", thinking="Hm.")], [{"type": "thinking", "content": "Hm."}]),
        ("anthropic", [{"type": "redacted_thinking", "data": "x"}], [{"type": "redacted_thinking", "content": ""}]),
        ("anthropic", [{"type": "thinking"}, None, 3], []),
        ("openai", "All in all.", [{"type": "thinking", "content": "All in all.", "summary": True}]),
        ("openai", [{"type": "summary_text", "text": "So."}, {}], [{"type": "thinking", "content": "So.", "summary": True}]),
        ("ollama", {"kind": "field", "thinking": " Hm. "}, [{"type": "thinking", "content": "Hm."}]),
        ("ollama", {"kind": "inline", "content": "<think>a</think>b<THINK>c"}, [{"content": "a"}, {"content": "c"}]),
        ("ollama", "<Think>a</tHINK>b", [{"type": "thinking", "content": "a"}]),
        ("ollama", " ", []),
        ("deepseek", {"content": "x", "reasoning_content": "Hm."}, [{"type": "thinking", "content": "Hm."}]),
        ("vllm", SimpleNamespace(reasoning="Hm."), [{"type": "thinking", "content": "Hm."}]),
        ("qwen", "Hm.", [{"type": "thinking", "content": "Hm."}]),
        ("qwen", {"reasoning_content": None, "reasoning": ""}, []),
        (
            "mistral",
            {
                "content": [
                    {"type": "thinking", "thinking": [{"type": "text", "text": "H"}, {"type": "text", "text": "m"}]},
                    TEXT,
                ]
            },
            [{"type": "thinking", "content": "Hm"}],
        ),
        ("mistral", {"content": "An answer."}, []),
        (
            "openrouter",
            {
                "reasoning": "again",
                "reasoning_details": [
                    {"type": "reasoning.text", "text": "Hm.", "signature": "s"},
                    {"type": "reasoning.summary", "summary": "So."},
                    {"type": "reasoning.encrypted", "data": "x"},
                    {"type": "reasoning.new"},
                ],
            },
            [
                {"type": "thinking", "content": "Hm.", "signature": "s"},
                {"type": "thinking", "content": "So.", "summary": True},
                {"type": "redacted_thinking", "content": ""},
            ],
        ),
        ("openrouter", {"reasoning": "Hm.", "reasoning_details": []}, [{"type": "thinking", "content": "Hm."}]),
        (
            "gemini",
            {"candidates": [{"content": {"parts": [{"text": "Hm.", "thought": True, "thoughtSignature": "s"}, TEXT]}}]},
            [{"type": "thinking", "content": "Hm.", "signature": "s", "summary": True}],
        ),
        (
            "google",
            [SimpleNamespace(text="Hm.", thought=True, thought_signature=b"\x00\xff")],
            [{"type": "thinking", "content": "Hm.", "signature": "AP8=", "summary": True}],
        ),
        ("gemini", {"candidates": []}, []),
    ],
)
def test_reasoning_becomes_blocks(provider: str, raw: Any, expected: list[dict[str, Any]]) -> None:
    assert plain(handler(provider).normalize(raw)) == [{"type": "thinking", **block} for block in expected]


@pytest.mark.parametrize("shipped", HANDLERS, ids=lambda shipped: shipped.id)
@pytest.mark.parametrize("garbage", [None, 0, True, "", [], [None, 3, "x", [], {}], {}, {"choices": [None]}, {"candidates": [{}]}])
def test_no_shipped_handler_stumbles_over_garbage(shipped: ThinkingHandler, garbage: Any) -> None:
    assert not shipped.normalize(garbage)
    assert not shipped.parse_chunk(garbage)


@pytest.mark.parametrize(
    ("provider", "chunk", "expected"),
    [
        ("anthropic", {"delta": {"type": "thinking_delta", "thinking": "Hm"}}, "Hm"),
        ("anthropic", {"delta": {"type": "text_delta", "text": "Hm"}}, None),
        ("openai", {"type": "response.reasoning_summary_text.delta", "delta": "Hm"}, "Hm"),
        ("openai", {"type": "response.output_text.delta", "delta": "x"}, None),
        ("ollama", {"message": {"thinking": "Hm", "content": ""}}, "Hm"),
        ("deepseek", {"choices": [{"delta": {"content": None, "reasoning_content": "Hm"}}]}, "Hm"),
        ("deepseek", {"choices": []}, None),
        ("mistral", {"choices": [{"delta": {"content": "x"}}]}, None),
        ("openrouter", {"choices": [{"delta": {"reasoning": "Hm"}}]}, "Hm"),
        ("gemini", {"candidates": [{"content": {"parts": [{"text": "x"}]}}]}, None),
    ],
)
def test_a_chunk_adds_reasoning_or_nothing(provider: str, chunk: Any, expected: str | None) -> None:
    assert handler(provider).parse_chunk(chunk) == expected


def test_no_two_shipped_handlers_know_the_same_provider() -> None:
    names = [name for shipped in HANDLERS for name in shipped.provider_names]
    assert len(names) == len(set(names))
    assert len({shipped.id for shipped in HANDLERS}) == len(HANDLERS)


@dataclass
class Own:
    """Somebody's own handler; gives what it is told to, or raises it."""

    gives: Any
    id: str = "own"
    provider_names: tuple[str, ...] = ("anthropic", "martian")

    def normalize(self, raw: Any) -> Any:
        if isinstance(self.gives, Exception):
            raise self.gives
        return self.gives

    def parse_chunk(self, chunk: Any) -> str | None:
        return None


def test_your_own_handlers_come_first() -> None:
    own = Own([ThinkingBlock(content="mine")])
    assert handler_for("anthropic", [own]) is own
    assert normalize_thinking("martian", "x", handlers=[own]) == ThinkingEnded(blocks=(ThinkingBlock(content="mine"),))
    assert handler("anthropic").id == "anthropic"


def test_an_unknown_provider_has_no_reasoning() -> None:
    assert normalize_thinking("martian", "x") is None


@pytest.mark.parametrize(
    ("gives", "error_type", "error"),
    [
        (KeyError("x"), "KeyError", "'x'"),
        (["text"], "TypeError", "a thinking handler must give ThinkingBlocks, not str"),
        (None, "TypeError", "'NoneType' object is not iterable"),
    ],
)
def test_a_handler_that_fails_is_an_event(gives: Any, error_type: str, error: str) -> None:
    event = normalize_thinking("martian", "x", iteration=3, handlers=[Own(gives)])
    assert event == ThinkingFailed(provider="martian", handler="own", error=error, error_type=error_type, iteration=3)


def test_what_a_handler_adds_to_a_block_stays_out_of_the_log() -> None:
    class Wider(ThinkingBlock):
        __slots__ = ("secret",)

    event = normalize_thinking("martian", "x", handlers=[Own([Wider("thinking", "x", "s")])])
    assert isinstance(event, ThinkingEnded)
    assert type(event.blocks[0]) is ThinkingBlock
    assert event.blocks[0].signature == "s"


class Mock:
    """agentfootprint's own handler for tests, as somebody would add it here."""

    id = "mock"
    provider_names = ("mock",)

    def normalize(self, raw: Any) -> Sequence[ThinkingBlock]:
        kind = raw.get("kind") if isinstance(raw, dict) else None
        if kind == "anthropic":
            return handler("anthropic").normalize(raw.get("blocks"))
        return handler("openai").normalize([{"text": step} for step in raw.get("summarySteps", ())]) if kind == "openai" else ()

    def parse_chunk(self, chunk: Any) -> str | None:
        delta = chunk.get("thinkingDelta") if isinstance(chunk, dict) else None
        return delta if isinstance(delta, str) else None


def recorded() -> list[dict[str, Any]]:
    path = shared_path("vectors", "agentfootprint_thinking.json")
    return [record for record in json.loads(path.read_text(encoding="utf-8")) if "quirk" not in record]


def without_null(block: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in block.items() if value is not None}


def is_upper_case_tag(raw: Any) -> bool:
    """Tags that the original sees only when a lower-case one stands somewhere; here they always count."""
    text = raw if isinstance(raw, str) else (raw or {}).get("thinking") or (raw or {}).get("content") or ""
    return "<think>" in text.lower() and "<think" not in text


def test_every_recorded_raw_gives_the_recorded_blocks_and_event() -> None:
    differing, seen = [], 0
    for record in recorded():
        if "blocks" not in record or (record["handler"] == "ollama" and is_upper_case_tag(record["raw"])):
            continue
        seen += 1
        if record.get("raw_absent"):
            assert record["subflow"]["emits"] == []
            continue
        event = normalize_thinking(record["handler"], record["raw"], handlers=[Mock()])
        (emitted,) = record["subflow"]["emits"]
        told = emitted["payload"].get("blocks", [])
        if not isinstance(event, ThinkingEnded) or plain(event.blocks) != [without_null(block) for block in told]:
            differing.append(record["id"])
        if told != record["blocks"]:
            differing.append(record["id"])
    assert differing == []
    assert seen > 40


def test_upper_case_tags_count_here() -> None:
    upper = [record for record in recorded() if record["handler"] == "ollama" and is_upper_case_tag(record.get("raw"))]
    assert upper
    for record in upper:
        blocks = handler("ollama").normalize(record["raw"])
        assert plain(blocks) != record["blocks"], record["id"]


def test_every_recorded_chunk_gives_the_recorded_delta() -> None:
    differing = []
    for record in recorded():
        if "delta" in record:
            found = handler_for(record["handler"], [Mock()])
            assert found is not None
            if found.parse_chunk(record.get("chunk")) != record["delta"]:
                differing.append(record["id"])
    assert differing == []


def test_every_recorded_provider_is_found_or_not() -> None:
    for record in recorded():
        if record["handler"] is None:
            found = handler_for(record["provider"], [Mock()])
            assert (found and found.id) == record["found"]


SIGNATURE = "EqoBCkgIBRABGAIiQ+sig/ÿ=="


def test_a_whole_response_brings_its_reasoning_into_the_run() -> None:
    with agentcell.watch("x", display=False) as run:
        run.record(ModelStarted(model_call_id="m"))
        run.record_thinking("anthropic", [{"type": "thinking", "thinking": "Hm.", "signature": SIGNATURE}, TEXT], model_call_id="m")
        run.record(TextDelta(text="So.", model_call_id="m"))
        run.record(ModelEnded(model_call_id="m", tool_calls=0))
        run.record_thinking("deepseek", {"reasoning_content": "And then."})
    assert [(step.kind, step.content) for step in run.steps] == [("thinking", "Hm."), ("thinking", "And then.")]
    assert [getattr(step, "thinking", None) for step in run.trace().steps] == [None, "And then."]
    (ended, _) = (event for event in run.events if isinstance(event, ThinkingEnded))
    assert (ended.model_call_id, ended.blocks[0].signature) == ("m", SIGNATURE)


@pytest.mark.parametrize(("provider", "raw"), [("martian", "x"), ("anthropic", None), ("anthropic", []), ("anthropic", [TEXT])])
def test_where_there_is_no_reasoning_nothing_is_recorded(provider: str, raw: Any) -> None:
    with agentcell.watch("x", display=False) as run:
        run.record_thinking(provider, raw)
    assert [type(event).__name__ for event in run.events] == ["RunStarted", "RunEnded"]
    assert run.faults == {}


def test_your_own_handler_is_asked_first_in_a_run_too() -> None:
    with agentcell.watch("x", display=False) as run:
        run.record_thinking("anthropic", [THOUGHT], handlers=[Own([ThinkingBlock(content="mine")])])
    assert [step.content for step in run.steps] == ["mine"]


def test_a_handler_that_raises_costs_the_run_a_row_and_nothing_else() -> None:
    with agentcell.watch("x", display=False) as run:
        run.record_thinking("martian", "x", iteration=2, handlers=[Own(ValueError("bad block\nmore"))])
        run.write("The answer.")
    assert (run.outcome, run.answer_text, run.faults) == ("answered", "The answer.", {})
    assert [(step.kind, step.text, step.state, step.detail) for step in run.steps] == [
        ("note", "The model's thinking could not be read", "failed", "bad block"),
    ]
    (shown,) = run.cell.steps
    assert (shown["text"], shown["state"], shown["detail"]) == ("The model's thinking could not be read", "failed", "bad block")
    assert "thinking could not be read" in run.to_html()


class Unreadable:
    """A handler that cannot even say whom it is for."""

    id = "unreadable"

    @property
    def provider_names(self) -> Sequence[str]:
        raise RuntimeError

    def normalize(self, raw: Any) -> Sequence[ThinkingBlock]:
        return ()

    def parse_chunk(self, chunk: Any) -> str | None:
        return None


def test_a_handler_that_is_broken_altogether_is_a_fault_of_showing_and_the_run_goes_on() -> None:
    with pytest.warns(AgentcellWarning, match="reading a model's thinking failed"), agentcell.watch("x", display=False) as run:
        run.record_thinking("anthropic", [THOUGHT], handlers=[Unreadable()])
    assert (run.outcome, run.faults) == ("answered", {"reading a model's thinking": 1})


def test_an_interrupt_in_a_handler_goes_on() -> None:
    class Slow(Own):
        def normalize(self, raw: Any) -> Any:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt), agentcell.watch("x", display=False) as run:
        run.record_thinking("martian", "x", handlers=[Slow(None)])
    assert run.outcome == "cancelled"


def test_thinking_that_is_to_be_hidden_is_not_recorded() -> None:
    with agentcell.watch("x", thinking="hide", display=False) as run:
        run.record_thinking("anthropic", [THOUGHT])
    assert run.steps == ()
    assert not [event for event in run.events if isinstance(event, ThinkingEnded)]


def test_signatures_stay_in_python_byte_for_byte(tmp_path: Path) -> None:
    with recorded_comms() as messages, agentcell.watch("x", display=False) as run:
        cell = run.cell
        run.record_thinking("anthropic", [{"type": "thinking", "thinking": "Hm.", "signature": SIGNATURE}])
        run.record_thinking("anthropic", [{"type": "redacted_thinking", "signature": SIGNATURE}])
        run.write("So.")
        cell.flush()
    cell.flush()
    run.save(tmp_path / "run.jsonl")
    outside = [
        json.dumps(messages, ensure_ascii=False),
        json.dumps(cell.get_state(), ensure_ascii=False, default=str),
        (tmp_path / "run.jsonl").read_text(encoding="utf-8").encode().decode("unicode_escape"),
        *(run.to_html(), run.to_html(standalone=True), run.to_text(), run.to_markdown()),
        *(repr(run.events), str(run.trace()), json.dumps(write_trace(run), ensure_ascii=False)),
    ]
    assert [text for text in outside if "EqoBCkgI" in text] == []
    assert "Hm." in outside[0]
    blocks = [block for event in run.events if isinstance(event, ThinkingEnded) for block in event.blocks]
    assert [(block.type, block.signature) for block in blocks] == [("thinking", SIGNATURE), ("redacted_thinking", SIGNATURE)]


def stream(name: str) -> Iterator[Any]:
    for exchange in json.loads(shared_path("recordings", f"{name}.json").read_text(encoding="utf-8"))["exchanges"]:
        for line in exchange["response"]["body"].splitlines():
            if line.startswith("data: {"):
                yield json.loads(line.removeprefix("data: "))


@pytest.mark.parametrize(
    ("name", "provider", "beginning"),
    [
        ("anthropic_thinking", "anthropic", "This is a straightforward question about"),
        ("deepseek_reasoning_content", "deepseek", "Hmm"),
        ("mistral_thinking", "mistral", "Okay, the user is"),
        ("openai_responses_reasoning_summary", "openai", "**Providing"),
        ("openrouter_reasoning", "openrouter", "This is a simple arithmetic question. 2+2 equals 4."),
    ],
)
def test_a_real_stream_has_its_reasoning(name: str, provider: str, beginning: str) -> None:
    deltas = [handler(provider).parse_chunk(chunk) for chunk in stream(name)]
    assert "".join(delta for delta in deltas if delta).startswith(beginning)
