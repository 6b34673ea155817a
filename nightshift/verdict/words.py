"""Compares a passing change with the text of its task.

The module calls the examples in the text (`verdict.word_examples`), and looks for the names and files that the text
asks for (`verdict.word_names`). If the agent misunderstood the task, its own tests share the misunderstanding and pass;
the text of the task often reveals it. The calls run in the sandbox like those of held-out cases, and the results are
compared outside. An unmet requirement is not a failure of the tests: it is listed in `Verdict.unmet`, and the engine
that runs the phases decides what follows.

A right change must not be refused. So an example is ignored if it is unclear which function it calls, if the call fails
because of something that the sandbox lacks, or if the result is not a plain value. It is ignored if the tree without
the change already returns the result, because the text then describes a bug. It is also ignored if the tests or cases
of the task make a call with the same arguments, because these define the right result.
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
"""Maximum number of unmet requirements in a verdict, and maximum characters of a value in a requirement."""
_MOST_FILES = 5000
"""Maximum number of base files that are searched for a name that is not in the change."""
_OF_THE_SANDBOX = frozenset({"OSError", "ImportError", "EOFError", "MemoryError", "SystemExit", "KeyboardInterrupt"})
"""Exceptions whose cause may be a file, network, package or terminal that the sandbox does not have."""
_REL = 1e-6
"""Relative tolerance within which two numbers count as equal."""
_PRINTS = re.compile(r"\bprint\(|\bstdout\b")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Call:
    """An example that can be called in the sandbox.

    Attributes:
        example: the example.
        case: the call, in the form of a held-out case.
        prints: true if the function's file prints anything. The expected result may then be printed, not returned.
    """

    example: Example
    case: ValueCase
    prints: bool

    @property
    def key(self) -> tuple[str, str, str]:
        """A key that is equal for calls with the same function and arguments, whatever their results."""
        return self.case.call, self.case.args, self.case.kwargs


async def check_words(job: SuiteJob, verdict: Verdict, asker: Asker) -> Verdict:
    """Return the verdict with the requirements of the task's text that the change does not meet.

    Args:
        job: the job of the verdict; `job.asked` is the task's text.
        verdict: a passing verdict.
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


# The functions below look for the names and files that the text asks for.


def _find_missing(job: SuiteJob, words: str, examples: Sequence[Example]) -> Iterator[str]:
    """Describe each name or file that the text asks for and that the changed tree does not have."""
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
    """The tree of a job with the change.

    A search begins with the changed files. The files of the base are read only if the changed files do not contain the
    name.
    """

    def __init__(self, job: SuiteJob) -> None:
        self._job = job
        self._over = {**job.start, **job.change}
        self._new = {path: text for path, text in self._over.items() if text is not None}

    def defines(self, name: str) -> bool:
        """Check whether the tree may define a function or class of this name."""
        return any(_defines(path, text, name) for path, text in self._read_texts())

    def mentions(self, name: str) -> bool:
        """Check whether a name occurs as a word in any file."""
        word = re.compile(rf"\b{re.escape(name)}\b")
        return any(word.search(text) for _, text in self._read_texts())

    def has(self, path: str) -> bool:
        """Check whether any folder has a file with the file name of this path. Upper and lower case count as equal."""
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
    folded_name = name.replace("_", "").casefold()  # `slugify_text` is `SlugifyText` in Go.
    return any(word.replace("_", "").casefold() == folded_name for word in re.findall(r"\w+", text))


# The functions below call the examples.


async def _find_calls(job: SuiteJob, words: str, examples: Sequence[Example], asker: Asker) -> Sequence[_Call]:
    """List the examples whose function is defined in exactly one file.

    Files that the change contains are searched first, then modules that the text names. Examples of other languages
    than Python are not called.
    """
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
    """For each call in the tests, yield the positional and keyword arguments if all of them are literals."""
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
    """List the modules of the base whose paths the text names."""
    wanted = tuple(find_paths(words))
    paths = (path for path in job.base.entries() if _is_module(path)) if wanted else ()
    return [path for path in paths if any(f"/{path}".endswith(f"/{each}") for each in wanted)]


def _find_places(name: str, defined: Mapping[str, Collection[str]]) -> list[str]:
    """List the files that define a function. For a dotted name, the end of the path must match the module names."""
    *module, function = name.split(".")
    holders = [path for path, names in defined.items() if function in names]
    return [path for path in holders if not module or _split_path(path)[-len(module) :] == module]


def _split_path(path: str) -> list[str]:
    return path.removesuffix(".py").removesuffix("/__init__").split("/")


def _name_module(path: str, roots: Sequence[str]) -> str:
    """Return the dotted name under which a file is imported; empty if the file cannot be imported."""
    inside = [path.removeprefix(f"{root}/") for root in roots if path.startswith(f"{root}/")]
    parts = _split_path(min([path, *inside], key=len))
    return ".".join(parts) if all(map(str.isidentifier, parts)) else ""


async def _weigh_calls(job: SuiteJob, calls: Sequence[_Call], asker: Asker) -> tuple[tuple[str, ...], int]:
    """Call the examples.

    Returns:
        A sentence for each example that the change does not satisfy, and the number of examples that it satisfies.
    """
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
    }  # The text gives two results for each of these calls, and the change returns one of the two.
    unmet = [
        f"the words of the task say {call.example.text}; the change gives {text}"
        for call, text in wrong.items()
        if call not in answered_before and call.key not in answered
    ]
    return tuple(unmet), len(right)


def _describe(call: _Call, reply: Reply | None) -> str:
    """Describe a call's wrong result for people; empty if the result proves nothing about the change."""
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
