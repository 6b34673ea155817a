"""Makes tox, nox, uv and others run tests in the environment of the run, without creating or hiding any environment."""
# Importing pathlib would cost every start of the sandbox some milliseconds.
# ruff: noqa: PTH110, PTH118, PTH123

import os
import re
import sys

_BASES = ("testenv", "env_run_base", "tool.tox.env_run_base")
_SECTION = re.compile(r"^\[(testenv:[^\]]+|(?:tool\.tox\.)?env\.[^\]]+)\]", re.MULTILINE)
_TOX_FILES = ("tox.ini", "tox.toml", "setup.cfg", "pyproject.toml")
PROGRAMS = ("uv", "poetry", "pdm", "pipenv", "rye", "hatch")
"""Programs that create an environment. The arguments after `run` are a command to run in that environment."""
VALUED = (
    "--with", "--extra", "--group", "--only-group", "--python", "-p", "--package", "--project", "--env-file", "-e",
    "--with-requirements", "--directory", "-C", "--env", "-E",
)  # fmt: skip
"""Options of these programs that take a value."""
_RUN = """#!/bin/sh
call="${0##*/} $*"
fail() { echo "The sandbox answers only \\`run PROGRAM\\`, not \\`$call\\`" >&2; exit 127; }
while [ $# -gt 0 ] && [ "$1" != run ]; do
  case $1 in sync|install) exit 0;; esac
  shift
done
[ $# -gt 1 ] || fail
shift
while :; do
  case $1 in
    --) shift; break;;
    -m|--module) shift; exec python -m "$@";;
    VALUED) shift; shift;;
    -*) shift;;
    *) break;;
  esac
done
case $1 in
  ""|test|*:*) fail;;
  *.py) exec python "$@";;
esac
exec "$@"
""".replace("VALUED", "|".join(VALUED))
"""Script in the place of a program that makes an environment. It runs what follows `run`, and installs nothing.

A script with a name that the owner defined, such as `pdm run test`, must not become the shell's program `test`.
"""


def write_programs(folder, path):
    """Write a script for each program that makes an environment, unless it is in a folder of `path`."""
    for name in PROGRAMS:
        if not any(os.path.exists(os.path.join(each, name)) for each in path.split(os.pathsep)):
            with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
                file.write(_RUN)
                os.fchmod(file.fileno(), 0o755)


def variables(paths):
    """Return the environment variables that make tox and nox use the environment of the run.

    Args:
        paths: import paths of the modules of the environment and of the tree.
    """
    sections = list(_BASES)
    for name in filter(os.path.exists, _TOX_FILES):
        with open(name, encoding="utf-8", errors="replace") as file:
            sections += _SECTION.findall(file.read())
    settings = ("deps=", "skip_install=true", "pass_env=*", "allowlist_externals=*")
    words = (*settings, f"set_env+=PYTHONPATH={os.pathsep.join(paths)}")
    own = filter(None, [os.environ.get("TOX_OVERRIDE")])
    overrides = (f"{section}.{word}" for section in sections for word in words)
    return {"TOX_OVERRIDE": ";".join((*overrides, *own)), "NOX_DEFAULT_VENV_BACKEND": "none"}


def attach():
    """If this process is nox, make its sessions use the environment of the run and install nothing."""
    if any(os.path.basename(word) == "nox" for word in sys.orig_argv[1:3]):  # noqa: PTH119
        from nox.manifest import Manifest  # noqa: PLC0415 (only there)
        from nox.sessions import Session  # noqa: PLC0415 (only there)

        Session.install = Session.conda_install = lambda *_words, **_options: None
        Manifest.make_session = _with_versions(Manifest.make_session)
        Manifest.filter_by_python_interpreter = _filter_by_version


def _with_versions(make_session):
    """Return nox's function so that a session without environment can still be named with a version (`tests-3.11`)."""

    def make(manifest, name, func, **options):
        func.venv_backend = "none"
        versions = func.python if isinstance(func.python, (list, tuple, set)) else ()
        sessions = make_session(manifest, name, func, **options)
        for session in sessions:
            session.versions = versions or (func.python,)
            names = dict.fromkeys((name, *session.signatures))
            session.signatures += [each.replace(name, f"{name}-{version}", 1) for version in versions for each in names]
        return sessions

    return make


def _filter_by_version(manifest, versions):
    manifest._queue[:] = [each for each in manifest._queue if set(each.versions) & set(versions)]  # noqa: SLF001
