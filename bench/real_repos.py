"""Makes repositories and commits for `bench/real.py` from sources on PyPI, for when no clone is available.

    .venv/bin/python bench/real_repos.py FOLDER --entries 12 babel click "sqlparse==0.5.1 0.5.2 0.5.3"

Each release of a package becomes a commit, the oldest first. FOLDER/NAME is the repository, and FOLDER/NAME.jsonl lists
its entries: `commit`, `description` and `kind`. The commit of an entry is on a branch of its own, outside the history
of the releases. Bare pytest validates the commit: some tests fail before the commit and pass after it, and no other
test that the commit can reach begins to fail. There are three kinds of entries:

- `release`: a part of a release's change that works alone (some lines, or whole files), with the tests that need this
  part
- `written`: a function of the newest release was emptied, and the tests that noticed were removed; the commit restores
  both
- `mended`: a fault that existing tests notice was put into the newest release; the commit removes the fault

`KNOWN` has versions, kinds and packages of some projects with thousands of tests, so that their names suffice.
`--kinds` selects kinds; with a single release there are no entries of the kind `release`. `--need` names packages that
the tests import in addition to pytest and hypothesis. `pip` must be able to download sources (`pip download --no-binary
:all:`) without building them. If a build backend is missing, give `--pip` the pip of an environment that has flit_core,
hatchling, setuptools, poetry-core, hatch-vcs and setuptools-scm.
"""

from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[0] = str(ROOT)  # not this folder, because its queue.py would hide the standard library's module

# ruff: noqa: E402 - the path comes first
import argparse
import ast
import difflib
import json
import random
import re
import shutil
import subprocess
import tarfile
import tempfile
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from itertools import pairwise
from typing import Literal, TypeVar, get_args

from bench import functions_of_tests as functions
from bench.bare_pytest import Checkout, Ran, git, install
from bench.overhead import plain_environment
from nightshift.core.code.dependencies import ImportCache, dependants
from nightshift.core.code.paths import is_test_path
from nightshift.core.tasks.revisions import Author
from nightshift.git.manager import GitManager
from nightshift.sandbox.runtime import open_runtime
from nightshift.verdict.languages.dialect import LIKELY
from nightshift.verdict.languages.python.faults import mutate

Kind = Literal["release", "written", "mended"]
NO_CODE = re.compile(r"(^|/)(docs?|examples?|benchmarks?|scripts)/|(^|/)(setup|conftest|__main__)\.py$")
MOST_HUNKS = 8
BROKEN_AT_MOST = 60
"""Maximum number of tests that a fault or an emptied function may break. A change that breaks half of a suite is no
suitable task.
"""
SPARE_CPU_S, LONGER = 5.0, 2.0
"""Limit of the processor time of a run on a fault: spare seconds, plus a multiple of the time without the fault. A
fault that keeps the tests from ending is no suitable task.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """The defaults for a package that is given only by name; `need` lists packages of PyPI that its tests import."""

    versions: str
    need: tuple[str, ...] = ()
    kinds: tuple[Kind, ...] = ("written", "mended")


KNOWN: Mapping[str, Known] = {
    "arrow": Known(versions="1.4.0", need=("python-dateutil", "tzdata", "pytz", "simplejson", "pytest-mock")),
    "babel": Known(versions="2.18.0", need=("pytz", "freezegun", "python-dateutil", "six")),
    "click": Known(versions="8.5.1"),
    "jsonschema": Known(
        versions="4.26.0",
        need=("attrs", "referencing", "rpds-py", "jsonschema-specifications", "typing-extensions"),
    ),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One line of FOLDER/NAME.jsonl: a commit that serves as a task."""

    commit: str
    description: str
    kind: str
    packages: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """A part of a release's change.

    `files` maps paths to new texts. `about` names what the part changes.
    """

    files: Mapping[str, str]
    about: str


_Row = TypeVar("_Row")


