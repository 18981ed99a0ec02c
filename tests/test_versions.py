"""The table of tested versions in the docs says what the project pins."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import tomllib

from frameworks.environments import ENVIRONMENTS
from frameworks.versions import MAIN, line_of, written

ROOT = Path(__file__).resolve().parents[1]


def pins():
    groups = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["dependency-groups"]
    named = [pin for group in groups.values() for pin in group if isinstance(pin, str)]
    return {re.split(r"[\[=]", pin)[0]: pin.partition("==")[2] for pin in named}


@pytest.mark.parametrize("package", [row.package for row in MAIN])
def test_a_package_of_this_environment_was_tested_as_it_is_pinned(package):
    assert written()[package, "`make test`"] == [pins()[package]], "run `make test` and `make versions`"


@pytest.mark.parametrize("name", [one.name for one in ENVIRONMENTS])
def test_a_package_with_an_environment_of_its_own_was_tested_as_it_is_written_there(name):
    (wanted,) = [one.packages[0] for one in ENVIRONMENTS if one.name == name]
    package, _, version = wanted.partition("==")
    tested = written()[package.partition("[")[0], "`make test-frameworks`"]
    assert version in tested, "run `make test-frameworks` and `make versions`"


def test_every_framework_that_is_pinned_has_a_row():
    groups = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["dependency-groups"]
    frameworks = {re.split(r"[\[=]", pin)[0] for pin in groups["frameworks"]} - {"langchain-anthropic", "langchain-openai"}
    assert frameworks <= {row.package for row in MAIN}


def test_what_was_not_run_has_no_version(tmp_path):
    (row, *_) = MAIN
    assert line_of(type(row)(row.package, row.how, row.where, tmp_path, row.tests)).endswith("| not run |")
