from __future__ import annotations

import json
import warnings

import pytest

from agentcell.errors import AgentcellWarning
from agentcell.text.graphemes import cut
from agentcell.text.summaries import first_line, register_summary, summarize_call, summarize_result

FAMILY = "👩\u200d👩\u200d👧\u200d👦"
SCOTLAND = "🏴\U000e0067\U000e0062\U000e0073\U000e0063\U000e0074\U000e007f"


@pytest.fixture
def register():
    names = set()

    def remember(name, **summaries):
        names.add(name)
        register_summary(name, **summaries)

    yield remember
    for name in names:
        register_summary(name)


@pytest.mark.parametrize(
    ("tool", "arguments", "words"),
    [
        ("search_notes", {"query": "machine learning"}, "Searching notes for “machine learning”"),
        ("localSearch", {"query": "a\n  b"}, "Searching notes for “a b”"),
        ("search_notes", {"query": "x" * 50}, f"Searching notes for “{'x' * 50}”"),
        ("search_notes", {"query": "x" * 51}, f"Searching notes for “{'x' * 50}…”"),
        ("search_notes", {"queries": list("abcdefgh")}, "Searching notes for “a”, “b”, “c”, “d”, “e”, “f” +2 more"),
        ("search_notes", {"query": ["a", "[object Object]", {}, " ", "b"]}, "Searching notes for “a”, “b”"),
        ("search_notes", {"query": "[object Object]"}, "Searching notes"),
        ("search_notes", {"query": "<Query object at 0x7f00>"}, "Searching notes"),
        ("search_notes", {"query": {"a": 1}}, "Searching notes"),
        ("search_notes", {"query": "a", "vault": "Home"}, "Searching notes for “a” from “Home”"),
        ("search_notes", {}, "Searching notes"),
        ("search_docs", {"query": "setup"}, "Searching documents for “setup”"),
        ("webSearch", {"query": "y" * 31}, f"Searching the web for “{'y' * 30}…”"),
        ("tavily_search_results_json", {}, "Searching the web"),
        ("searchFiles", {"pattern": "*.py"}, "Searching files for “*.py”"),
        ("Grep", {"pattern": "def main"}, "Searching the code for “def main”"),
        ("search_flights", {"query": "ZRH"}, "Searching for “ZRH”"),
        ("readNote", {"notePath": "a/b/Plan.md"}, "Reading “Plan”"),
        ("read_note", {}, "Reading a note"),
        ("Read", {"file_path": "/src/main.py"}, "Reading “main.py”"),
        ("mcp__disk__read_text_file", {"path": "C:\\notes\\"}, "Reading “notes”"),
        ("WebFetch", {"url": "https://example.org/a"}, "Reading “https://example.org/a”"),
        ("getTimeRangeMs", {"timeExpression": "last week"}, "Calculating a time range for “last week”"),
        ("list_directory", {"path": "src"}, "Listing files in “src”"),
        ("LS", {}, "Listing files"),
        ("list_notes", {}, "Listing notes"),
        ("writeToFile", {"path": "a/b.py"}, "Writing “b.py”"),
        ("replaceInFile", {"path": "b.py"}, "Editing “b.py”"),
        ("delete_file", {}, "Deleting a file"),
        ("bash", {"command": "ls -la"}, "Running `ls -la`"),
        ("local_shell", {"command": ["ls", "-la"]}, "Running `ls -la`"),
        ("run_python", {"code": "import os\nprint(1)"}, "Running `import os…`"),
        ("bash", {"command": "echo `date`"}, "Running “echo `date`”"),
        ("bash", {}, "Running a command"),
        ("get_weather", {"city": "Bern"}, "Calling `get_weather`"),
        ("k8s.get", {}, "Calling `k8s.get`"),
        ("a`b\nc", {}, "Calling `ab c`"),
        ("", {}, "Using a tool"),
    ],
)
def test_a_call_is_told_in_plain_words(tool, arguments, words):
    assert summarize_call(tool, arguments) == words


def test_neutral_words_hide_the_name_of_an_unknown_tool_only():
    assert summarize_call("get_weather", {}, tool_names="neutral") == "Using a tool"
    assert summarize_result("get_weather", {}, [1], tool_names="neutral") == "Got 1 result"
    assert summarize_result("get_weather", {}, None, failed=True, tool_names="neutral") == "Using a tool failed"
    assert summarize_call("search_notes", {}, tool_names="neutral") == "Searching notes"


