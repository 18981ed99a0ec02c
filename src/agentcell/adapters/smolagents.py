"""Hears smolagents: what an agent's own generator brings, step by step, whether the user reads it or `agent.run` does.

A model is asked at the beginning of each step. What it took stands in the step, which is not handed out before it is over, but lies in
the generator from its beginning on. When one of several tools raises, the step tells of none of the others.
"""

from __future__ import annotations

from asyncio import CancelledError
from collections import deque
from typing import TYPE_CHECKING, Any, ClassVar

from agentcell.adapters.fields import arguments_of, count_of, field, items_of, plain, text_of
from agentcell.adapters.hearing import heard
from agentcell.adapters.ledger import Ledger
from agentcell.adapters.smolagents_code import Words
from agentcell.errors import first_line
from agentcell.events import LimitReached, Noted, ToolOffer, Usage

if TYPE_CHECKING:
    from collections.abc import Mapping

    from agentcell.adapters.ledger import Turn
    from agentcell.run import Run

ANSWERS = "final_answer"
"""The tool that ends a run: what it is given is the answer."""
CODE = "python_interpreter"
"""What an agent's own code is called, as a tool."""
NOTE = 160
"""Characters of an error that is shown as a row of its own."""

LOST = "its result was lost, because another tool raised"


class SmolagentsAdapter:
    """Tells one run of the agents of smolagents."""

    framework: ClassVar[str] = "smolagents"

    def __init__(self, run: Run) -> None:
        self.run = run
        self.ledger = Ledger(run)
        self.events: deque[Any] = deque(maxlen=64)  # the newest that were heard without a word: nobody tells them again
        self.heard: dict[int, int] = {}  # by the `id` of an agent: how often its generator is heard now
        self._steps: AgentRun | None = None  # the agent of which step callbacks alone tell
        self._step: Any = None  # the newest that they told of

    def close(self, error: BaseException | None = None) -> None:
        """The run's block is left."""
        self.ledger.close(error)

    def begin(self, agent: Any, around: tuple[AgentRun, str] | None = None, *, sees_tools: bool = False) -> AgentRun:
        """An agent is about to run; `around` is the agent and the key of its tool call that this happens in, if one does."""
        key, name = self.run.new_id(), text_of(agent, "name") or type(agent).__name__
        if around is None or not self.ledger.is_here(around[0].turn, around[1]):
            return AgentRun(self, agent, key, self.ledger.turn(key, name), sees_tools=sees_tools)
        outer, tool = around
        outer.turn.start_agent(key, name, agent=outer.agent, inside=tool)
        return AgentRun(self, agent, key, outer.turn, nested=key, sees_tools=sees_tools)

    @heard
    def on_step(self, step: Any, agent: Any = None) -> None:
        """A step callback: told when a step is over."""
        if self.heard.get(id(agent)) or step is self._step:
            return
        self._step = step
        if self._steps is None or self._steps.over:
            self._steps = self.begin(agent)
        told = self._steps
        told.hear(step, step)
        if field(step, "is_final_answer") is True or type(field(step, "error")).__name__ == "AgentMaxStepsError":
            told.answer(field(step, "action_output", "observations"))
            told.finish()
        self.run.raise_if_stopping()


