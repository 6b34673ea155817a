"""Runs pytest in the child, with the effects of `python -m pytest`, in a process that has already imported pytest."""
# Importing pathlib would cost every start of the sandbox some milliseconds.
# ruff: noqa: PTH109, PTH118

import os
import pathlib
import sys
import tempfile

import _pytest.capture
import _pytest.config
import pytest

from . import channel, seal

_ready = []


def preload():
    """Import what every run needs.

    This happens while the parent still reads the job, or once for many forks.
    """
    if _ready:
        return
    import site  # noqa: PLC0415 (only its helpers: the interpreter was started without it)

    site.setquit()
    site.setcopyright()
    site.sethelper()
    _ready.append(_pytest.config.get_config())
    _pytest.capture._readline_workaround = lambda: None  # noqa: SLF001 (a library for prompts, where nobody types)
    for late in ("_pytest.approx", "pdb", "unittest.case", "random", "datetime", "decimal", "csv", "filecmp"):
        __import__(late)
    seal.take()


def run(config, events, libraries):
    """Run the session that `config` describes and return pytest's exit status."""
    prepare(config, libraries)
    os.environ.update(channel.environment(events, config["recorder"], dict(os.environ)))
    return pytest_main(words(config))


def prepare(config, libraries):
    """Make the process look like one in which the owner has started pytest."""
    os.environ.update(config["environ"])
    sys.executable = config["executable"] or sys.executable
    workspace = os.getcwd()
    paths = [os.path.normpath(os.path.join(workspace, path)) for path in config["paths"]]
    if config["is_module"]:
        sys.path.insert(0, workspace)
    # Installed packages must not hide modules of the tree, and the tree must not hide modules of the standard library.
    at = next((at for at, path in enumerate(sys.path) if path in libraries), len(sys.path))
    sys.path[at:at] = [path for path in paths if path not in sys.path]
    inside = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))  # noqa: PTH100, PTH120
    # Workers of pytest-xdist, and programs that tests start, need the same import paths.
    os.environ["PYTHONPATH"] = os.pathsep.join(dict.fromkeys((*paths, *libraries, inside)))
    sys.path.append(inside)
    tempfile.gettempdir()  # set `tempfile.tempdir`, which is None otherwise; pytest's capturing also sets it
    sys.argv[:] = ["pytest", *words(config)]


def words(config):
    """Return the arguments for pytest in the workspace, which is the current folder."""
    return list(config["words"])


def pytest_main(words, *plugins):
    """Run pytest like `pytest.main`, with the configuration and plugins that `preload` prepared."""
    config = _ready.pop()
    config.invocation_params = config.InvocationParams(args=words, plugins=plugins, dir=pathlib.Path.cwd())
    for plugin in plugins:
        config.pluginmanager.register(plugin)
    try:
        config = config.hook.pytest_cmdline_parse(pluginmanager=config.pluginmanager, args=words)
        return int(config.hook.pytest_cmdline_main(config=config))
    except pytest.UsageError as error:
        print(f"ERROR: {error}", file=sys.stderr)
        return int(pytest.ExitCode.USAGE_ERROR)
    finally:
        config._ensure_unconfigure()  # noqa: SLF001 (as `pytest.main` does)