class Maker:
    """Makes the entries of one repository.

    Args:
        repo: the repository; the commits are written to it.
        checkout: its working tree.
        trees: reads the repository as the daemon does.
        dice: selects functions and faults.
        packages: the packages that the tests import.
    """

    def __init__(
        self, repo: Path, checkout: Checkout, trees: GitManager, dice: random.Random, packages: tuple[str, ...]
    ) -> None:
        self._repo, self._checkout, self._trees, self._dice, self._packages = repo, checkout, trees, dice, packages
        self._entry_count, self._imports = 0, ImportCache()

    def of_release(self, old: str, new: str, count: int) -> Iterator[Entry]:
        """Yield up to `count` entries from the changes between two commits."""
        before, after = self._texts(old), self._texts(new)
        suites = {path: text for path, text in after.items() if is_test_path(path) and before.get(path) != text}
        code = [path for path in after if path in before and after[path] != before[path] and _is_code(path)]
        added = {path: text for path, text in after.items() if path not in before and _is_code(path)}
        if not suites or not (code or added):
            return
        self._checkout.at(old)
        old_suites = [path for path in before if _is_suite(path)]
        stood = self._checkout.run(old_suites)
        self._checkout.put(suites)
        lacking = self._checkout.run(_suites(suites))
        self._checkout.put(added | {path: after[path] for path in code})
        wanted = lacking.failing | (self._checkout.run(_suites(suites)).passing - lacking.ended.keys())
        notes = _new_lines(before, after)
        for part in _parts(before, after, code, added):
            if count <= 0 or not wanted:
                return
            entry_and_tests = self._take_part(old, part, suites, wanted, stood, notes)
            if entry_and_tests:
                entry, now = entry_and_tests
                wanted -= now
                count -= 1
                yield entry

    def _take_part(
        self, old: str, part: Part, suites: Mapping[str, str], wanted: Collection[str], stood: Ran, notes: Sequence[str]
    ) -> tuple[Entry, frozenset[str]] | None:
        """Return the entry of one part and the tests that the part makes pass; None if the part does not work alone."""
        self._checkout.at(old)
        self._checkout.put({**suites, **part.files})
        ran = self._checkout.run(_suites(suites))
        mended = frozenset(wanted) & ran.passing
        if not mended:
            return None
        still = {functions.bare_id(test) for test in ran.failing}
        remaining = {path: _without(path, text, still) for path, text in suites.items()}
        self._checkout.put(remaining)
        now = self._checkout.run({*self._find_reached(old, part.files), *_suites(remaining)})
        same = {test for test in stood.passing if test in now.ended}
        if now.failing - stood.failing or not same <= now.passing or not mended <= now.passing:
            return None
        text = next((line for line in notes if any(word in line for word in re.findall(r"\w{5,}", part.about))), "")
        description = text or f"Make these tests pass: {', '.join(sorted(mended)[:4])}"
        return self._entry(old, {**remaining, **part.files}, f"{description} ({part.about})", "release"), mended

    def write_anew(self, tip: str, count: int) -> Iterator[Entry]:
        """Yield up to `count` entries whose commit restores the body of a function and the tests of the function."""
        texts = self._texts(tip)
        for path, name, empty, doc in self._draw(_functions(texts)):
            if count <= 0:
                return
            broken = self._find_broken(tip, texts, path, empty)
            bare = {functions.bare_id(test) for test in broken}
            if not broken:
                continue
            suites = {each.partition("::")[0] for each in bare}
            poorer = {suite: _without(suite, texts[suite], bare) for suite in suites}
            self._checkout.put(poorer)
            if self._checkout.run(poorer).failing & broken:
                continue
            base = self._commit(tip, {path: empty, **poorer}, f"Without {name}")
            restored = {path: texts[path], **{suite: texts[suite] for suite in suites}}
            count -= 1
            yield self._entry(base, restored, f"Write the body of {name} in {path}: {doc}", "written")

    def take_faults_out(self, tip: str, count: int) -> Iterator[Entry]:
        """Yield up to `count` entries whose commit removes a fault that existing tests notice."""
        texts = self._texts(tip)
        faults = (
            (path, name, make)
            for path, text in texts.items()
            if _is_code(path)
            for name, fault, make in mutate(path, text, range(1, text.count("\n") + 2))
            if fault.rank <= LIKELY
        )
        for path, name, make in self._draw(faults):
            if count <= 0:
                return
            if (mutant := make()) and (broken := self._find_broken(tip, texts, path, mutant)):
                base = self._commit(tip, {path: mutant}, f"Change {name}")
                tests = ", ".join(sorted({functions.bare_id(test) for test in broken})[:3])
                text = f"{name} in {path} gives wrong results, as {tests} shows. Mend it."
                count -= 1
                yield self._entry(base, {path: texts[path]}, text, "mended")

    def _draw(self, faults: Iterator[_Row]) -> list[_Row]:
        rows = list(faults)
        self._dice.shuffle(rows)
        return rows[:80]

    def _find_broken(self, tip: str, texts: Mapping[str, str], path: str, text: str) -> frozenset[str]:
        """Return the tests that fail only with this text of a file.

        The result is empty if the change is no suitable task: it breaks no test or too many, or the run does not
        finish.
        """
        self._checkout.at(tip)
        stood = self._stood(tip, [each for each in texts if _is_suite(each)])
        self._checkout.put({path: text})
        suites = self._find_reached(tip, [path])
        ran = self._checkout.run(suites, SPARE_CPU_S + LONGER * stood.cpu_s)
        broken = ran.failing & stood.passing
        test_count = sum(test.partition("::")[0] in suites for test in stood.ended)
        fit = 0 < len(broken) <= BROKEN_AT_MOST and len(ran.ended) == test_count
        return broken if fit else frozenset()

    def _find_reached(self, commit: str, paths: Collection[str]) -> frozenset[str]:
        """Return the test files of a commit that depend on one of these files."""
        tree = self._trees.open(str(self._repo), commit, 1, "bench", datetime.now(UTC)).tree
        return dependants(tree, paths, self._imports)

    def _stood(self, tip: str, suites: Collection[str]) -> Ran:
        if self._last_run[0] != tip:
            self._last_run = tip, self._checkout.run(suites)
        return self._last_run[1]

    _last_run: tuple[str, Ran] = ("", Ran())

    def _texts(self, commit: str) -> dict[str, str]:
        self._checkout.at(commit)
        paths = [path for path in git(self._repo, "ls-tree", "-r", "--name-only", commit).split("\n") if path]
        texts = {path: self._checkout.read(path) for path in paths}
        return {path: text for path, text in texts.items() if text is not None}

    def _entry(self, base: str, files: Mapping[str, str | None], description: str, kind: str) -> Entry:
        commit = self._commit(base, files, description)
        git(self._repo, "branch", "-f", f"entry-{self._entry_count}", commit)
        self._entry_count += 1
        print(f"  {kind}: {description[:110]}", flush=True)
        return Entry(commit=commit, description=description, kind=kind, packages=self._packages)

    def _commit(self, base: str, files: Mapping[str, str | None], message: str) -> str:
        self._checkout.at(base)
        self._checkout.put(files)
        git(self._checkout.folder, "add", "-A")
        git(self._checkout.folder, "commit", "-q", "--no-verify", "-m", message)
        return git(self._checkout.folder, "rev-parse", "HEAD")


