"""Runs the examples of documentation.

The source of this module is copied into a test module that runs in the sandbox. All blocks of a page run in one
namespace, from top to bottom. An example fails only if the documentation is certainly wrong: the tree does not have
what the example imports or calls, or the tree gives another output. An example that fails for another reason is skipped
with that reason. Such reasons are a missing network, library or file of the reader, and names that are defined
elsewhere.
"""

from __future__ import annotations

import contextlib
import doctest
import importlib
import io
import signal
import sys
import traceback
import types
from pathlib import Path
from typing import Any

import pytest

BLOCK_S = 5
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE | doctest.IGNORE_EXCEPTION_DETAIL
_ELSEWHERE = (OSError, EOFError, SystemExit, KeyboardInterrupt, NameError, MemoryError, RecursionError)
_SPACES: dict[str, types.ModuleType] = {}


class NewLines(doctest.DebugRunner):
    """Runs a doctest, and ignores failures of the lines that the documentation had before the change."""

    def __init__(self, old: list[list[str]]) -> None:
        super().__init__(verbose=False, optionflags=FLAGS)
        self._old = old

    def report_failure(self, out: Any, test: Any, example: doctest.Example, got: str) -> None:
        """Raise DocTestFailure if the line is new."""
        if [example.source, example.want] not in self._old:
            super().report_failure(out, test, example, got)

    def report_unexpected_exception(self, out: Any, test: Any, example: doctest.Example, exc_info: Any) -> None:
        """Raise UnexpectedException if the line is new."""
        if [example.source, example.want] not in self._old:
            super().report_unexpected_exception(out, test, example, exc_info)


class Late(BaseException):
    """Raised in an example that exceeds its time limit."""


def run(blocks: list[dict[str, Any]], at: int) -> None:
    """Run one example, after the earlier examples of its page that have not run yet.

    Errors of the earlier examples are ignored. The test is skipped if the example fails for a reason that the
    documentation is not to blame for.

    Args:
        blocks: all examples.
        at: the index of the example.

    Raises:
        AssertionError: the documentation is wrong.
    """
    here = blocks[at]
    for folder in ("", "src", "lib", *here["roots"]):
        if (location := str(Path(folder).resolve())) not in sys.path:
            sys.path.append(location)
    for before in blocks[:at]:
        if before["page"] == here["page"] and not before["done"]:
            before["done"] = True
            with contextlib.suppress(BaseException):
                _work(before)
    here["done"] = True
    try:
        wrong = _work(here)
    except BaseException as error:  # noqa: BLE001 (whatever an example raises is what it is judged by)
        wrong = _describe_error(error, here)
    if wrong:
        raise AssertionError(wrong)


def _work(block: dict[str, Any]) -> str:
    """Run an example. Return the difference between a doctest's expected and actual output; empty if there is none."""
    signal.signal(signal.SIGALRM, _late)
    signal.setitimer(signal.ITIMER_REAL, BLOCK_S)
    try:
        with contextlib.redirect_stdout(io.StringIO()) as output:
            if block["kind"] == "code":
                names = _space(block["page"]).__dict__
                exec(compile(block["text"], block["page"], "exec"), names)  # noqa: S102 (it runs in the sandbox)
                return ""
            return _doctest(block, output)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)


def _space(page: str) -> types.ModuleType:
    if page not in _SPACES:
        module = types.ModuleType(f"page_{len(_SPACES)}")
        _SPACES[page] = sys.modules[module.__name__] = module
    return _SPACES[page]


def _doctest(block: dict[str, Any], output: io.StringIO) -> str:
    names = _space(block["page"]).__dict__
    if block["modules"]:
        names = dict(_module(block["modules"], block["page"]).__dict__)
    test = doctest.DocTestParser().get_doctest(block["text"], names, block["page"], block["page"], 0)
    try:
        NewLines(block["old"]).run(test, out=output.write, clear_globs=False)
    except doctest.DocTestFailure as failure:
        got, want = failure.got.strip(), failure.example.want.strip()
        if " at 0x" in want:
            return ""
        return f"`{failure.example.source.strip()}` gives {got or 'nothing'} instead of {want or 'nothing'}"
    except doctest.UnexpectedException as failure:
        raise failure.exc_info[1] from None
    return ""


def _module(names: list[str], path: str) -> types.ModuleType:
    """Import the module at a path, or skip the test if it cannot be imported.

    Args:
        names: the possible names of the module. The first name whose import loads the file at `path` is used.
        path: the path of the module.
    """
    why: BaseException = ImportError(f"no module at {path}")
    for name in names:
        try:
            module = importlib.import_module(name)
        except ImportError as error:
            why = error
            continue
        if Path(module.__file__ or "/").resolve() == Path(path).resolve():
            return module
    pytest.skip(f"{path} cannot be imported: {why}")


def _describe_error(error: BaseException, block: dict[str, Any]) -> str:
    """Describe an exception that proves the documentation wrong.

    The test is skipped if the exception may have another cause.
    """
    if isinstance(error, pytest.skip.Exception):
        raise error
    description = f"{type(error).__name__}: {error}"
    if isinstance(error, Late):
        pytest.skip(f"it does not end within {BLOCK_S} s")
    if isinstance(error, ImportError):
        top = (error.name or "").partition(".")[0]
        return (
            f"raises {description}"
            if top and _is_ours(top)
            else pytest.skip(f"it needs more than there is: {description}")
        )
    frames = [frame.filename for frame in traceback.extract_tb(error.__traceback__)]
    inside = [name for name in frames if name == block["page"] or name.startswith("<doctest") or _lies_in_tree(name)]
    if isinstance(error, _ELSEWHERE) or not inside or frames[-1] != inside[-1]:
        pytest.skip(f"it needs more than there is: {description}")
    mentions = [line for line in block["text"].split("\n") if type(error).__name__ in line or "rais" in line.lower()]
    return pytest.skip(f"it says itself that it raises: {description}") if mentions else f"raises {description}"


def _is_ours(top: str) -> bool:
    roots = [Path(root) for root in sys.path if _lies_in_tree(f"{root}/x")]
    return any((root / top).exists() or (root / f"{top}.py").exists() for root in roots)


def _lies_in_tree(name: str) -> bool:
    path = Path(name).resolve()
    return path.is_relative_to(Path.cwd()) and path != Path(__file__).resolve()


def _late(*_: object) -> None:
    raise Late
