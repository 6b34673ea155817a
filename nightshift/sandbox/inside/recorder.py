"""An ordinary pytest plugin (`-p nightshift_inside.recorder`) that reports a run, with one line of JSON for each event.

It does not change how tests run, except that coverage thresholds are switched off. It writes to a pipe to the trusted
parent, and each line begins with the run's secret. The pipe and the secret are removed from the environment before any
code of the tree is imported. That protects against printed lines, `os._exit`, and reports written by hand. It does not
protect against code that searches the memory for the secret. But such code forges the run of the must-fail copies in
the same way, and is detected by that.

Events: `item` (a test was collected), `start`, `end` (how a test ended, with its failure, output and the lines of test
files that ran), `collect` (a file could not be collected), `left` (files left for another run), `internal`, `note`,
`seen` (files that tests opened, modules of the tree, and functions outside the tree that changed), and `finish`.

pytest must not rewrite the assertions of this module: PYTEST_DONT_REWRITE.
"""

import contextlib
import importlib.util
import os
import sys
import time

import pytest
from _pytest.config import hookimpl

from . import coroutines
from .channel import OPTIONS, Channel, restore_options, take
from .django_project import DjangoProject, find_settings
from .observer import MESSAGE, Observer, details, in_short

OUTPUT = 3000
DETAILS = 6 << 20  # bytes of events that describe failures in full; later ones are shortened
PLUGIN = "nightshift_recorder"
MARKS = ("no_cover", "xdist_group", "flaky", "limit_memory")
_xfailed = pytest.xfail.Exception


class Attached:
    """Stores the events of a pytest-xdist worker, until a report carries them to the process that has the channel."""

    def __init__(self):
        self._events = []

    def send(self, event):
        """Store one event."""
        self._events.append(event)

    def take(self):
        """Return the events since the last call."""
        events, self._events = self._events, []
        return events


@hookimpl(wrapper=True, tryfirst=True)
def pytest_load_initial_conftests(early_config, parser, args):
    """Start recording before a conftest can import tested code."""
    settings = take()
    if settings is None:
        return (yield)
    channel = Channel(settings)
    recorder = Recorder(channel, settings, early_config)
    early_config.pluginmanager.register(recorder, PLUGIN)
    if django_settings := find_settings():
        early_config.pluginmanager.register(DjangoProject(django_settings))
    done = yield
    recorder.drop_options(parser, args)
    return done


@hookimpl(optionalhook=True)
def pytest_xdist_setupnodes(config):
    """Make the workers of pytest-xdist load the recorder, because this process then runs no tests itself."""
    if recorder := config.pluginmanager.get_plugin(PLUGIN):
        os.environ["PYTEST_ADDOPTS"] = " ".join(filter(None, (OPTIONS, recorder.settings["addopts"])))


@hookimpl(optionalhook=True)
def pytest_configure_node(node):
    """Send the settings to a worker of pytest-xdist, whose reports carry its events back to this process."""
    if recorder := node.config.pluginmanager.get_plugin(PLUGIN):
        node.workerinput["nightshift"] = recorder.settings


def pytest_configure(config):
    """Start recording in a worker of pytest-xdist."""
    settings = getattr(config, "workerinput", {}).get("nightshift")
    if settings is not None:
        restore_options(settings)
        config.pluginmanager.register(Recorder(Attached(), settings, config), PLUGIN)


