"""Runs pytest in the child and reports each test as it ends, one line of JSON an event.

Events: `start` (id), `end` (id, one row a report: phase, outcome, xfail, subtest, exception, whether it was a genuine
AssertionError, seconds; `fail` with the first failure), `collect` (a file that could not be collected), `internal`,
`left` (files that were not begun, for another run), `finish` (pytest's exit status, framework functions that were
changed). What is needed later is bound here, before any
code of the workspace is imported.
"""
# Importing pathlib would cost every start of the sandbox some milliseconds.
# ruff: noqa: PTH109, PTH118

import contextlib
import inspect
import json
import os
import pathlib
import sys
import tempfile
import time
from types import ModuleType

import _pytest.capture
import _pytest.config
import _pytest.fixtures
import _pytest.logging
import pytest
from _pytest.config import hookimpl

from . import must_fail, own_packages, precompiled, seal, segments

PLUGINS_OFF = (
    "terminal", "cacheprovider", "stepwise", "junitxml", "pastebin", "doctest", "setuponly", "setupplan",
    "faulthandler",
)  # fmt: skip
_OFF = [word for name in PLUGINS_OFF for word in ("-p", f"no:{name}")]
# A plugin may be called like a module of Python's: that of pytest-asyncio is `asyncio`, which need not be rewritten.
_NAMESAKES = ["-W", "ignore:Module already imported so cannot be rewritten:pytest.PytestAssertRewriteWarning"]
_ready, _sealed = [], []
MESSAGE = 4000
FRAMES = 40
DETAILS = 6 << 20  # bytes of events that tell of failures at length; later ones are told in short
SHORT = 300
XFAILED = "XFailed"  # whatever it calls itself


def preload():
    """Import what every run needs, while the parent still reads the job, or once for all runs forked from here."""
    if _ready:
        return
    import site  # noqa: PLC0415 (only its helpers: the interpreter was started without it)

    site.setquit()
    site.setcopyright()
    site.sethelper()
    _ready.append(_pytest.config.get_config(_OFF))
    _search_few_names_for_fixtures(_ready[0].pluginmanager.get_plugins())
    _pytest.capture._readline_workaround = lambda: None  # noqa: SLF001 (a library for prompts, where nobody types)
    for late in ("_pytest.approx", "pdb"):  # what every session would import by and by
        __import__(late)
    _sealed.append(seal.Seal())


def _search_few_names_for_fixtures(plugins):
    """Spare each session the search for fixtures among all names of the framework: a third of a small suite's time."""
    manager, fixture = _pytest.fixtures.FixtureManager, _pytest.fixtures.FixtureFunctionDefinition
    search = manager.pytest_plugin_registered

    def fixtures(holder):
        return {name: value for name, value in vars(holder).items() if isinstance(value, fixture)}

    classes = {type(plugin) for plugin in plugins} - {ModuleType} | {
        manager, pytest.Session, _pytest.capture.CaptureManager, _pytest.logging.LoggingPlugin, Recorder,
    }  # fmt: skip
    barren = {found for found in classes if not any(map(fixtures, found.__mro__))}
    small = {plugin: ModuleType(plugin.__name__) for plugin in plugins if isinstance(plugin, ModuleType)}
    for plugin, holder in small.items():
        vars(holder).update(fixtures(plugin))

    def pytest_plugin_registered(self, plugin, plugin_name):
        if type(plugin) not in barren:
            search(self, small.get(plugin, plugin) if isinstance(plugin, ModuleType) else plugin, plugin_name)

    manager.pytest_plugin_registered = pytest_plugin_registered


def run(config, events, libraries):
    """Run the session that `config` describes and return pytest's exit status."""
    prepare(config, libraries)
    code = precompiled.Precompiled(precompiled.texts(config["files"]))
    code.install()
    recorder = Recorder(events, config["token"], code, config["without"], config["budget"])
    recorder.has_environment = bool(config["executable"])
    recorder.standing = frozenset(config["standing"])
    recorder.own, recorder.seal = config["own"], _sealed.pop()
    return pytest_main(words(config), recorder)


