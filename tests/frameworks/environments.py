"""The frameworks that do not install beside the others, and the releases before: an environment for each, and its tests in there.

    make test-frameworks                                        all of them
    python tests/frameworks/environments.py google-adk crewai   some, by name

An environment is made once, in `.venv/frameworks/`, and again when what it holds has changed here.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import venv
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
HOME = ROOT / ".venv" / "frameworks"
PATIENCE = 600  # seconds for the tests of one environment

# What the makers of frameworks would like to be told is not ours to send, and nothing is looked up in the network.
QUIET = {
    "AGNO_TELEMETRY": "false",
    "CREWAI_DISABLE_TELEMETRY": "true",
    "CREWAI_TRACING_ENABLED": "false",
    "LITELLM_LOCAL_MODEL_COST_MAP": "True",
}


@dataclass(frozen=True, slots=True)
class Environment:
    """An environment of its own.

    Attributes:
        name: Its folder's name.
        packages: What is installed beside agentcell and pytest, the framework itself first.
        tests: The files that run in it.
        how: By what the framework is heard, for the table in the docs.
        theirs: Warnings of the packages themselves, as `pytest -W` takes them.
        cannot: Tests that do not hold there, and why.
    """

    name: str
    packages: tuple[str, ...]
    tests: tuple[str, ...]
    how: str
    theirs: tuple[str, ...] = ()
    cannot: Mapping[str, str] = field(default_factory=dict)

    @property
    def folder(self) -> Path:
        """Where it is."""
        return HOME / self.name

    @property
    def python(self) -> Path:
        """Its Python."""
        return self.folder / "bin" / "python"

    def bring(self) -> None:
        """Makes it, unless it is there as it is written here.

        Raises:
            subprocess.CalledProcessError: pip could not install it; what it said stands in the output.
        """
        mark, wanted = self.folder / ".ready", json.dumps([tools(), self.packages])
        if mark.exists() and mark.read_text(encoding="utf-8") == wanted:
            return
        venv.create(self.folder, clear=True, symlinks=True)
        pip = (sys.executable, "-m", "pip", "--python", str(self.python), "--disable-pip-version-check")
        subprocess.run([*pip, "install", "--quiet", "--editable", str(ROOT), *tools(), *self.packages], check=True)
        mark.write_text(wanted, encoding="utf-8")

    def run(self) -> bool:
        """Runs its tests; whether they passed, all that hold there."""
        command = [str(self.python), "-m", "pytest", "-p", "no:cacheprovider", "-q", *self.tests]
        command += [option for warning in self.theirs for option in ("-W", warning)]
        for test, why in self.cannot.items():
            print(f"not run: {test}: {why}", flush=True)
            command += ["--deselect", test]
        try:
            done = subprocess.run(command, cwd=ROOT, env={**os.environ, **QUIET}, check=False, timeout=PATIENCE)
        except subprocess.TimeoutExpired:
            print(f"{self.name}: its tests did not come to their end in {PATIENCE} seconds", flush=True)
            return False
        return done.returncode == 0


def tools() -> list[str]:
    """What the tests run with, at the releases that the project's own environment has."""
    import tomllib

    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    return [pin for pin in project["dependency-groups"]["dev"] if str(pin).startswith(("pytest==", "nbclient==", "ipykernel=="))]


A = "tests/adapters/"
F = "tests/frameworks/"
CLIENTS = tuple(
    f"{A}test_{name}.py"
    for name in (
        "openai_chat",
        "openai_responses",
        "anthropic_messages",
        "google_genai",
        "stream_clients",
        "tool_runners",
        "openai_background",
        "openai_approvals",
    )
)
PYDANTIC = f"{A}test_pydantic_ai.py::"
LITELLM = "ignore:Item:UserWarning"  # of a package that DSPy asks its models through, as it is imported
PROGRAMS = (f"{A}test_dspy.py", f"{A}test_dspy_hearing.py", f"{A}test_dspy_stops.py")  # its streams were others before 3.4
NO_END = {
    f"{A}test_dspy_hearing.py::test_two_runs_in_threads_hear_each_its_own": "it does not come to its end with this DSPy",
}
NO_EVENT = "pydantic-ai 1 tells a capability of no event there, so a stop waits for the next step"
ADK = (f"{F}test_google_adk.py",)
CANCELLED = ("a tool", "a model", "a tool of an agent inside a tool", "a sub-agent")
UNTOLD = "ADK 1 tells a plugin nothing of that: what was open ends with the block"

