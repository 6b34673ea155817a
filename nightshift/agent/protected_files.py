"""Decides which files a model may not write, and why; the reason goes back to the model.

These refusals are a courtesy and not the security boundary: the suite takes the tests from the task and the base,
whatever a change contains. But a model that learns of a refusal at once does not build on a file that will not be used.

Tool files run something for anyone who opens, builds, tests or pushes the repository, or steer other agents in it. A
model may write a tool file only if the task names the file or its tool, or brought the file itself. In pyproject.toml
and package.json this applies to the parts that run or configure tools; their other parts count as source.
"""

from __future__ import annotations

import json
import re
import sys
import tomllib
from collections.abc import Collection, Iterator
from pathlib import PurePosixPath
from typing import Any

from nightshift.core.code.paths import is_test_path
from nightshift.core.tasks.projects import PYTEST

_STEERING = frozenset(
    {
        *("conftest.py", "pytest.ini", ".pytest.ini", "pytest.toml", ".pytest.toml"),
        *("sitecustomize.py", "usercustomize.py", ".coveragerc", "node.config.json"),
    }
)
_FIXED = frozenset({"sitecustomize.py", "usercustomize.py", "node.config.json"})
_SECTIONS = re.compile(r"^[ \t]*\[(?:tool[.:]pytest|pytest|testenv)[^\]]*\]", re.MULTILINE)
_WITH_SECTIONS = frozenset({"pyproject.toml", "setup.cfg", "tox.ini"})
_FRAMEWORK = frozenset({"pytest", "_pytest", "pluggy", "iniconfig", "hypothesis", "sortedcontainers", "packaging"})


def refusal(
    path: str, text: str | None, *, before: str | None, given: Collection[str], asked: str, own: Collection[str] = (),
    takes_away: bool = False,
) -> str | None:  # fmt: skip
    """Return why CODING may not write this file, or None if it may.

    Args:
        path: a valid path.
        text: the file's new text, or None to remove it.
        before: the file's text in the base, or None if the file is new.
        given: the paths of the tests that came with the task.
        asked: the task's description; tool files that the description names may be written. The owner is asked about
            those that steer tests.
        own: the paths of the files that came with the task; tool files among them may also be written.
        takes_away: True if the task asks to remove something; then tests may be removed with the code that they test.
    """
    name = PurePosixPath(path).name
    if path in given:
        return "is one of the given tests, which are fixed"
    is_asked = name in (_STEERING - _FIXED) | _WITH_SECTIONS and _is_named(asked, "", path.casefold().split("/"))
    is_laid_out = path in PYTEST and PYTEST[path] == before
    is_steering = (name in _STEERING and not is_asked) or name.endswith(".pth")
    if is_steering and not (takes_away and text is None and is_laid_out):
        return "steers how tests or Python start, which is fixed"
    if "node_modules" in path.split("/"):
        return "belongs to an installation, not to the sources"
    if is_test_path(path) and not is_asked and (before is None or (text is None and not takes_away)):
        return "is a test; tests are not written in this phase"
    if name in _WITH_SECTIONS and not is_asked and _sections(text) != _sections(before):
        return "changes how tests are run (a pytest section), which is fixed"
    if path not in own and (what := find_unasked(path, text, before=before, asked=asked)):
        return f"may not be written so: {what} runs or steers tools on the owner's machine, and was not asked for"
    if before is None and text is not None and (module := _hides(path)):
        return f"would hide the module {module!r} from everything that imports it; choose another name"
    return None


def _sections(text: str | None) -> list[str]:
    """Return the sections of a settings file that steer tests, as texts with heading and body."""
    parts = re.split(r"(?m)^(?=[ \t]*\[)", text or "")
    return [part.strip() for part in parts if _SECTIONS.match(part)]