def prepare(config, libraries):
    """Import what comes before anything of the workspace."""
    os.environ.update(config["environ"])
    sys.executable = config["executable"] or sys.executable
    os.environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
    os.environ.update(own_packages.search_path(config["own"], libraries))
    tempfile.gettempdir()  # as pytest's capturing does: a test may import `tempfile.tempdir`, which is None before
    for name in config["preload"]:
        __import__(name)
    if "hypothesis" in config["preload"]:
        _steady_hypothesis()
    sys.argv[:] = ["pytest"]


def words(config):
    """What pytest is told in the current folder, which is the workspace; its import paths are added."""
    workspace = os.getcwd()
    sys.path.extend(os.path.normpath(os.path.join(workspace, path)) for path in config["paths"])
    fixed = [f"--rootdir={workspace}", f"--confcutdir={workspace}", "--capture=no"]
    return [*_OFF, *_NAMESAKES, *fixed, *config["options"], *config["files"]]


def pytest_main(words, recorder):
    """As `pytest.main`, with the configuration and its plugins that `preload` made while there was time."""
    config = _ready.pop()
    config.invocation_params = config.InvocationParams(args=words, plugins=[recorder], dir=pathlib.Path.cwd())
    config.pluginmanager.register(recorder)
    try:
        config = config.hook.pytest_cmdline_parse(pluginmanager=config.pluginmanager, args=words)
        return int(config.hook.pytest_cmdline_main(config=config))
    except pytest.UsageError as error:
        print(f"ERROR: {error}", file=sys.stderr)
        return int(pytest.ExitCode.USAGE_ERROR)
    finally:
        config._ensure_unconfigure()  # noqa: SLF001 (as `pytest.main` does)


def _steady_hypothesis():
    """The same examples in every run, no verdict by the clock; copies need one failure and no smaller one."""
    from hypothesis import HealthCheck, Phase, settings  # noqa: PLC0415 (slow to import; only where tests use it)

    calm = {"database": None, "deadline": None, "derandomize": True, "suppress_health_check": [HealthCheck.too_slow]}
    settings.register_profile("judged", **calm)
    settings.register_profile("unshrunk", phases=[Phase.explicit, Phase.generate, Phase.target], **calm)
    settings.register_profile("must_fail", max_examples=20, phases=[Phase.explicit, Phase.generate], **calm)
    settings.load_profile("judged")
    must_fail.BEFORE.append(lambda: settings.load_profile("must_fail"))


def shrink_no_failures():
    """Take the first failure of a test as it comes, where nobody reads it: to find a smaller one takes seconds."""
    if "hypothesis" in sys.modules:
        sys.modules["hypothesis"].settings.load_profile("unshrunk")


class Ignored(pytest.File):
    """A file that is skipped as a whole."""

    def collect(self):
        """Skip it."""
        pytest.skip("a conftest of the repository's ignores this file")


class Coroutines:
    """Runs coroutine tests where no plugin of the repository's does."""

    @hookimpl(tryfirst=True)
    def pytest_pyfunc_call(self, pyfuncitem):
        """Run a coroutine test."""
        plugins = pyfuncitem.config.pluginmanager
        if not inspect.iscoroutinefunction(pyfuncitem.obj) or any(map(plugins.has_plugin, ("asyncio", "anyio"))):
            return None
        import asyncio  # noqa: PLC0415 (only where tests use it)

        names = pyfuncitem._fixtureinfo.argnames  # noqa: SLF001 (as pytest's own hook does)
        asyncio.run(pyfuncitem.obj(**{name: pyfuncitem.funcargs[name] for name in names}))
        return True


