"""Reads AG-UI events: a run of an agent that is somewhere else, and speaks the Agent User Interaction Protocol."""

from __future__ import annotations

from asyncio import CancelledError
from typing import TYPE_CHECKING, Any, ClassVar

from agentcell.adapters.ag_ui_events import KINDS, Asked, Speaker, Told, content_of, event_of, key_in, usage_of
from agentcell.adapters.fields import arguments_of, field, items_of, message_of, text_of
from agentcell.adapters.ledger import Ledger
from agentcell.adapters.model_call import CLOSED, CUT
from agentcell.events import Noted, TextDelta, Usage

if TYPE_CHECKING:
    from agentcell.adapters.ledger import Turn
    from agentcell.adapters.model_call import ModelCall
    from agentcell.run import Run


class AgUiAdapter:
    """Hears all remote agents of one run."""

    framework: ClassVar[str] = "AG-UI"

    def __init__(self, run: Run) -> None:
        self.run = run
        self.ledger = Ledger(run)
        self.threads: dict[str, list[str]] = {}  # by thread: the pauses that wait for its next run

    def close(self, error: BaseException | None = None) -> None:
        """The block is left."""
        self.ledger.close(error)


class AgUiReader:
    """Reads the events of a remote agent, as objects of the `ag_ui` package, as dicts or as lines of server-sent events."""

    derived: ClassVar[frozenset[str]] = frozenset()

    def __init__(self, call: ModelCall) -> None:
        self.call = self
        self._first = call
        self._adapter: AgUiAdapter = call.run.adapter(AgUiAdapter)
        self._turn: Turn | None = None
        self._thread = ""
        self._speakers: dict[str, Speaker] = {}
        self._told = Told()

    @staticmethod
    def takes(kind: str, event: Any, /) -> bool:
        """Whether this is an AG-UI event, or a line of a stream of them."""
        if isinstance(event, (str, bytes)):
            event = event_of(event)
            if not event:  # what separates events, or is said about them
                return event is not None
            kind = text_of(event, "type")
        return kind.startswith(KINDS) or kind in ("RAW", "CUSTOM")

    def read(self, event: Any) -> None:
        """Records what one event says."""
        if isinstance(event, (str, bytes)):
            event = event_of(event)
        if event:
            self._read(text_of(event, "type"), event)

    def finish(self, error: BaseException | None = None, *, closed: bool = False) -> None:
        """The stream is over: a run that goes on was cut off."""
        if self._turn is None:
            self._first.finish(error, closed=closed)
        else:
            self._close(error or CancelledError(CLOSED if closed else CUT))

    def _read(self, kind: str, event: Any) -> None:
        agent = text_of(event, "subagent_run_id", "subagentRunId")
        if kind == "RUN_STARTED":
            self._start(event)
            return
        turn = self._turn or self._start(event)
        speaker = self._speakers.setdefault(agent, Speaker(agent))
        match kind.replace("THINKING_TEXT_MESSAGE", "REASONING_MESSAGE"):
            case "RUN_FINISHED" | "RUN_ERROR":
                self._finish(turn, kind, event)
            case "TEXT_MESSAGE_START" | "TEXT_MESSAGE_CONTENT" | "TEXT_MESSAGE_CHUNK":
                self._read_text(turn, speaker, event)
            case "REASONING_MESSAGE_CONTENT" | "REASONING_MESSAGE_CHUNK":
                self._begin(turn, speaker, again=speaker.spoke)
                turn.think(speaker.model, text_of(event, "delta"), agent=agent)
            case "REASONING_MESSAGE_END":
                turn.end_thinking(speaker.model)
            case "TOOL_CALL_START" | "TOOL_CALL_ARGS" | "TOOL_CALL_CHUNK" | "TOOL_CALL_END":
                self._read_call(turn, speaker, event, ended=kind == "TOOL_CALL_END")
            case "TOOL_CALL_RESULT":
                self._end_call(turn, event)
            case "SUBAGENT_STARTED":
                turn.start_agent(
                    agent,
                    text_of(event, "name"),
                    agent=text_of(event, "parent_subagent_run_id", "parentSubagentRunId"),
                    inside=key_in(turn, event, "parent_tool_call_id", "parentToolCallId"),
                )
            case "SUBAGENT_FINISHED":
                if text_of(field(event, "outcome"), "type") == "suspended":
                    turn.suspend_agent(agent)
                else:
                    turn.end_agent(agent)
            case "SUBAGENT_ERROR":
                turn.end_agent(agent, error=message_of(event))
            case "STEP_STARTED":
                self._adapter.run.record(Noted(text=text_of(event, "step_name", "stepName")))
            case "MESSAGES_SNAPSHOT":
                self._reconcile(turn, items_of(event, "messages"))
            case "CUSTOM":
                self._read_own(turn, text_of(event, "name"), field(event, "value"))
            case _:
                pass  # the agent's state, and what only its own front end can show

    def _start(self, event: Any) -> Turn:
        """A remote run begins; what waited for the person in its thread goes on with it."""
        self._close(None)
        self._thread = text_of(event, "thread_id", "threadId")
        for key in self._adapter.threads.pop(self._thread, ()):
            self._adapter.ledger.resume(key)
        self._speakers, self._told = {}, Told()
        self._turn = self._adapter.ledger.turn(text_of(event, "run_id", "runId") or self._adapter.run.new_id(), "")
        self._turn.adopt(self._first)
        return self._turn

    def _close(self, error: BaseException | str | None) -> None:
        if self._turn is not None:
            self._turn.close(error)
            self._turn = None

    def _finish(self, turn: Turn, kind: str, event: Any) -> None:
        counted = items_of(event, "usage")
        speaker = self._speakers[""]
        error = message_of(event) if kind == "RUN_ERROR" else None
        if counted or error:
            # The whole run's tokens are told at its end, so the last call stands for all of them.
            self._begin(turn, speaker)
            models = {text_of(one, "model") for one in counted}
            turn.end_model(
                speaker.model,
                usage=sum(map(usage_of, counted), Usage()) if counted else None,
                model=models.pop() or None if len(models) == 1 else None,
                tool_calls=speaker.asked,
                error=error,
            )
        outcome = field(event, "outcome")
        for interrupt in items_of(outcome, "interrupts"):
            key = text_of(interrupt, "id")
            question = text_of(interrupt, "message") or text_of(interrupt, "reason")
            turn.pause(key, question, call=key_in(turn, interrupt, "tool_call_id", "toolCallId"))
            self._adapter.threads.setdefault(self._thread, []).append(key)
        self._close(CancelledError("the agent was stopped") if text_of(outcome, "type") == "cancelled" else error)

    def _begin(self, turn: Turn, speaker: Speaker, *, again: bool = False) -> None:
        """A model call of the speaker goes on, or another one begins."""
        if again and not speaker.over:
            turn.end_model(speaker.model, tool_calls=speaker.asked)
            speaker.over = True
        if speaker.over:
            speaker.count += 1
            speaker.spoke, speaker.over, speaker.asked = False, False, 0
            turn.start_model(speaker.model, agent=speaker.agent)

    def _read_text(self, turn: Turn, speaker: Speaker, event: Any) -> None:
        message = text_of(event, "message_id", "messageId")
        if message and message != speaker.message:
            own = field(field(field(event, "metadata"), "agentcell"), "own")
            speaker.message, speaker.role = message, "code" if own else text_of(event, "role") or "assistant"
            if speaker.spoke and not speaker.over:
                turn.end_model(speaker.model, tool_calls=speaker.asked)
                speaker.over = True
        delta = text_of(event, "delta")
        if speaker.role == "code":
            self._adapter.run.record(TextDelta(text=delta))
        elif delta and speaker.role == "assistant":
            self._begin(turn, speaker)
            speaker.spoke = True
            self._told.texts[speaker.message] = self._told.texts.get(speaker.message, "") + delta
            turn.write(speaker.model, delta, agent=speaker.agent)

    def _read_call(self, turn: Turn, speaker: Speaker, event: Any, *, ended: bool) -> None:
        call_id = text_of(event, "tool_call_id", "toolCallId") or speaker.tool
        known = self._told.calls.get(call_id)
        if known is None:
            speaker.tool = call_id
            self._begin(turn, speaker)
            speaker.asked += 1
            known = self._told.calls[call_id] = Asked(text_of(event, "tool_call_name", "toolCallName"), speaker, speaker.model)
            turn.ask_tool(turn.own_key(call_id), known.name, agent=speaker.agent, model=speaker.model)
        known.arguments += text_of(event, "delta")
        if ended:  # the arguments, not the tool
            turn.ask_tool(turn.own_key(call_id), known.name, arguments_of(known.arguments), agent=speaker.agent, model=known.model)

    def _end_call(self, turn: Turn, event: Any) -> None:
        call_id = text_of(event, "tool_call_id", "toolCallId")
        known, key = self._told.calls.get(call_id), turn.own_key(call_id)
        if known is not None and not known.speaker.over and known.speaker.model == known.model:
            turn.end_model(known.speaker.model, tool_calls=known.speaker.asked)
            known.speaker.over = True
        if known is not None:  # a producer of chunks does not say that the arguments are complete
            turn.ask_tool(key, known.name, arguments_of(known.arguments), agent=known.speaker.agent, model=known.model)
        content = content_of(event)
        outcome = text_of(field(field(event, "metadata"), "agentcell"), "outcome")
        failure = text_of(event, "error") or (str(content) if outcome == "failed" else "")
        if outcome == "cancelled":
            turn.refuse_tool(key, str(content))
        elif failure:
            turn.end_tool(key, error=failure)
        else:
            turn.end_tool(key, result=content)

    def _reconcile(self, turn: Turn, messages: Any) -> None:
        """A snapshot of the conversation: of what follows the person's last word, only what is missing is told."""
        newest = max((at for at, one in enumerate(messages) if text_of(one, "role") == "user"), default=-1)
        for message in messages[newest + 1 :]:
            agent = text_of(message, "subagent_run_id", "subagentRunId")
            speaker = self._speakers.setdefault(agent, Speaker(agent))
            match text_of(message, "role"):
                case "assistant":
                    text = text_of(message, "content")
                    told = self._told.texts.get(text_of(message, "id"), "")
                    if text.startswith(told) and text not in ("", *self._told.texts.values()):
                        speaker.message = text_of(message, "id") if told else speaker.message
                        self._read_text(turn, speaker, {"messageId": text_of(message, "id"), "delta": text[len(told) :]})
                    for call in items_of(message, "tool_calls", "toolCalls"):
                        if text_of(call, "id") not in self._told.calls:
                            function = field(call, "function")
                            named = {"toolCallId": text_of(call, "id"), "toolCallName": text_of(function, "name")}
                            delta = {"delta": text_of(function, "arguments")}
                            self._read_call(turn, speaker, {**named, **delta}, ended=True)
                case "tool":
                    self._end_call(turn, message)
                case _:
                    pass

    def _read_own(self, turn: Turn, name: str, value: Any) -> None:
        """What `run.to_ag_ui()` says beyond the protocol."""
        key = text_of(value, "id")
        match name:
            case "agentcell.progress":
                turn.progress(key_in(turn, value, "toolCallId") or "", field(value, "payload"))
            case "agentcell.pause":
                choices = [choice for choice in items_of(value, "choices") if isinstance(choice, str)]
                turn.pause(key, text_of(value, "question"), choices=choices, call=key_in(turn, value, "toolCallId"))
            case "agentcell.resume":
                self._adapter.ledger.resume(key, field(value, "answer"))
            case _:
                pass