class Recorder(Observer, coroutines.Coroutines):
    """Records one session of pytest.

    Args:
        channel: receives the events.
        settings: `budget` (the limits in seconds, and the files that may be left for another run when the time is up),
            `standing` (test files that the repository has), `preload` (modules that are imported first), and `traced`
            (True to record the lines of test files).
        config: pytest's configuration.
    """

    def __init__(self, channel, settings, config):
        super().__init__(channel, settings)
        self.settings = settings
        self._budget, self._details = Budget(**settings["budget"]), DETAILS
        self._standing = frozenset(settings["standing"])
        self._rows, self._fail, self._output, self._raised = {}, {}, {}, None
        self._marked, self._session = set(), None
        options = config.known_args_namespace
        if getattr(options, "cov_source", None):
            options.no_cov = True
            self._emit(e="note", text="coverage gates are off")
        if importlib.util.find_spec("pytest_randomly"):
            self._emit(e="note", text="random order is off")

    def drop_options(self, parser, args):
        """Remove and report options of plugins that are missing, because pytest would refuse to start with them."""
        _, unknown = parser.parse_known_and_unknown_args(list(args))
        for word in unknown:
            at = args.index(word) if word in args else -1
            if at < 0 or not word.startswith("-"):
                continue
            value = args[at + 1] if len(args) > at + 1 else "-"
            is_value = "=" not in word and not value.startswith("-") and not os.path.exists(value.partition("::")[0])  # noqa: PTH110
            del args[at : at + 1 + is_value]
            self._emit(e="note", text=f"the option {word} cannot be used here")

    def pytest_configure(self, config):
        """Register the marks of plugins that do not affect verdicts, and switch off the display of captured output.

        Without the registration, a suite that turns warnings into errors would stop at an unknown mark. The output is
        part of the events.
        """
        config.option.showcapture = "no"
        for mark in MARKS:
            config.addinivalue_line("markers", mark)

    # --- Collecting tests

    @hookimpl(wrapper=True)
    def pytest_collect_file(self, file_path, parent):
        """Skip a file that a conftest ignores. pytest would run it, because it is named on the command line."""
        collectors, config = (yield), parent.config
        if not collectors or self._short(str(file_path)) not in self._standing:
            return collectors
        places = [path for path in (file_path, *file_path.parents) if config.rootpath in path.parents]
        if any(parent.ihook.pytest_ignore_collect(collection_path=path, config=config) for path in places):
            return [Ignored.from_parent(parent, path=file_path)]
        return collectors

    @hookimpl(wrapper=True, tryfirst=True)
    def pytest_make_collect_report(self):
        """Report a file that could not be collected or was skipped as a whole."""
        report = yield
        if report.outcome != "passed":
            raised = getattr(report.call, "excinfo", None)
            fail = details(raised and raised.value, str(report.longrepr), self._root)
            self._emit(e="collect", id=report.nodeid, skipped=report.outcome == "skipped", fail=fail)
        return report

    def pytest_collection_finish(self, session):
        """Report the tests that will run."""
        if isinstance(self._channel, Attached):
            return
        self._session = session
        for item in session.items:
            self._lines.add_test(str(item.path))
            self._emit(e="item", id=item.nodeid)

    # --- Running tests

    @hookimpl(tryfirst=True)
    def pytest_runtest_logstart(self, nodeid):
        """Report the start of a test."""
        self._emit(e="start", id=nodeid)

    @hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self, item, nextitem):
        """Record whether the test's source marks it as skipped or expected to fail.

        If the time is up after the test, leave the files that were not begun to another run.
        """
        if is_marked(item):
            self._marked.add(item.nodeid)
        done = yield
        if nextitem is not None and file_of(nextitem) != file_of(item) and self._session and self._budget.is_spent():
            self._leave(item)
        return done

    @hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_call(self, item):
        """Record which lines of test files run during the test."""
        self._lines.begin(str(item.path))
        try:
            return (yield)
        finally:
            self._lines.end()

    @hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_makereport(self, call):
        """Store the exception that was raised, because reports do not contain it."""
        before = call.excinfo
        report = yield
        self._raised = before or call.excinfo  # pytest's own hook puts unittest's failures there
        return report

    @hookimpl(tryfirst=True)
    def pytest_runtest_logreport(self, report):
        """Record one phase of a test (set-up, call or teardown). Report the test after its last phase."""
        if (events := getattr(report, "nightshift", None)) is not None:
            for event in events:
                self._emit(**event)
        if hasattr(report, "node"):  # the pytest-xdist worker has recorded it
            return
        raised, self._raised = self._raised.value if self._raised else None, None
        rows = self._rows.setdefault(report.nodeid, [])
        rows.append((report.when, report.outcome, hasattr(report, "wasxfail"), hasattr(report, "context"), raised))
        if report.outcome != "passed" and report.nodeid not in self._fail:
            fail = details(raised, str(report.longrepr), self._root)
            self._fail[report.nodeid] = {**fail, "kind": "XFailed"} if hasattr(report, "wasxfail") else fail
            self._output[report.nodeid] = "".join(text for title, text in report.sections if "Captured" in title)
        if report.when == "teardown":
            self._end(report.nodeid, report.duration)
            if isinstance(self._channel, Attached):
                report.nightshift = self._channel.take()

    def _end(self, test, duration):
        rows, fail = self._rows.pop(test, []), self._fail.pop(test, None)
        output, seen = self._output.pop(test, "")[-OUTPUT:], self._lines.take()
        result = result_of(rows)
        if result is None:  # the test runs once more
            return
        if result == "error" and fail is None:
            fail = {"kind": "Error", "message": "an exception was raised, yet it was reported as passed", "frames": []}
        if fail is not None:
            fail = fail if self._details > 0 else in_short(fail)
            self._details -= len(str(fail))
        marked = result == "skipped" and test in self._marked
        self._emit(
            e="end", id=test, result=result, s=round(duration, 4), marked=marked, fail=fail, output=output, lines=seen
        )

    def _leave(self, item):
        """Remove from the session the files that were not begun, if they may be left for another run."""
        items = self._session.items
        done = items.index(item) + 1
        begun = {file_of(each) for each in items[:done]}
        left = {file_of(each) for each in items[done:]} & self._budget.files - begun
        items[done:] = [each for each in items[done:] if file_of(each) not in left]
        # Fixtures that are still set up are needed only by the next test, which is removed. If their teardown fails,
        # this is not a failure of the test that has ended.
        with contextlib.suppress(Exception, pytest.fail.Exception, pytest.skip.Exception):
            item.session._setupstate.teardown_exact(items[done] if items[done:] else None)  # noqa: SLF001 (pytest's way)
        self._emit(e="left", files=sorted(left))

    # --- The end of the session

    def pytest_internalerror(self, excrepr):
        """Report an internal error of pytest."""
        self._emit(e="internal", message=str(excrepr)[-MESSAGE:])

    @hookimpl(wrapper=True, tryfirst=True)
    def pytest_sessionfinish(self, session, exitstatus):
        """Report the observations and the end of the session."""
        done = yield
        if not isinstance(self._channel, Attached):
            self._finish(int(exitstatus))
        if "hypothesis" not in sys.modules:  # Hypothesis's plugin would import Hypothesis only to report nothing
            session.config.pluginmanager.unregister(name="hypothesispytest")
        return done