class Recorder(Coroutines):
    """The plugin that reports; in the same way of tests and of copies that must fail, so that neither can tell."""

    has_environment = False
    standing = frozenset()  # the files of tests that the repository has: these alone its conftests may ignore

    def __init__(self, events, token, code, without, budget):
        self._code, self._without = code, frozenset(without)
        self._budget, self._session = Budget(**budget), None
        self.own = {}  # packages of the workspace that this process has as well: name to folder
        self._differing = []
        self._events, self._write, self._dumps = events, os.write, json.dumps
        self._mark, self._genuine, self._xfailed = token.encode(), AssertionError, pytest.xfail.Exception
        self._workspace = os.getcwd() + os.sep
        self._rows, self._fail, self._excinfo = [], None, None
        self.seal, self._details = None, DETAILS

    def _emit(self, **event):
        text = (self._dumps(event, separators=(",", ":")) + "\n").encode()
        while text:
            text = text[self._write(self._events, text) :]

    def _flush(self):
        for stream in (sys.stdout, sys.stderr):
            try:
                stream.flush()
            except (OSError, ValueError, AttributeError):
                continue

    def pytest_configure(self, config):
        """Let pytest keep failures short: the daemon shapes them from the frames."""
        config.option.tbstyle = "native"

    def pytest_itemcollected(self, item):
        """Do without pytest's long descriptions, which nobody reads."""
        item.repr_failure = in_no_words

    def pytest_collection_modifyitems(self, session, items):
        """Leave out the tests that are not to run."""
        self._session = session
        if self._without:
            items[:] = [item for item in items if item.nodeid.partition("[")[0] not in self._without]

    @hookimpl(tryfirst=True)
    def pytest_load_initial_conftests(self, early_config):
        """Compile the tests before a conftest can import tested code."""
        self._code.compile(early_config)
        own_packages.take(self.own)  # not before: pytest asks for some of them while it reads its settings
        if self.has_environment:  # what tests start is pytest as it is where they are at home
            os.environ.pop("PYTEST_DISABLE_PLUGIN_AUTOLOAD", None)

    def pytest_sessionstart(self):
        """Remember the framework before any code of the workspace runs."""
        self.seal.begin()

    @hookimpl(wrapper=True)
    def pytest_collect_file(self, file_path, parent):
        """Skip a file that a conftest ignores: told of it by name, as of all here, pytest would run it."""
        found, config = (yield), parent.config
        if not found or file_path.relative_to(config.rootpath).as_posix() not in self.standing:
            return found
        places = [place for place in (file_path, *file_path.parents) if config.rootpath in place.parents]
        if any(parent.ihook.pytest_ignore_collect(collection_path=place, config=config) for place in places):
            return [Ignored.from_parent(parent, path=file_path)]
        return found

    @hookimpl(wrapper=True, tryfirst=True)
    def pytest_make_collect_report(self):
        """Report a file that could not be collected, or was skipped as a whole."""
        report = yield
        if report.outcome != "passed":
            excinfo = report.call.excinfo
            self._emit(
                e="collect",
                id=report.nodeid,
                skipped=report.outcome == "skipped",
                **details(excinfo and excinfo.value, str(report.longrepr), self._workspace),
            )
        return report

    def pytest_internalerror(self, excrepr):
        """Report that pytest itself failed."""
        self._emit(e="internal", message=str(excrepr)[-MESSAGE:])

    def pytest_runtest_logstart(self, nodeid):
        """Report the start of a test, here and in the output."""
        self._rows, self._fail = [], None
        self._flush()
        self._emit(e="start", id=nodeid)
        self._write(1, self._mark + nodeid.encode("utf-8", "replace") + b"\n")

    @hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_makereport(self, call):
        """Keep what was raised, which reports do not carry."""
        before = call.excinfo
        report = yield
        self._excinfo = before or call.excinfo  # unittest's failures are put there by pytest's own hook
        return report

    @hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self, item, nextitem):
        """Look whether a test is the one that was compiled, before and after it ran; leave files when time is up."""
        before = self._code.differs(item)
        done = yield
        if before or self._code.differs(item):
            self._differing.append(f"the code of {item.name}")
        if nextitem is not None and file_of(nextitem) != file_of(item) and self._budget.is_spent():
            self._leave(item)
        return done

    def _leave(self, item):
        """Take out the files that may be left for another run and were not begun."""
        items = self._session.items
        done = items.index(item) + 1
        begun = {file_of(each) for each in items[:done]}
        left = {file_of(each) for each in items[done:]} & self._budget.files - begun
        items[done:] = [each for each in items[done:] if file_of(each) not in left]
        # What is still set up is what the next test needs that does not come now. How its end goes says nothing of the
        # test that has ended.
        with contextlib.suppress(Exception, pytest.fail.Exception, pytest.skip.Exception):
            item.session._setupstate.teardown_exact(items[done] if items[done:] else None)  # noqa: SLF001 (pytest's way)
        self._emit(e="left", files=sorted(left))

    def pytest_runtest_logreport(self, report):
        """Note one phase of a test as every plugin sees it."""
        excinfo, self._excinfo = self._excinfo, None
        raised = excinfo.value if excinfo else None
        name = XFAILED if isinstance(raised, self._xfailed) else type(raised).__name__ if excinfo else None
        self._rows.append([
            report.when, report.outcome, hasattr(report, "wasxfail"), hasattr(report, "context"), name,
            type(raised) is self._genuine, round(report.duration, 4),
        ])  # fmt: skip
        if report.outcome != "passed" and self._fail is None:
            self._fail = {"when": report.when, **details(raised, str(report.longrepr), self._workspace)}

    def pytest_runtest_logfinish(self, nodeid):
        """Report the end of a test, here and in the output."""
        self._flush()
        failed = any(row[1] == "failed" for row in self._rows)
        self._write(1, self._mark + (b"\n" if failed else segments.DROPPED + b"\n"))
        if self._fail is not None and self._details <= 0:
            self._fail = in_short(self._fail)
        self._details -= len(str(self._fail)) if self._fail else 0
        self._emit(e="end", id=nodeid, rows=self._rows, fail=self._fail)

    def pytest_sessionfinish(self, exitstatus):
        """Report the end of the session."""
        self._emit(e="finish", exit=int(exitstatus), changed=[*self.seal.changed(), *self._differing][:20])


