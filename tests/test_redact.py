"""Values on their way into the log: copied, made plain, and without secrets, whatever they are."""

import dataclasses
import datetime as dt
import enum
import json
import math
import numbers
import time
import uuid
from collections.abc import Mapping
from pathlib import PurePosixPath

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentcell.redact import MASK, MAX_DEPTH, MAX_ITEMS, mask_secrets, plain

A, B, C, D = "aB3dE6gH9jK2", "mN5pQ8sT1vW4", "xY7zA0cD3fG6", "hJ9kL2nP5rS8"  # stand for the letters of keys
LONG = A + B + C + D

KEYS = {
    "OpenAI": f"sk-{LONG}",
    "OpenAI, project": f"sk-proj-{A}_{B}-{C}",
    "OpenAI, only small letters": "sk-abcdefghijklmnopqrstuvwxyz",
    "Anthropic": f"sk-ant-api03-{LONG}-AA",
    "OpenRouter": f"sk-or-v1-{'0a1b2c3d' * 8}",
    "Langfuse": "sk-lf-1234abcd-12ab-34cd-56ef-1234567890ab",
    "Stripe": f"sk_live_{A}{B}",
    "Stripe, restricted": f"rk_test_{A}{B}",
    "Stripe, webhook": f"whsec_{A}{B}",
    "GitHub": f"ghp_{A}{B}{C}",
    "GitHub, fine-grained": f"github_pat_{A}_{B}{C}{D}",
    "GitLab": f"glpat-{A}-{B}",
    "Slack": f"xoxb-123456789012-{A}",
    "Slack, app": f"xapp-1-A0123456789-{A}",
    "AWS": "AKIAIOSFODNN7EXAMPLE",
    "AWS, session": "ASIAIOSFODNN7EXAMPLE",
    "Google": f"AIza{A}{B}{C[:11]}",
    "Google, OAuth": f"ya29.{A}-{B}_{C}",
    "Google, client": f"GOCSPX-{A}{B}",
    "Hugging Face": f"hf_{A}{B}{C}",
    "Replicate": f"r8_{A}{B}{C}",
    "Groq": f"gsk_{A}{B}",
    "xAI": f"xai-{A}{B}",
    "Perplexity": f"pplx-{A}{B}",
    "NVIDIA": f"nvapi-{A}-{B}",
    "Tavily": f"tvly-dev-{A}{B}",
    "LangSmith": f"lsv2_pt_{A}{B}_{C[:8]}",
    "npm": f"npm_{A}{B}{C}",
    "PyPI": f"pypi-{LONG}{A}",
    "SendGrid": f"SG.{A}{B[:10]}.{LONG}",
    "Databricks": f"dapi{'0a1b2c3d' * 4}",
    "DigitalOcean": f"dop_v1_{'0a1b2c3d' * 8}",
    "Vault": f"hvs.{A}{B}",
    "a JSON web token": f"eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.{A}-{B}_",
    "a private key": f"-----BEGIN PRIVATE KEY-----\n{LONG}\n{LONG}\n-----END PRIVATE KEY-----",
    "an RSA key": f"-----BEGIN RSA PRIVATE KEY-----\n{LONG}\n-----END RSA PRIVATE KEY-----",
}


@pytest.mark.parametrize("key", KEYS.values(), ids=KEYS)
@pytest.mark.parametrize(
    "around",
    [
        "{}",
        "the key is {}.",
        "key={}&page=2",
        "https://example.org/?k={}",
        "('{}',)",
        '{{"k": "{}"}}',
        "first\n{}\nlast",
        r"written as one line\n{}\nwith \\n",
        "\t{}\t",
        "<b>{}</b>",
    ],
)
def test_a_key_is_masked_whole_wherever_it_stands(key, around):
    masked = mask_secrets(around.format(key))
    assert masked == around.format(MASK)
    assert mask_secrets(masked) == masked, "what is masked stays so"


