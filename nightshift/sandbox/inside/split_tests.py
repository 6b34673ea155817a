"""The test side of a split run: pytest on tests that are in memory only, with the tested code elsewhere.

Nothing is read from disk once the code side runs, since that side can read and write whatever lies there. Each test is
reported on one line of JSON, `[id, result, why]`: `passed`, `failed` by an assertion, `raised` where the tested code
raised or ended, or `unjudged` where it needs what a split run does not carry, or failed with stand-ins for objects of
the tested code.
"""
# Importing pathlib would cost every start of the sandbox some milliseconds.
# ruff: noqa: PTH109, PTH118, PTH119, PTH122, PTH123

import json
import os
import sys
from functools import partial
from pathlib import Path
from types import ModuleType

import pytest
from _pytest.config import hookimpl
from _pytest.outcomes import Failed

from . import own_packages, session
from .precompiled import Precompiled
from .remote_modules import Finder

WHY = 300


def run(config, events, side, libraries):
    """Run the tests that `config` describes; returns pytest's exit status.

    Args:
        config: as that of a session, with `texts` (path to text of the tests and their helpers), `suites` (the paths
            that are tests) and `roots` (folders that modules are imported from).
        events: takes the report.
        side: the connection to the code side.
        libraries: import paths of the test libraries.
    """
    session.prepare(config, libraries)
    session.shrink_no_failures()
    here = os.getcwd()
    helpers = dict(_helpers(config["texts"], config["suites"], config["roots"]))
    sys.meta_path.insert(0, Finder(side, helpers, libraries, config["own"]))
    if config["simple"]:
        own_packages.forget(config["own"])
        return call_directly(config, Reporter(events, side))
    for path, text in config["settings"].items():
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
    texts, paths = config["texts"], (*config["conftests"], *config["suites"])
    code = Precompiled({os.path.join(here, path): texts[path].encode("utf-8", "surrogatepass") for path in paths})
    plugin = Tests(events, side, code, config)
    return session.pytest_main(session.words({**config, "files": ()}), plugin)


def call_directly(config, reporter):
    """Run plain functions without pytest, which takes a tenth of the time."""
    for path in config["suites"]:
        space = {"__name__": os.path.splitext(os.path.basename(path))[0]}
        try:
            exec(compile(config["texts"][path], path, "exec", dont_inherit=True), space)  # noqa: S102 (a test of the suite: that is its run)
        except BaseException as error:  # noqa: BLE001 (SystemExit too is a result here)
            reporter.uncollected(path, error)
            continue
        for name in config["simple"][path]:
            reporter.pytest_runtest_logstart()
            try:
                space[name]()
            except BaseException as error:  # noqa: BLE001 (as above)
                reporter.take(error)
            reporter.pytest_runtest_logfinish(f"{path}::{name}")
    return 0


def _helpers(texts, suites, roots):
    """Module names of the tests' helpers, with path and text; a folder of them is a package without a text."""
    for path, text in texts.items():
        if path in suites:
            continue
        for root in roots:
            own = path.removeprefix(root)
            if path.startswith(root):
                name = own.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
                yield name, (path, text)
                for place, char in enumerate(own):
                    folder = own[:place]
                    if char == "/" and f"{root}{folder}/__init__.py" not in texts:
                        yield folder.replace("/", "."), (f"{root}{folder}/", None)


def _line(raised):
    """The number of the line that a failed test was in."""
    trace = raised.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    return f"line {trace.tb_lineno}" if trace else "an unknown line"


