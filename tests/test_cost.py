"""What a run costs: as it was told, else by the list prices of genai-prices; what nobody knows is said to be unknown."""

import json
import subprocess
import sys
from decimal import Decimal
from html import unescape

import pytest

import agentcell
from agentcell.adapters.ledger import Ledger
from agentcell.cost import PRICES, Spent, money_text, price_of
from agentcell.events import AgentEnded, AgentStarted, ModelEnded, ModelStarted, TurnEnded, Usage
from agentcell.run import Run

TODAY = 1_796_083_200.0  # 2026-12-01
USAGE = Usage(2_000, 1_000, cache_read_tokens=500, reasoning_tokens=400)
MINI = Decimal("0.0023875")  # 1,500 at $0.25, 500 cached at $0.025 and 1,000 at $2, each for a million


def called(run: Run, number: int = 0, *, model: str | None = "gpt-5-mini", usage: Usage | None = USAGE, **values) -> None:
    run.record(ModelStarted(model_call_id=f"m{number}", model=model))
    run.record(ModelEnded(model_call_id=f"m{number}", usage=usage, **values))


@pytest.fixture
def run():
    with agentcell.watch("Why?", display=False) as run:
        yield run


@pytest.fixture
def prices():
    PRICES.load()
    return PRICES


def spent(**values) -> Spent:
    return Spent(**{"model": "gpt-5-mini", "provider": None, "usage": USAGE, "time": 1.0, **values})


def test_a_call_costs_what_the_list_says_for_its_model(run):
    called(run)
    assert (run.cost, run.unpriced_calls) == (MINI, 0)
    assert run.usage_by_model == {"gpt-5-mini": USAGE}


def test_the_header_the_trait_and_what_is_kept_tell_tokens_and_cost(run):
    called(run)
    cell = run.cell
    assert cell.facts == "3.0k tokens · $0.0024"
    assert cell.usage["cost"] == MINI
    assert cell.usage["reasoning_tokens"] == 400
    run.write("Because.")
    for kept in (run.to_text(), run.to_markdown(), run.to_html()):
        assert "3.0k tokens · $0.0024" in kept


def test_a_cost_that_is_known_in_part_says_so(run):
    called(run)
    called(run, 1, model="a-model-of-my-own")
    assert (run.cost, run.unpriced_calls) == (MINI, 1)
    assert run.cell.facts == "6.0k tokens · at least $0.0024"


@pytest.mark.parametrize(
    ("model", "usage"),
    [("a-model-of-my-own", USAGE), (None, USAGE), ("gpt-5-mini", None), ("gpt-5-mini", Usage(0, 0))],
    ids=["unknown model", "no model", "no tokens told", "no tokens at all"],
)
def test_what_nobody_knows_is_not_guessed(run, model, usage):
    called(run, model=model, usage=usage)
    assert (run.cost, run.unpriced_calls) == (None, 1)
    assert "$" not in run.cell.facts
    assert run.cell.usage["cost"] is None


def test_a_count_that_the_provider_left_out_makes_the_price_unknown(prices):
    assert price_of(spent(usage=Usage(2_000, 1_000, unsaid=("input_tokens",))), TODAY) is None
    assert price_of(spent(usage=Usage(2_000, 1_000, unsaid=("cache_read_tokens",))), TODAY) is not None


@pytest.mark.parametrize(
    ("model", "provider", "known"),
    [
        ("gpt-5-mini", "openai", True),
        ("gpt-5-mini", "azure.ai.openai", True),
        ("us.anthropic.claude-sonnet-4-5-20250929-v1:0", "aws.bedrock", True),
        ("gemini-2.5-pro", "google_genai", True),
        ("gemini-2.5-pro", "gcp.vertex_ai", True),
        ("mistral-large-latest", "mistral_ai", True),
        ("gpt-5-mini", "a-machine-of-my-own", False),
        ("gpt-5-mini-2025-08-07", None, True),
    ],
)
def test_a_provider_is_found_under_the_names_that_frameworks_give_it(prices, model, provider, known):
    assert (price_of(spent(model=model, provider=provider), TODAY) is not None) == known


