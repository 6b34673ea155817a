"""Makes tox and nox run tests in the environment of the run, without creating or hiding any environment."""
# Importing pathlib would cost every start of the sandbox some milliseconds.
# ruff: noqa: PTH123

import os
import re
import sys

_BASES = ("testenv", "env_run_base", "tool.tox.env_run_base")
_SECTION = re.compile(r"^\[(testenv:[^\]]+|(?:tool\.tox\.)?env\.[^\]]+)\]", re.MULTILINE)
_TOX_FILES = ("tox.ini", "tox.toml", "setup.cfg", "pyproject.toml")


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
    """If this process is nox, make its sessions skip the installation of packages."""
    if any(os.path.basename(word) == "nox" for word in sys.orig_argv[1:3]):  # noqa: PTH119
        from nox.sessions import Session  # noqa: PLC0415 (only there)

        Session.install = Session.conda_install = lambda *_words, **_options: None