def _is_suite(path: str) -> bool:
    return path.endswith(".py") and is_test_path(path) and not path.endswith("conftest.py")


def _suites(paths: Collection[str]) -> list[str]:
    return [path for path in paths if _is_suite(path)]


def _is_code(path: str) -> bool:
    tests = re.search(r"(^|/)(tests?|testing)/", path)
    return path.endswith(".py") and not (is_test_path(path) or tests or NO_CODE.search(path))


def _without(path: str, text: str, tests: Collection[str]) -> str:
    """Return a test file without these tests (`path::name`)."""
    return functions.without(text, {test.partition("::")[2] for test in tests if test.startswith(f"{path}::")})


def _parts(
    before: Mapping[str, str], after: Mapping[str, str], code: Sequence[str], added: Mapping[str, str]
) -> Iterator[Part]:
    """Yield the parts of a change that might work alone: single places, whole files, and the whole change."""
    hunks = [part for path in code for part in _hunks(path, before[path], after[path])]
    yield from hunks[:MOST_HUNKS]
    yield from (Part(files={path: after[path]}, about=path) for path in code)
    yield Part(files={**{path: after[path] for path in code}, **added}, about=", ".join([*code, *added][:3]))


def _hunks(path: str, before: str, after: str) -> Iterator[Part]:
    a, b = before.splitlines(keepends=True), after.splitlines(keepends=True)
    for group in difflib.SequenceMatcher(None, a, b, autojunk=False).get_grouped_opcodes(2):
        (_, i, _, j, _), (_, _, i_end, _, j_end) = group[0], group[-1]
        text = "".join([*a[:i], *b[j:j_end], *a[i_end:]])
        try:
            ast.parse(text)
        except SyntaxError:
            continue
        yield Part(files={path: text}, about=f"{_around(text, i + 3)} in {path}")


def _around(text: str, line: int) -> str:
    """Return the name of the innermost function or class at a line."""
    nodes = [
        node for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
        and node.lineno <= line <= (node.end_lineno or node.lineno)
    ]  # fmt: skip
    return max(nodes, key=lambda node: node.lineno).name if nodes else "the module"


def _new_lines(before: Mapping[str, str], after: Mapping[str, str]) -> list[str]:
    """Return the lines that were added to the change log."""
    notes = [path for path in after if re.search(r"chang|history|news|versions", path, re.IGNORECASE)]
    texts = [(before.get(path, ""), after[path]) for path in notes if not path.endswith(".py")]
    lines = [line for old, new in texts for line in new.split("\n") if line.strip() and line not in old]
    return [line.strip(" *-") for line in lines if len(line) > 20]