class Reporter(session.Coroutines):
    """The plugin that reports."""

    def __init__(self, events, side):
        self._events, self._side = events, side
        self._result, self._why = "passed", ""

    def _emit(self, name, result, why):
        text = (json.dumps([name, result, why[:WHY]]) + "\n").encode()
        while text:
            text = text[os.write(self._events, text) :]

    @hookimpl(wrapper=True, tryfirst=True)
    def pytest_make_collect_report(self):
        """Report a file that cannot be imported because of the tested code."""
        self._side.begin_test()
        report = yield
        if report.outcome != "passed":
            raised = report.call.excinfo and report.call.excinfo.value
            self.uncollected(report.nodeid, getattr(raised, "__cause__", None) or raised)
        return report

    def uncollected(self, path, raised):
        """Report a file that cannot be imported: the tested code's fault if it raised or ended."""
        blamed = self._side.fault or (raised if self._is_remote(raised) else "")
        self._emit(path, "raised" if blamed and not self._side.doubt else "unjudged", str(blamed or self._side.doubt))

    def pytest_runtest_logstart(self):
        """Begin a test."""
        self._side.begin_test()
        self._result, self._why = "passed", ""

    @hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_makereport(self, call):
        """Weigh one phase of a test."""
        raised = call.excinfo.value if call.excinfo else None
        report = yield
        raised = raised or (call.excinfo.value if call.excinfo else None)
        if report.outcome != "passed" or hasattr(report, "wasxfail"):
            self.take(raised)
        return report

    def take(self, raised):
        """Note a failure: the tested code's if an assertion failed or it raised; else it is of the test side."""
        if self._result == "passed":
            is_assertion = isinstance(raised, AssertionError | Failed)
            blamed = is_assertion or self._is_remote(raised)
            self._result = "unjudged" if not blamed else "failed" if is_assertion else "raised"
            self._why = (
                f"{type(raised).__name__}: {raised}" if str(raised) else f"{type(raised).__name__} in {_line(raised)}"
            )

    def _is_remote(self, raised):
        return raised is not None and any(raised is one for one in self._side.raised)

    def pytest_runtest_logreport(self, report):
        """Note the failure of a part of a test."""
        if report.outcome == "failed" and self._result == "passed":
            self._result, self._why = "failed", str(report.longrepr).splitlines()[-1]

    def pytest_runtest_logfinish(self, nodeid):
        """Report the end of a test."""
        result, why = self._result, self._why
        if self._side.fault:
            result, why = "raised", self._side.fault
        elif self._side.doubt:
            result, why = "unjudged", self._side.doubt
        elif result != "passed" and self._side.met_objects and not (result == "failed" and self._side.was_unequal):
            result = "unjudged"  # a stand-in may behave otherwise than the object; the run in one process decides
        self._emit(nodeid, result, why)


class Tests(Reporter):
    """The plugin that has pytest collect tests from memory, and reports.

    Args:
        events: takes the report.
        side: the connection to the code side.
        code: compiled tests and conftests, by absolute path.
        config: as in `run`.
    """

    def __init__(self, events, side, code, config):
        super().__init__(events, side)
        self._code, self._config = code, config

    @hookimpl(tryfirst=True)
    def pytest_load_initial_conftests(self, early_config):
        """Compile the tests; from then on packages that this process has as well are those of the code side."""
        self._code.compile(early_config)
        own_packages.forget(self._config["own"])

    def pytest_sessionstart(self, session):
        """Take up conftests, the uppermost first; what is below may replace what is above."""
        for path in sorted(self._config["conftests"], key=lambda path: path.count("/")):
            made = self._made(path)
            session.config.pluginmanager.register(made, f"conftest of {path.rpartition('/')[0] or 'all'}")

    def _made(self, path):
        module = ModuleType(os.path.splitext(os.path.basename(path))[0])
        module.__file__ = os.path.join(os.getcwd(), path)
        exec(self._code.of(module.__file__), vars(module))  # noqa: S102 (a test of the suite: that is its run)
        return module

    def pytest_collection(self, session):
        """Collect the tests."""
        session.items = items = []
        for path in self._config["suites"]:
            node = InMemory.from_parent(session, path=Path(os.getcwd(), path))
            node.make = partial(self._made, path)
            items.extend(session.genitems(node))
        hook = session.config.hook
        hook.pytest_collection_modifyitems(session=session, config=session.config, items=items)
        hook.pytest_collection_finish(session=session)
        session.testscollected = len(items)
        return True


class InMemory(pytest.Module):
    """A file of tests that is not on disk; `make` makes its module."""

    def _getobj(self):
        return self.make()
