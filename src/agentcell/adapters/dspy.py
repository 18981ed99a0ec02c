"""Listens to DSPy through one callback: modules, language models, tools, retrievers and interpreters.

The outermost module, or whatever else is called by itself, is a turn, and its prediction is the answer: what the model writes is
only the form that DSPy asks for. A module of the user's inside another is a sub-agent.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, ClassVar

from agentcell.adapters.dspy_predictions import answer_in, thinking_in, usage_of
from agentcell.adapters.fields import text_of
from agentcell.adapters.hearing import heard, interruption
from agentcell.adapters.ledger import Ledger
from agentcell.context import run_for_tool

if TYPE_CHECKING:
    from collections.abc import Callable

    from typing_extensions import Self

    from agentcell.adapters.ledger import Turn
    from agentcell.run import Run
    from agentcell.tool_call import FrameworkCall


@dataclass(slots=True)
class _Call:
    """One call that goes on.

    Attributes:
        turn: The turn that it belongs to.
        parent: The call around it, None for the outermost.
        instance: What is called.
        agent: The key of the sub-agent that it belongs to; "" is the agent itself.
        tool: The key of the tool call that it is, or is made in; None when an agent stands between.
        inside: Of a tool, what makes its own code a part of it.
    """

    turn: Turn
    parent: _Call | None
    instance: Any
    agent: str = ""
    tool: str | None = None
    inside: FrameworkCall | None = None


class DSPyAdapter:
    """The callbacks.

    Attributes:
        run: The run that hears.
    """

    framework: ClassVar[str] = "DSPy"

    def __init__(self, run: Run) -> None:
        self.run = run
        self.ledger = Ledger(run)
        self._calls: dict[str, _Call] = {}
        self._many: list[_Call] = []  # evaluations and optimizers at work, the innermost last

    def __deepcopy__(self, _memo: Any) -> Self:
        return self  # DSPy copies its modules, with the callbacks that they were given

    def close(self, error: BaseException | None = None) -> None:
        """The run's block is left."""
        self.ledger.close(error)
        self._calls.clear()
        self._many.clear()

    # Modules

    @heard
    def on_module_start(self, call_id: str, instance: Any, inputs: Mapping[str, Any]) -> None:
        self.run.raise_if_stopping()
        with self.ledger.lock:
            if type(instance).__name__ == "Retrieve":
                self._start_tool(call_id, instance, "Retrieve", _arguments_in(inputs))
                return
            call = self._begin(call_id, instance)
            if call is None or call.parent is None or type(instance).__name__ == "Predict":
                return
            if call.tool is not None or not _is_builtin(call.parent.instance):
                call.turn.start_agent(call_id, _name_in(call.parent.instance, instance), agent=call.agent, inside=call.tool)
                call.agent, call.tool = call_id, None

    @heard
    def on_module_end(self, call_id: str, outputs: Any, exception: BaseException | None = None) -> None:
        exception = exception or interruption()  # DSPy 3.0 calls that from a `finally` and tells of errors alone
        with self.ledger.lock:
            call = self._calls.pop(call_id, None)
            if call is None:
                return
            if call.tool == call_id:
                call.turn.end_tool(call_id, result=getattr(outputs, "passages", outputs), error=exception)
            if type(call.instance).__name__ == "Predict":
                call.turn.tell_thought(thinking_in(outputs), agent=call.agent)
            if call.agent == call_id:
                call.turn.end_agent(call_id, error=exception)
            if call.parent is None and exception is None and call.tool is None:
                call.turn.answer(answer_in(outputs))
            self._leave(call, exception)

    @heard
    def on_evaluate_start(self, call_id: str, instance: Any, inputs: Mapping[str, Any]) -> None:  # noqa: ARG002 - DSPy names them
        """Calls a program for many examples: of these only the tokens are told, they are too many to be read."""
        self.run.raise_if_stopping()
        with self.ledger.lock:
            call = self._begin(call_id, instance)
            if call is not None:
                call.turn.start_agent(call_id, type(instance).__name__, agent=call.agent, inside=call.tool)
                call.agent, call.tool = call_id, None
                self._many.append(call)

    @heard
    def on_evaluate_end(self, call_id: str, outputs: Any, exception: BaseException | None = None) -> None:  # noqa: ARG002
        exception = exception or interruption()
        with self.ledger.lock:
            call = self._calls.pop(call_id, None)
            if call is not None:
                self._many.remove(call)
                call.turn.end_agent(call_id, error=exception)
                self._leave(call, exception)

    on_compile_start, on_compile_end = on_evaluate_start, on_evaluate_end

    # Models

    @heard
    def on_lm_start(self, call_id: str, instance: Any, inputs: Mapping[str, Any]) -> None:  # noqa: ARG002 - DSPy names them
        self.run.raise_if_stopping()
        with self.ledger.lock:
            call = self._begin(call_id, instance, one_of_many=True)
            if call is not None:
                name = text_of(instance, "model")
                if call.tool is not None:  # a model that a tool asks speaks to that tool
                    call.turn.start_agent(call_id, name or "Model", agent=call.agent, inside=call.tool)
                    call.agent = call_id
                provider = name.partition("/")[0] if "/" in name else None
                call.turn.start_model(call_id, agent=call.agent, model=name or None, provider=provider)

    @heard
    def on_lm_end(self, call_id: str, outputs: Any, exception: BaseException | None = None) -> None:
        exception = exception or interruption()
        with self.ledger.lock:
            call = self._calls.pop(call_id, None)
            if call is None:
                return
            said = outputs if isinstance(outputs, list) else []
            thinking = text_of(said[0], "reasoning_content") if said and isinstance(said[0], Mapping) else None
            usage = None if exception is not None else usage_of(call.instance, outputs)
            call.turn.end_model(call_id, thinking=thinking, usage=usage, error=exception)
            if call.agent == call_id:
                call.turn.end_agent(call_id, error=exception)
            if call.parent is None and said:
                call.turn.answer(said[0] if isinstance(said[0], str) else text_of(said[0], "text"))
            self._leave(call, exception)

    # Tools

    @heard
    def on_tool_start(self, call_id: str, instance: Any, inputs: Mapping[str, Any]) -> None:
        self.run.raise_if_stopping()
        with self.ledger.lock:
            name = text_of(instance, "name") or "tool"
            parent = self._parent()
            if name == "finish" and parent is not None and type(parent.instance).__name__.startswith("ReAct"):
                return  # how such a module says that it is done
            self._start_tool(call_id, instance, name, _arguments_in(inputs))

    @heard
    def on_tool_end(self, call_id: str, outputs: Any, exception: BaseException | None = None) -> None:
        exception = exception or interruption()
        with self.ledger.lock:
            call = self._calls.pop(call_id, None)
            if call is not None:
                if call.inside is not None:
                    call.inside.leave()
                call.turn.end_tool(call_id, result=outputs, error=exception)
                self._leave(call, exception)

    @heard
    def on_interpreter_execute_start(self, call_id: str, instance: Any, inputs: Mapping[str, Any]) -> None:
        with self.ledger.lock:
            self._start_tool(call_id, instance, "python", {"code": inputs.get("code")})

    on_interpreter_execute_end = on_tool_end

    def _start_tool(self, call_id: str, instance: Any, name: str, arguments: Mapping[str, Any]) -> None:
        call = self._begin(call_id, instance)
        if call is not None:
            call.turn.start_tool(call_id, name, arguments, agent=call.agent, inside=call.tool)
            call.tool, call.inside = call_id, call.turn.enter_tool(call_id)

    def _begin(self, call_id: str, instance: Any, *, one_of_many: bool = False) -> _Call | None:
        """A call begins; None for one that is known (whoever gave the callback twice is told once), or is one of too many."""
        if call_id in self._calls:
            return None
        parent = self._parent()
        if self._many and (parent is None or parent is self._many[-1]):
            if not one_of_many and not type(instance).__name__.startswith("Evaluate"):
                return None
            parent = self._many[-1]
        if parent is None:
            call = _Call(self.ledger.turn(call_id), None, instance)
        else:
            call = _Call(parent.turn, parent, instance, parent.agent, parent.tool)
        self._calls[call_id] = call
        return call

    def _parent(self) -> _Call | None:
        from dspy.utils.callback import ACTIVE_CALL_ID

        return self._calls.get(ACTIVE_CALL_ID.get() or "")

    def _leave(self, call: _Call, error: BaseException | None) -> None:
        if call.parent is None:
            call.turn.close(error)
            for call_id in [call_id for call_id, one in self._calls.items() if one.turn is call.turn]:
                del self._calls[call_id]


