"""Collects tests with pytest, and then passes them to a callback instead of running them."""

import os

from _pytest.config import hookimpl
from _pytest.outcomes import Exit
from _pytest.runner import runtestprotocol
from nightshift_inside import coroutines, observer

from .instrument import OutOfSteps

MOST_CHARS = 300


def in_no_words(_excinfo):
    """Return an empty description of a failure, because nobody reads it."""
    return ""


class Tests(coroutines.Coroutines):
    """The pytest plugin that collects the tests and runs them on demand.

    Args:
        then: called with this plugin when the tests are collected.
        before: if given, called with this plugin in place of collecting; it may then call `collect`.

    Attributes:
        items: maps the id of each test to its collected item, in the order of the suite.
        broken: maps the id of each file that could not be collected to the details from `observer.details`.
    """

    def __init__(self, then, before=None):
        self._then, self._before = then, before
        self.workspace = os.path.join(os.getcwd(), "")  # noqa: PTH109, PTH118 (pathlib is slow to import)
        self.items, self.broken = {}, {}
        self.raised, self._failed, self._session = None, None, None

    def pytest_configure(self, config):
        """Shorten the tracebacks of failures."""
        config.option.tbstyle = "native"

    @hookimpl(wrapper=True, tryfirst=True)
    def pytest_make_collect_report(self):
        """Keep the reason why a file could not be collected."""
        report = yield
        if report.outcome == "failed":
            raised = report.call.excinfo and report.call.excinfo.value
            self.broken[report.nodeid] = observer.details(raised, str(report.longrepr), self.workspace)
        return report

    def pytest_collection(self, session):
        """Call `before` in place of collecting, if it is given."""
        self._session = session
        if self._before is None:
            return None
        self._before(self)
        return True

    def collect(self):
        """Collect the tests."""
        self._session.perform_collect()
        self._take()

    def _take(self):
        self.items = {item.nodeid: item for item in self._session.items}
        for item in self._session.items:
            item.repr_failure = in_no_words

    @hookimpl(tryfirst=True)
    def pytest_runtestloop(self):
        """Call `then` in place of running the tests."""
        self._take()
        self._then(self)
        return True

    @hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_makereport(self, call):
        """Keep the first exception of a test, because reports do not carry it."""
        before = call.excinfo
        report = yield
        raised = before or call.excinfo
        if report.outcome == "failed" and self._failed is None:
            self.raised, self._failed = raised and raised.value, report
        return report

    def pytest_runtest_logreport(self, report):
        """Keep the report of a failed part of a test, such as a subtest; reports of whole tests do not come here."""
        if report.outcome == "failed" and self._failed is None:
            self.raised, self._failed = None, report

    def run(self, item, after):
        """Run one test; `after` is the next test.

        Returns:
            How the test ended: passed, failed, steps, or skipped (also for an expected failure).
        """
        self.raised, self._failed = None, None
        try:
            reports = runtestprotocol(item, log=False, nextitem=after)
        except Exit as error:
            self.raised, self._failed = error, error
            return "failed"
        if self._failed is not None:
            return "steps" if isinstance(self.raised, OutOfSteps) else "failed"
        has_passed = all(report.outcome == "passed" and not hasattr(report, "wasxfail") for report in reports)
        return "passed" if has_passed else "skipped"

    def tear_down(self):
        """Tear down fixtures that outlive a single test; return whether that succeeded."""
        try:
            self._session._setupstate.teardown_exact(None)  # noqa: SLF001 (pytest has no other way)
        except Exception:  # noqa: BLE001 (a fixture's own)
            return False
        return True

    def details(self):
        """Return the failure of the last test; None if it did not fail."""
        if self._failed is None:
            return None
        return observer.details(self.raised, str(getattr(self._failed, "longrepr", "")), self.workspace)

    def error_line(self):
        """Return the failure of the last test in one line; empty if the test did not fail."""
        return "" if (details := self.details()) is None else line(details)

    def in_order(self, order):
        """Return the items with these ids, each with the item after it; all items if `order` is empty."""
        items = [self.items[name] for name in order] or list(self.items.values())
        return list(zip(items, [*items[1:], None], strict=False))


def line(details):
    """Return details of an error in one line."""
    return f"{details['kind']}: {details['message']}".partition("\n")[0][:MOST_CHARS]
