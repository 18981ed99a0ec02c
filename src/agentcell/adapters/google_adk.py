"""Google's Agent Development Kit: every agent, model call and tool of a runner, as its plugins are told of them.

A tool that waits for the person's word has come back, as far as ADK is concerned, and the question is a tool call of its own beside it;
here it is the tool's own call that waits, and goes on when it is called again. An agent that runs inside a tool has an invocation of its
own, which belongs to the tool call that this code is in.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, ClassVar

from agentcell.adapters import google_adk_parts as parts
from agentcell.adapters.fields import field as field_of
from agentcell.adapters.fields import plain, text_of
from agentcell.adapters.google_adk_invocation import INSIDE, Inside, Invocation, leave, speaker_of
from agentcell.adapters.hearing import heard, interruption
from agentcell.adapters.ledger import Ledger
from agentcell.events import ToolOffer

if TYPE_CHECKING:
    from agentcell.run import Run


class GoogleADKAdapter:
    """Hears runners for one run; its methods are named as a plugin's are, and take what those take."""

    framework: ClassVar[str] = "Google ADK"

    def __init__(self, run: Run) -> None:
        self.run = run
        self.ledger = Ledger(run)
        self._open: dict[str, Invocation] = {}
        self._closed = False
        self.plugin: Any = None

    def close(self, error: BaseException | None = None) -> None:
        """The run's block is left: what comes later belongs to nobody."""
        self._closed = True
        for invocation_id in tuple(self._open):
            self.end_invocation(invocation_id, error)
        self.ledger.close(error)

    # Invocations

    def begin(self, context: Any) -> Invocation | None:
        """An invocation begins, unless it has; None behind the block."""
        known = self._open.get(context.invocation_id)
        if known is not None or self._closed:
            return known
        name, before = text_of(field_of(context, "agent"), "name"), sys.exc_info()[1]
        around = INSIDE.get()
        if around is None or around.invocation.over or not self.ledger.is_here(around.invocation.turn, around.key):
            invocation = Invocation(self.ledger.turn(context.invocation_id, name), first=name, before=before)
        else:
            own, turn = context.invocation_id, around.invocation.turn
            turn.start_agent(own, name, agent=around.agent, inside=around.key)
            invocation = Invocation(turn, own, name, before)
        invocation.agents[name] = invocation.own
        self._open[context.invocation_id] = invocation
        return invocation

    @heard
    def end_invocation(self, invocation_id: str, error: BaseException | None = None) -> None:
        """An invocation is over, if it is not."""
        invocation = self._open.pop(invocation_id, None)
        if invocation is None:
            return
        invocation.over = True
        for inside in tuple(invocation.calls.values()):
            leave(inside)
        if invocation.own:
            invocation.turn.end_agent(invocation.own, error=error)
        else:
            invocation.turn.close(error)

    @heard
    def on_user_message_callback(self, *, invocation_context: Any, user_message: Any) -> None:
        """Somebody calls the runner; the message may answer what a call waits for."""
        invocation = self.begin(invocation_context)
        if invocation is None:
            return
        for answer in parts.answers_in(user_message):
            key = invocation.key(answer.id)
            self.ledger.resume(key, parts.said_in(answer))
            if answer.name not in parts.REQUESTS:  # the result of a tool that ran outside
                invocation.turn.end_tool(key, result=plain(answer.response))

    @heard
    def before_run_callback(self, *, invocation_context: Any) -> None:
        """An invocation begins."""
        self.begin(invocation_context)

    @heard
    def after_run_callback(self, *, invocation_context: Any) -> None:
        """An invocation has come to its end, or nobody reads on."""
        invocation = self._open.get(invocation_context.invocation_id)
        if invocation is not None:
            self.end_invocation(invocation_context.invocation_id, interruption(invocation.before))

    @heard
    def on_run_error_callback(self, *, invocation_context: Any, error: BaseException) -> None:
        """An invocation has failed."""
        self.end_invocation(invocation_context.invocation_id, error)

    @heard
    def on_event_callback(self, *, invocation_context: Any, event: Any) -> None:
        """What the user gets to read: here a call has its id, and what an agent's own code says is told nowhere else."""
        invocation = self._open.get(invocation_context.invocation_id)
        if invocation is None or field_of(event, "partial"):
            return
        turn, author = invocation.turn, text_of(event, "author")
        model = invocation.models.get((author, text_of(event, "branch")), "")
        text, thinking = parts.words_of(field_of(event, "content"))
        if turn.is_asked(model):
            turn.end_model(model, text=text, thinking=thinking, usage=parts.usage_in(event))
        elif not model and text and author != "user" and not invocation.own:
            turn.answer(text)
        for call in parts.calls_in(field_of(event, "content")):
            if call.name in parts.REQUESTS:
                asked, question, choices = parts.waiting_in(call)
                waiting = invocation.key(asked) if asked else None
                turn.pause(invocation.key(call.id), question, choices=choices, call=waiting)
            else:
                arguments = plain(call.args) or {}
                turn.ask_tool(invocation.key(call.id), call.name, arguments, agent=invocation.agent(author), model=model)

    # Agents

    @heard
    def before_agent_callback(self, *, agent: Any, callback_context: Any) -> None:
        """An agent begins: the invocation's own, or one under it, which speaks to the person unless a tool has called it."""
        invocation = self._open.get(callback_context.invocation_id)
        if invocation is None or agent.name == invocation.first:
            return
        inside = INSIDE.get()
        called = inside is not None and inside.invocation is invocation
        key = invocation.agents[agent.name] = f"{callback_context.invocation_id}:{agent.name}"
        outer = invocation.agent(text_of(field_of(agent, "parent_agent"), "name"))
        invocation.turn.start_agent(
            key, agent.name, agent=outer, inside=inside.key if inside and called else None, speaks=not called
        )

    @heard
    def after_agent_callback(self, *, agent: Any, callback_context: Any) -> None:
        """An agent has come back; of one that is cancelled nothing else is told."""
        invocation = self._open.get(callback_context.invocation_id)
        error = None if invocation is None else interruption(invocation.before)
        if invocation is None:
            return
        self._end_agent(invocation, agent, error)
        if error is not None and agent.name == invocation.first:
            self.end_invocation(callback_context.invocation_id, error)

    @heard
    def on_agent_error_callback(self, *, agent: Any, callback_context: Any, error: BaseException) -> None:
        """An agent has failed."""
        invocation = self._open.get(callback_context.invocation_id)
        if invocation is not None:
            self._end_agent(invocation, agent, error)

    def _end_agent(self, invocation: Invocation, agent: Any, error: BaseException | None) -> None:
        if agent.name != invocation.first:
            invocation.turn.end_agent(invocation.agent(agent.name), error=error)

    # Model calls

    @heard
    def before_model_callback(self, *, callback_context: Any, llm_request: Any) -> None:
        """A model is about to be asked."""
        self.run.raise_if_stopping()
        invocation = self._open.get(callback_context.invocation_id)
        if invocation is None:
            return
        turn, speaker = invocation.turn, speaker_of(callback_context)
        before = invocation.models.get(speaker, "")
        if turn.is_asked(before):
            turn.end_model(before)
        invocation.count += 1
        key = invocation.models[speaker] = f"{callback_context.invocation_id}:{invocation.count}"
        offered = (field_of(llm_request, "tools_dict") or {}).values()
        turn.start_model(
            key,
            agent=invocation.agent(speaker[0]),
            model=text_of(llm_request, "model") or None,
            tools=[ToolOffer(tool.name, text_of(tool, "description")) for tool in offered],
        )

    @heard
    def after_model_callback(self, *, callback_context: Any, llm_response: Any) -> None:
        """A model says something, or has said all."""
        invocation = self._open.get(callback_context.invocation_id)
        key = invocation.models.get(speaker_of(callback_context)) if invocation is not None else None
        if invocation is None or key is None:
            return
        turn, content = invocation.turn, field_of(llm_response, "content")
        text, thinking = parts.words_of(content)
        if field_of(llm_response, "partial"):
            turn.think(key, thinking)
            turn.write(key, text)
            return
        turn.end_model(
            key,
            text=text,
            thinking=thinking,
            usage=parts.usage_in(llm_response),
            model=text_of(llm_response, "model_version") or None,
            finish_reason=text_of(llm_response, "finish_reason") or None,
            response_id=text_of(llm_response, "interaction_id") or None,
            tool_calls=len(parts.calls_in(content)) or None,
            error=parts.error_in(llm_response),
        )

    @heard
    def on_model_error_callback(self, *, callback_context: Any, llm_request: Any, error: BaseException) -> None:  # noqa: ARG002 - ADK's
        """A model call has failed."""
        invocation = self._open.get(callback_context.invocation_id)
        key = invocation.models.get(speaker_of(callback_context)) if invocation is not None else None
        if invocation is not None and key is not None:
            invocation.turn.end_model(key, error=error)

    # Tools

    @heard
    def before_tool_callback(self, *, tool: Any, tool_args: Any, tool_context: Any) -> None:
        """A tool begins to run, in the context of this code."""
        invocation = self._open.get(tool_context.invocation_id)
        if invocation is None:
            return
        turn, speaker = invocation.turn, speaker_of(tool_context)
        key, agent = invocation.key(tool_context.function_call_id), invocation.agent(speaker[0])
        turn.start_tool(key, tool.name, plain(tool_args), agent=agent, model=invocation.models.get(speaker, ""))
        inside = invocation.calls[key] = Inside(invocation, agent, key, turn.enter_tool(key), INSIDE.get())
        INSIDE.set(inside)

    @heard
    def after_tool_callback(self, *, tool: Any, tool_args: Any, tool_context: Any, result: Any) -> None:  # noqa: ARG002 - ADK's
        """A tool has come back: with a result, or to wait for the person or for something outside."""
        invocation = self._open.get(tool_context.invocation_id)
        if invocation is None:
            return
        turn, call_id = invocation.turn, tool_context.function_call_id
        key, actions = invocation.key(call_id), tool_context.actions
        leave(invocation.calls.pop(key, None))
        told = field_of(tool_context, "tool_confirmation")
        if call_id in actions.requested_tool_confirmations or call_id in actions.requested_auth_configs:
            return
        if field_of(tool, "is_long_running") and not result:
            turn.pause(key, f"`{tool.name}` waits for its result.", call=key)
        elif told is not None and not told.confirmed:
            turn.refuse_tool(key, "it was rejected")
        else:
            turn.end_tool(key, result=plain(result))

    @heard
    def on_tool_error_callback(self, *, tool: Any, tool_args: Any, tool_context: Any, error: BaseException) -> None:  # noqa: ARG002 - ADK's
        """A tool has raised, or was cancelled."""
        invocation = self._open.get(tool_context.invocation_id)
        if invocation is not None:
            key = invocation.key(tool_context.function_call_id)
            leave(invocation.calls.pop(key, None))
            invocation.turn.end_tool(key, error=error)