@pytest.mark.parametrize(
    ("tool", "result", "words"),
    [
        ("search_notes", ["text"], "Found 1 relevant note"),
        ("search_notes", ("a", "b", "c"), "Found 3 relevant notes"),
        ("search_notes", [], "No relevant notes found"),
        ("search_notes", {"results": [{"title": "A"}]}, "Found 1 relevant note: A"),
        ("search_notes", {"documents": [{"path": "x/B.md"}, {"id": 7}]}, "Found 2 relevant notes: B, 7"),
        ("search_notes", [{"name": n} for n in "ABCDE"], "Found 5 relevant notes: A, B, C +2 more"),
        ("search_notes", [{"title": "A"}, {"title": "[object Object]"}, "c"], "Found 3 relevant notes: A +2 more"),
        ("search_notes", [{"title": "t" * 60}], f"Found 1 relevant note: {'t' * 50}…"),
        ("search_notes", {"count": 3}, "Found 3 relevant notes"),
        ("search_notes", {"results": None, "total": 0}, "No relevant notes found"),
        ("search_notes", {"count": True, "total": -1}, None),
        ("search_notes", ' [{"title": "A"}]', "Found 1 relevant note: A"),
        ("search_notes", '{"hits": [1, 2]}', "Found 2 relevant notes"),
        ("search_notes", '{"hits": [1, 2', None),
        ("search_notes", "[" * 100_000, None),
        ("search_notes", "three notes", None),
        ("search_notes", None, None),
        ("web_search", ["a"], "Found 1 web result"),
        ("glob", ["a.py", "b.py"], "Found 2 files"),
        ("grep", [{}], "Found 1 match"),
        ("grep", [{}, {}], "Found 2 matches"),
        ("list_files", ["a", "b"], "Found 2 entries"),
        ("read_file", ["a", "b"], None),
        ("read_file", '{"results": [1]}', None),
        ("bash", "total 3", None),
        ("write_file", {"status": "ok"}, None),
        ("write_file", {"status": "rejected"}, "Writing a file was rejected"),
        ("edit_file", json.dumps({"result": "rejected"}), "Editing a file was rejected"),
        ("metrics", [1, 2], "Got 2 results from `metrics`"),
        ("metrics", {"items": []}, "Got no results from `metrics`"),
        ("metrics", {"total": 2}, None),
        ("metrics", 42, None),
    ],
)
def test_a_result_is_told_where_it_adds_something(tool, result, words):
    assert summarize_result(tool, {}, result) == words


def test_a_failure_repeats_the_words_of_the_call():
    assert summarize_result("read_file", {"path": "a/b.py"}, "ENOENT", failed=True) == "Reading “b.py” failed"
    assert summarize_result("metrics", {}, None, failed=True) == "Calling `metrics` failed"


def test_a_tool_can_be_told_in_ones_own_words(register):
    register(
        "metrics", call=lambda arguments: f"Measuring\n {arguments['what']}", result=lambda arguments, result: f"It is {result}"
    )
    assert summarize_call("metrics", {"what": "p95"}) == "Measuring p95"
    assert summarize_result("metrics", {"what": "p95"}, 9) == "It is 9"
    assert summarize_result("metrics", {"what": "p95"}, None, failed=True) == "Measuring p95 failed"


def test_own_words_can_say_nothing(register):
    register("search_notes", call=lambda arguments: None, result=lambda arguments, result: None)
    assert summarize_call("search_notes", {}) == "Searching notes"
    assert summarize_result("search_notes", {}, [1, 2]) is None


def test_own_words_can_be_given_for_one_side_and_taken_back(register):
    register("search_notes", call=lambda arguments: "Looking")
    assert summarize_result("search_notes", {}, [1]) == "Found 1 relevant note"
    register("search_notes")
    assert summarize_call("search_notes", {}) == "Searching notes"


def test_a_summary_that_fails_is_reported_once_and_replaced_by_the_built_in_words(register):
    register("search_notes", call=lambda arguments: arguments["missing"], result=lambda arguments, result: 1)
    with pytest.warns(AgentcellWarning, match=r"call summary registered for 'search_notes' failed.*KeyError"):
        assert summarize_call("search_notes", {}) == "Searching notes"
    with pytest.warns(AgentcellWarning, match="must return a string or None, not 1"):
        assert summarize_result("search_notes", {}, [1]) == "Found 1 relevant note"
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert summarize_call("search_notes", {}) == "Searching notes"
        assert summarize_result("search_notes", {}, [1]) == "Found 1 relevant note"


def test_a_summary_that_cannot_be_called_is_refused(register):
    with pytest.raises(TypeError, match="call must be a function or None"):
        register("x", call="words")
    with pytest.raises(TypeError, match="tool_name must be a string"):
        register_summary(3)


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("", ""),
        (" \n\t", ""),
        ("\n  I will look.  \r\nThen more.", "I will look."),
        ("a\u2028b", "a"),
        ("x" * 100, "x" * 100),
        ("x" * 101, "x" * 99 + "…"),
        ("x" * 98 + " y" + "z" * 9, "x" * 98 + "…"),
        ("x" * 97 + "e\u0301" * 9, "x" * 97 + "e\u0301…"),
        ("x" * 98 + "e\u0301" * 9, "x" * 98 + "…"),
        ("x" * 95 + FAMILY + "y", "x" * 95 + "…"),
        ("🇨🇭" * 60, "🇨🇭" * 49 + "…"),
    ],
)
def test_the_first_line_has_a_hundred_characters_with_the_sign_of_its_cut(text, line):
    assert first_line(text) == line
    assert len(line) <= 100


def test_a_limit_of_less_than_a_character_is_refused():
    with pytest.raises(ValueError, match="limit must be 1 or more"):
        first_line("a", limit=0)


@pytest.mark.parametrize(
    "grapheme",
    ["e\u0301\u0323", "❤\ufe0f", "👍🏽", FAMILY, "🇨🇭", SCOTLAND, "1\ufe0f\u20e3", "क्षि", "\u1112\u1161\u11ab", "\r\n", "नि"],
    ids=ascii,
)
def test_a_cut_never_falls_inside_a_grapheme(grapheme):
    text = "ab" + grapheme * 3 + "cd"
    whole = {"ab" + grapheme * count for count in range(4)} | {"a", "ab" + grapheme * 3 + "c", text}
    assert {cut(text, limit) for limit in range(1, len(text) + 3)} <= whole


def test_an_endless_grapheme_is_cut_all_the_same():
    assert cut("e" + "\u0301" * 1000, 10) == "e" + "\u0301" * 9
    assert cut("abc", 0) == ""