def test_a_private_key_that_was_cut_is_masked_to_the_end():
    assert mask_secrets(f"see -----BEGIN EC PRIVATE KEY-----\n{LONG}\n{LONG[:10]}") == f"see {MASK}"


@pytest.mark.parametrize(
    ("text", "masked"),
    [
        ("Authorization: Bearer abc123def456ghi", "Authorization: Bearer [secret]"),
        ("authorization: bearer abcdefgh", "authorization: bearer [secret]"),
        ("Authorization: Token abcdefgh", "Authorization: Token [secret]"),
        ("-H 'Authorization: Bearer a.b-c_d~e+f/g=='", "-H 'Authorization: Bearer [secret]'"),
        ("Bearer abcdefghijklmnopqrstuvwxyz", "Bearer [secret]"),
        ("Basic a2ltOmh1bnRlcjI=", "Basic [secret]"),
        ("Proxy-Authorization: Basic a2ltOmh1bnRlcjI=", "Proxy-Authorization: Basic [secret]"),
        ("https://kim:hunter2@example.org/x", "https://kim:[secret]@example.org/x"),
        ("postgres://app:p@ss:w0rd@db:5432/shop", "postgres://app:[secret]@db:5432/shop"),
        ("HTTPS://KIM:HUNTER2@EXAMPLE.ORG", "HTTPS://KIM:[secret]@EXAMPLE.ORG"),
        ("redis://:hunter2@cache", "redis://:[secret]@cache"),
        ("mongodb+srv://kim:hunter2@cluster0.example.org", "mongodb+srv://kim:[secret]@cluster0.example.org"),
        ("password=hunter2", "password=[secret]"),
        ("Password: hunter2", "Password: [secret]"),
        ("DB_PASSWORD=hunter2 PORT=5432", "DB_PASSWORD=[secret] PORT=5432"),
        ("PGPASSWORD=hunter2", "PGPASSWORD=[secret]"),
        ("dbPassword: hunter2", "dbPassword: [secret]"),
        ("export OPENAI_API_KEY='abc def'", "export OPENAI_API_KEY='[secret]'"),
        ("TAVILY_API_KEY = abc-123", "TAVILY_API_KEY = [secret]"),
        ("api key: abc-123", "api key: [secret]"),
        ("aws_secret_access_key = wJalrXUtnFEMI/K7MDENG", "aws_secret_access_key = [secret]"),
        ("?access_token=abc&x=1", "?access_token=[secret]&x=1"),
        ("AccountKey=abc123==;EndpointSuffix=x", "AccountKey=[secret];EndpointSuffix=x"),
        ("?token=0123456789abcdef", "?token=[secret]"),
        ('{"password": "correct horse battery"}', '{"password": "[secret]"}'),
        ("{'password': 'correct horse battery'}", "{'password': '[secret]'}"),
        (r'{"password": "it is \"quoted\" here"}', '{"password": "[secret]"}'),
        ('{"password": "it\'s one"}', '{"password": "[secret]"}'),
        (r'"{\"password\": \"hunter2\", \"n\": 1}"', r'"{\"password\": \"[secret]\", \"n\": 1}"'),
        ('{"api_key":"abc","n":1}', '{"api_key":"[secret]","n":1}'),
        ('{"Authorization": "Bearer abcdefgh"}', '{"Authorization": "Bearer [secret]"}'),
        ('{"secret": "hunter2"}', '{"secret": "[secret]"}'),
        ('{"client_secret": "hunter2"}', '{"client_secret": "[secret]"}'),
        ("secret=hunter2", "secret=[secret]"),
        ("Cookie: session=0123456789abcdef; theme=dark", "Cookie: [secret]; theme=dark"),
        ("Client(api_key='abc123', timeout=5)", "Client(api_key='[secret]', timeout=5)"),
        ('Client(token="short", n=1)', 'Client(token="[secret]", n=1)'),
        ("?token=short&x=1", "?token=[secret]&x=1"),
        ("get(auth=('kim', 'hunter2'), timeout=5)", "get(auth=[secret], timeout=5)"),
        ('get(auth="hunter2")', 'get(auth="[secret]")'),
        ('{"auth": "hunter2"}', '{"auth": "[secret]"}'),
        ("session_id=abc123&x=1", "session_id=[secret]&x=1"),
        ('{"sessionId": "abc123"}', '{"sessionId": "[secret]"}'),
        ("session_key: abc123", "session_key: [secret]"),
        (r"log:\npassword=hunter2\nok", r"log:\npassword=[secret]\nok"),
    ],
)
def test_a_secret_that_has_a_name_is_masked_and_nothing_else(text, masked):
    assert mask_secrets(text) == masked
    assert mask_secrets(masked) == masked


