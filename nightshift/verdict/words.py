"""Holds a change that passed to the words of its task: examples are called, names and files are looked for.

Self-written tests cannot see that a change answers another task, for they do so too. The words of the task often say
enough to see it (`verdict.word_examples`, `verdict.word_names`). The calls are made in the sandbox like those of
held-out cases, and compared outside. What the change does not do is no failure of its tests: `Verdict.unmet` has it,
and whoever walks the phases decides.

A right change must not be refused, so an example says nothing where it is not clear what it calls, where the call fails
for what the sandbox does not have, where the result is no plain value, where the tree without the change answers so
already (the words describe a bug then), and where the tests or cases that came with the task make a call with the same
arguments: these say what is right.
"""

from __future__ import annotations

import ast
import asyncio
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from nightshift.core.code import literals
from nightshift.core.code.documents import is_document
from nightshift.core.code.parsing import parse_quietly
from nightshift.core.code.paths import is_test_path
from nightshift.core.code.tree import text_of
from nightshift.core.tasks.held_out import Compare, ValueCase
from nightshift.core.tasks.task import Files, Language
from nightshift.core.tasks.verdicts import SuiteJob, Verdict
from nightshift.sandbox.inside import values
from nightshift.verdict.answer import Reply
from nightshift.verdict.definitions import find_bound, find_functions
from nightshift.verdict.held.asking import Asker
from nightshift.verdict.held.weighing import Finding, plainly, weigh
from nightshift.verdict.word_examples import Example, read_examples
from nightshift.verdict.word_names import find_paths, read_names

_MOST, _SHOWN = 5, 80
"""Sentences in a verdict, and characters of a value in one."""
_MOST_FILES = 5000
"""Files of the base in which a name is looked for that the change does not define."""
_OF_THE_SANDBOX = frozenset({"OSError", "ImportError", "EOFError", "MemoryError", "SystemExit", "KeyboardInterrupt"})
"""Exceptions for want of files, a network, packages or a terminal."""
_REL = 1e-6
"""The relative difference between numbers that count as the same."""
_PRINTS = re.compile(r"\bprint\(|\bstdout\b")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Call:
    """An example as a call; `prints` tells that its file prints, so that the result may be what is printed."""

    example: Example
    case: ValueCase
    prints: bool

    @property
    def key(self) -> tuple[str, str, str]:
        """The same for calls that differ in their result alone."""
        return self.case.call, self.case.args, self.case.kwargs


async def check_words(job: SuiteJob, verdict: Verdict, asker: Asker) -> Verdict:
    """The verdict with what the words of the task say and the change does not do.

    Args:
        job: what the verdict is on; `job.asked` are the words.
        verdict: one that passed.
        asker: makes calls in the sandbox.

    Raises:
        SandboxError: nothing could be run.
    """
    if not job.asked:
        return verdict
    words = job.asked
    examples = read_examples(words)
    missing = await asyncio.to_thread(lambda: tuple(_find_missing(job, words, examples)))
    calls = await _find_calls(job, words, examples, asker)
    wrong, right = await _weigh_calls(job, calls, asker) if calls else ((), 0)
    unmet = (*missing, *wrong)[:_MOST]
    count = f"{right} example{'s' if right > 1 else ''} in the words of the task {'hold' if right > 1 else 'holds'}"
    notes = (*verdict.evidence.notes, *([count] if right else ()), *unmet)
    return replace(verdict, unmet=unmet, evidence=replace(verdict.evidence, notes=notes))


# --- names


def _find_missing(job: SuiteJob, words: str, examples: Sequence[Example]) -> Iterator[str]:
    """List sentences on what the words ask for by name and the changed tree does not have."""
    asked = read_names(words, [example.name for example in examples])
    after = _Changed(job)
    for name in asked.defined:
        if not after.defines(name):
            example = next((each for each in examples if each.name.rpartition(".")[2] == name), None)
            request = f"say {example.text}" if example else f"ask for {name}"
            yield f"the words of the task {request}; {name} is not defined anywhere"
    for name in asked.mentioned:
        if not after.mentions(name):
            yield f"the words of the task ask for {name}; it occurs nowhere"
    for path in asked.files:
        if not after.has(path):
            yield f"the words of the task ask for the file {path}; it is not there"


class _Changed:
    """The tree of a job with its change: first what is new in it, and the base only for what is not found there."""

    def __init__(self, job: SuiteJob) -> None:
        self._job = job
        self._over = {**job.start, **job.change}
        self._new = {path: text for path, text in self._over.items() if text is not None}

    def defines(self, name: str) -> bool:
        """Tell whether a function or class of this name may be defined."""
        return any(_defines(path, text, name) for path, text in self._read_texts())

    def mentions(self, name: str) -> bool:
        """Tell whether a name occurs anywhere."""
        word = re.compile(rf"\b{re.escape(name)}\b")
        return any(word.search(text) for _, text in self._read_texts())

    def has(self, path: str) -> bool:
        """Tell whether a file of this name is there, in whatever folder."""
        gone = {each for each, text in self._over.items() if text is None}
        last = path.rpartition("/")[2].casefold()
        present = (self._job.base.entries().keys() - gone) | self._new.keys()
        return any(each.rpartition("/")[2].casefold() == last for each in present)

    def _read_texts(self) -> Iterator[tuple[str, str]]:
        yield from self._new.items()
        left = [path for path in self._job.base.entries() if path not in self._over]
        for path in left[:_MOST_FILES]:
            yield path, text_of(self._job.base, path) or ""