class Ignored(pytest.File):
    """A test file that is skipped as a whole."""

    def collect(self):
        """Skip the file."""
        pytest.skip("a conftest of the repository's ignores this file")


class Budget:
    """The time limit of a run. When it is reached, those of `files` that were not begun are left for another run."""

    def __init__(self, cpu_s, wall_s, files):
        self._cpu_s, self._wall_s, self.files = cpu_s, wall_s, frozenset(files)
        self._began, self._monotonic, self._times = time.monotonic(), time.monotonic, os.times

    def is_spent(self):
        """Check whether the processor time or the clock time is used up."""
        return sum(self._times()[:4]) >= self._cpu_s or self._monotonic() - self._began >= self._wall_s


def result_of(rows):
    """Return a test's result from all its reports.

    A test has passed only if every phase has passed, nothing was raised, and no failure was expected.

    Args:
        rows: one tuple for each report. It consists of the phase, the outcome, True if a failure was expected, True if
            the report is about a subtest, and the exception that was raised.

    Returns:
        The result; None if the test runs once more.
    """
    if any(outcome == "rerun" for _, outcome, *_ in rows):
        return None
    for when, outcome, *_ in rows:
        if outcome == "failed":
            return "failed" if when == "call" else "error"
    if any(outcome != "passed" or expected for _, outcome, expected, *_ in rows):
        return "skipped"
    phases = [when for when, _, _, subtest, _ in rows if not subtest]
    silent = all(raised is None or isinstance(raised, _xfailed) for *_, raised in rows)
    return "passed" if silent and phases == ["setup", "call", "teardown"] else "error"


def is_marked(item):
    """Check whether a test's source marks it as skipped or expected to fail."""
    function, holder = getattr(item, "function", None), getattr(item, "cls", None)
    by_mark = any(item.get_closest_marker(name) for name in ("skip", "skipif", "xfail"))
    return by_mark or any(
        getattr(each, name, False)
        for each in (function, holder)
        for name in ("__unittest_skip__", "__unittest_expecting_failure__")
    )


def file_of(item):
    """Return the file of a test."""
    return item.nodeid.partition("::")[0]