class AgentRun:
    """One run of an agent: the user's own, or that of a managed agent.

    Attributes:
        turn: Where it is told.
        agent: Its key as a sub-agent; "" for one that the user's code called.
        of: The agent itself.
        over: Whether it has ended.
        code: The key of the code that runs now; "" for none.
    """

    def __init__(
        self, adapter: SmolagentsAdapter, agent: Any, key: str, turn: Turn, *, nested: str = "", sees_tools: bool = False
    ) -> None:
        self.turn = turn
        self.agent = nested
        self.of = agent
        self.over = False
        self.code = ""
        self._adapter = adapter
        self._key = key
        self._sees_tools = sees_tools  # whether somebody tells when a tool begins and ends
        self._asked = 0
        self._last: Any = None  # the newest step
        self._told: set[str] = set()  # keys of the tool calls of this step
        self._open: dict[str, str] = {}  # tool calls that have no end: how the agent's errors call them
        self._ask()

    def hear(self, event: Any, step: Any = None) -> None:
        """Takes one event; `step` is the step that is being made, as far as it has come."""
        match type(event).__name__:
            case "ChatMessageStreamDelta":
                self.turn.write(self._model, self._words.read(text_of(event, "content")), agent=self.agent)
            case "ToolCall":
                self._end_model(step)
                self._start_tool(event)
            case "ToolOutput":
                self._end_tool(self._tool(event), result=plain(field(event, "output")))
            case "ActionStep" if event is self._last:
                self._reach_limit()
            case "ActionStep":
                self._end_step(event)
            case "PlanningStep":
                self._end_plan(event)
            case "FinalAnswerStep":
                self.answer(field(event, "output"))

    def answer(self, output: Any) -> None:
        """What the agent answers."""
        if not self.agent:
            self.turn.answer(str(output))

    def finish(self, error: BaseException | None = None) -> None:
        """The agent has ended, with its answer or with an error."""
        if self.over:
            return
        self.over = True
        if isinstance(error, Exception) and field(self.of, "interrupt_switch") is True:
            error = CancelledError(first_line(error))  # the person said `agent.interrupt()`
        if self.agent:
            self.turn.end_agent(self.agent, error=error)
        else:
            self.turn.close(error)

    def run_tool(self, name: str, arguments: Any) -> str | None:
        """A tool begins to run; returns its key, None for one that nobody asked for."""
        if name == ANSWERS:
            return None
        key = self._adapter.ledger.asked(name, arguments_of(arguments), among=self._open)
        if key is not None:
            self.turn.start_tool(key, name, agent=self.agent)
        return key

    def call_tool(self, name: str, arguments: Mapping[str, Any]) -> str | None:
        """A tool is called by the code that runs; returns its key."""
        if name == ANSWERS or not self.code:
            return None
        key = self.turn.run.new_id()
        self.turn.start_tool(key, name, arguments, agent=self.agent, inside=self.code)
        return key

    @property
    def _model(self) -> str:
        return f"{self._key}/{self._asked}"

    def _ask(self) -> None:
        """A model is asked."""
        self._asked += 1
        self._told = set()
        tools = field(self.of, "tools")
        offers = [
            ToolOffer(name, text_of(tool, "description"))
            for name, tool in (tools.items() if isinstance(tools, dict) else ())
            if name != ANSWERS
        ]
        model = text_of(field(self.of, "model"), "model_id") or None
        self.turn.start_model(self._model, agent=self.agent, model=model, tools=offers)
        self._words = Words(self.of)

    def _end_model(self, step: Any, text: str | None = None) -> None:
        """The model has said what it had to say, which never is the answer itself."""
        said = self._words.whole(field(step, "model_output")) if text is None else text
        asked = items_of(field(step, "model_output_message"), "tool_calls")
        self.turn.end_model(self._model, text=said, usage=usage_of(step), tool_calls=len(asked) or 1)

    def _start_tool(self, call: Any) -> None:
        name, told = text_of(call, "name"), field(call, "arguments")
        if name == ANSWERS:
            return
        if name == CODE:  # its ids count the steps, the same in every agent
            self.code = f"{self._key} {text_of(call, 'id')}"
            self.turn.start_tool(self.code, name, {"code": told}, agent=self.agent, model=self._model)
            return
        key = self._tool(call)
        self._told.add(key)
        self._open[key] = f"'{name}' with arguments {told}"
        begin = self.turn.ask_tool if self._sees_tools else self.turn.start_tool
        begin(key, name, arguments_of(told), agent=self.agent, model=self._model)

    def _tool(self, call: Any) -> str:
        """The key of a tool call: agents side by side may ask their models under the same ids."""
        return self.turn.own_key(text_of(call, "id"), self.agent)

    def _end_tool(self, key: str, *, result: Any = None, error: str | None = None) -> None:
        if self._open.pop(key, None) is not None:
            self.turn.end_tool(key, result=result, error=error)

    def _end_step(self, step: Any) -> None:
        self._last = step
        error = field(step, "error")
        if type(error).__name__ == "AgentMaxStepsError":  # a callback is told of it as of a step
            self._tell_limit(step)
            return
        if error is None and field(step, "observations") is None:
            return  # it broke off: what the model or a tool raised comes next
        self._end_model(step)
        for call in items_of(step, "tool_calls"):  # a callback is told of them only here
            if not self.code and self._tool(call) not in self._told:
                self._start_tool(call)
        self._end_tools(step, error)
        if field(step, "is_final_answer") is not True:
            self._ask()

    def _end_tools(self, step: Any, error: Any) -> None:
        said, line = ("", None) if error is None else (str(error), first_line(error))
        blamed, alone = bool(self.code), len(self._open) == 1
        if self.code:
            self.turn.end_tool(self.code, result=plain(field(step, "observations")), error=line)
            self.code = ""
        for key, name in tuple(self._open.items()):
            if error is None:
                self._end_tool(key, result=field(step, "observations"))
            elif name in said or alone:
                blamed = True
                self._end_tool(key, error=line)
        for key in tuple(self._open):
            del self._open[key]
            self.turn.refuse_tool(key, LOST)
        if error is not None and not blamed:  # what the model wrote could not be read, or its answer did not pass a check
            self.turn.run.record(Noted(text=" ".join(said.split())[:NOTE]))

    def _end_plan(self, step: Any) -> None:
        self._end_model(step, text=text_of(field(step, "model_output_message"), "content"))
        self._ask()

    def _reach_limit(self) -> None:
        """The last step comes once more when there can be no other: the model was asked for an answer without tools."""
        last = next(reversed(items_of(field(self.of, "memory"), "steps")), None)
        if type(field(last, "error")).__name__ == "AgentMaxStepsError":
            self._tell_limit(last)

    def _tell_limit(self, step: Any) -> None:
        self._end_model(step)
        self.turn.run.record(LimitReached(kind="steps", limit=count_of(self.of, "max_steps") or None))


def usage_of(step: Any) -> Usage | None:
    """The tokens of a step, None when its model did not count them."""
    usage = field(step, "token_usage")
    return None if usage is None else Usage(count_of(usage, "input_tokens"), count_of(usage, "output_tokens"))
