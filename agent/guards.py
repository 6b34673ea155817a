"""Which files CODING and TESTING may not write, and why; the reason goes back to the model.

This is courtesy, not the boundary: the suite stages tests from the task and the base whatever a change holds. But a
model that is told at once does not build on a file that will not be used.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Collection
from pathlib import PurePosixPath

from agent.tooling import unasked
from core.paths import is_test_path

_STEERING = frozenset(
    {
        *("conftest.py", "pytest.ini", ".pytest.ini", "pytest.toml", ".pytest.toml"),
        *("sitecustomize.py", "usercustomize.py", ".coveragerc", "node.config.json"),
    }
)
_SECTIONS = re.compile(r"^[ \t]*\[(?:tool[.:]pytest|pytest|testenv)[^\]]*\]", re.MULTILINE)
_WITH_SECTIONS = frozenset({"pyproject.toml", "setup.cfg", "tox.ini"})
_FRAMEWORK = frozenset({"pytest", "_pytest", "pluggy", "iniconfig", "hypothesis", "sortedcontainers", "packaging"})


def refusal(
    path: str, text: str | None, *, before: str | None, given: Collection[str], asked: str, own: Collection[str] = ()
) -> str | None:
    """Say why CODING may not write this file, or None when it may.

    Args:
        path: a valid path.
        text: its new text, None to remove it.
        before: the text that it has in the base, None when it is new there.
        given: the paths of the task's tests.
        asked: the task's description; tooling that it names may be written.
        own: the paths of the files that the task brought; tooling among them may be written too.
    """
    name = PurePosixPath(path).name
    if path in given:
        return "is one of the given tests, which are fixed"
    if name in _STEERING or name.endswith(".pth"):
        return "steers how tests or Python start, which is fixed"
    if "node_modules" in path.split("/"):
        return "belongs to an installation, not to the sources"
    if is_test_path(path):
        return "is a test; tests are not written in this phase"
    if name in _WITH_SECTIONS and _sections(text) != _sections(before):
        return "changes how tests are run (a pytest section), which is fixed"
    if path not in own and (what := unasked(path, text, before=before, asked=asked)):
        return f"may not be written so: {what} runs or steers tools on the owner's machine, and was not asked for"
    if before is None and text is not None and (module := _hides(path)):
        return f"would hide the module {module!r} from everything that imports it; choose another name"
    return None


def _sections(text: str | None) -> list[str]:
    """The test-steering sections of a settings file, each with its body."""
    parts = re.split(r"(?m)^(?=[ \t]*\[)", text or "")
    return [part.strip() for part in parts if _SECTIONS.match(part)]


def _hides(path: str) -> str | None:
    """The standard or framework module that a new file at the root would shadow."""
    parts = path.split("/")
    is_module = len(parts) == 1 and path.endswith(".py")
    is_package = len(parts) == 2 and parts[1] == "__init__.py"
    name = parts[0].removesuffix(".py")
    return name if (is_module or is_package) and name in sys.stdlib_module_names | _FRAMEWORK else None
