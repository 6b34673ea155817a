"""Which files CODING and TESTING may not write, and why; the reason goes back to the model.

This is courtesy, not the boundary: the suite stages tests from the task and the base whatever a change holds. But a
model that is told at once does not build on a file that will not be used.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Collection
from pathlib import PurePosixPath

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
# What runs something for whoever opens the repository, steers other agents in it, or runs on the service that hosts it.
_TOOLING = frozenset(
    {
        *(".envrc", ".mise.toml", ".pre-commit-config.yaml", ".gitlab-ci.yml", ".travis.yml"),
        *(".npmrc", ".yarnrc", ".yarnrc.yml", ".pnpmfile.cjs", ".pypirc", ".bazelrc"),
        *(".exrc", ".vimrc", ".nvimrc", ".nvim.lua", ".dir-locals.el", ".gdbinit", ".lldbinit"),
        *(".mcp.json", "AGENTS.md", "CLAUDE.md", "GEMINI.md", ".cursorrules", ".windsurfrules"),
    }
)
_TOOLING_FOLDERS = (
    ".vscode", ".idea", ".devcontainer", ".husky", ".github", ".gitlab", ".gitea", ".forgejo", ".circleci", ".claude",
    ".codex", ".cursor", ".gemini", ".windsurf",
)  # fmt: skip
_WORKFLOWS = re.compile(
    r"\b(git(hub|lab|ea) (action|workflow|ci|pipeline)s?|ci[ /]workflows?|workflow files?)\b", re.IGNORECASE
)


def refusal(path: str, text: str | None, *, before: str | None, given: Collection[str], asked: str) -> str | None:
    """Say why CODING may not write this file, or None when it may.

    Args:
        path: a valid path.
        text: its new text, None to remove it.
        before: the text that it has in the base, None when it is new there.
        given: the paths of the task's tests.
        asked: the task's description; tooling that it names may be written.
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
    if _is_tooling(path) and not _is_asked_for(path, asked):
        return "runs on the owner's machine or for his project, and was not asked for"
    if before is None and text is not None and (module := _hides(path)):
        return f"would hide the module {module!r} from everything that imports it; choose another name"
    return None


def _is_tooling(path: str) -> bool:
    folder, inside, _ = path.partition("/")
    return PurePosixPath(path).name in _TOOLING or bool(inside and folder in _TOOLING_FOLDERS)


def _is_asked_for(path: str, asked: str) -> bool:
    """Tell whether the task names the file, the folder of its tool, or workflows where it is one."""
    names = {PurePosixPath(path).name, path.partition("/")[0]}
    is_workflow = path.startswith((".github/", ".gitlab/", ".gitea/", ".gitlab-ci.yml"))
    return any(name in asked for name in names) or (is_workflow and bool(_WORKFLOWS.search(asked)))


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
