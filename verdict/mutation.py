"""Mutants of a change: small faults put into the functions that it added or altered, for its own tests to notice.

Only lines that the change wrote are touched, one fault a mutant. What is tried is chosen without chance, so that the
same change gets the same mutants whenever it is judged: spread over functions and kinds of faults, those first that
nearly always show (another value returned, an arithmetic sign), those last that often cannot be told from the original
(a text, a boundary that is never met). The operators are those of the field (DeMillo, Lipton & Sayward, "Hints on test
data selection", 1978; Offutt et al., "An experimental determination of sufficient mutant operators", 1996), with one
more: the value of the right type that is not the right one, which a test that looks at types alone lets pass.
"""

from __future__ import annotations

import ast
import hashlib
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from difflib import SequenceMatcher

from core.javascript import is_source
from core.parsing import parse
from core.tasks import Change
from core.text import encode
from languages.javascript import faults as javascript
from sandbox.source import Source
from verdict.faults import Fault, faults

MOST = 4
MAX_BYTES = 200_000
"""Larger files get no mutants: they are generated, or take longer to look at than is worth it."""

_RARELY_TESTED = frozenset({"main", "__repr__", "__str__", "__hash__"})
_OTHER = "_other_value"
_OTHER_TEXT = """

def {name}(value):
    kind = type(value)
    if kind is bool:
        return not value
    if kind in (int, float):
        other = value + abs(value) + 1
        return other if other != value and other == other else kind(0)
    if kind in (str, bytes):
        return value + kind(b"x") if kind is bytes else value + "x"
    if kind in (list, tuple):
        return kind([{name}(value[0]), *value[1:]]) if value else kind([0])
    if kind is dict:
        return {{**value, **{{key: {name}(value[key]) for key in list(value)[:1]}}}} or {{"": 0}}
    if kind in (set, frozenset):
        return kind(list(value)[1:]) if value else kind([0])
    return None
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Mutant:
    """A file of the change with one fault in it: `text` is all of it, `was` and `now` the faulty place in short."""

    path: str
    line: int
    function: str
    was: str
    now: str
    text: str

    @property
    def story(self) -> str:
        """What was done, in words for whoever wrote the tests."""
        return f"`{self.was}` in {self.function} ({self.path}:{self.line}) becomes {self.now}"


def mutants(change: Change, before: Callable[[str], str | None], most: int = MOST) -> tuple[Mutant, ...]:
    """The mutants of a change's files of Python and JavaScript, the most telling first.

    Args:
        change: path to new text; what is removed has no mutants.
        before: the text of a file without the change, None where there is none.
        most: how many at most.
    """
    found = [c for path, text in sorted(change.items()) if text for c in _of_file(path, text, before(path))]
    return tuple(_text_of(candidate) for candidate in _spread(found, most))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Candidate:
    path: str
    function: str
    original: str
    fault: Fault
    text: str

    @property
    def rank(self) -> int:
        """How likely it is that the fault never shows."""
        return self.fault.rank + 2 * (self.function.rpartition(".")[2] in _RARELY_TESTED)

    @property
    def lot(self) -> str:
        """What decides between equals."""
        place = f"{self.path}\0{self.function}\0{self.fault.kind}\0{self.fault.edit.start}\0{self.original}"
        return hashlib.sha256(encode(place)).hexdigest()


def _of_file(path: str, text: str, before: str | None) -> Iterator[_Candidate]:
    if len(text) > MAX_BYTES:
        return
    if is_source(path):
        lines = _written(before or "", text)
        for name, fault, mutant in javascript.mutated(path, text):
            if fault.line in lines:
                yield _Candidate(path=path, function=name, original=text, fault=fault, text=mutant)
    elif path.endswith(".py"):
        yield from _of_python(path, text, before)


def _of_python(path: str, text: str, before: str | None) -> Iterator[_Candidate]:
    try:
        source = Source(text)
    except SyntaxError:
        return
    lines = _written(before or "", source.text)
    for name, function in _functions(source.tree, ""):
        for fault in faults(source, function, _OTHER):
            if fault.line in lines and (mutated := _mutated(source, fault)) is not None:
                yield _Candidate(path=path, function=name, original=source.text, fault=fault, text=mutated)


def _written(before: str, after: str) -> frozenset[int]:
    """The lines that are new or other than before, counting from 1; where lines went, their neighbours."""
    found: set[int] = set()
    match = SequenceMatcher(None, before.splitlines(), after.split("\n"), autojunk=False)
    for tag, _, _, start, end in match.get_opcodes():
        if tag == "delete":
            found |= {start, start + 1}
        elif tag != "equal":
            found |= set(range(start + 1, end + 1))
    return frozenset(found)


def _functions(node: ast.AST, prefix: str) -> Iterator[tuple[str, ast.FunctionDef | ast.AsyncFunctionDef]]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef):
            yield f"{prefix}{child.name}", child
            yield from _functions(child, f"{prefix}{child.name}.")
        elif isinstance(child, ast.ClassDef):
            yield from _functions(child, f"{prefix}{child.name}.")
        else:
            yield from _functions(child, prefix)


def _mutated(source: Source, fault: Fault) -> str | None:
    """The file with the fault in it, or None where that is no Python."""
    text = source.edited([fault.edit])
    if fault.needs_other:
        text += _OTHER_TEXT.format(name=_OTHER)
    try:
        parse(encode(text))
    except (SyntaxError, ValueError, RecursionError):
        return None
    return text


def _spread(found: list[_Candidate], most: int) -> list[_Candidate]:
    """Pick one after the other what tells most: a function or kind of fault counts less each time it was taken."""
    functions, kinds, picked = Counter[tuple[str, str]](), Counter[str](), list[_Candidate]()
    left = sorted(found, key=lambda candidate: candidate.lot)
    while left and len(picked) < most:
        best = min(left, key=lambda c: c.rank + functions[c.path, c.function] + kinds[c.fault.kind])
        left.remove(best)
        picked.append(best)
        functions[best.path, best.function] += 1
        kinds[best.fault.kind] += 1
    return picked


def _text_of(candidate: _Candidate) -> Mutant:
    fault = candidate.fault
    return Mutant(
        path=candidate.path,
        line=fault.line,
        function=candidate.function,
        was=fault.was,
        now=fault.now,
        text=candidate.text,
    )