def _hides(path: str) -> str | None:
    """Return the name of a standard-library or test-framework module that a new root file would shadow, or None."""
    parts = path.split("/")
    is_module = len(parts) == 1 and path.endswith(".py")
    is_package = len(parts) == 2 and parts[1] == "__init__.py"
    name = parts[0].removesuffix(".py")
    return name if (is_module or is_package) and name in sys.stdlib_module_names | _FRAMEWORK else None


# Patterns that recognise tool files, and the words by which a task asks for them.


_PACKAGING = (
    r"setuptools|packag(?:e|ing) (?:it|this|metadata)|packaging|pip[- ]install\w*|installable|sdist|pypi"
    r"|(?:python|pip) package|build (?:backend|system)"
)
_CI = (
    r"ci|continuous integration|workflow files?"
    r"|(?:github|gitlab|gitea|forgejo) (?:actions?|workflows?|ci|pipelines?)"
)
_ITS_NAME = "{}"  # Stands for what the file pattern's group matches.
# Patterns of file names, each with a pattern of words by which a task asks for such a file without naming it.
_FILES = (
    (r"(gnu)?makefile(\..+)?|.*\.(mk|mak)",
     r"make ?files?|make targets?|`make\b|run `?make\b|make (?:test|lint|build)\b"),
    (r"(docker|container)file(\..+)?|.*\.(docker|container)file|(docker-)?compose([.-].*)?\.ya?ml|docker-bake\..+",
     r"docker\w*|podman|containeri[sz]\w*|container images?|compose files?"),
    (r"setup\.(py|cfg)|manifest\.in", _PACKAGING),
    (r"noxfile\.py", "nox"),
    (r"tox\.(ini|toml)", "tox"),
    (r"\.?justfile|.*\.just", r"justfiles?|just recipes?"),
    (r"taskfile\.ya?ml", r"taskfiles?"),
    (r"rakefile|gemfile|fabfile\.py|dodo\.py|invoke\.ya?ml|sconstruct|sconscript|wscript|procfile|vagrantfile", ""),
    (r"tiltfile|earthfile|cmakelists\.txt|meson\.build|build\.gradle(\.kts)?|pom\.xml|build\.bazel|\.bazelrc", ""),
    (r"(gulp|grunt)file\.[cm]?[jt]s", _ITS_NAME),
    (r"\.gitlab-ci\.yml|\.?appveyor\.yml|bitbucket-pipelines\.yml|\.?codecov\.yml|netlify\.toml|vercel\.json", _CI),
    (r"\.drone\.yml|\.woodpecker\.ya?ml|\.cirrus\.yml|\.build\.yml|buildspec\.ya?ml|cloudbuild\.(ya?ml|json)", _CI),
    (r"\.travis\.yml|azure-pipelines.*\.ya?ml|jenkinsfile.*", rf"{_CI}|travis|azure pipelines?|jenkins"),
    (r"\.readthedocs\.ya?ml", "read ?the ?docs"),
    (r"\.pre-commit-(config|hooks)\.ya?ml|\.?lefthook\.ya?ml|\.huskyrc.*|\.lintstagedrc.*|lint-staged\.config\..+",
     r"pre-?commit|lefthook|husky|git hooks?"),
    (r"\.npmrc|\.yarnrc(\.yml)?|\.pnpmfile\.cjs|pnpm-workspace\.yaml|bunfig\.toml|\.pypirc|pip\.conf|\.condarc", ""),
    (r"\.netrc|lerna\.json|nx\.json|turbo\.json|deno\.jsonc?|\.releaserc.*", ""),
    (r"(jest|vitest|vite|webpack|rollup|esbuild|babel|eslint|prettier|tailwind)\.config\.[cm]?[jt]s", _ITS_NAME),
    (r"(karma|postcss|playwright|cypress|next|astro|svelte|nuxt|metro|commitlint)\.config\.[cm]?[jt]s", _ITS_NAME),
    (r"\.(eslint|prettier|babel|mocha|stylelint)rc.*", _ITS_NAME),
    (r"\.?(pylint|mypy|flake8|coverage|pdb|isort|ruff|bandit)(rc|\.ini|\.cfg|\.toml)", _ITS_NAME),
    (r"\.(flake8|bandit)", _ITS_NAME),
    (r"\.envrc|\.?mise\.toml|\.tool-versions|shell\.nix|default\.nix|flake\.nix|devbox\.json|\.devcontainer\.json", ""),
    (r"\.exrc|\.n?vimrc|\.nvim\.lua|\.lvimrc|\.dir-locals(-2)?\.el|\.gdbinit|\.lldbinit|\.inputrc|.*\.code-workspace",
     ""),
    (r".*\.sublime-(project|workspace)|\.bash(rc|_profile|_logout)|\.zshrc|\.zshenv|\.profile", ""),
    (r"\.mcp\.json|agents(\.override)?\.md|claude(\.local)?\.md|gemini\.md|qwen\.md|copilot-instructions\.md", ""),
    (r"\.cursorrules|\.windsurfrules|\.clinerules|\.roorules|\.aider.*|\.goosehints", ""),
)  # fmt: skip
_FOLDERS = (
    (r"\.github|\.gitlab|\.gitea|\.forgejo", _CI),
    (r"\.circleci|\.buildkite|\.woodpecker|\.teamcity|\.semaphore", rf"{_CI}|circle ?ci|buildkite"),
    (r"\.vscode|\.idea|\.devcontainer|\.vs|\.zed|\.fleet|\.run|\.nvim|\.settings", ""),
    (r"\.nightshift", "nightshift"),
    (r"\.husky|\.lefthook|\.yarn|\.mvn|\.bundle|\.cargo", ""),
    (r"\.openhands", "openhands"),
    (r"\.agents|\.claude|\.codex|\.cursor|\.gemini|\.windsurf|\.continue|\.roo|\.clinerules|\.kiro|\.qwen|\.aider", ""),
)  # fmt: skip
_TABLES: tuple[tuple[tuple[re.Pattern[str], str], ...], ...] = (
    tuple((re.compile(names), words) for names, words in _FILES),
    tuple((re.compile(names), words) for names, words in _FOLDERS),
)
_BACKENDS = re.compile(r"(setuptools|wheel|hatchling|flit[-_]core|poetry[-_]core|pdm[-_]backend|uv[-_]build)\b[^@;/]*")
_PLAIN_SCRIPT = re.compile(r"node( --(test|watch))*( [\w][\w./-]*)*")
# Scripts that npm runs automatically, in addition to the requested one.
_UNASKED = re.compile(r"(pre|post)\w+|install|prepare|prepack|dependencies")
_RUN_BY_NPM = ("scripts", "husky", "lint-staged", "simple-git-hooks", "pre-commit", "gypfile", "packageManager",
               "overrides", "resolutions", "pnpm", "workspaces", "config")  # fmt: skip