def _defines(path: str, text: str, name: str) -> bool:
    if is_document(path):
        return False
    if path.endswith(".py"):
        return name in text and name in find_bound(text)
    folded_name = name.replace("_", "").casefold()  # `slugify_text` is `SlugifyText` in Go
    return any(word.replace("_", "").casefold() == folded_name for word in re.findall(r"\w+", text))


# --- examples


async def _find_calls(job: SuiteJob, words: str, examples: Sequence[Example], asker: Asker) -> Sequence[_Call]:
    """The examples that call a function of one file that the change has, or that the words name."""
    if job.language is not Language.PYTHON or not examples:
        return ()
    roots = await asker.roots(job)
    return await asyncio.to_thread(lambda: list(_resolve(job, words, examples, roots)))


def _resolve(job: SuiteJob, words: str, examples: Sequence[Example], roots: Sequence[str]) -> Iterator[_Call]:
    tested = {*_read_arguments(job.given), *((case.args, case.kwargs) for case in job.held.cases)}
    changed = {path: text for path, text in job.change.items() if text is not None and _is_module(path)}
    named = {path: text_of(job.base, path) or "" for path in _find_named(job, words) if path not in job.change}
    defined = [{path: find_functions(text) for path, text in texts.items()} for texts in (changed, named)]
    for example in examples:
        if (example.args, example.kwargs) in tested:
            continue
        places = next((named_places for each in defined if (named_places := _find_places(example.name, each))), [])
        module = _name_module(places[0], roots) if len(places) == 1 else ""
        if module:
            name = example.name.rpartition(".")[2]
            case = ValueCase(
                call=f"{module}:{name}", args=example.args, kwargs=example.kwargs, compare=Compare.NEAR,
                expect=example.expect, rel=_REL, abs=example.rounded, shown=True,
            )  # fmt: skip
            text = {**named, **changed}[places[0]]
            yield _Call(example=example, case=case, prints=_PRINTS.search(text) is not None)


def _read_arguments(tests: Files) -> Iterator[tuple[str, str]]:
    """The literal arguments of each call in tests."""
    for text in tests.values():
        tree = parse_quietly(text)
        for node in ast.walk(tree) if tree else ():
            if isinstance(node, ast.Call) and all(keyword.arg for keyword in node.keywords):
                try:
                    args = literals.write(tuple(map(literals.value_of, node.args)))
                    yield args, literals.write({each.arg: literals.value_of(each.value) for each in node.keywords})
                except ValueError:
                    continue


def _is_module(path: str) -> bool:
    return path.endswith(".py") and not is_test_path(path)


def _find_named(job: SuiteJob, words: str) -> list[str]:
    """Modules of the base that the words name."""
    wanted = tuple(find_paths(words))
    paths = (path for path in job.base.entries() if _is_module(path)) if wanted else ()
    return [path for path in paths if any(f"/{path}".endswith(f"/{each}") for each in wanted)]


def _find_places(name: str, defined: Mapping[str, Collection[str]]) -> list[str]:
    """The files that define a function, which may be named with its module."""
    *module, function = name.split(".")
    holders = [path for path, names in defined.items() if function in names]
    return [path for path in holders if not module or _split_path(path)[-len(module) :] == module]


def _split_path(path: str) -> list[str]:
    return path.removesuffix(".py").removesuffix("/__init__").split("/")


def _name_module(path: str, roots: Sequence[str]) -> str:
    """The name under which a file is imported; empty where it has none."""
    inside = [path.removeprefix(f"{root}/") for root in roots if path.startswith(f"{root}/")]
    parts = _split_path(min([path, *inside], key=len))
    return ".".join(parts) if all(map(str.isidentifier, parts)) else ""


async def _weigh_calls(job: SuiteJob, calls: Sequence[_Call], asker: Asker) -> tuple[tuple[str, ...], int]:
    """Sentences on the examples that the change does not answer as they say, and how many it does."""
    replies = await asker.call(job, [call.case for call in calls])
    right = {call for call, reply in zip(calls, replies, strict=True) if weigh(call.case, reply) is Finding.RIGHT}
    given = {call: _describe(call, reply) for call, reply in zip(calls, replies, strict=True) if call not in right}
    wrong = {call: text for call, text in given.items() if text}
    if not wrong:
        return (), len(right)
    keys = {call.key for call in wrong}
    asked = [call for call in calls if call.key in keys]
    before = await asker.call(replace(job, change={}), [call.case for call in asked])
    answered_before = {
        call for call, reply in zip(asked, before, strict=True) if weigh(call.case, reply) is Finding.RIGHT
    }
    answered = {
        call.key for call in right - answered_before
    }  # the words say two things of it, and the change does one of them
    unmet = [
        f"the words of the task say {call.example.text}; the change gives {text}"
        for call, text in wrong.items()
        if call not in answered_before and call.key not in answered
    ]
    return tuple(unmet), len(right)


def _describe(call: _Call, reply: Reply | None) -> str:
    """Describe the answer of a call that is not right, for people; empty where it says nothing of the change."""
    if reply is None or reply.how not in {"value", "raised"}:
        return ""
    if reply.how == "raised":
        names = [str(name) for name in reply.data] if isinstance(reply.data, list) else []
        return "" if not names or _OF_THE_SANDBOX & set(names) else names[0][:_SHOWN]
    if not plainly(reply):
        return ""
    value = values.unpack(reply.data)
    if value is None and call.prints:
        return ""
    try:
        text = literals.write(value)
    except ValueError:
        return ""
    return text if len(text) <= _SHOWN else f"{text[: _SHOWN - 1]}…"
