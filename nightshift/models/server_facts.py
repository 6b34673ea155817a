"""Facts that refusals reveal about a model and its server, so that the next request is accepted.

Each lesson is valid for a week, because servers are updated, and because one odd answer must not disable a feature for
good. A lesson is the name of a missing feature, or a limit in tokens that a server names. A limit may be lowered by
later refusals, but is never raised.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from nightshift.core.clock import Clock, from_text, to_text, utc_now
from nightshift.models.model_table import PHRASES, TABLE

HOLDS, AFFORDED_HOLDS = timedelta(days=7), timedelta(hours=1)
LEAST_WINDOW, LEAST_REPLY = 512, 128
"""Minimum plausible limits in tokens. A smaller number in a refusal is not taken as the context window or the reply
limit.
"""

_MISSING = tuple((row["feature"], re.compile(row["words"], re.IGNORECASE)) for row in TABLE["refusals"])
_WINDOW = re.compile(rf"(?:{PHRASES['before_window'].pattern})(\d[\d,]{{2,}})(?![\d,]| ?\+)", re.IGNORECASE)
_PROMPT = re.compile(rf"(?:{PHRASES['before_prompt'].pattern})(\d+)", re.IGNORECASE)
_LIMIT_NAME = re.compile(r"max_(?:completion_)?tokens")
PLAIN = "plain"
"""Name of the lesson that a model is asked without JSON and tools (“in plain words”) for the rest of the day (UTC)."""
_NUMBER = re.compile(r"(?<![\w.-])\d[\d,]*\d(?![\w-])")


@dataclass(slots=True)
class ServerFacts:
    """Facts about one model at one address.

    Attributes:
        learnt: maps each lesson to the time at which it was learnt. A lesson is a missing feature (`no temperature`) or
            a limit (`window 4096`).
    """

    clock: Clock = utc_now
    learnt: dict[str, datetime] = field(default_factory=dict)

    def _list_valid(self) -> list[str]:
        now = self.clock()
        holds = {name: AFFORDED_HOLDS if name.startswith("afford ") else HOLDS for name in self.learnt}
        return [name for name, at in self.learnt.items() if now - at < holds[name]]

    @property
    def lacks(self) -> frozenset[str]:
        """Names of the features that the server or model lacks."""
        return frozenset(self._list_values("no"))

    def _list_values(self, kind: str) -> list[str]:
        return [name.partition(" ")[2] for name in self._list_valid() if name.startswith(f"{kind} ")]

    @property
    def window(self) -> int | None:
        """The context window in tokens, prompt and reply together; None if no refusal named it."""
        return min(map(int, self._list_values("window")), default=None)

    @property
    def reply(self) -> int | None:
        """The longest reply in tokens that a request may ask for; None if no refusal named it."""
        return min(map(int, [*self._list_values("reply"), *self._list_values("afford")]), default=None)

    @property
    def limit_name(self) -> str:
        """The server's name for the parameter that limits the reply; empty if no refusal named it."""
        return next(iter(self._list_values("call")), "")

    @property
    def is_plain(self) -> bool:
        """True if the model is asked without JSON and tools today (UTC)."""
        return PLAIN in self.learnt and self.learnt[PLAIN].date() == self.clock().date()

    def note(self, lesson: str) -> bool:
        """Record a lesson; return whether it is new."""
        is_new = lesson not in self._list_valid()
        self.learnt[lesson] = self.clock()
        return is_new

    def read(self, text: str) -> None:
        """Add the lessons from a text that was made by calling `str` on another object of this class."""
        for line in text.splitlines():
            at, _, lesson = line.partition(" ")
            self.learnt[lesson] = from_text(at)

    @property
    def summary(self) -> str:
        """The lessons in words for the owner; empty if there are none."""
        names = ", ".join(sorted(name for name in self._list_valid() if not name.startswith(PLAIN)))
        return f"learnt from this server and kept for a week: {names}" if names else ""

    def __str__(self) -> str:
        return "\n".join(f"{to_text(self.learnt[name])} {name}" for name in self._list_valid())

    def learn(self, status: int, message: str, sent: Collection[str], reply: int | None) -> bool:
        """Learn from a refusal of parameters or limits; return True if the request may succeed when it is repeated.

        Args:
            status: the HTTP status.
            message: the server's message.
            sent: the features that the request used.
            reply: the longest reply that the request asked for, in tokens.
        """
        if status not in {400, 402, 404, 413, 422} and not PHRASES["template"].search(message):
            return False
        name = _LIMIT_NAME.search(message)
        if name and PHRASES["unknown_name"].search(message):
            other = "max_tokens" if name[0] == "max_completion_tokens" else "max_completion_tokens"
            return self.note(f"call {other}")
        if reply and self._learn_reply(message, reply):
            return True
        if blames_context(message):
            return False
        blamed = [name for name, words in _MISSING if name in sent and words.search(message)]
        return bool(blamed) and self.note(f"no {blamed[0]}")

    def _learn_reply(self, message: str, reply: int) -> bool:
        """Lower the limit of a reply, in response to a refusal.

        The new limit is the highest lower number in the message, or half of the old one if there is no such number.
        """
        if not PHRASES["reply"].search(message):
            return False
        used, window = _PROMPT.search(message), _WINDOW.search(message)
        if used and window and blames_context(message):
            self.note(f"window {_int(window[1])}")
            return LEAST_REPLY <= _int(window[1]) - _int(used[1]) < reply
        numbers = map(_int, _NUMBER.findall(message))
        lower = max((number for number in numbers if LEAST_REPLY <= number < reply), default=reply // 2)
        kind = "afford" if "can only afford" in message else "reply"
        return LEAST_REPLY <= lower < reply and self.note(f"{kind} {lower}")

    def learn_window(self, message: str, prompt: int) -> int | None:
        """Learn and return the context window that a refusal names; None if the refusal is not about the context.

        Args:
            message: the server's message.
            prompt: estimated length of the prompt in tokens. If the server names no number, three quarters of this
                length are assumed as the window.
        """
        if not blames_context(message):
            return None
        sizes = [size for text in _WINDOW.findall(message) if (size := _int(text)) >= LEAST_WINDOW]
        window = min(sizes) if sizes else max(LEAST_WINDOW, prompt * 3 // 4)
        self.note(f"window {window}")
        return window


def read_room(message: str) -> int | None:
    """Return the room that a refusal leaves for the reply to this one prompt; None if it does not name a usable one."""
    used, window = _PROMPT.search(message), _WINDOW.search(message)
    return room if used and window and (room := _int(window[1]) - _int(used[1])) >= LEAST_REPLY else None


def blames_context(message: str) -> bool:
    """Check whether a refusal is about the length of the prompt."""
    return bool(PHRASES["context"].search(message))


def blames_tools(status: int, message: str) -> bool:
    """Check whether a refusal is about tools: OpenRouter uses status 404 for it, llama.cpp and Ollama use 500."""
    if not PHRASES["tools"].search(message) or blames_context(message):
        return False
    return status in {400, 422} or (status in {404, 500, 501} and bool(PHRASES["no_tools"].search(message)))


def is_refusal(status: int, message: str) -> bool:
    """Check whether an error status that looks temporary really means a refusal, as often with llama.cpp."""
    blames_request = blames_context(message) or PHRASES["template"].search(message)
    return blames_tools(status, message) or (status == 500 and bool(blames_request))


def _int(text: str) -> int:
    return int(text.replace(",", ""))