def find_unasked(path: str, text: str | None, *, before: str | None, asked: str) -> str | None:
    """Name the part of a file that steers tools and that the task does not ask for; None if there is no such part.

    Args:
        path: a valid path.
        text: the file's new text, or None to remove it.
        before: the file's current text, or None if the file is new.
        asked: the task's description.
    """
    parts = path.casefold().split("/")
    if (words := _words_of(parts)) is not None:
        return None if _is_named(asked, words, parts) else "it"
    if parts[-1] not in _PARTS or _is_named(asked, "", parts):
        return None
    had, has = (_PARTS[parts[-1]](each or "") for each in (before, text))
    changed = sorted(part for part in had.keys() | has.keys() if had.get(part) != has.get(part))
    return next((f"its part {part!r}" for part in changed if not _is_named(asked, _words_for(part), [])), None)


def more_asked(asked: str, part: str) -> str | None:
    """Return a tool file or tool that `part` asks for but `asked` does not; None if there is none.

    `part` is a subtask's text, and `asked` is the text of the whole task. A model writes the subtasks, so they may not
    ask for more tool files (files that run or configure tools) than the owner did.
    """
    for path in re.findall(r"[\w.@/-]*[\w@/-]", part.casefold()):
        parts = [name for name in path.split("/") if name]
        words = _words_of(parts) if parts else None
        if words is not None and not _is_named(asked, words, parts):
            return str(path)
    for _, words in (*_FILES, *_FOLDERS):
        match = re.search(_alone(words), part.casefold()) if words not in {"", _ITS_NAME} else None
        if match and not _is_named(asked, words, []):
            return match[0]
    return None


