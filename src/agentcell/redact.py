"""Values on their way into the log: a copy in plain JSON, with secrets masked.

Arguments and results belong to somebody else, who may change them later; an event is a fact, so it holds a copy. What JSON cannot
hold is kept as a text. Strings are shared, not copied: they cannot change.
"""

from __future__ import annotations

import base64
import dataclasses
import math
import numbers
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeAlias

Redact: TypeAlias = Callable[[str], str]
"""Takes a text and returns it with the secrets in it masked."""

MASK = "[secret]"

# Nothing of the secret is kept: a first and a last few letters are themselves a leak. Each pattern takes a time that grows with the
# text and no faster: no two of its starts can scan the same stretch.
_START = r"(?:(?<![A-Za-z0-9])|(?<=\\[nrt]))"  # also behind a line break that is written as \n
_SHAPES = re.compile(
    rf"""
    {_START}(?=[AGSdeghlnprstwxy])(?:   # the second look passes most letters by at once
      sk-(?=[a-z_-]{{0,24}}[A-Z0-9]|[a-z]{{20}})[A-Za-z0-9_-]{{16,}}   # OpenAI, Anthropic and those who followed them
    | (?:sk|pk|rk)_(?:live|test)_[A-Za-z0-9]{{16,}} | whsec_[A-Za-z0-9]{{24,}}   # Stripe
    | gh[pousr]_[A-Za-z0-9]{{30,}} | github_pat_[A-Za-z0-9_]{{30,}}
    | glpat-[A-Za-z0-9_-]{{20,}}                   # GitLab
    | xox[abeprs]-[A-Za-z0-9-]{{10,}} | xapp-[A-Za-z0-9-]{{20,}}   # Slack
    | A[KS]IA[0-9A-Z]{{16}}\b                      # AWS access key id
    | AIza[A-Za-z0-9_-]{{35}} | ya29\.[A-Za-z0-9_-]{{20,}} | GOCSPX-[A-Za-z0-9_-]{{20,}}   # Google
    | hf_[A-Za-z0-9]{{30,}} | r8_[A-Za-z0-9]{{30,}}   # Hugging Face, Replicate
    | gsk_[A-Za-z0-9]{{20,}} | xai-[A-Za-z0-9]{{20,}} | pplx-[A-Za-z0-9]{{20,}} | nvapi-[A-Za-z0-9_-]{{20,}}
    | tvly-[A-Za-z0-9-]{{16,}} | lsv2_(?:pt|sk)_[A-Za-z0-9_]{{20,}}   # Tavily, LangSmith
    | npm_[A-Za-z0-9]{{36}} | pypi-[A-Za-z0-9_-]{{50,}}
    | SG\.[A-Za-z0-9_-]{{16,64}}\.[A-Za-z0-9_-]{{16,}}   # SendGrid
    | dapi[0-9a-f]{{32}}\b | dop_v1_[0-9a-f]{{64}} | hvs\.[A-Za-z0-9_-]{{20,}}   # Databricks, DigitalOcean, Vault
    | (?<![_-])eyJ[A-Za-z0-9_-]{{8,}}\.eyJ[A-Za-z0-9_-]{{8,}}\.[A-Za-z0-9_-]*   # JSON web token
    )
    | -----BEGIN[ A-Z]{{0,40}}PRIVATE[ ]KEY-----.*?(?:-----END[ A-Z]{{0,40}}PRIVATE[ ]KEY-----|\Z)
    """,
    re.VERBOSE | re.DOTALL,
)
_SCHEME = re.compile(r"\b((?i:bearer|basic)\s{1,9})([A-Za-z0-9._~+/-]{6,}=*)")
_IN_ADDRESS = re.compile(r"""(?i)\b([a-z][a-z0-9+.-]{0,20}://[^\s/:@"'<>]*):[^\s/?\#"'<>]+@""")