@pytest.mark.parametrize(
    "text",
    [
        "",
        "the secret of success",
        "The secret: be kind to people",
        "token count: 5",
        "tokens: 3100, cached: 200",
        "max_tokens=512",
        "token=512",
        "tokens=many",
        "next_page_token=abc",
        "auth: OAuth",
        "author=Kim",
        "the session id: none yet",
        '{"token": "Paris", "logprob": -0.1}',
        "password reset page",
        "Forgot your password?",
        "Passwords are hashed.",
        "an API key is needed",
        "Basic authentication is used",
        "Basic understanding of algebra",
        "basic requirements: internationalization",
        "a bearer of certificates",
        "Bearer authentication and bearer authorization",
        "Authorization: required",
        "cookie: chocolate chip",
        "task-management-system-with-many-words",
        "risk-adjusted-return-on-capital",
        "sk-SK",
        "sk-dist-contributors-page-of-the-project",
        "the sk-learn package",
        "3f2504e0-4f89-11d3-9a0c-0305e82c3301",
        "commit 611831b7a1c2d3e4f5061728394a5b6c7d8e9f00",
        "sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
        "SGVsbG8sIHdvcmxkISBUaGlzIGlzIGEgdGVzdC4=",
        "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg==",
        "https://example.org:8080/path?mail=kim@example.org",
        "see http://localhost:8888 and write to kim@example.org",
        "git@github.com:owner/name.git",
        "kim@example.org",
        "12:30:45",
        "x = y",
        "def connect(user: str, password: str, api_key: str | None = None) -> None:",
        '{"password": null, "api_key": true}',
        "PWD=/home/kim",
        "eyJust a word",
        "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----",
        "Slovak is sk-, Stripe's test keys begin with sk_test_",
        "AIza and AKIA are prefixes",
        "\ud83d \u2028 \0",
    ],
)
def test_ordinary_text_stays_as_it_is(text):
    assert mask_secrets(text) == text


SECRET_NAMES = """
    password Password PASSWORD db_password dbPassword user-password user.password passwd passphrase pgpassword password2 password_1
    passwords secret secrets client_secret clientSecret api_key apikey apiKey API-KEY x-api-key OPENAI_API_KEY openaiApiKey api_keys
    secret_key access_key aws_secret_access_key private_key privateKey access_token accessToken refresh_token auth_token id_token
    session_token bearer_token csrf_token authorization Authorization proxy-authorization cookie Cookie Set-Cookie credentials
    connection_string connectionString auth basic_auth httpAuth session_id sessionId session-id session_key
"""
OTHER_NAMES = """
    query token_count tokens max_tokens input_tokens next_page_token tokenizer password_length secretary author authorized keyboard
    key keys api cookies_enabled passenger pass compass bypass pwd monkey id session public_key primary_key sort_key path
"""