def test_a_count_that_cannot_be_has_no_price(prices):
    assert price_of(spent(usage=Usage(100, 5, cache_read_tokens=200)), TODAY) is None


def test_what_the_framework_tells_of_a_call_wins(run):
    called(run, cost=0.5)
    called(run, 1)
    called(run, 2, model="a-model-of-my-own", cost=0.25)
    assert (run.cost, run.unpriced_calls) == (Decimal("0.75") + MINI, 0)


def test_a_sum_for_a_whole_turn_takes_the_place_of_what_its_calls_cost(run):
    for number in range(3):
        called(run, number)
    run.record(TurnEnded(cost=1.25, model_call_ids=("m0", "m1")))
    assert (run.cost, run.unpriced_calls) == (Decimal("1.25") + MINI, 0)
    assert run.usage.total_tokens == 9_000
    assert run.answer_text == ""


def test_an_adapter_charges_a_turn(run):
    turn = Ledger(run).turn("t")
    for key in "ab":
        turn.start_model(key, model="gpt-5-mini")
        turn.end_model(key, usage=USAGE)
    turn.charge(0.02)
    turn.end_model("c", usage=USAGE, cost=0.01)
    turn.close()
    assert (run.cost, run.unpriced_calls) == (Decimal("0.03"), 0)


def test_a_usage_that_is_told_again_is_charged_once(run):
    called(run, 0, response_id="r")
    called(run, 1, response_id="r")
    assert run.cost == MINI
    run.record(ModelEnded(model_call_id="m1", response_id="r", cost=0.5))
    assert run.cost == Decimal("0.5")
    run.record(ModelEnded(model_call_id="m1", response_id="r"))
    assert (run.cost, run.usage) == (Decimal("0.5"), USAGE)


def test_a_saved_run_costs_what_it_cost(tmp_path):
    with agentcell.watch("Why?", display=False) as run:
        called(run)
        called(run, 1, cost=0.5)
        run.record(TurnEnded(cost=0.25, model_call_ids=("m9",)))
    run.save(tmp_path / "run.jsonl")
    loaded = agentcell.load(tmp_path / "run.jsonl")
    assert loaded == run
    assert loaded.cost == run.cost == Decimal("0.75") + MINI


def rows_of(run: Run) -> str:
    run.view.refresh()
    return unescape(run.view.trace)


def test_a_row_tells_its_call_s_cost_and_whose_word_that_is():
    with agentcell.watch("Why?", display=False) as run:
        called(run)
        called(run, 1, cost=0.5)
        called(run, 2, model="a-model-of-my-own")
        called(run, 3)
        run.record(TurnEnded(cost=0.25, model_call_ids=("m3",)))
    trace = rows_of(run)
    assert "3,000 tokens   $0.0024" in trace
    assert "3,000 tokens   $0.5000" in trace
    for words in ("$0.0024 at list price", "$0.5000<", "unknown", "told for the whole turn only"):
        assert f"<dt>cost</dt><dd><pre>{words}" in trace


def test_a_sub_agent_s_row_has_the_sum_of_its_calls_when_each_is_known():
    with agentcell.watch("Why?", display=False) as run:
        for agent, model in (("a", "gpt-5-mini"), ("b", "a-model-of-my-own")):
            run.record(AgentStarted(agent_id=agent, name=agent))
            for number in range(2):
                call = f"{agent}{number}"
                run.record(ModelStarted(model_call_id=call, agent_id=agent, model=model if number else "gpt-5-mini"))
                run.record(ModelEnded(model_call_id=call, agent_id=agent, usage=USAGE))
            run.record(AgentEnded(agent_id=agent))
    assert "6,000 tokens   $0.0048" in rows_of(run)
    assert rows_of(run).count("6,000 tokens   $") == 1


def test_a_trace_without_any_cost_has_no_word_of_it():
    with agentcell.watch("Why?", display=False) as run:
        called(run, model="a-model-of-my-own")
    assert "cost" not in rows_of(run)


