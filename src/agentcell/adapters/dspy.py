"""Listens to DSPy through one callback: modules, language models, tools, retrievers and interpreters.

The outermost module, or whatever else is called by itself, is a turn, and its prediction is the answer: what the model writes is
only the form that DSPy asks for. A module of the user's inside another is a sub-agent.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING, Any, ClassVar

from agentcell.adapters.ambient import run_here
from agentcell.adapters.dspy_calls import Calls
from agentcell.adapters.dspy_predictions import thinking_in, usage_of
from agentcell.adapters.fields import text_of
from agentcell.adapters.hearing import heard, interruption
from agentcell.context import run_for_tool

if TYPE_CHECKING:
    from collections.abc import Callable

    from typing_extensions import Self

    from agentcell.run import Run

_DONE = {"ReAct": "finish", "ReActV2": "submit"}
"""The tool by which a module of DSPy's own lets its model say that it is done."""


class DSPyAdapter:
    """The callbacks.

    Attributes:
        run: The run that hears.
        calls: What goes on.
    """

    framework: ClassVar[str] = "DSPy"

    def __init__(self, run: Run) -> None:
        self.run = run
        self.calls = Calls(run)
        self._lock = self.calls.ledger.lock

    def __deepcopy__(self, _memo: Any) -> Self:
        return self  # DSPy copies its modules, with the callbacks that they were given

    def close(self, error: BaseException | None = None) -> None:
        """The run's block is left."""
        with self._lock:
            self.calls.close(error)

    # Modules

    @heard
    def on_module_start(self, call_id: str, instance: Any, inputs: Mapping[str, Any]) -> None:
        self.run.raise_if_stopping()
        with self._lock:
            if type(instance).__name__ == "Retrieve":
                self.calls.start_tool(call_id, instance, "Retrieve", _arguments_in(inputs))
                return
            call = self.calls.begin(call_id, instance)
            if call is None or call.parent is None or call.kind == "Predict":
                return
            if call.tool is not None or not _is_builtin(call.parent.instance):
                call.turn.start_agent(call_id, _name_in(call.parent.instance, instance), agent=call.agent, inside=call.tool)
                call.agent, call.tool = call_id, None

    @heard
    def on_module_end(self, call_id: str, outputs: Any, exception: BaseException | None = None) -> None:
        exception = exception or interruption()  # DSPy 3.0 calls that from a `finally` and tells of errors alone
        with self._lock:
            call = self.calls.take(call_id)
            if call is None:
                return
            if call.tool == call_id:
                call.turn.end_tool(call_id, result=getattr(outputs, "passages", outputs), error=exception)
            elif call.kind == "Predict" and thinking_in(outputs) != call.thought:
                call.turn.tell_thought(thinking_in(outputs), agent=call.agent)
            if call.parent is None and exception is None and not call.is_for_a_tool:
                call.answer.end(outputs)
            self.calls.leave(call, exception)

    @heard
    def on_evaluate_start(self, call_id: str, instance: Any, inputs: Mapping[str, Any]) -> None:  # noqa: ARG002 - DSPy names them
        """Calls a program for many examples: of these only the tokens are told, they are too many to be read."""
        self.run.raise_if_stopping()
        with self._lock:
            self.calls.begin_many(call_id, instance)

    @heard
    def on_evaluate_end(self, call_id: str, outputs: Any, exception: BaseException | None = None) -> None:  # noqa: ARG002
        exception = exception or interruption()
        with self._lock:
            call = self.calls.take(call_id)
            if call is not None:
                self.calls.leave(call, exception)

    on_compile_start, on_compile_end = on_evaluate_start, on_evaluate_end

    def hear_piece(self, predict: Any, name: str, text: str) -> None:
        """A piece of one of a predictor's fields streamed in; one that comes when the call is over has been told with its end."""
        with self.run.guarding(f"listening to {self.framework}"), self._lock:
            call = self.calls.newest_of(predict)
            if call is not None and not call.is_for_a_tool:
                call.answer.hear(call.id, predict, name, text)

    # Models

    @heard
    def on_lm_start(self, call_id: str, instance: Any, inputs: Mapping[str, Any]) -> None:  # noqa: ARG002 - DSPy names them
        self.run.raise_if_stopping()
        with self._lock:
            call = self.calls.begin(call_id, instance, one_of_many=True)
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
        with self._lock:
            call = self.calls.take(call_id)
            if call is None:
                return
            said = outputs if isinstance(outputs, list) else []
            thinking = text_of(said[0], "reasoning_content") if said and isinstance(said[0], Mapping) else ""
            if call.parent is not None:
                call.parent.thought = thinking
            usage = None if exception is not None else usage_of(call.instance, outputs)
            call.turn.end_model(call_id, thinking=thinking, usage=usage, error=exception)
            if call.parent is None and said and not call.is_for_a_tool:
                call.turn.answer(said[0] if isinstance(said[0], str) else text_of(said[0], "text"))
            self.calls.leave(call, exception)

    # Tools

    @heard
    def on_tool_start(self, call_id: str, instance: Any, inputs: Mapping[str, Any]) -> None:
        self.run.raise_if_stopping()
        with self._lock:
            name = text_of(instance, "name") or "tool"
            around = self.calls.around()
            if around is None or _DONE.get(around.kind) != name:
                self.calls.start_tool(call_id, instance, name, _arguments_in(inputs))

    @heard
    def on_tool_end(self, call_id: str, outputs: Any, exception: BaseException | None = None) -> None:
        exception = exception or interruption()
        with self._lock:
            call = self.calls.take(call_id)
            if call is not None:
                if call.inside is not None:
                    call.inside.leave()
                call.turn.end_tool(call_id, result=outputs, error=exception)
                self.calls.leave(call, exception)

    @heard
    def on_interpreter_execute_start(self, call_id: str, instance: Any, inputs: Mapping[str, Any]) -> None:
        with self._lock:
            self.calls.start_tool(call_id, instance, "python", {"code": inputs.get("code")})

    on_interpreter_execute_end = on_tool_end


@cache
def callback_class() -> type[DSPyAdapter]:
    """The callbacks as the class that DSPy takes; DSPy has to be there."""
    from dspy.utils.callback import BaseCallback

    return type("DSPyCallback", (DSPyAdapter, BaseCallback), {})


def attach() -> Callable[[], None]:
    """Gives every call of DSPy the callback of the run here, beside those that are set; returns what ends that.

    DSPy asks its settings for the callbacks at each call, and they are another set in each `dspy.context`; so the question is
    answered, and no setting changed. What streams is heard where the user's listeners hear it.
    """
    from dspy.dsp.utils.settings import Settings

    from agentcell.adapters.dspy_streams import attach_listeners

    asked = Settings.get

    def get(self: Any, key: str, default: Any = None) -> Any:
        found = asked(self, key, default)
        adapter = _adapter_here() if key == "callbacks" else None
        return found if adapter is None or adapter in found else [*found, adapter]

    Settings.get = get
    detach_listeners = attach_listeners(_adapter_here)

    def detach() -> None:
        detach_listeners()
        if Settings.get is get:
            Settings.get = asked

    return detach


def _adapter_here() -> DSPyAdapter | None:
    run = run_here() or run_for_tool()  # DSPy's own threads do not know their context
    return None if run is None or not run.options.auto else run.adapter(callback_class())


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