@pytest.mark.parametrize("name", SECRET_NAMES.split())
def test_a_value_under_a_secret_name_is_masked_whatever_it_is(name):
    for value in ("hunter2", b"hunter2", 12345, 1.5, ["hunter2"], {"value": "hunter2"}, object()):
        assert plain({name: value}) == {name: MASK}
    assert plain({name: None}) == {name: None}
    assert plain({name: True}) == {name: True}
    assert plain({name: ""}) == {name: ""}
    assert plain({"a": [{"b": {name: "hunter2"}}]}) == {"a": [{"b": {name: MASK}}]}


@pytest.mark.parametrize("name", ["", *OTHER_NAMES.split()])
def test_a_value_under_another_name_stays(name):
    assert plain({name: "hunter2"}) == {name: "hunter2"}


def test_a_token_is_masked_when_it_looks_like_one():
    assert plain({"token": "Paris", "logprob": -0.1}) == {"token": "Paris", "logprob": -0.1}
    assert plain({"token": "short"}) == {"token": MASK}
    assert plain({"id": 5, "Token": "short"}) == {"id": 5, "Token": MASK}
    assert plain({"token": "some words that are long enough"}) == {"token": "some words that are long enough"}
    assert plain({"token": "0123456789abcdef"}) == {"token": MASK}
    assert plain({"token": 5}) == {"token": 5}


def test_a_key_in_a_name_is_masked_too():
    assert plain({KEYS["OpenAI"]: 1}) == {MASK: 1}


# What becomes of values


class Color(enum.Enum):
    RED = "red"


class Level(enum.IntEnum):
    HIGH = 3


class Word(str):
    __slots__ = ()


class Size(int):
    __slots__ = ()


@dataclasses.dataclass
class Login:
    user: str
    password: str
    roles: list[str] = dataclasses.field(default_factory=list)


class Model:
    """Has what pydantic's models have."""

    def __init__(self, **values: object) -> None:
        self.values = values

    def model_dump(self, *, mode: str) -> dict[str, object]:
        assert mode == "json"
        return self.values


class Broken:
    def __repr__(self) -> str:
        raise RuntimeError("no repr")

    __str__ = __repr__


class NoClass:
    """A proxy that is bound to nothing, as web frameworks have them: it raises at every question."""

    @property
    def __class__(self):
        raise RuntimeError("working outside of request context")


class Endless(Mapping):
    def __getitem__(self, key):
        return 0

    def __iter__(self):
        number = 0
        while True:
            yield number
            number += 1

    def __len__(self):
        return 1


class HalfBuilt(Mapping):
    def __getitem__(self, key):
        raise RuntimeError("no item")

    def __iter__(self):
        return iter("ab")

    def __len__(self):
        return 2

    def __repr__(self):
        return "HalfBuilt(password='hunter2')"


class BrokenModel:
    def model_dump(self):
        return {}

    def __repr__(self):
        return f"BrokenModel({KEYS['OpenAI']})"


