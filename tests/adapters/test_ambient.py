"""Frameworks are heard inside a block without another word, also when they are imported there, and nothing stays behind."""

import asyncio
import sys
import textwrap
import threading
import warnings
from importlib import import_module
from importlib.machinery import ModuleSpec

import pytest

import agentcell
from agentcell.adapters.ambient import AMBIENCE, Ambience, Framework, run_here
from agentcell.adapters.hearing import heard
from agentcell.errors import AgentcellWarning
from agentcell.run import Run


@pytest.fixture
def framework(tmp_path, monkeypatch):
    """A framework with one process-wide list of hooks, and an adapter for it."""
    (tmp_path / "an_agent_framework.py").write_text("hooks = []\n")
    (tmp_path / "an_adapter.py").write_text(
        textwrap.dedent(
            """
            from agentcell.adapters.ambient import run_here

            def attach():
                import an_agent_framework

                def hook(text):
                    run = run_here()
                    if run is not None:
                        run.step(text)

                an_agent_framework.hooks.append(hook)
                return lambda: an_agent_framework.hooks.remove(hook)
            """
        )
    )
    monkeypatch.syspath_prepend(tmp_path)
    yield Framework("an_agent_framework", "an_adapter")
    for name in ("an_agent_framework", "an_adapter"):
        sys.modules.pop(name, None)


def call_hooks(text):
    for hook in sys.modules["an_agent_framework"].hooks:
        hook(text)


def test_a_framework_that_was_imported_before_is_heard_from_the_beginning(framework):
    import an_agent_framework

    ambience, run = Ambience((framework,)), Run()
    ambience.enter(run)
    assert len(an_agent_framework.hooks) == 1
    ambience.leave(run)
    assert an_agent_framework.hooks == []


def test_a_framework_that_is_imported_inside_the_block_is_heard_from_then_on(framework):
    ambience, run, finders = Ambience((framework,)), Run(), list(sys.meta_path)
    ambience.enter(run)
    assert "an_agent_framework" not in sys.modules
    import an_agent_framework

    assert len(an_agent_framework.hooks) == 1
    assert type(an_agent_framework.__loader__).__name__ == type(an_agent_framework.__spec__.loader).__name__ == "SourceFileLoader"
    ambience.leave(run)
    assert an_agent_framework.hooks == []
    assert sys.meta_path == finders


@pytest.mark.parametrize("meanwhile", ["open", "left"])
def test_a_framework_that_another_thread_is_importing_when_the_block_is_entered_is_heard_once_it_is_there(
    tmp_path, framework, meanwhile
):
    begun, go_on = threading.Event(), threading.Event()
    code = "import sys\nsys.begun.set()\nassert sys.go_on.wait(60)\nhooks = []\n"
    (tmp_path / "an_agent_framework.py").write_text(code)
    sys.begun, sys.go_on = begun, go_on
    ambience, run = Ambience((framework,)), Run()
    importing = threading.Thread(target=import_module, args=("an_agent_framework",))
    try:
        importing.start()
        assert begun.wait(60)
        ambience.enter(run)
        if meanwhile == "left":
            ambience.leave(run)
        go_on.set()
        importing.join()
    finally:
        del sys.begun, sys.go_on
    module = sys.modules["an_agent_framework"]
    assert len(module.hooks) == (meanwhile == "open")
    assert type(module.__spec__) is ModuleSpec
    assert "_agentcell_tell" not in vars(module.__spec__)
    ambience.leave(run)
    assert module.hooks == []


def test_two_blocks_share_one_hook_and_each_hears_its_own(framework, monkeypatch):
    monkeypatch.setattr(AMBIENCE, "_frameworks", (framework,))
    import an_agent_framework

    async def agent(name):
        with agentcell.watch(name, display=False) as run:
            for _ in range(3):
                await asyncio.sleep(0)
                call_hooks(name)
        return run

    async def both():
        return await asyncio.gather(agent("one"), agent("two"))

    one, two = asyncio.run(both())
    assert [step.text for step in one.steps] == ["one"] * 3
    assert [step.text for step in two.steps] == ["two"] * 3
    assert an_agent_framework.hooks == []


def test_the_innermost_block_hears_and_one_that_was_asked_not_to_hears_nothing(framework, monkeypatch):
    monkeypatch.setattr(AMBIENCE, "_frameworks", (framework,))
    import an_agent_framework  # noqa: F401

    with agentcell.watch(display=False) as outer:
        call_hooks("outer")
        with agentcell.watch(display=False, auto=False) as inner:
            assert run_here() is None
            call_hooks("nobody")
    assert [step.text for step in outer.steps] == ["outer"]
    assert inner.steps == ()


def test_without_auto_nothing_is_put_in_place(framework, monkeypatch):
    monkeypatch.setattr(AMBIENCE, "_frameworks", (framework,))
    import an_agent_framework

    finders = list(sys.meta_path)
    with agentcell.watch(display=False, auto=False):
        assert an_agent_framework.hooks == []
        assert sys.meta_path == finders


def test_an_adapter_that_cannot_attach_is_reported_and_the_block_goes_on(framework, monkeypatch):
    monkeypatch.setattr(AMBIENCE, "_frameworks", (Framework("sys", "a_module_that_is_not_there"),))
    with pytest.warns(AgentcellWarning, match="a_module_that_is_not_there"), agentcell.watch(display=False) as run:
        run.write("still here")
    assert run.outcome == "answered"


class Listener:
    framework = "a framework"

    def __init__(self, run):
        self.run = run

    @heard
    def told(self, value):
        return 1 / value

    @heard
    async def told_async(self, value):
        return 1 / value

    @heard
    def stop(self):
        self.run.raise_if_stopping()


def test_a_callback_never_raises_into_the_framework():
    run = Run()
    listener = Listener(run)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        assert listener.told(0) is None
        assert asyncio.run(listener.told_async(0)) is None
    assert run.faults == {"listening to a framework": 2}
    assert len(caught) == 1
    assert (listener.told(4), asyncio.run(listener.told_async(4))) == (0.25, 0.25)


def test_a_callback_lets_the_stop_of_the_run_through():
    run = Run()
    run.stop()
    with pytest.raises(agentcell.RunStopped):
        Listener(run).stop()
