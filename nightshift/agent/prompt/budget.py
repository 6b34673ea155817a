"""Fits a prompt into its budget: how much each part gets, what is left out, and a record of both for the timeline.

Parts are filled in the order of their `rank`, so indispensable parts can be filled first. Each part gets at most its
share of the whole, and at most what earlier parts left over. In the prompt, parts appear in the order in which they
were given, so stable parts can come first. A part that does not fit is left out entirely, and its title is recorded.
Only running text (the owner's words, the output of a run) is shortened, with a note at the cut. By the token estimate,
a prompt never exceeds its limit, except through the system prompt and the closing line, which every prompt has.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from nightshift.agent.prompt.text import user_message
from nightshift.core.dialogue import Message
from nightshift.core.gauge import Gauge, utf8_size

MOST_NAMED = 40
_MESSAGE_TOKENS = 4
"""Tokens that a chat format adds to each message."""
_PATH_CHARS = 160


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """A part as shown: its text, its files and lessons, the number of files left out, and whether the text is `cut`."""

    text: str = ""
    in_full: tuple[str, ...] = ()
    outlined: tuple[str, ...] = ()
    named: tuple[str, ...] = ()
    left_out: int = 0
    lessons: tuple[int, ...] = ()
    cut: bool = False


Fill = Callable[[int], Shown]
"""A function from the available tokens to the content that fits."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """A titled part of a prompt. `share` limits its part of the prompt; a lower `rank` is filled earlier."""

    title: str
    fill: Fill
    share: float = 1.0
    rank: int = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Prompt:
    """Messages and a record of their content: each part's title, what was shown of it, and its estimated tokens."""

    messages: tuple[Message, ...]
    limit: int
    gauge: Gauge
    held: tuple[tuple[str, Shown, int], ...] = ()
    omitted: tuple[str, ...] = ()
    explores: bool = False
    """True if the model works with tools. The prompt then shows only a few files at the start."""
    is_plain: bool = False
    """True if the request is in plain words (`agent.prompt.plain_requests`)."""
    paths: tuple[str, ...] = ()
    """The files that a request in plain words asks for; a code block without a path is one of them."""
    part_of: str = ""
    """Path of a file of which the answer contains only single definitions; empty if the answer contains whole files."""
    temperature: float | None = None
    """Temperature of the answer; None for the temperature in the settings."""

    @property
    def tokens(self) -> int:
        """The estimated length of all messages."""
        return tokens_of(self.messages, self.gauge)

    def with_messages(self, messages: Sequence[Message]) -> Prompt:
        """Return the prompt with other messages."""
        return replace(self, messages=tuple(messages))

    def record(self) -> dict[str, Any]:
        """Return small JSON for the timeline; it has at most forty files of each list, and each list's full count."""
        shown = [part for _, part, _ in self.held]
        data: dict[str, Any] = {
            "tokens": self.tokens,
            "limit": self.limit,
            "sections": [[title, tokens] for title, _, tokens in self.held],
            "left_out": max(0, sum(part.left_out for part in shown)),
            "shortened": [title for title, part, _ in self.held if part.cut],
            "omitted": list(self.omitted),
            "lessons": [number for part in shown for number in part.lessons],
        }
        for kind, field_name in (("whole", "in_full"), ("outlined", "outlined"), ("named", "named")):
            paths = [path for part in shown for path in getattr(part, field_name)]
            data |= {kind: [path[:_PATH_CHARS] for path in paths[:MOST_NAMED]], f"{kind}_count": len(paths)}
        return data


def tokens_of(messages: Iterable[Message], gauge: Gauge) -> int:
    """Estimate the tokens of messages."""
    return sum(gauge.tokens(message.text) + _MESSAGE_TOKENS for message in messages)


def compose(head: Message, parts: Sequence[Section], limit: int, gauge: Gauge, *, spare: float = 0.0) -> Prompt:
    """Return a prompt of at most `limit` tokens: the system prompt `head`, unless it is empty, and one user message.

    The share `spare` of the limit stays unused. The part with the highest rank gets all tokens that the other parts
    leave, at least a seventh of the limit.
    """
    left = int(limit * (1 - spare)) - tokens_of([head, Message(role="user", text="")], gauge)
    last = max((part.rank for part in parts), default=0)
    shown_by_index, omitted = dict[int, Shown](), list[str]()
    for at, part in sorted(enumerate(parts), key=lambda pair: pair[1].rank):
        titled = gauge.tokens(f"## {part.title}\n\n\n\n")
        reserve = 0 if part.rank in (0, last) else limit // 7
        shown = _fill_section(part, min(int(limit * part.share), left - reserve) - titled, gauge, omitted)
        if shown.text.strip():
            shown_by_index[at] = shown
            left -= gauge.tokens(shown.text) + titled
    order = sorted(shown_by_index)
    text = user_message((parts[at].title, shown_by_index[at].text) for at in order)
    held: tuple[tuple[str, Shown, int], ...] = (("Instructions", Shown(), gauge.tokens(head.text)),)
    held += tuple((parts[at].title, shown_by_index[at], gauge.tokens(shown_by_index[at].text)) for at in order)
    messages = (head, text) if head.text else (text,)
    return Prompt(messages=messages, limit=limit, gauge=gauge, held=held, omitted=tuple(omitted))


def _fill_section(part: Section, space: int, gauge: Gauge, omitted: list[str]) -> Shown:
    """Make the content of a part; if it does not fit, it is replaced by a line that says how long it is."""
    shown = part.fill(max(0, space))
    if part.rank == 0 or gauge.tokens(shown.text) <= space:
        return shown
    omitted.append(part.title)
    text = f"(left out: about {gauge.tokens(shown.text):,} tokens, which do not fit into this prompt)"
    away = len(shown.in_full) + len(shown.outlined) + len(shown.named) + shown.left_out
    return Shown(text=text if gauge.tokens(text) <= space else "", left_out=away)


def fix(title: str, text: str, *, share: float = 1.0, rank: int = 5) -> Section:
    """Return a part that is shown whole or not at all, and that is left out if its text is empty.

    A part of rank 0 is always shown.
    """
    return Section(title=title, fill=lambda _space: Shown(text=text), share=share, rank=rank)


def clip(text: str, space: int, gauge: Gauge) -> tuple[str, bool]:
    """Return the beginning of a text that fits, with a remark at the cut, and whether the text was cut."""
    if gauge.tokens(text) <= space:
        return text, False
    remark = "… (shortened: {:,} of {:,} characters follow, which do not fit into this prompt)"
    most = int(space * gauge.bytes_per_token) - utf8_size(remark) - 16
    beginning = text.encode("utf-8", "replace")[: max(0, most)].decode("utf-8", "ignore")
    line = beginning.rfind("\n")
    beginning = beginning[: line + 1] if line > len(beginning) // 2 else beginning
    return f"{beginning.rstrip()}\n{remark.format(len(text) - len(beginning), len(text))}".lstrip("\n"), True


def record_repeat(first: Mapping[str, Any], prompt: Prompt) -> dict[str, Any]:
    """Return the record of a repeated question: only its new length, because its content is as before."""
    return {"again": True, "tokens": prompt.tokens, "limit": first["limit"]}


def take_lines(lines: Iterable[str], space: int, gauge: Gauge) -> list[str]:
    """Return as many of the first lines as fit, separators included."""
    first = list[str]()
    for line in lines:
        space -= gauge.tokens(line + ", ")
        if space < 0:
            break
        first.append(line)
    return first