@pytest.mark.parametrize(
    ("amount", "text"),
    [
        ("0", "$0"),
        ("0.000004512", "$0.0000045"),
        ("0.00045", "$0.00045"),
        ("0.0123", "$0.0123"),
        ("0.98765", "$0.9876"),
        ("1.254", "$1.25"),
        ("1234.5", "$1,234.50"),
    ],
)
def test_money_is_told_in_few_letters(amount, text):
    assert money_text(Decimal(amount)) == text


def run_python(code: str) -> list:
    done = subprocess.run([sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


RUN = """
import json, sys, threading
import agentcell
from agentcell.events import ModelEnded, ModelStarted, Usage

def called(run):
    run.record(ModelStarted(model_call_id="m", model="gpt-5-mini"))
    run.record(ModelEnded(model_call_id="m", usage=Usage(2_000, 1_000)))
"""


def test_without_the_package_nothing_is_said_of_costs():
    code = f"""{RUN}
sys.modules["genai_prices"] = None
with agentcell.watch("Why?", display=False) as run:
    called(run)
print(json.dumps([run.cell.facts, run.cost, "cost" in run.view.trace]))
"""
    assert run_python(code) == ["3.0k tokens", None, False]


def test_the_prices_are_loaded_by_a_thread_of_their_own_and_the_view_hears_of_it_and_no_server_is_asked():
    code = f"""{RUN}
import importlib.abc, socket
from agentcell.cost import PRICES
from agentcell.pacer import Pacer
from agentcell.widget import AgentCell

def refuse(*_):
    raise AssertionError("a socket was made")

socket.socket.connect = refuse

class Watch(importlib.abc.MetaPathFinder):
    threads = set()
    def find_spec(self, name, path=None, target=None):
        if name == "genai_prices.types":
            self.threads.add(threading.current_thread().name)

sys.meta_path.insert(0, Watch())
woken = threading.Event()

class Alarm(Pacer):
    def wake(self, target):
        if PRICES.price(next(iter(run.catch_up().usage.bill.calls)), 0.0) is not None:
            woken.set()

with agentcell.watch("Why?", display=False) as run:
    cell = AgentCell(run, pacer=Alarm(start=False))
    called(run)
    cell.flush()
    before = cell.view.header["facts"]
    assert woken.wait(60)
    cell.flush()
    after = cell.view.header["facts"]
print(json.dumps([before, after, sorted(Watch.threads)]))
"""
    assert run_python(code) == ["3.0k tokens", "3.0k tokens · $0.0025", ["agentcell-prices"]]


def test_a_package_that_does_not_work_is_warned_about_once_and_the_run_goes_on(tmp_path):
    (tmp_path / "genai_prices").mkdir()
    (tmp_path / "genai_prices" / "__init__.py").write_text("raise RuntimeError('half installed')")
    code = f"""{RUN}
import warnings
sys.path.insert(0, {str(tmp_path)!r})
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    with agentcell.watch("Why?", display=False) as run:
        called(run)
        found = [run.cost, run.cell.facts, run.cost]
print(json.dumps([found, [str(one.message) for one in caught]]))
"""
    found, warned = run_python(code)
    assert found == [None, "3.0k tokens", None]
    assert warned == ["there will be no costs, because genai-prices does not work: RuntimeError: half installed"]


@pytest.mark.parametrize(("told", "cost"), [({"cost": 0.25}, Decimal("0.25")), ({"cost": 0.25, "is_byok": True}, None)])
def test_a_provider_that_tells_the_cost_in_its_stream_is_believed(run, told, cost):
    usage = {"prompt_tokens": 20, "completion_tokens": 10, **told}
    chunks = [
        {"object": "chat.completion.chunk", "id": "c", "model": "m", "choices": [{"index": 0, "delta": {"content": "Mild."}}]},
        {"object": "chat.completion.chunk", "id": "c", "model": "m", "choices": [], "usage": usage},
    ]
    assert list(run.stream(chunks)) == chunks
    assert (run.cost, run.usage.total_tokens) == (cost, 30)