def _functions(texts: Mapping[str, str]) -> Iterator[tuple[str, str, str, str]]:
    """Yield (path, name, file with the function emptied, documentation) for each documented function."""
    for path, text in texts.items():
        for node in ast.walk(ast.parse(text)) if _is_code(path) else ():
            doc = ast.get_docstring(node) if isinstance(node, ast.FunctionDef) else None
            if not isinstance(node, ast.FunctionDef) or not doc or len(node.body) < 3 or node.name.startswith("_"):
                continue
            lines = text.splitlines(keepends=True)
            first, last = node.body[1], node.body[-1]
            pad = " " * first.col_offset
            around = lines[: first.lineno - 1], lines[last.end_lineno or last.lineno :]
            empty = "".join([*around[0], f"{pad}raise NotImplementedError\n", *around[1]])
            yield path, node.name, empty, " ".join(doc.split("\n\n")[0].split())


def download(package: str, version: str, folder: Path, pip: str) -> Path:
    """Download and unpack the sources of a release; return their folder."""
    words = ["download", "-q", "--no-binary", ":all:", "--no-deps", "--no-build-isolation", "-d", str(folder)]
    subprocess.run([pip, *words, f"{package}=={version}"], check=True, capture_output=True)
    (tarball,) = [path for path in folder.glob("*.tar.gz") if re.search(rf"-{re.escape(version)}\.tar", path.name)]
    with tarfile.open(tarball) as archive:
        archive.extractall(folder, filter="data")
    return folder / tarball.name.removesuffix(".tar.gz")


def history(repo: Path, package: str, versions: Sequence[str], pip: str) -> list[str]:
    """Make a repository with a commit for each release, in this order; return the commits."""
    shutil.rmtree(repo, ignore_errors=True)
    repo.mkdir(parents=True)
    git(repo, "init", "-q", "-b", "main")
    commits = []
    for version in versions:
        for path in repo.iterdir():
            if path.name != ".git":
                shutil.rmtree(path) if path.is_dir() else path.unlink()
        with tempfile.TemporaryDirectory() as folder:
            release = download(package, version, Path(folder), pip)
            skipped = shutil.ignore_patterns("*.egg-info", "PKG-INFO")
            shutil.copytree(release, repo, dirs_exist_ok=True, ignore=skipped, symlinks=True)
        git(repo, "add", "-A", "--force")
        git(repo, "commit", "-q", "--no-verify", "-m", f"{package} {version}")
        commits.append(git(repo, "rev-parse", "HEAD"))
    return commits


def make(folder: Path, package: str, source: Known, entries: int, seed: int, pip: str) -> list[Entry]:
    """Make a repository in a folder, and return its entries."""
    repo = (folder / package).resolve()
    commits = history(repo, package, source.versions.split(), pip)
    with tempfile.TemporaryDirectory() as scratch:
        python = plain_environment(Path(scratch, "plain"), open_runtime(ROOT / ".runner"))
        install(python, source.need)
        checkout = Checkout(repo, Path(scratch, "tree"), python)
        trees = GitManager(workspace=Path(scratch, "trees"), author=Author(), auto_push=False, emit=lambda _event: None)
        maker = Maker(repo, checkout, trees, random.Random(seed), source.need)
        entry_list = list[Entry]()
        for old, new in reversed(list(pairwise(commits if "release" in source.kinds else ()))):
            entry_list += maker.of_release(old, new, (entries + 1) // 2 - len(entry_list))
        if "written" in source.kinds:
            entry_list += maker.write_anew(
                commits[-1], (entries - len(entry_list)) // (2 if "mended" in source.kinds else 1)
            )
        if "mended" in source.kinds:
            entry_list += maker.take_faults_out(commits[-1], entries - len(entry_list))
        trees.close()
        git(repo, "worktree", "remove", "--force", str(checkout.folder))
    return entry_list


def main() -> None:
    """Make the requested repositories."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("packages", nargs="+", metavar="NAME[==VERSION…]")
    parser.add_argument("--entries", type=int, default=12)
    parser.add_argument("--need", nargs="*")
    parser.add_argument("--kinds", nargs="+", choices=get_args(Kind))
    parser.add_argument("--pip", default=shutil.which("pip") or "pip")
    parser.add_argument("--seed", type=int, default=1)
    a = parser.parse_args()
    for given in a.packages:
        package, _, versions = given.partition("==")
        if not versions and package not in KNOWN:
            parser.error(f"{package}: name its versions, as in {package}==1.0 1.1")
        source = KNOWN.get(package, Known(versions=versions, kinds=get_args(Kind)))
        source = replace(
            source, versions=versions or source.versions, kinds=tuple(a.kinds or source.kinds),
            need=source.need if a.need is None else tuple(a.need),
        )  # fmt: skip
        print(package, flush=True)
        entries = make(a.folder, package, source, a.entries, a.seed, a.pip)
        rows = "".join(json.dumps(asdict(entry)) + "\n" for entry in entries)
        (a.folder / f"{package}.jsonl").write_text(rows)


if __name__ == "__main__":
    main()
