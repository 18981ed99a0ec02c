"""What the model calls of a run took, each and those of a sub-agent together, for the rows of its trace."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING

from agentcell.cost import money_text, price_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from agentcell.events import Usage
    from agentcell.projections.calls import ModelRow
    from agentcell.projections.run import RunProjection


class Spending:
    """Costs of a run that is over.

    Attributes:
        tells_costs: Whether the cost of any call is known.
    """

    def __init__(self, run: RunProjection) -> None:
        self._models = run.calls.models
        self._costs = {
            number: None if model.charged else price_of(model.spent, run.life.started_at)
            for number, model in enumerate(self._models)
        }
        self._numbers = {id(model): number for number, model in enumerate(self._models)}
        self.tells_costs = any(cost is not None for cost in self._costs.values())

    def of(self, model: ModelRow) -> Decimal | None:
        """US dollars of one call, None for unknown."""
        return self._costs[self._numbers[id(model)]]

    def words_for(self, model: ModelRow) -> str:
        """The cost of a call in words; "" where no cost is told at all."""
        if model.charged:
            return "told for the whole turn only"
        if not self.tells_costs:
            return ""
        cost = self.of(model)
        if cost is None:
            return "unknown"
        return f"{money_text(cost)}{' at list price' if model.cost is None else ''}"

    def of_agents(self, parents: Mapping[int, int | None]) -> dict[int, tuple[Usage | None, Decimal | None]]:
        """Tokens and cost of each sub-agent, those of its own sub-agents among them; a response counts once.

        `parents` has the row of each sub-agent, and the row that it is under.
        """
        calls: dict[int, list[ModelRow]] = {}
        counted = {model.response_id or number: model for number, model in enumerate(self._models)}
        for model in counted.values():
            agent = model.parent
            while agent is not None and agent in parents:
                calls.setdefault(agent, []).append(model)
                agent = parents[agent]
        return {agent: self._together(models) for agent, models in calls.items()}

    def _together(self, models: Iterable[ModelRow]) -> tuple[Usage | None, Decimal | None]:
        """Tokens and cost of some calls; the cost is None unless it is known of each."""
        usage: Usage | None = None
        costs: list[Decimal | None] = []
        for model in models:
            if model.usage is not None:
                usage = model.usage if usage is None else usage + model.usage
            costs.append(self.of(model))
        known = [cost for cost in costs if cost is not None]
        return usage, sum(known, Decimal(0)) if len(known) == len(costs) else None
