"""Collects tests with pytest, and then hands them to somebody else instead of running them."""

import os

from _pytest.config import hookimpl
from _pytest.outcomes import Exit
from _pytest.runner import runtestprotocol
from nightshift_inside import coroutines, observer

from .instrument import OutOfSteps

MOST_CHARS = 300


def in_no_words(_excinfo):
    """The description of a failure that nobody reads."""
    return ""


class Tests(coroutines.Coroutines):
    """The plugin.

    Args:
        then: called with this plugin when the tests are collected.
        before: called in the place of collecting, where there is one; `collect` does it then.

    Attributes:
        items: what was collected, id to item, in the order of the suite.
        broken: id of a file that could not be collected, to its details as of `observer.details`.
    """

    def __init__(self, then, before=None):
        self._then, self._before = then, before
        self.workspace = os.path.join(os.getcwd(), "")  # noqa: PTH109, PTH118 (pathlib is slow to import)
        self.items, self.broken = {}, {}
        self.raised, self._failed, self._session = None, None, None

    def pytest_configure(self, config):
        """Let pytest keep failures short."""
        config.option.tbstyle = "native"

    @hookimpl(wrapper=True, tryfirst=True)
    def pytest_make_collect_report(self):
        """Keep why a file could not be collected."""
        report = yield
        if report.outcome == "failed":
            raised = report.call.excinfo and report.call.excinfo.value
            self.broken[report.nodeid] = observer.details(raised, str(report.longrepr), self.workspace)
        return report

    def pytest_collection(self, session):
        """Call `before` in the place of collecting, where there is one."""
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
        """Call `then` in the place of running the tests."""
        self._take()
        self._then(self)
        return True

    @hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_makereport(self, call):
        """Keep what was raised first, which reports do not carry."""
        before = call.excinfo
        report = yield
        raised = before or call.excinfo
        if report.outcome == "failed" and self._failed is None:
            self.raised, self._failed = raised and raised.value, report
        return report

    def pytest_runtest_logreport(self, report):
        """Keep the failure of a part of a test; other reports do not come here."""
        if report.outcome == "failed" and self._failed is None:
            self.raised, self._failed = None, report

    def run(self, item, after):
        """Run one test; `after` is the test that comes next.

        Returns:
            How it ended: passed, failed, steps, or skipped (also for an expected failure).
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
        """End what outlives a single test; returns whether that went well."""
        try:
            self._session._setupstate.teardown_exact(None)  # noqa: SLF001 (pytest has no other way)
        except Exception:  # noqa: BLE001 (a fixture's own)
            return False
        return True

    def details(self):
        """Return the failure of the last test; None when it did not fail."""
        if self._failed is None:
            return None
        return observer.details(self.raised, str(getattr(self._failed, "longrepr", "")), self.workspace)

    def error_line(self):
        """The same in a line; empty when it did not fail."""
        return "" if (details := self.details()) is None else line(details)

    def in_order(self, order):
        """The items with these ids, each with the one after it; all of them where no id is known."""
        items = [self.items[name] for name in order] or list(self.items.values())
        return list(zip(items, [*items[1:], None], strict=False))


def line(details):
    """Details in a line."""
    return f"{details['kind']}: {details['message']}".partition("\n")[0][:MOST_CHARS]
