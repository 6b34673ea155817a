"""Reports tests that unittest runs, as events of `recorder`: for `python -m unittest`, `manage.py test` and scripts.

It wraps the methods of the result object, whatever the object's class, and does not change how tests run. A runner that
does not use `unittest.TextTestRunner.run` cannot be followed; only the exit status counts then.
"""
# Importing pathlib would cost every start of the sandbox some milliseconds.
# ruff: noqa: PTH100, PTH110, PTH118

import functools
import os
import re
import sys
import time
import unittest

from . import channel
from .observer import Observer, details

_HOLDER = re.compile(r"\((.+)\)\Z")
_recorders = []


def attach():
    """Follow the unittest runners of this process.

    If unittest imports the tests, the secret is removed from the environment before that.
    """
    begin, run = unittest.TestProgram.__init__, unittest.TextTestRunner.run

    @functools.wraps(begin)
    def follow_begin(self, *args, **kwargs):
        _begin()
        return begin(self, *args, **kwargs)

    @functools.wraps(run)
    def follow_run(self, test):
        _begin()
        return _recorders[0].run(self, test, run) if _recorders else run(self, test)

    unittest.TestProgram.__init__, unittest.TextTestRunner.run = follow_begin, follow_run


def _begin():
    """Create the recorder of this process, unless the recorder of pytest has taken the channel."""
    if (settings := channel.take()) is not None:
        _recorders.append(Recorder(channel.Channel(settings), settings))


class Recorder(Observer):
    """Records runners one after the other. If a test starts a runner, that runner is part of the test."""

    def __init__(self, channel_of_run, settings):
        super().__init__(channel_of_run, settings)
        self._holders, self._ends, self._is_running = {}, {}, False

    def run(self, runner, suite, run):
        """Run a suite with the runner's own method `run`, and return its result."""
        if self._is_running:
            return run(runner, suite)
        for test in _flatten(suite):
            if not _is_unloaded(test):
                name = self._name(test)
                self._lines.add_test(_file_of(test))
                self._holders[name] = f"{type(test).__module__}.{type(test).__qualname__}"
                self._emit(e="item", id=name)
        make, self._is_running = runner._makeResult, True  # noqa: SLF001 (which subclasses override)
        runner._makeResult = lambda: self._follow(make())  # noqa: SLF001
        try:
            result = run(runner, suite)
        finally:
            self._is_running = False
        self._finish(0 if result.wasSuccessful() else 1)
        return result

    def _follow(self, result):
        """Make each call of a result object's methods call this recorder as well."""
        heard = {
            "startTest": self._start, "stopTest": self._stop, "addError": self._fail, "addFailure": self._fail,
            "addSkip": self._skip, "addExpectedFailure": self._expect, "addUnexpectedSuccess": self._surprise,
            "addSubTest": self._fail_part,
        }  # fmt: skip
        for name, hear in heard.items():
            setattr(result, name, _join_calls(getattr(result, name), hear))
        return result

    def _name(self, test):
        """Return the name of a test in pytest's form, with the file, the class and the function."""
        file, method = _file_of(test), getattr(test, "_testMethodName", None)
        if method is None or not file.startswith(self._root):
            return test.id()
        return "::".join((self._short(file), *type(test).__qualname__.split("."), method))

    def _start(self, test):
        if not _is_unloaded(test):
            name = self._name(test)
            self._ends[name] = "passed", None, time.monotonic()
            self._emit(e="start", id=name)
            self._lines.begin(_file_of(test))

    def _stop(self, test):
        self._lines.end()
        name, seen = self._name(test), self._lines.take()
        if name in self._ends:
            result, fail, began = self._ends.pop(name)
            self._end(name, result, fail, s=round(time.monotonic() - began, 4), marked=_is_marked(test), lines=seen)

    def _end(self, name, result, fail, **more):
        self._emit(e="end", id=name, result=result, fail=fail, **more)

    def _fail(self, test, raised):
        fail = details(raised[1], "", self._root)
        if _is_unloaded(test):
            last = fail["message"].rstrip().rpartition("\n")[2]
            kind, _, message = last.partition(": ")
            self._emit(e="collect", id=self._path(test), fail={**fail, "kind": kind, "message": message or last})
        else:
            self._note(test, "failed", fail)

    def _skip(self, test, reason):
        self._note(test, "skipped", {"kind": "Skipped", "message": str(reason), "frames": []})

    def _expect(self, test, raised):
        self._note(test, "skipped", {**details(raised[1], "", self._root), "kind": "XFailed"})

    def _surprise(self, test):
        message = "it passed, though it was expected to fail"
        self._note(test, "failed", {"kind": "XPassed", "message": message, "frames": []})

    def _fail_part(self, test, _part, raised):
        if raised is not None:
            self._fail(test, raised)

    def _note(self, test, result, fail):
        """Record how a test ends. A failure in the set-up of a class or module is the result of all its tests."""
        name = self._name(test)
        if name in self._ends:
            before, _, began = self._ends[name]
            if before != "failed":
                self._ends[name] = result, fail, began
        elif holders := _HOLDER.search(test.id()):
            for item, holder in self._holders.items():
                if f"{holder}.".startswith(f"{holders[1]}."):
                    self._end(item, result, fail)

    def _path(self, test):
        """Return the path of a test file that could not be imported."""
        path = test._testMethodName.replace(".", os.sep) + ".py"  # noqa: SLF001 (its only name)
        files = (os.path.abspath(os.path.join(folder, path)) for folder in sys.path)
        return next((self._short(file) for file in files if file.startswith(self._root) and os.path.exists(file)), path)


def _join_calls(method, hear):
    @functools.wraps(method)
    def call(*args, **kwargs):
        hear(*args, **kwargs)
        return method(*args, **kwargs)

    return call


def _flatten(suite):
    try:
        inner = iter(suite)
    except TypeError:
        yield suite
        return
    for each in inner:
        yield from _flatten(each)


def _file_of(test):
    return os.path.abspath(getattr(sys.modules.get(type(test).__module__), "__file__", None) or "/")


def _is_unloaded(test):
    """Check whether a test is unittest's placeholder for a file that could not be imported."""
    return type(test).__module__ == "unittest.loader"


def _is_marked(test):
    """Check whether a test's source marks it as skipped or expected to fail."""
    holders = (type(test), getattr(test, getattr(test, "_testMethodName", ""), None))
    marks = ("__unittest_skip__", "__unittest_expecting_failure__")
    return any(getattr(each, mark, False) for each in holders for mark in marks)
