"""What agentcell raises and warns: each sentence says what must hold and what was given."""

import warnings

import pytest

from agentcell.errors import (
    AgentcellError,
    AgentcellWarning,
    LoadError,
    describe,
    describe_error,
    first_line,
    must_be_count,
    must_be_flag,
    must_be_one_of,
    must_be_text,
    warn,
)


class Unshowable:
    def __repr__(self) -> str:
        raise RuntimeError("no repr")


class MuteError(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no str")


CHOICES = ("auto", "open")


@pytest.mark.parametrize(
    ("check", "kind", "sentence"),
    [
        (lambda: must_be_text("task", 5), TypeError, "task must be a string, not 5 (int)"),
        (lambda: must_be_text("task", None), TypeError, "task must be a string, not None (NoneType)"),
        (lambda: must_be_text("task", b"x"), TypeError, "task must be a string, not b'x' (bytes)"),
        (lambda: must_be_text("task", Unshowable()), TypeError, "task must be a string, not … (Unshowable)"),
        (lambda: must_be_one_of("expand", "wide", CHOICES), ValueError, "expand must be one of 'auto', 'open', not 'wide' (str)"),
        (lambda: must_be_one_of("expand", 1, CHOICES), TypeError, "expand must be one of 'auto', 'open', not 1 (int)"),
        (lambda: must_be_flag("display", 1), TypeError, "display must be True or False, not 1 (int)"),
        (lambda: must_be_count("live_steps", True, at_least=1), TypeError, "live_steps must be a whole number, not True (bool)"),
        (lambda: must_be_count("live_steps", 2.0), TypeError, "live_steps must be a whole number, not 2.0 (float)"),
        (lambda: must_be_count("live_steps", 0, at_least=1), ValueError, "live_steps must be 1 or more, not 0"),
    ],
)
def test_a_check_says_what_must_hold_and_what_was_given(check, kind, sentence):
    with pytest.raises(kind) as caught:
        check()
    assert str(caught.value) == sentence


def test_a_check_gives_a_good_value_back():
    assert must_be_text("task", "why?") == "why?"
    assert must_be_one_of("expand", "open", CHOICES) == "open"
    assert must_be_flag("display", False) is False
    assert must_be_count("live_steps", 3, at_least=3) == 3


@pytest.mark.parametrize(
    ("error", "line", "whole"),
    [
        (ValueError("too small"), "too small", "ValueError: too small"),
        (ValueError("first\nsecond\nthird"), "first", "ValueError: first"),
        (ValueError("\n\n  later  \nmore"), "later", "ValueError: later"),
        (ValueError(), "", "ValueError"),
        (ValueError("   \n "), "", "ValueError"),
        (KeyError("name"), "'name'", "KeyError: 'name'"),
        (KeyboardInterrupt(), "", "KeyboardInterrupt"),
        (MuteError(), "", "MuteError"),
    ],
)
def test_an_exception_fits_into_one_line(error, line, whole):
    assert first_line(error) == line
    assert describe_error(error) == whole


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        ("a\nb", r"'a\nb' (str)"),
        ("x" * 100, "'" + "x" * 58 + "… (str)"),
        ([1, 2], "[1, 2] (list)"),
        pytest.param(10**5000, "… (int)", id="a number that Python itself refuses to write"),
    ],
)
def test_a_value_is_described_in_a_line_of_bounded_length(value, shown):
    assert describe(value) == shown


def test_a_load_error_is_a_value_error_and_ours():
    assert issubclass(LoadError, ValueError)
    assert issubclass(LoadError, AgentcellError)


def test_a_fault_is_a_warning_that_points_at_its_caller():
    with pytest.warns(AgentcellWarning, match="^something failed$") as caught:
        warn("something failed")
    assert caught[0].filename == __file__


def test_where_warnings_are_errors_a_fault_is_a_line_on_stderr(capsys):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warn("something failed")
    assert capsys.readouterr().err == "agentcell: something failed\n"
