"""Judges a change that contains only documentation: checks its pages against the tree and runs their examples.

Such a change needs no tests. Only content that the change added counts: a link that was already dead before the change
may stay. If something cannot be checked, such as a link to another site or an example that needs a network, this
becomes a note in the evidence, never a reason to refuse the change.
"""

from __future__ import annotations

import ast
import asyncio
import contextlib
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from nightshift.core.code.documents import is_document, is_markdown
from nightshift.core.code.parsing import parse_quietly
from nightshift.core.code.tree import text_of
from nightshift.core.tasks.task import digest
from nightshift.core.tasks.verdicts import Evidence, Failure, Label, Result, SuiteJob, Verdict
from nightshift.core.text.encoding import encode
from nightshift.verdict import pages
from nightshift.verdict.languages import plan
from nightshift.verdict.page_checks import Files, Finding, findings
from nightshift.verdict.run import NativeRun, text_before
from nightshift.verdict.suite_runs import SuiteRuns

if TYPE_CHECKING:
    from doctest import DocTestParser

KIND = "Documentation"
_RUNNER = Path(__file__).with_name("page_runner.py")
_PYTHON = frozenset({"python", "py", "python3", "pycon", "doctest"})
_ELIDED = ("...", "…", "{{", "{%", "<", "$ ")
_MOST_BLOCKS, _MOST_NOTES = 60, 10
_MAX_CHARS = 400_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Example:
    """A Python block of a page, or the doctest of a docstring.

    Attributes:
        page: the file that contains the example.
        line: the line of the example in that file.
        kind: code or doctest.
        text: the source of the example.
        new: true if the change added the example. An example that the change did not add runs only to prepare the
            examples below it.
        modules: for a docstring, the names under which its file may be importable.
        roots: further folders to import from.
        done: true if the example has already run.
        old: the doctest lines that the file had before, each as its source and its expected output. They run, but
            their output is not compared.
    """

    page: str
    line: int
    kind: str
    text: str
    new: bool
    modules: tuple[str, ...] = ()
    roots: tuple[str, ...] = ()
    old: tuple[tuple[str, str], ...] = ()
    done: bool = False


def pass_unrun(job: SuiteJob) -> Verdict:
    """Return the passing verdict for a change that contains only documentation and has no tests to run."""
    evidence = Evidence(tree=digest(job.change), sandbox="none", label=Label.DOCUMENTED, complete=job.whole_tree)
    return Verdict(passed=True, reason="", evidence=evidence)


async def judge(job: SuiteJob, verdict: Verdict, runs: SuiteRuns) -> Verdict:
    """Check the documentation of a change whose tests passed, and return the resulting verdict.

    The verdict fails if the documentation has faults. Its evidence notes what could not be checked.

    Args:
        job: the job.
        verdict: the passing verdict of the tests.
        runs: runs the examples.

    Raises:
        SandboxError: nothing could be run.
    """
    own = not (job.given or job.command or job.held.cases)
    if own:
        verdict = replace(verdict, evidence=replace(verdict.evidence, label=Label.DOCUMENTED))
    faults, examples = await asyncio.to_thread(_read_pages, job)
    notes = [f"not Markdown, so not looked at: {path}" for path in _others(job)]
    new = [example for example in examples if example.new]
    if new:
        run, wrong, skipped = await _try_examples(job, examples, runs)
        faults, notes = [*faults, *wrong], [*notes, *skipped]
        if not verdict.results:
            ran = replace(verdict.evidence, tree=run.digest, sandbox=runs.sandbox.name, python=runs.runtime.version)
            verdict = replace(verdict, evidence=ran)
    checked = sum(1 for path, text in job.change.items() if text and is_markdown(path))
    counts = f"{checked} page{'s' * (checked != 1)} and {len(new)} example{'s' * (len(new) != 1)} checked"
    evidence = replace(verdict.evidence, notes=(*verdict.evidence.notes, counts, *notes[:_MOST_NOTES]))
    if not faults:
        reason = f"{verdict.reason}; {counts}" if verdict.reason else counts
        return replace(verdict, reason=reason, evidence=evidence)
    failures = tuple(_failure(fault) for fault in sorted(faults, key=lambda fault: (fault.path, fault.line)))
    more = f" (and {len(failures) - 1} more)" if len(failures) > 1 else ""
    reason = f"{failures[0].id}: {failures[0].message}{more}"
    return replace(verdict, passed=False, reason=reason, failures=failures, evidence=evidence)


def _failure(fault: Finding) -> Failure:
    where = f"{fault.path}:{fault.line}"
    return Failure(id=where, kind=KIND, message=fault.message, frame=where)


def _others(job: SuiteJob) -> list[str]:
    code = (".py", ".js", ".mjs", ".cjs", ".ts", ".jsx", ".tsx")
    return [path for path, text in job.change.items() if text and not is_markdown(path) and not path.endswith(code)]


def _read_pages(job: SuiteJob) -> tuple[list[Finding], list[Example]]:
    """List the faults that are found by reading the changed files, and the examples that must be run."""
    files, faults, examples = _files(job), list[Finding](), list[Example]()
    for path, text in sorted(job.change.items()):
        if not text or len(text) > _MAX_CHARS:
            continue
        before = text_before(job, path) or ""
        if is_document(path):
            old_messages = {finding.message for finding in findings(path, before, files)}
            faults += [finding for finding in findings(path, text, files) if finding.message not in old_messages]
            for outcome in _of_page(path, text, before) if is_markdown(path) else ():
                if isinstance(outcome, Finding):
                    faults.append(outcome)
                else:
                    examples.append(outcome)
        elif path.endswith(".py"):
            examples += _of_module(path, text, before)
    return faults, examples[:_MOST_BLOCKS]


