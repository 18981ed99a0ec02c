"""Values on their way into the log: a copy in plain JSON, with secrets masked.

Arguments and results belong to somebody else, who may change them later; an event is a fact, so it holds a copy. What JSON cannot
hold is kept as its repr. Strings are shared, not copied: they cannot change.
"""

from __future__ import annotations

import dataclasses
import math
import re
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

Redact: TypeAlias = Callable[[str], str]
"""Takes a text and returns it with the secrets in it masked."""

MASK = "[secret]"

# Nothing of the secret is kept: a first and a last few letters are themselves a leak.
_SHAPES = re.compile(
    r"""
      \bsk-[A-Za-z0-9_-]{16,}                      # OpenAI, Anthropic and those who followed them
    | \b(?:sk|pk|rk)_(?:live|test)_[A-Za-z0-9]{16,}  # Stripe
    | \bgh[pousr]_[A-Za-z0-9]{30,}                 # GitHub
    | \bgithub_pat_[A-Za-z0-9_]{30,}
    | \bglpat-[A-Za-z0-9_-]{20,}                   # GitLab
    | \bxox[abeprs]-[A-Za-z0-9-]{10,}              # Slack
    | \bAKIA[0-9A-Z]{16}\b                         # AWS access key id
    | \bAIza[A-Za-z0-9_-]{35}                      # Google
    | \bhf_[A-Za-z0-9]{30,}                        # Hugging Face
    | \bnpm_[A-Za-z0-9]{36}
    | \bpypi-[A-Za-z0-9_-]{50,}
    | \beyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*   # JSON web token
    | -----BEGIN[ A-Z]*PRIVATE[ ]KEY-----.*?(?:-----END[ A-Z]*PRIVATE[ ]KEY-----|\Z)
    """,
    re.VERBOSE | re.DOTALL,
)
_BEARER = re.compile(r"\b(Bearer|Basic)\s+[A-Za-z0-9._~+/=-]{12,}")
_IN_ADDRESS = re.compile(r"(\b[a-z][a-z0-9+.-]*://[^/\s:@]*):[^/\s:@]+@")
_NAMES = re.compile(
    r"(?:^|[_\-. ])(?:password|passwd|passphrase|secret|secret[_-]?key|client[_-]?secret|api[_-]?key|apikey|access[_-]?token|"
    r"refresh[_-]?token|auth[_-]?token|bearer[_-]?token|id[_-]?token|private[_-]?key|authorization|x[_-]api[_-]key|cookie|set[_-]cookie)$",
    re.IGNORECASE,
)
_ASSIGNED = re.compile(
    r"""(?i)(["']?\b(?:password|passwd|secret|client_secret|api_?key|access_token|refresh_token|auth_token)["']?\s*[=:]\s*["']?)[^\s"',;&}]{4,}"""
)

MAX_DEPTH = 40
"""Containers inside containers that are copied; what is deeper is kept as its repr."""


def mask_secrets(text: str) -> str:
    """`text` with everything masked that has the shape of a key, a token, a password in an address or a private key."""
    text = _SHAPES.sub(MASK, text)
    text = _BEARER.sub(rf"\1 {MASK}", text)
    text = _IN_ADDRESS.sub(rf"\1:{MASK}@", text)
    return _ASSIGNED.sub(rf"\1{MASK}", text)


def plain(value: Any, *, redact: Redact = mask_secrets) -> Any:
    """A copy of `value` in JSON's types, with secrets masked; never raises.

    A value under a name that says secret (`api_key`, `password`, `authorization`, …) is masked whole. Numbers that JSON does not
    know (NaN, infinities) and objects of other types become text. When `redact` itself raises, the text is masked whole: what the
    masker could not read must not get through.
    """
    return _Copy(redact).value(value, 0)


class _Copy:
    def __init__(self, redact: Redact) -> None:
        self._redact = redact

    def text(self, text: str) -> str:
        try:
            return self._redact(text)
        except Exception:  # noqa: BLE001 - somebody else's function; fails closed
            return MASK

    def value(self, value: Any, depth: int) -> Any:
        if value is None or type(value) in (bool, int):
            return value
        if type(value) is str:
            return self.text(value)
        if isinstance(value, float):
            return float(value) if math.isfinite(value) else str(float(value))
        if isinstance(value, bytes | bytearray | memoryview):
            return f"<{len(value):,} bytes>"
        if depth >= MAX_DEPTH:
            return self.other(value)
        try:
            if isinstance(value, Mapping):
                return {str(key): self.named(str(key), item, depth + 1) for key, item in value.items()}
            if isinstance(value, list | tuple | set | frozenset):
                return [self.value(item, depth + 1) for item in value]
            if dataclasses.is_dataclass(value) and not isinstance(value, type):
                return {
                    item.name: self.named(item.name, getattr(value, item.name), depth + 1) for item in dataclasses.fields(value)
                }
            dump = getattr(type(value), "model_dump", None)  # pydantic's models, the SDKs' own objects among them
            if callable(dump):
                return self.value(dump(value, mode="json"), depth + 1)
        except Exception:  # noqa: BLE001 - a hostile or half-built object; its repr is the next best
            return self.other(value)
        return self.other(value)

    def named(self, name: str, value: Any, depth: int) -> Any:
        if isinstance(value, str | bytes) and value and _NAMES.search(name):
            return MASK
        return self.value(value, depth)

    def other(self, value: Any) -> str:
        try:
            return self.text(str(value) if isinstance(value, str | int) else repr(value))
        except Exception:  # noqa: BLE001 - a broken __repr__
            return f"<{type(value).__name__}>"