class Budget:
    """After how much time a run leaves the files that it has not begun for another one, if these may be left."""

    def __init__(self, cpu_s, wall_s, files):
        self._cpu_s, self._wall_s, self.files = cpu_s, wall_s, frozenset(files)
        self._began, self._monotonic, self._times = time.monotonic(), time.monotonic, os.times

    def is_spent(self):
        """Tell whether so much processor time was used, or has gone by on the clock."""
        return sum(self._times()[:4]) >= self._cpu_s or self._monotonic() - self._began >= self._wall_s


def file_of(item):
    """The file of a test."""
    return item.nodeid.partition("::")[0]


def in_no_words(_excinfo):
    """What a failure is described with where nobody reads it."""
    return ""


def details(raised, otherwise, workspace):
    """What was raised: kind, message and frames, paths of the workspace relative; `otherwise` where nothing was."""
    if raised is None:
        return {"kind": "Error", "message": otherwise[-MESSAGE:], "frames": []}
    if type(raised).__name__ == "CollectError" and raised.__cause__ is not None:
        raised = raised.__cause__
    try:
        message = str(raised)
    except Exception as error:  # noqa: BLE001 (a tested class may not be printable)
        message = f"(its message could not be made: {type(error).__name__})"
    return {"kind": type(raised).__name__, "message": message[:MESSAGE], "frames": _frames(raised, workspace)}


def in_short(fail):
    """A failure with the beginning of its message and the innermost frames of the workspace."""
    own = [frame for frame in fail["frames"] if not frame[0].startswith(("/", "<"))]
    return {**fail, "message": fail["message"][:SHORT], "frames": own[-2:]}


def _frames(raised, workspace):
    frames, trace = [], raised.__traceback__
    while trace is not None:
        code = trace.tb_frame.f_code
        frames.append([code.co_filename.removeprefix(workspace), trace.tb_lineno, code.co_name])
        trace = trace.tb_next
    if isinstance(raised, SyntaxError) and raised.filename:
        frames.append([str(raised.filename).removeprefix(workspace), raised.lineno or 0, "<module>"])
    return frames[-FRAMES:]