def _files(job: SuiteJob) -> Files:
    over: Mapping[str, str | None] = {**job.start, **job.given, **job.change}
    gone = {path for path, text in over.items() if text is None}

    def text_at(path: str) -> str | None:
        return over[path] if path in over else text_of(job.base, path)

    return Files((job.base.entries().keys() | over.keys()) - gone, text_at)


def _of_page(path: str, text: str, before: str) -> Iterator[Example | Finding]:
    """List a page's Python blocks as examples. A new block that is not valid Python is a fault instead."""
    old_texts = {block.text for block in pages.read(before).blocks}
    old = tuple(_list_doctests(old_texts))
    folder, roots = path.rpartition("/")[0], list[str]()
    while folder:
        roots.append(folder)
        folder = folder.rpartition("/")[0]
    for block in pages.read(text).blocks:
        if block.info not in _PYTHON:
            continue
        kind = "doctest" if ">>>" in block.text else "code"
        new = block.text not in old_texts
        if kind == "code" and (parse_quietly(block.text) is None):
            if new and parse_quietly(_as_stubs(block.text)) is None and not any(e in block.text for e in _ELIDED):
                message = "this block is marked as Python but is not valid Python; fix the block, or mark it as ```text"
                yield Finding(path=path, line=block.line, message=message)
            continue
        yield Example(page=path, line=block.line, kind=kind, text=block.text, new=new, roots=tuple(roots), old=old)


def _as_stubs(text: str) -> str:
    """Return a block of function signatures as valid Python, with an empty body for each `def` line."""
    lines = (line.rstrip() for line in text.split("\n"))
    return "\n".join(f"{line}: ..." if line.lstrip().startswith(("def ", "async def ")) else line for line in lines)


def _of_module(path: str, text: str, before: str) -> Iterator[Example]:
    """List the docstrings with doctest lines that the change added or altered."""
    old = tuple(_list_doctests(doc for _, doc in _docstrings(before)))
    parts = path.removesuffix(".py").removesuffix("/__init__").split("/")
    names = tuple(".".join(parts[at:]) for at in range(len(parts)))
    roots = tuple("/".join(parts[:at]) for at in range(1, len(parts)))
    for line, doc in _docstrings(text):
        if not set(_list_doctests([doc])) <= set(old):
            yield Example(page=path, line=line, kind="doctest", text=doc, new=True, modules=names, roots=roots, old=old)


def _list_doctests(texts: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Yield the source and the expected output of each doctest line; texts that cannot be parsed have none."""
    for text in texts:
        with contextlib.suppress(ValueError):
            for example in _make_parser().get_examples(text):
                yield example.source, example.want


def _make_parser() -> DocTestParser:
    from doctest import DocTestParser  # noqa: PLC0415  brings the debugger and unittest: 2 MB

    return DocTestParser()


def _docstrings(text: str) -> Iterator[tuple[int, str]]:
    tree = parse_quietly(text)
    for node in ast.walk(tree) if tree else ():
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            doc = ast.get_docstring(node, clean=False)
            yield from [(node.body[0].lineno, doc)] if doc else []


# The functions below run the examples in the sandbox.


async def _try_examples(
    job: SuiteJob, examples: list[Example], runs: SuiteRuns
) -> tuple[NativeRun, list[Finding], list[str]]:
    """Run the examples.

    Returns:
        The run, the faults of the examples that failed, and a sentence for each example that could not run.
    """
    examples = [example for example in examples if _is_readable(example)]
    name = next(path for n in range(1000) if (path := f"test_documentation_{n}.py") not in job.base.entries())
    tests = {f"{name}::test_{at}": example for at, example in enumerate(examples) if example.new}
    asked = replace(job, own={name: _source(examples)}, given={}, command=(), regression=(), whole_tree=True)
    run = await runs.run(asked, plan.tests_alone(await runs.plan(asked)))
    ended = {result.id: result for result in run.tests or ()}
    messages = {failure.id: failure.message for failure in run.failures}
    wrong, skipped = list[Finding](), list[str]()
    for test, example in tests.items():
        result = ended.get(test)
        message = messages.get(test, result.message if result else "it was not reached")
        if result is None or result.result is not Result.FAILED:
            if result is None or result.result is not Result.PASSED:
                skipped.append(f"{example.page}:{example.line} was not run: {' '.join(message.split())[:200]}")
            continue
        what = "this example" if example.kind == "code" else "this doctest"
        detail = message.removeprefix("AssertionError: ")
        more = "; fix the block, or mark it as text if it should not run" if not example.modules else ""
        wrong.append(Finding(path=example.page, line=example.line, message=f"{what}: {detail}{more}"))
    return run, wrong, skipped


def _is_readable(example: Example) -> bool:
    """Check whether an example can be encoded as UTF-8 and parsed as a doctest.

    It must be encodable because its text becomes part of the source of a test module.
    """
    try:
        encode(example.text).decode()
        _make_parser().parse(example.text)
    except ValueError:
        return False
    return True


def _source(examples: list[Example]) -> str:
    """Return the source of a test module: the page runner, all examples as data, and a test for each new example."""
    blocks = json.dumps([asdict(example) for example in examples])
    tests = [f"def test_{at}():\n    run(BLOCKS, {at})\n" for at, example in enumerate(examples) if example.new]
    head = _RUNNER.read_text(encoding="utf-8")
    return "\n\n".join([f"{head}\n\nimport json\n\nBLOCKS = json.loads({blocks!r})\n", *tests])
