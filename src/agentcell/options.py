"""What `watch` was asked for."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from agentcell.redact import Redact, mask_secrets

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True, slots=True, kw_only=True)
class RunOptions:
    """The options of a run; `watch` checks and documents them."""

    task: str = ""
    agent: str = "Agent"
    model: str | None = None
    asker: str = "you"
    live_steps: int = 4
    expand: Literal["auto", "open", "closed"] = "auto"
    thinking: Literal["show", "hide"] = "show"
    split: Literal["auto", "off"] = "auto"
    images: Literal["link", "all"] = "link"
    persist: Literal["snapshot", "widget"] = "snapshot"
    expand_trace: bool = False
    auto: bool = True
    redact: Redact = field(default=mask_secrets, compare=False)
    templates: Mapping[str, str] | None = field(default=None, compare=False)