# What stands under such a name is a secret. The weak ones are words of everyday language too: there the value has to look like one.
_NAME = (
    r"(?i:(?:pg|db)?pass(?:word|wd|phrase)|(?:api|access|private|secret|signing|encryption|account|session)[_ -]?key"
    r"|(?:access|refresh|auth|bearer|id|api|session|bot|csrf|xsrf|security)[_-]?token|client[_-]?secret|connection[_-]?string)"
)
_WEAK_NAME = r"(?i:secret|cookie|authorization|auth|credential|session[_-]?id)"
_WORD = r"(?:(?<![A-Za-z])|(?<=\\[nrt])|(?<=[a-z])(?=[A-Z]))"  # also in OPENAI_API_KEY and dbPassword
_NAMES = re.compile(rf"{_WORD}(?:{_NAME}|{_WEAK_NAME})s?(?:[_-]?\d+)?$")
_ASSIGNED = re.compile(
    rf"""
    (?=[abcdeiprstxABCDEIPRSTX]){_WORD}(?P<head>
      (?:{_NAME}|(?P<weak>{_WEAK_NAME}|(?P<token>(?i:token))))s?\\*["']?\s{{0,9}}(?P<sign>[=:])\s{{0,9}}
      (?:(?P<double>")|(?P<single>')|(?P<escaped>\\+["']))?
      (?P<scheme>(?i:bearer|basic|token|apikey)\s{{1,9}})?
    )
    (?P<value>(?(double)(?:[^"\\\n]|\\.)+|(?(single)(?:[^'\\\n]|\\.)+|(?(escaped)[^"'\\\n]+|[^\s"',;&}})\]<>\\]+))))
    """,
    re.VERBOSE,
)
_PAIR = re.compile(r"(?<![A-Za-z])((?i:auth)\s?=\s?)\([^()\n]{3,200}\)")  # auth=('kim', 'hunter2'), as `requests` takes it
_MASKED = re.compile(r"[*•●·.…]+")  # somebody has masked it before
_NO_SECRETS = frozenset(("none", "null", "true", "false", "str", "string", "undefined", "required", "optional"))

_BESIDE_A_WORD = ("logprob", "logprobs", "top_logprobs", "prob", "token_id")
"""What stands beside a `token` that is a word of a language model's, and no secret."""

MAX_DEPTH = 40
"""Containers inside containers that are copied; of what is deeper the kind and the size are kept."""

MAX_ITEMS = 100_000
"""Values that are copied of one value, all in all: a value that holds itself many times over never ends. The cut is stated."""


def mask_secrets(text: str) -> str:
    """`text` with everything masked that has the shape of a key, a token, a password in an address or a private key."""
    text = _SHAPES.sub(MASK, text)
    text = _SCHEME.sub(_mask_after_scheme, text)
    text = _IN_ADDRESS.sub(rf"\1:{MASK}@", text)
    text = _PAIR.sub(rf"\1{MASK}", text)
    return _ASSIGNED.sub(_mask_assigned, text)


def _mask_after_scheme(found: re.Match[str]) -> str:
    """`Bearer` and `Basic` are words of everyday language too; what follows them there is a word."""
    scheme, value = found.groups()
    if scheme[:5].lower() == "basic":
        try:
            is_secret = b":" in base64.b64decode(value, validate=True)
        except ValueError:
            is_secret = False
    else:
        is_secret = len(value) >= 12 and (len(value) >= 24 or re.search("[0-9=]|[a-z][A-Z]", value) is not None)
    return f"{scheme}{MASK}" if is_secret else found[0]


def _mask_assigned(found: re.Match[str]) -> str:
    head, value = found["head"], found["value"]
    quoted = head[-1] in "\"'"
    if value.lower() in _NO_SECRETS or len(value) < 3 or value in (MASK, MASK[:-1]) or _MASKED.fullmatch(value):
        return found[0]
    if found["weak"] and len(value) < 16 and not found["scheme"]:
        if not (quoted or found["sign"] == "="):
            return found[0]
        if found["token"] and not _is_token(found):
            return found[0]
    return f"{head}{MASK}"


def _is_token(found: re.Match[str]) -> bool:
    """Whether something short is a secret: as in `token="…"`, but neither in `max_tokens=512` nor in `"token": "Paris"`."""
    text, start, end = found.string, found.start(), found.end("token")
    whole = not text[max(0, start - 1) : start].strip(" \t\n(,?&;{[<") and text[end : end + 1] not in "sS"
    return whole and found["sign"] == "=" and not found["value"].isdecimal()


