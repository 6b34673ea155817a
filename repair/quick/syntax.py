"""Mends of texts that are no Python: the cheapest small changes at the compiler's position that make them so."""

from __future__ import annotations

import heapq
import itertools
import re
from collections.abc import Iterator

from repair.quick.brackets import brackets, quotes
from repair.quick.layout import layout
from repair.quick.mend import Fault, Guess, Mend, fault_of
from repair.quick.wording import wording

MOST_TRIES = 400
MOST_ANSWERS = 6
_ROUNDS = 4
_FEWEST_TRIES = 40
_EFFORT = 4_000_000  # characters that are compiled for one text, all tries together: about two seconds
_FENCE = re.compile(r"^\s*(?:```|~~~)")


def syntax_mends(path: str, text: str) -> Iterator[Mend]:
    """New texts that compile, best first; nothing for a text that does.

    Where one change is not enough, the search goes on from those after which the compiler came further.
    """
    fault = fault_of(text)
    if fault is None:
        return
    ending = "\n" if text.endswith("\n") else ""
    seen: set[str] = set()
    for guess in itertools.islice(_solutions(text, fault), MOST_ANSWERS):
        new = guess.text if guess.text.endswith("\n") or not ending else guess.text + ending
        if new not in seen:
            seen.add(new)
            yield Mend(path=path, text=new, kind="syntax", note=guess.note)


def _solutions(text: str, fault: Fault) -> Iterator[Guess]:
    """Texts that compile, cheapest first: best-first search over guesses, as far as the tries reach."""
    counter = itertools.count()
    waiting: list[tuple[float, int, int, Guess]] = []
    _push(waiting, counter, text, fault, 0, Guess(cost=0.0, text=text, note=""))
    seen, tries = {text}, 0
    most = max(_FEWEST_TRIES, min(MOST_TRIES, _EFFORT // (len(text) + 1)))
    while waiting and tries < most:
        _, _, depth, guess = heapq.heappop(waiting)
        if guess.text in seen:
            continue
        seen.add(guess.text)
        tries += 1
        left = fault_of(guess.text)
        if left is None:
            yield guess
        elif depth < _ROUNDS and _further(left, guess.text, fault, text):
            _push(waiting, counter, guess.text, left, depth, guess)


def _push(
    waiting: list[tuple[float, int, int, Guess]],
    counter: itertools.count[int],
    text: str,
    fault: Fault,
    depth: int,
    base: Guess,
) -> None:
    for guess in guesses(text, fault):
        note = f"{base.note}; {guess.note}" if base.note else guess.note
        made = Guess(cost=base.cost + guess.cost, text=guess.text, note=note)
        heapq.heappush(waiting, (made.cost, next(counter), depth + 1, made))


def _further(left: Fault, text: str, fault: Fault, before: str) -> bool:
    """Whether the compiler came at least two lines further, counted from the start and from the end."""
    gone = left.line - fault.line
    still = (text.count("\n") - left.line) - (before.count("\n") - fault.line)
    return gone >= 1 and still <= -1


def guesses(text: str, fault: Fault) -> Iterator[Guess]:
    """Changed texts that may compile, in no order."""
    lines = text.split("\n")
    yield from _unfenced(lines)
    yield from wording(lines, fault)
    yield from layout(lines, fault)
    yield from brackets(lines, fault)
    yield from quotes(lines, fault)


def _unfenced(lines: list[str]) -> Iterator[Guess]:
    """Code without the marks of a document around it."""
    marks = [index for index, line in enumerate(lines) if _FENCE.match(line)]
    if not marks:
        return
    note = "the marks of a document around the code dropped"
    pairs = list(zip(marks[::2], [*marks[1::2], len(lines)][: len(marks[::2])], strict=False))
    blocks = ["\n".join(lines[start + 1 : end]) for start, end in pairs]
    yield Guess(cost=0.3, text="\n".join(blocks), note=note)
    yield Guess(cost=0.4, text=max(blocks, key=len), note=note)
    yield Guess(cost=0.5, text="\n".join(lines[: marks[0]]), note=note)
    yield Guess(cost=0.2, text="\n".join(line for line in lines if not _FENCE.match(line)), note=note)