ENVIRONMENTS = (
    Environment("google-adk", ("google-adk==2.13.0",), ADK, "adapter"),
    Environment(
        "google-adk-1",
        ("google-adk==1.39.1",),
        ADK,
        "adapter",
        cannot={
            **{f"{ADK[0]}::test_cancelling_ends_what_was_open_as_cancelled[by plugin-{where}]": UNTOLD for where in CANCELLED},
            f"{ADK[0]}::test_the_sync_runner_is_heard_too_from_inside_a_running_loop[by itself]": (
                "the thread of ADK 1's `runner.run` does not know the block; give the runner the plugin"
            ),
        },
    ),
    Environment("claude-agent-sdk", ("claude-agent-sdk==0.2.189",), (f"{F}test_claude_agent.py",), "adapter"),
    Environment(
        "crewai",
        ("crewai==1.15.30", "openinference-instrumentation-crewai==1.1.21", "openinference-instrumentation-openai==0.1.66"),
        (f"{F}test_crewai.py",),
        "spans of OpenInference",
    ),
    Environment("strands-agents", ("strands-agents[openai]==1.62.0",), (f"{F}test_strands.py",), "its own spans"),
    Environment(
        "autogen",
        ("autogen-agentchat==0.7.5", "autogen-ext[openai]==0.7.5", "openinference-instrumentation-openai==0.1.66"),
        (f"{F}test_autogen.py",),
        "its own spans, and OpenInference's of the client",
    ),
    Environment(
        "agno",
        ("agno==3.1.10", "openai==3.57.0", "openinference-instrumentation-agno==1.0.15"),
        (f"{F}test_agno.py",),
        "spans of OpenInference",
    ),
    Environment(
        "langchain-0.3",
        (
            "langchain==0.3.30",
            "langchain-core==0.3.86",
            "langgraph==0.6.11",
            "langchain-openai==0.3.35",
            "langchain-anthropic==0.3.22",
        ),
        (f"{F}test_langchain_0_3.py",),
        "adapter",
    ),
    Environment(
        "pydantic-ai-1",
        ("pydantic-ai-slim[anthropic,openai]==1.107.10", "opentelemetry-sdk==1.45.2"),
        (f"{A}test_pydantic_ai.py", f"{A}test_pydantic_ai_spans.py"),
        "adapter",
        theirs=("ignore:Iterating `AgentEventStream` directly:DeprecationWarning",),
        cannot={
            f"{PYDANTIC}test_an_agent_inside_the_block_is_heard_however_it_is_run[by_iter]": (
                "its fake model counts other tokens when it is not asked to stream; the same holds with the capability"
            ),
            f"{PYDANTIC}test_a_run_that_is_asked_to_stop_stops_the_agent_at_its_next_step[token-by_iter]": NO_EVENT,
            f"{PYDANTIC}test_a_run_that_is_asked_to_stop_stops_the_agent_at_its_next_step[token-by_run_stream]": NO_EVENT,
            f"{PYDANTIC}test_a_call_that_the_users_own_code_approves_on_the_way_is_a_short_pause": (
                "pydantic-ai 1 does not tell that the call waits; it runs as the same call, without a pause"
            ),
            f"{PYDANTIC}test_a_sync_call_inside_a_running_loop_fails_as_it_does_without": (
                "pydantic-ai 1 itself leaves a coroutine there that nobody awaits"
            ),
        },
    ),
    Environment(
        "llama-index-core-0.13",
        ("llama-index-core==0.13.6",),
        (f"{F}test_llama_index_0_13.py",),
        "adapter",
        theirs=("ignore::pydantic.warnings.UnsupportedFieldAttributeWarning",),
    ),
    Environment("dspy-3.0", ("dspy==3.0.4",), PROGRAMS, "adapter", (LITELLM,), NO_END),
    Environment("dspy-2.6", ("dspy==2.6.27",), PROGRAMS, "adapter", (LITELLM,), NO_END),
    Environment("openai-2", ("openai==2.54.0", "anthropic==0.125.0", "google-genai==2.34.0"), CLIENTS, "streams"),
    Environment(
        "openai-1",
        ("openai==1.109.1", "anthropic==0.125.0", "google-genai==1.75.0"),
        CLIENTS,
        "streams",
        cannot={
            f"{A}test_google_genai.py::test_functions_that_the_sdk_calls_itself_make_several_calls_in_one_stream": (
                "google-genai 1.75 ends its stream behind such a call"
            )
        },
    ),
)
"""All of them."""


def main(names: list[str]) -> int:
    """Makes the environments of these names, or all, and runs their tests; returns the exit code."""
    unknown = set(names) - {one.name for one in ENVIRONMENTS}
    if unknown:
        sys.stderr.write(f"environments are {', '.join(one.name for one in ENVIRONMENTS)}, not {', '.join(sorted(unknown))}\n")
        return 2
    missing, failed = [], []
    for one in ENVIRONMENTS:
        if names and one.name not in names:
            continue
        print(f"\n{one.name}: {' '.join(one.packages)}", flush=True)
        try:
            one.bring()
        except subprocess.CalledProcessError:
            missing.append(one.name)
        else:
            failed += [] if one.run() else [one.name]
    for what, those in (("not installed", missing), ("failed", failed)):
        print(f"{len(those)} {what}{''.join(f' {name}' for name in those)}")
    return 1 if missing or failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
