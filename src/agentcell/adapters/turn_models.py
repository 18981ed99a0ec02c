"""A turn's model calls and what is said in them: word by word, as a whole, or both."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentcell.adapters.turn_state import ModelPart, TurnState, verdict
from agentcell.events import (
    ModelEnded,
    ModelStarted,
    TextDelta,
    ThinkingBlock,
    ThinkingDelta,
    ThinkingEnded,
    ToolOffer,
    TurnEnded,
    Usage,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from agentcell.adapters.model_call import ModelCall


class TurnModels(TurnState):
    """Tells of the model calls what the run has not been told. One begins with its first word, if its start was not told."""

    def adopt(self, call: ModelCall) -> None:
        """The first model call of this turn is one that was begun already; one that comes too late for that is over."""
        self._end_adopted(None)
        self._adopted = call.hand_over()
        if self._models or self._ended_models:
            self._end_adopted(None)

    def start_model(
        self,
        key: str,
        *,
        agent: str = "",
        model: str | None = None,
        provider: str | None = None,
        tools: Iterable[ToolOffer] = (),
        strand: str = "",
    ) -> None:
        """A model is asked. A second start with the same key tells more about the same call.

        `strand` tells conversations apart that go on side by side, as in the nodes of a graph.
        """
        with self._ledger.lock:
            known = self._models.get(key)
            if known is None:
                self._ended_models.pop(key, None)
                if strand:
                    self._strand_of[key] = strand
                agent_id = self._agents.get(agent, "")
                voice = self.voice if agent in self._speakers else agent_id
                known = self._models[key] = ModelPart(self._adopted or self.run.new_id(), agent_id, voice)
                self._adopted = ""
                self._ledger.model_ids.add(known.call_id)
            self._record(
                ModelStarted(
                    model_call_id=known.call_id, agent_id=known.agent_id, model=model, provider=provider, tools=tuple(tools)
                ),
                key,
            )

    def write(self, key: str, text: str, *, agent: str = "") -> None:
        """More text of a model call."""
        with self._ledger.lock:
            call = self._speaking(key, agent) if text else None
            if call is not None:
                self._end_thinking(call)
                call.text.append(text)
                self._spoken = call.text if call.voice == self.voice else self._spoken
                self._record(TextDelta(text=text, model_call_id=call.call_id, agent_id=call.voice))

    def think(self, key: str, text: str, *, agent: str = "") -> None:
        """More of a model's reasoning."""
        with self._ledger.lock:
            call = self._speaking(key, agent) if text else None
            if call is not None:
                if call.thinks_from is None:
                    call.thinks_from = len(call.thought)
                call.thought.append(text)
                self._record(ThinkingDelta(text=text, model_call_id=call.call_id, agent_id=call.agent_id))

    def reconcile(self, key: str, *, text: str | None = None, thinking: str | None = None, agent: str = "") -> None:
        """All that a model call has said so far, in words or in its reasoning: of that only what no delta has told is new."""
        with self._ledger.lock:
            call = self._speaking(key, agent)
            if call is not None:
                self.think(key, missing(call.thought, thinking))
                self.write(key, missing(call.text, text))

    def end_thinking(self, key: str, blocks: Sequence[ThinkingBlock] = ()) -> None:
        """A stretch of reasoning is complete: `blocks` as the provider gave them, or what was told of it."""
        with self._ledger.lock:
            call = self._models.get(key)
            if call is not None:
                self._end_thinking(call, blocks)

    def end_model(
        self,
        key: str,
        *,
        text: str | None = None,
        thinking: str | None = None,
        usage: Usage | None = None,
        model: str | None = None,
        finish_reason: str | None = None,
        response_id: str | None = None,
        tool_calls: int | None = None,
        error: BaseException | str | None = None,
        duration: float | None = None,
        cost: float | None = None,
    ) -> None:
        """A model call is over. Of `text` and `thinking`, which are whole, only what no delta has told is new.

        Args:
            key: The call.
            text: All that the model wrote, None where the deltas are all there is.
            thinking: All of its reasoning, likewise.
            usage: Its tokens.
            model: The model's name.
            finish_reason: The provider's word.
            response_id: The provider's id of the response.
            tool_calls: How many tools it asked for.
            error: Why it failed or was cancelled.
            duration: Seconds, as the framework measured them.
            cost: US dollars, as the framework told them.
        """
        with self._ledger.lock:
            if key in self._ended_models:
                return
            call = self._models.get(key)
            if call is None:
                self.start_model(key)
                call = self._models[key]
            self.reconcile(key, text=text, thinking=thinking)
            self._end_thinking(call)
            del self._models[key]
            self._ended_models[key] = call.call_id
            outcome, said, _ = verdict(error)
            self._record(
                ModelEnded(
                    model_call_id=call.call_id,
                    agent_id=call.voice,
                    model=model,
                    usage=usage,
                    finish_reason=finish_reason,
                    outcome=outcome,
                    error=said,
                    response_id=response_id,
                    tool_calls=tool_calls,
                    duration=duration,
                    cost=cost,
                )
            )

    def charge(self, cost: float) -> None:
        """The framework says what the turn cost so far, in US dollars, all of its model calls together."""
        with self._ledger.lock:
            calls = (*self._ended_models.values(), *(call.call_id for call in self._models.values()))
            self._record(TurnEnded(cost=cost, model_call_ids=calls))

    def is_asked(self, key: str) -> bool:
        """Whether a model call with this key goes on."""
        return key in self._models

    def answer(self, text: str) -> None:
        """What the agent answers as a whole; of words that it said last itself, or one that `speaks` for it, nothing is told again.

        The words may be another's all the same: those of a sub-agent, of a tool, or of the agent's code.
        """
        with self._ledger.lock:
            if not "".join(self._spoken).strip().endswith(text.strip()):
                self._say(text, new=self.run.answered)

    def speak(self, text: str) -> None:
        """More of an answer in words that no model call of the agent's said."""
        with self._ledger.lock:
            if text:
                self._say(text, new=self.run.answered and not self._answered)

    def _say(self, text: str, *, new: bool) -> None:
        if self._spoken is not self._answered:
            self._answered = self._spoken = []
        self._answered.append(text)
        if self.is_inside:
            self._record(TextDelta(text=text, agent_id=self.voice))
            return
        self.run.answered = True
        self._record(TextDelta(text="\n\n" * new + text))

    def tell_thought(self, text: str, *, agent: str = "") -> None:
        """Reasoning that comes whole, behind the end of the model call that thought."""
        if text:
            blocks = (ThinkingBlock(content=text),)
            self._record(ThinkingEnded(model_call_id=self.run.new_id(), agent_id=self._agents.get(agent, ""), blocks=blocks))

    def is_over(self, key: str) -> bool:
        """Whether a model call with this key has ended."""
        return key in self._ended_models

    def _end_adopted(self, error: BaseException | str | None) -> None:
        if self._adopted:
            outcome, said, _ = verdict(error)
            self._record(ModelEnded(model_call_id=self._adopted, outcome=outcome, error=said))
            self._adopted = ""

    def _speaking(self, key: str, agent: str) -> ModelPart | None:
        """The model call that says something; it begins with that, and is None when it is over."""
        if key in self._ended_models:
            return None
        if key not in self._models:
            self.start_model(key, agent=agent)
        return self._models[key]

    def _end_thinking(self, call: ModelPart, blocks: Sequence[ThinkingBlock] = ()) -> None:
        if call.thinks_from is not None or blocks:
            given = tuple(blocks) or (ThinkingBlock(content="".join(call.thought[call.thinks_from :])),)
            call.thinks_from = None
            self._record(ThinkingEnded(model_call_id=call.call_id, agent_id=call.agent_id, blocks=given))


def missing(told: Sequence[str], whole: str | None) -> str:
    """What of the whole has not been told: its tail, nothing when the pieces say something else."""
    if not whole:
        return ""
    so_far = "".join(told)
    return whole[len(so_far) :] if whole.startswith(so_far) else ""