def _words_of(parts: list[str]) -> str | None:
    """Return the pattern of words that ask for a tool file at this path; None if the path is not of a tool file."""
    for name, table in ((parts[-1], _TABLES[0]), *((part, _TABLES[1]) for part in parts[:-1])):
        for pattern, words in table:
            if match := pattern.fullmatch(name):
                return re.escape(match[1]) if words == _ITS_NAME else words
    return None


def _is_named(asked: str, words: str, parts: list[str]) -> bool:
    """Check whether a description names a file, a hidden folder around it, or the tool that it belongs to."""
    names = [re.escape(part) for at, part in enumerate(parts, 1) if at == len(parts) or part.startswith(".")]
    wanted = "|".join(filter(None, [*names, words]))
    return bool(wanted) and re.search(_alone(wanted), asked.casefold()) is not None


def _alone(words: str) -> str:
    return rf"(?<![\w.])(?:{words})(?!\w)"


def _words_for(part: str) -> str:
    if part == "build-system":
        return rf"{_PACKAGING}|build-system"
    tool = part.rpartition(".")[2]
    return rf"{re.escape(tool.casefold())}|{_PACKAGING}" if tool == "setuptools" else re.escape(tool.casefold())


def _of_pyproject(text: str) -> dict[str, Any]:
    """Return the parts of a pyproject.toml that run or configure tools."""
    try:
        data = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError):
        return {"build-system": text}
    tools = data.get("tool", {})
    tables = {f"tool.{name}": table for name, table in tools.items()} if isinstance(tools, dict) else {"tool": tools}
    build = data.get("build-system")
    return tables if build is None or _is_usual(build) else {**tables, "build-system": build}


def _is_usual(build: Any) -> bool:
    """Check whether a `build-system` table is a common one, which runs no program from the repository."""
    if not isinstance(build, dict) or build.keys() - {"requires", "build-backend"}:
        return False
    listed = [*(needs if isinstance(needs := build.get("requires", []), list) else [None])]
    backend = build.get("build-backend", "setuptools.build_meta")
    names = all(isinstance(requirement, str) and _BACKENDS.fullmatch(requirement.strip()) for requirement in listed)
    return names and isinstance(backend, str) and bool(_BACKENDS.match(backend.replace(".", " ")))


def _of_package(text: str) -> dict[str, Any]:
    """Return the parts of a package.json that run code, except scripts that just run node on repository files."""
    try:
        data = json.loads(text) if text.strip() else {}
    except (ValueError, RecursionError):
        return {"scripts": text}
    if not isinstance(data, dict):
        return {}
    return {part: content for part in _RUN_BY_NPM if part in data and (content := _odd(part, data[part]))}


def _odd(part: str, value: Any) -> Any:
    if part != "scripts" or not isinstance(value, dict):
        return value
    return dict(_odd_scripts(value))


def _odd_scripts(scripts: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    for name, script in scripts.items():
        is_plain = isinstance(script, str) and _PLAIN_SCRIPT.fullmatch(script.strip())
        if _UNASKED.fullmatch(name) or not is_plain:
            yield name, script


_PARTS = {"pyproject.toml": _of_pyproject, "package.json": _of_package}