@cache
def callback_class() -> type[DSPyAdapter]:
    """The callbacks as the class that DSPy takes; DSPy has to be there."""
    from dspy.utils.callback import BaseCallback

    return type("DSPyCallback", (DSPyAdapter, BaseCallback), {})


def attach() -> Callable[[], None]:
    """Gives every call of DSPy the callback of the run here, beside those that are set; returns what ends that.

    DSPy asks its settings for the callbacks at each call, and they are another set in each `dspy.context`; so the question is
    answered, and no setting changed.
    """
    from dspy.dsp.utils.settings import Settings

    asked = Settings.get

    def get(self: Any, key: str, default: Any = None) -> Any:
        found = asked(self, key, default)
        run = run_for_tool() if key == "callbacks" else None
        if run is None or not run.options.auto:
            return found
        ours = run.adapter(callback_class())
        return found if ours in found else [*found, ours]

    Settings.get = get

    def detach() -> None:
        if Settings.get is get:
            Settings.get = asked

    return detach


def _is_builtin(module: Any) -> bool:
    """Whether a module is DSPy's own: the modules in it are its business."""
    return type(module).__module__.partition(".")[0] == "dspy"


def _name_in(parent: Any, module: Any) -> str:
    """What a module is called: the name of the attribute that holds it, or its class."""
    names = [name for name, value in getattr(parent, "__dict__", {}).items() if value is module]
    return names[0] if names else type(module).__name__


def _arguments_in(inputs: Mapping[str, Any]) -> Mapping[str, Any]:
    named = inputs.get("kwargs") or {}
    return {**{str(place): value for place, value in enumerate(inputs.get("args") or ())}, **named} or {
        name: value for name, value in inputs.items() if name not in ("args", "kwargs") and value is not None
    }