@pytest.mark.parametrize(
    ("value", "copy"),
    [
        (None, None),
        (True, True),
        (0, 0),
        (-5, -5),
        (2**64, 2**64),
        (0.5, 0.5),
        ("text", "text"),
        ("", ""),
        (math.nan, "nan"),
        (math.inf, "inf"),
        (-math.inf, "-inf"),
        (b"\0\1\2", "<3 bytes>"),
        (bytearray(2000), "<2,000 bytes>"),
        (memoryview(b"abcd"), "<4 bytes>"),
        (memoryview(b"abcd").cast("I"), "<4 bytes>"),
        ([1, (2, [3])], [1, [2, [3]]]),
        ({1: "a", None: "b", (1, 2): "c", 0.5: "d"}, {"1": "a", "None": "b", "(1, 2)": "c", "0.5": "d"}),
        ({"b", "a"}, ["a", "b"]),
        (frozenset([1]), [1]),
        (Login("kim", "hunter2", ["admin"]), {"user": "kim", "password": MASK, "roles": ["admin"]}),
        (Login, repr(Login)),
        (Model(user="kim", api_key="x", more=Model(n=1)), {"user": "kim", "api_key": MASK, "more": {"n": 1}}),
        (Color.RED, "<Color.RED: 'red'>"),
        (Word("text"), "text"),
        (Size(5), "5"),
        (PurePosixPath("/a"), "PurePosixPath('/a')"),
        (dt.date(2026, 1, 2), "datetime.date(2026, 1, 2)"),
        (uuid.UUID(int=5), "UUID('00000000-0000-0000-0000-000000000005')"),
        (range(3), "range(0, 3)"),
        (1 + 2j, "(1+2j)"),
        (..., "Ellipsis"),
        (Broken(), "<Broken>"),
        ({"a": Broken(), "b": 1}, {"a": "<Broken>", "b": 1}),
        ({Broken(): 1}, "<dict of 1>"),
        ([NoClass(), 1], ["<NoClass>", 1]),
        ({"password": NoClass(), "x": NoClass()}, {"password": MASK, "x": "<NoClass>"}),
        (HalfBuilt(), "HalfBuilt(password='[secret]')"),
        (BrokenModel(), "BrokenModel([secret])"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_a_value_becomes_plain_json(value, copy):
    found = plain(value)
    if isinstance(value, set):
        found = sorted(found)
    assert found == copy
    json.dumps(found, allow_nan=False)


def test_a_level_of_an_enum_of_numbers_is_a_text():
    assert plain(Level.HIGH) == str(Level.HIGH)


def test_a_number_that_nobody_can_read_is_told_by_its_size():
    assert plain(10**5000) == "<whole number of 16,610 bits>"
    assert plain({"n": -(10**5000)}) == {"n": "<whole number of 16,610 bits>"}


def test_nothing_of_a_container_is_shared_with_its_copy():
    value = {"a": [1, {"b": 2}]}
    copy = plain(value)
    value["a"][1]["b"] = 3
    value["a"].append(4)
    assert copy == {"a": [1, {"b": 2}]}


def test_what_holds_itself_is_cut_where_it_does():
    loop: list[object] = [1]
    loop += [loop, loop]
    assert plain(loop) == [1, "…", "…"]
    node: dict[str, object] = {"name": "root"}
    node["children"] = [{"name": "leaf", "parent": node}]
    assert plain(node) == {"name": "root", "children": [{"name": "leaf", "parent": "…"}]}
    login = Login("kim", "hunter2")
    login.roles = login
    assert plain(login) == {"user": "kim", "password": MASK, "roles": "…"}


def test_what_is_in_there_twice_is_copied_twice():
    shared = [1]
    assert plain([shared, shared]) == [[1], [1]]


def test_what_is_very_deep_is_cut_and_its_size_stated():
    value: object = "bottom"
    for _ in range(100_000):
        value = [value]
    copy, depth = plain(value), 0
    while isinstance(copy, list):
        (copy,) = copy
        depth += 1
    assert (copy, depth) == ("<list of 1>", MAX_DEPTH)


def test_what_doubles_at_every_level_is_cut_at_a_number_of_values():
    value: object = [1]
    for _ in range(60):
        value = [value, value]
    assert len(json.dumps(plain(value))) < 40 * MAX_ITEMS


def test_what_never_ends_is_cut_at_a_number_of_values():
    copy = plain(Endless())
    assert len(copy) == MAX_ITEMS + 1
    assert copy["…"] == "more"
    assert plain(list(range(MAX_ITEMS + 5)))[-1] == "… 5 more"
    assert len(plain(list(range(MAX_ITEMS)))) == MAX_ITEMS


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.binary() | st.builds(object) | st.builds(Broken),
        lambda inner: (
            st.lists(inner)
            | st.dictionaries(st.text() | st.integers() | st.none(), inner)
            | st.tuples(inner)
            | st.builds(Login, inner, inner)
        ),
        max_leaves=20,
    )
)
@settings(max_examples=100, deadline=None)
def test_any_value_becomes_json_and_comes_back_the_same(value):
    copy = plain(value)
    assert json.loads(json.dumps(copy, allow_nan=False)) == copy
    assert plain(copy) == copy, "there is nothing left to do"


# A function of one's own


@pytest.mark.parametrize(
    "redact",
    [lambda text: 1 / 0, lambda text: None, lambda text: b"x", lambda text, more: text],
    ids=["raises", "None", "bytes", "two"],
)
def test_a_function_that_fails_lets_nothing_through(redact):
    value = {"a": "hunter2", "b": ["hunter2", 5], "c": object()}
    assert plain({"b": ["hunter2", 5, object()]}, redact=redact) == {MASK: [MASK, 5, MASK]}
    assert "hunter2" not in json.dumps(plain(value, redact=redact))


def test_a_function_of_ones_own_sees_every_text_and_names_are_masked_besides():
    seen = []

    def note(text: str) -> str:
        seen.append(text)
        return text.upper()

    value = {"name": "kim", "password": "hunter2", "list": ["a", 5], "thing": Color.RED}
    assert plain(value, redact=note) == {"NAME": "KIM", "PASSWORD": MASK, "LIST": ["A", 5], "THING": "<COLOR.RED: 'RED'>"}
    assert "hunter2" not in seen


# Time

ADVERSARIES = {
    "prose": "the quick brown fox and the secret of a token ",
    "dots": "a.",
    "dashes": "a-",
    "half a web token": "eyJaaaaaaaa-",
    "half two parts": "eyJaaaaaaaa.eyJaaaaaaaa-",
    "sk": "sk-",
    "sk and small letters": "sk-aaaaaaaaaaaaaa ",
    "begins": "-----BEGIN ",
    "begins of keys": "-----BEGIN PRIVATE KEY-----",
    "ends": "-----BEGIN PRIVATE KEY-----" + "-----END AAAAAAAAAAAAAAAAAAAAAAAAA",
    "bearer": "Bearer ",
    "bearer and letters": "Bearer aaaaaaaaaaa ",
    "basic": "Basic aaaa",
    "addresses": "x://x:",
    "addresses with users": "x://x:x",
    "schemes": "aaaaaaaaaaaaaaaaaaaaaaaaaaaaa:",
    "passwords": 'password="',
    "passwords in quotes": "password='a",
    "passwords behind strokes": 'password=\\"',
    "strokes": "\\",
    "quotes": '"',
    "names": "api_key",
    "spaces": " ",
    "spaces after a name": "password" + " " * 8,
    "one long word": "a",
    "numbers": "1",
    "SendGrid": "SG.aaaaaaaaaaaaaaaaaa-",
}


@pytest.mark.parametrize("unit", ADVERSARIES.values(), ids=ADVERSARIES)
def test_ten_times_the_text_takes_about_ten_times_the_time(unit):
    def seconds(length: int) -> float:
        text = unit * (length // len(unit))
        best = math.inf
        for _ in range(2):
            began = time.process_time()
            mask_secrets(text)
            best = min(best, time.process_time() - began)
        return best

    short, long = seconds(20_000), seconds(200_000)
    assert long < 50 * short + 0.05, f"{short:.4f} s for 20 kB, {long:.4f} s for 200 kB"


def test_whole_numbers_of_other_libraries_are_numbers():
    class Int64:
        def __int__(self) -> int:
            return 5

    numbers.Integral.register(Int64)  # as numpy registers its own
    assert plain([Int64()]) == [5]


@pytest.mark.parametrize("masked", ["***", "••••", "…"])
def test_what_somebody_has_masked_before_stays_as_it_is(masked: str):
    assert plain({"token": masked, "api_key": masked}) == {"token": masked, "api_key": masked}
    assert mask_secrets(f'token="{masked}"') == f'token="{masked}"'
