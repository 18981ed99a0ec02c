"""The rules for harmony messages read literally, for `think_by_the_rules`."""

from __future__ import annotations

import re

from think_rules_delimiters import is_blank, left, right

NAMES = ["<|start|>", "<|channel|>", "<|constrain|>", "<|message|>", "<|end|>", "<|return|>", "<|call|>"]
TOKEN = re.compile(f"({'|'.join(re.escape(name) for name in NAMES)})")
ADDRESSED = re.compile(r"(?:^|[\s\u200b\ufeff])to=")
FIRST_WORD = re.compile(r"[\s\u200b\ufeff]*[^\s\u200b\ufeff]*")


class Message:
    """Body, role, channel (None if there is no channel token), and whether a token ended it."""

    def __init__(self, body="", role="", channel=None, has_header=False):
        self.body, self.role, self.channel = body, role, channel
        self.in_header = has_header
        self.terminated = False

    def body_of_header(self):
        rest = FIRST_WORD.sub("", self.role if self.channel is None else self.channel, count=1)
        return "" if left(rest).startswith("to=") else rest

    def kind(self):
        role, channel = left(self.role), self.channel or ""
        if (role and not role.startswith("assistant")) or ADDRESSED.search(role) or ADDRESSED.search(channel):
            return "hidden"
        name = re.search("[A-Za-z]+", channel)
        return "analysis" if name and name.group().lower() == "analysis" else "answer"


def without_piece_of_token(text):
    for length in range(12, 0, -1):
        end = text[-length:]
        if len(text) >= length and any(name.startswith(end) and name != end for name in NAMES):
            return text[:-length]
    return text


def messages_of(text):
    first, *rest = TOKEN.split(text)
    messages = [Message(first)]
    for token, following in zip(rest[::2], rest[1::2], strict=True):
        now = messages[-1]
        if token == "<|message|>":
            now.body += following
            now.in_header = False
        elif token == "<|constrain|>":
            now.body += "" if now.in_header else following
        elif token == "<|channel|>" and now.in_header and now.channel is None:
            now.channel = following
        else:
            now.terminated = True
            if token == "<|start|>":
                messages.append(Message(role=following, has_header=True))
            elif token == "<|channel|>":
                messages.append(Message(channel=following, has_header=True))
            else:
                messages.append(Message(following))
    return messages


def harmony(text, *, finished):
    """Rule 16."""
    messages = messages_of(text if finished else without_piece_of_token(text))
    if messages[-1].in_header and not finished:
        messages.pop()
    reasoning, answers, cut = [], [], False
    for message in messages:
        body = left(message.body_of_header() if message.in_header else message.body)
        body = right(body) if message.terminated else body
        kind = "hidden" if is_blank(body) else message.kind()
        cut = kind == "analysis" and not message.terminated
        if kind == "analysis":
            reasoning.append(body)
        elif kind == "answer":
            answers.append(body)
    return reasoning, "\n\n".join(answers), finished and cut and not answers


def degraded(text):
    """Rule 17, for the text behind the first `analysis`."""
    head, _, final = text.partition("assistantfinal")
    reasoning, answers = [], []
    first, *rest = re.split("assistant(analysis|commentary)", head)
    for kind, part in [("analysis", first), *zip(rest[::2], rest[1::2], strict=True)]:
        stripped = right(left(part))
        if stripped and kind == "analysis":
            reasoning.append(stripped)
        elif stripped and not stripped.startswith("to="):
            answers.append(stripped)
    if not is_blank(final):
        answers.append(left(final))
    return reasoning, "\n\n".join(answers), False
