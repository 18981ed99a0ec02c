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
from dataclasses import dataclass
from pathlib import Path

import tomllib

ROOT = Path(__file__).resolve().parents[2]
HOME = ROOT / ".venv" / "frameworks"


@dataclass(frozen=True, slots=True)
class Environment:
    """An environment of its own.

    Attributes:
        name: Its folder's name.
        packages: What is installed beside agentcell and pytest, the framework itself first.
        tests: The files that run in it.
    """

    name: str
    packages: tuple[str, ...]
    tests: tuple[str, ...]

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
        """Runs its tests; whether they passed, all of them that are there."""
        # Telemetry of the frameworks' makers is not ours to send.
        quiet = {
            "CREWAI_DISABLE_TELEMETRY": "true",
            "OTEL_SDK_DISABLED": "false",
            "AGNO_TELEMETRY": "false",
            "CREWAI_TRACING_ENABLED": "false",
        }
        done = subprocess.run(
            [str(self.python), "-m", "pytest", "-p", "no:cacheprovider", "-q", *self.tests],
            cwd=ROOT,
            env={**os.environ, **quiet},
            check=False,
        )
        return done.returncode == 0


def tools() -> list[str]:
    """pytest, at the release that the project's own environment has."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    return [pin for pin in project["dependency-groups"]["dev"] if str(pin).startswith(("pytest==", "nbclient==", "ipykernel=="))]


A = "tests/adapters/"
CLIENTS = tuple(
    f"{A}test_{name}.py"
    for name in ("openai_chat", "openai_responses", "anthropic_messages", "google_genai", "stream_clients", "tool_runners")
)

ENVIRONMENTS = (
    Environment("google-adk", ("google-adk==2.13.0",), ("tests/frameworks/test_google_adk.py",)),
    Environment("claude-agent-sdk", ("claude-agent-sdk==0.2.189",), ("tests/frameworks/test_claude_agent.py",)),
    Environment(
        "crewai",
        ("crewai==1.15.30", "openinference-instrumentation-crewai==1.1.21"),
        ("tests/frameworks/test_crewai.py",),
    ),
    Environment("strands-agents", ("strands-agents[openai]==1.62.0",), ("tests/frameworks/test_strands.py",)),
    Environment(
        "autogen",
        ("autogen-agentchat==0.7.5", "autogen-ext[openai]==0.7.5", "openinference-instrumentation-openai==0.1.66"),
        ("tests/frameworks/test_autogen.py",),
    ),
    Environment(
        "agno",
        ("agno==3.1.10", "openai==3.57.0", "openinference-instrumentation-agno==1.0.15"),
        ("tests/frameworks/test_agno.py",),
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
        (f"{A}test_langchain.py", f"{A}test_langchain_tools.py", f"{A}test_langgraph.py"),
    ),
    Environment(
        "pydantic-ai-1",
        ("pydantic-ai-slim[anthropic,openai]==1.107.10", "opentelemetry-sdk==1.45.2"),
        (f"{A}test_pydantic_ai.py", f"{A}test_pydantic_ai_spans.py"),
    ),
    Environment("llama-index-core-0.13", ("llama-index-core==0.13.6",), (f"{A}test_llama_index.py",)),
    Environment("dspy-3.0", ("dspy==3.0.4",), (f"{A}test_dspy.py",)),
    Environment("dspy-2.6", ("dspy==2.6.27",), (f"{A}test_dspy.py",)),
    Environment("openai-2", ("openai==2.54.0", "anthropic==0.125.0", "google-genai==2.34.0"), CLIENTS),
    Environment("openai-1", ("openai==1.109.1", "anthropic==0.125.0", "google-genai==1.75.0"), CLIENTS),
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
            continue
        if not one.run():
            failed.append(one.name)
    print(
        f"\n{len(missing)} not installed{': ' if missing else ''}{', '.join(missing)}; {len(failed)} failed{': ' if failed else ''}{', '.join(failed)}"
    )
    return 1 if missing or failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