def plain(value: Any, *, redact: Redact = mask_secrets) -> Any:
    """A copy of `value` in JSON's types, with secrets masked; never raises.

    A value under a name that says secret (`api_key`, `password`, `authorization`, …) is masked whole; so is one word under `token`,
    unless its probability stands beside it. Numbers that JSON does not know (NaN, infinities) or nobody can read (thousands of
    digits) and objects of other types become text, and so does what is in itself or lies too deep. When `redact` itself raises, the
    text is masked whole: what the masker could not read must not get through.
    """
    return _Copy(redact).value(value, 0)


class _Copy:
    def __init__(self, redact: Redact) -> None:
        self._redact = redact
        self._inside: set[int] = set()
        self._left = MAX_ITEMS

    def text(self, text: str) -> str:
        try:
            masked = self._redact(text)
        except Exception:  # noqa: BLE001 - somebody else's function; fails closed
            return MASK
        return masked if isinstance(masked, str) else MASK

    def value(self, value: Any, depth: int) -> Any:
        if value is None or type(value) is bool:
            return value
        if type(value) is str:
            return self.text(value)
        try:
            if type(value) is int:
                # Python refuses to write a number of thousands of digits, and so does whatever reads the file.
                return value if value.bit_length() <= 1024 else f"<whole number of {value.bit_length():,} bits>"
            if issubclass(type(value), numbers.Integral) and not issubclass(type(value), int):  # numpy's whole numbers
                return self.value(int(value), depth)
            if isinstance(value, numbers.Real) and not isinstance(value, numbers.Rational):  # floats, and numpy's
                value = float(value)
                return value if math.isfinite(value) else str(float(value))
            if isinstance(value, bytes | bytearray):
                return f"<{len(value):,} bytes>"
            if isinstance(value, memoryview):
                return f"<{value.nbytes:,} bytes>"
            return self.container(value, depth) if depth < MAX_DEPTH else self.other(value)
        except Exception:  # noqa: BLE001 - a hostile or half-built object; its repr is the next best
            return self.other(value)

    def container(self, value: Any, depth: int) -> Any:
        if id(value) in self._inside:
            return "…"
        self._inside.add(id(value))
        try:
            if isinstance(value, Mapping):
                beside = any(name in value for name in _BESIDE_A_WORD)
                return self.pairs(value.items(), depth + 1, words=beside)
            if isinstance(value, list | tuple | set | frozenset):
                return self.items(value, len(value), depth + 1)
            if dataclasses.is_dataclass(value) and not isinstance(value, type):
                return self.pairs(((item.name, getattr(value, item.name)) for item in dataclasses.fields(value)), depth + 1)
            dump = getattr(type(value), "model_dump", None)  # pydantic's models, the SDKs' own objects among them
            if callable(dump):
                return self.value(dump(value, mode="json"), depth + 1)
        finally:
            self._inside.discard(id(value))
        return self.other(value)

    def pairs(self, pairs: Iterable[tuple[Any, Any]], depth: int, *, words: bool = False) -> dict[str, Any]:
        copy: dict[str, Any] = {}
        for key, item in pairs:
            if not self._left:
                copy["…"] = "more"
                break
            self._left -= 1
            name = str(key)
            copy[self.text(name)] = self.named(name, item, depth, words=words)
        return copy

    def items(self, items: Iterable[Any], count: int, depth: int) -> list[Any]:
        copy: list[Any] = []
        for item in items:
            if not self._left:
                copy.append(f"… {count - len(copy):,} more")
                break
            self._left -= 1
            copy.append(self.value(item, depth))
        return copy

    def named(self, name: str, value: Any, depth: int, *, words: bool) -> Any:
        if value is None or type(value) is bool or (type(value) is str and (not value or _MASKED.fullmatch(value))):
            return value
        if _NAMES.search(name) or (name.lower() == "token" and not words and type(value) is str and re.fullmatch(r"\S+", value)):
            return MASK
        return self.value(value, depth)

    def other(self, value: Any) -> str:
        try:
            if isinstance(value, list | tuple | dict | set | frozenset):  # its repr may be endless, or as good as
                return f"<{type(value).__name__} of {len(value):,}>"
            return self.text(str(value) if isinstance(value, str | int) else repr(value))
        except Exception:  # noqa: BLE001 - a broken __repr__
            return f"<{type(value).__name__}>"
