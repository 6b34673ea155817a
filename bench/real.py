"""Replays commits of real repositories as the answers of a model, through the complete daemon, to measure the judge.

    .venv/bin/python bench/real.py REPO LIST [REPO LIST …] [--wrong 0.3] [--json FILE]

REPO is a clone of any repository in Python. LIST has lines of JSON: `commit` and `description`, and, if known, `kind`
and `packages`. Each commit is a task on its parent commit. A scripted server answers CODING with the commit's own
change to files that are not tests, as whole files and as SEARCH/REPLACE edits by turns. In some tasks the server first
sends the same change with a fault that the commit's tests notice.

The task comes with the commit's test files, or with the existing test files that the commit makes pass. A commit is
left out unless some test fails before it and passes after it. `bench/real_model.py` has tasks without given tests.

The output compares the daemon with bare pytest on the same tests (those that the change can reach), which runs in the
same minutes. It shows:

- the share of first answers that were right and passed at once (goal: 95 %)
- each false refusal with its reason, and the wrong answers that were accepted
- the number of requests after the code was right (goal: 0)
- the processor time of the whole daemon (goal: at most 1.5 bare runs with the commit plus one bare run on its base) and
  the wall time of the phase TESTING, both relative to the bare run
- the labels of the verdicts
"""

from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[0] = str(ROOT)  # not this folder, because its queue.py would hide the standard library's module

# ruff: noqa: E402 - the path comes first
import argparse
import difflib
import itertools
import json
import random
import re
import subprocess
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from typing import Any

from bench.bare_pytest import Checkout, Ran, git, install
from bench.overhead import books, plain_environment, processor_group, processors
from nightshift.core.code.dependencies import ImportCache, dependants
from nightshift.core.code.paths import is_test_path
from nightshift.core.code.tree import Tree
from nightshift.core.tasks.revisions import Author
from nightshift.git.manager import GitManager
from nightshift.sandbox.runtime import open_runtime
from nightshift.verdict.languages.python.faults import mutate
from tests.support.daemon import Daemon, settings_for
from tests.support.wire_server import WireServer

LONGEST_S = 1800.0
WHOLE_LINES = 400
TRIES = 3
FAULTS_TRIED = 5
Files = Mapping[str, str]
Change = Mapping[str, str | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A commit as a task.

    Attributes:
        base: the parent commit.
        before: the texts of the changed files in the parent commit; added files are not included.
        right: the change of the commit without its tests.
        wrong: the same change with a fault, or None.
        given: the test files of the commit.
        bare: the run of bare pytest after the commit, on the tests that the change can reach.
        bare_base: the same run before the commit.
    """

    name: str
    description: str
    kind: str
    packages: tuple[str, ...]
    base: str
    before: Files
    right: Change
    wrong: Change | None
    given: Files
    bare: Ran
    bare_base: Ran


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """The outcome of a case.

    `cpu_s` and `wall_s` are seconds of the daemon. The fields `bare_…` and `base_…` are seconds of bare pytest with the
    commit and on its base.
    """

    case: str
    kind: str
    began_wrong: bool
    ending: str
    reason: str
    answers: tuple[str, ...]
    refusals: tuple[str, ...] = ()
    requests_after: int = 0
    tests: int = 0
    label: str = ""
    judged: int = 0
    cpu_s: float = 0.0
    wall_s: float = 0.0
    bare_cpu_s: float = 0.0
    bare_wall_s: float = 0.0
    base_cpu_s: float = 0.0
    base_wall_s: float = 0.0

    @property
    def passed(self) -> bool:
        """True if the daemon committed the change."""
        return self.ending == "committed"

    @property
    def slipped(self) -> bool:
        """True if a wrong answer was committed."""
        return self.passed and self.answers[-1:] == ("wrong",)

    @property
    def at_once(self) -> bool:
        """True if the first right answer was committed unchanged."""
        return self.passed and not self.refusals and not self.slipped


class Reader:
    """Makes cases from the commits of one repository.

    Args:
        repo: a clone of our own.
        checkout: its working tree.
        git_manager: reads its trees as the daemon does.
        dice: selects faults.
        wrong: the share of cases that begin with a wrong answer.
    """

    def __init__(
        self, repo: Path, checkout: Checkout, git_manager: GitManager, dice: random.Random, wrong: float
    ) -> None:
        self._repo, self._checkout, self._git, self._dice, self._wrong = repo, checkout, git_manager, dice, wrong
        self._imports = ImportCache()

    def case(self, name: str, row: Mapping[str, Any]) -> Case | str:
        """Return the case for a line of the list, or the reason why the line gives no case."""
        commit = git(self._repo, "rev-parse", row["commit"])
        base = git(self._repo, "rev-parse", f"{commit}^")
        paths = git(self._repo, "diff", "--name-only", "--no-renames", base, commit).split("\n")
        before, after = self._files(base, paths), self._files(commit, paths)
        if not all(path in before or path in after for path in paths):
            return "it changes files that are no text"
        right = {path: after.get(path) for path in paths if not is_test_path(path)}
        tests = {path: after[path] for path in paths if is_test_path(path) and path in after}
        if not any(path.endswith(".py") for path in right):
            return "it changes no code"
        tree = self._git.open(str(self._repo), base, 1, "bench", datetime.now(UTC)).tree
        reached = self._find_reached(tree, right) | {path for path in tests if not path.endswith("conftest.py")}
        self._checkout.at(base)
        self._checkout.put(tests)
        bare_base = self._checkout.run(reached)
        self._checkout.put(right)
        bare = self._checkout.run(reached)
        mended = bare.passing - bare_base.passing
        if not mended:
            return "no test fails before it and passes after it"
        suites = sorted({test.partition("::")[0] for test in mended})
        self._checkout.at(base)
        given = tests or {path: text for path in suites if (text := self._checkout.read(path))}
        wrong = self._faulty(before, right, given, mended) if self._dice.random() < self._wrong else None
        return Case(
            name=name, description=row["description"], kind=row.get("kind", "commit"),
            packages=tuple(row.get("packages", ())), base=base, before=before, right=right, wrong=wrong,
            given=given, bare=bare, bare_base=bare_base,
        )  # fmt: skip

    def _files(self, commit: str, paths: Sequence[str]) -> dict[str, str]:
        self._checkout.at(commit)
        return {path: text for path in paths if (text := self._checkout.read(path)) is not None}

    def _find_reached(self, tree: Tree, change: Change) -> frozenset[str]:
        return dependants(tree, change.keys(), self._imports)

    def _faulty(self, before: Files, right: Change, given: Files, mended: frozenset[str]) -> Change | None:
        """Return the change with a fault that these tests notice; None if none was found."""
        for path, mutant in itertools.islice(self._faults(before, right), FAULTS_TRIED):
            self._checkout.put({**given, **right, path: mutant})
            if mended - self._checkout.run([name for name in given if name.endswith(".py")]).passing:
                return {**right, path: mutant}
        return None

    def _faults(self, before: Files, right: Change) -> Iterator[tuple[str, str]]:
        """Yield random faults in the changed lines: the path of a file, and the text of the file with one fault."""
        candidates = []
        for path, text in right.items():
            if text is not None and path.endswith(".py"):
                lines = _change_lines(before.get(path, ""), text)
                candidates += [(path, make) for _, fault, make in mutate(path, text, lines) if not fault.rank]
        self._dice.shuffle(candidates)
        yield from ((path, mutant) for path, make in candidates if (mutant := make()) is not None)


def _change_lines(before: str, after: str) -> set[int]:
    matcher = difflib.SequenceMatcher(None, before.splitlines(), after.splitlines(), autojunk=False)
    return {n + 1 for tag, _, _, j, j_end in matcher.get_opcodes() if tag != "equal" for n in range(j, j_end)}


# The class below is the scripted model. The functions after it write the model's replies.


class Script:
    """The scripted model: answers for the task whose mark is in a prompt, and records each request.

    A record is the pair of the phase and the kind of answer.
    """

    def __init__(self) -> None:
        self.cases: dict[str, Case] = {}
        self.asked: dict[str, list[tuple[str, str]]] = {}

    def __call__(self, phase: str, messages: list[dict[str, str]]) -> str:
        """Return the answer to a request."""
        text = "\n".join(message["content"] for message in messages)
        mark = next(mark for mark in re.findall(r"\[replay \w+\]", text) if mark in self.cases)
        case, asked = self.cases[mark], self.asked.setdefault(mark, [])
        if phase == "CODING":
            earlier = [what for phase, what in asked if phase == "CODING"]
            what = "wrong" if case.wrong and not earlier else "right"
            asked.append((phase, what))
            changes: Mapping[str, Change] = {"": {}, "right": case.right, "wrong": case.wrong or {}}
            now = {**case.before, **changes[earlier[-1] if earlier else ""]}
            return _reply(now, changes[what], is_whole=len(self.cases) % 2 == 0)
        asked.append((phase, ""))
        if phase == "REFLECTING":
            return json.dumps({"root_cause": "the result is wrong", "suggested_fix": "follow the first failing test"})
        return "1. Make the change.\n2. Run the tests."


def _reply(now: Change, wanted: Change, *, is_whole: bool) -> str:
    parts = ["Summary: Replay a commit"]
    for path, text in wanted.items():
        was = now.get(path)
        if text is None:
            parts.append(f"```python path={path} delete\n```")
        elif was in {None, text} or (is_whole and text.count("\n") <= WHOLE_LINES):
            parts.append(_fence(path, text))
        else:
            parts.append(_fence(path, edits(was, text)))
    return "\n\n".join(parts)


def _fence(path: str, text: str) -> str:
    fence = "`" * (max((len(run) for run in re.findall(r"`{3,}", text)), default=2) + 1)
    return f"{fence}python path={path}\n{text}{'' if text.endswith(chr(10)) else chr(10)}{fence}"


def edits(was: str, text: str) -> str:
    """Return SEARCH/REPLACE sections that turn one text into another; their search lines are unique in the file.

    Sections that would touch are merged.
    """
    a, b = was.splitlines(keepends=True), text.splitlines(keepends=True)
    places = list[tuple[int, int, int, int]]()
    for group in difflib.SequenceMatcher(None, a, b, autojunk=False).get_grouped_opcodes(2):
        (_, i, _, j, _), (_, _, i_end, _, j_end) = group[0], group[-1]
        while was.count("".join(a[i:i_end])) != 1 and (i > 0 or i_end < len(a)):
            i, j = (i - 1, j - 1) if i else (i, j)
            i_end, j_end = (i_end + 1, j_end + 1) if i_end < len(a) else (i_end, j_end)
        if places and i <= places[-1][1]:
            first = places.pop()
            i, j = first[0], first[2]
        places.append((i, i_end, j, j_end))
    return "".join(
        map(_section, ("".join(a[i:end]) for i, end, *_ in places), ("".join(b[j:e]) for *_, j, e in places))
    )


def _section(old: str, new: str) -> str:
    taken = {len(line.strip()) for line in f"{old}{new}".split("\n") if re.fullmatch(r"=+|[<>]+", line.strip())}
    wide = next((wide for wide in (7, 8, 9, 6, 5) if wide not in taken), 7)
    return f"{'<' * wide} SEARCH\n{old}{'=' * wide}\n{new}{'>' * wide} REPLACE\n"


# The functions below run a case through the daemon, and read its outcome from the daemon's records.


def work(daemon: Daemon, script: Script, repo: Path, case: Case, group: Path | None) -> Outcome:
    """Run a case through the daemon and return its outcome."""
    assert daemon.process
    mark = f"[replay {len(script.cases)}]"
    script.cases[mark] = case
    before = processors(daemon.process.pid, group)[2]
    task = daemon.submit(
        description=f"{case.description[:4000]}\n\n{mark}", repo=str(repo), base=case.base,
        packages=list(case.packages), tests=dict(case.given),
        explore="off", clarify=False, review=False, audit=False,
        integrate=False, limits={"iterations": TRIES, "attempts": 1, "wall_s": LONGEST_S},
    )  # fmt: skip
    status, ending, reason = _end(daemon, task)
    cpu_s = processors(daemon.process.pid, group)[2] - before
    asked = script.asked.get(mark, [])
    steps = _steps(daemon.home, task)
    testing = [step for step in steps if step.phase == "TESTING"]
    return Outcome(
        case=case.name, kind=case.kind, began_wrong=case.wrong is not None,
        ending=ending or status, reason=reason, answers=tuple(what for phase, what in asked if phase == "CODING"),
        refusals=tuple(_refusals(steps, asked, "" if ending == "committed" else reason)),
        requests_after=_requests_after(asked), tests=max((step.tests for step in testing), default=0),
        label=testing[-1].label if testing else "", judged=len(testing), cpu_s=cpu_s,
        wall_s=sum(step.took_s for step in testing), bare_cpu_s=case.bare.cpu_s, bare_wall_s=case.bare.wall_s,
        base_cpu_s=case.bare_base.cpu_s, base_wall_s=case.bare_base.wall_s,
    )  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """A step of a task in the daemon's records."""

    phase: str
    outcome: str
    note: str
    tests: int
    label: str
    took_s: float
    reason: str = field(default="")


def _end(daemon: Daemon, task: int) -> tuple[str, str, str]:
    """Wait for the end of a task; return its status, its ending and the reason.

    A task that waits for its owner or takes too long is cancelled.
    """
    until = time.monotonic() + LONGEST_S
    while True:
        with books(daemon.home) as db:
            row = db.execute("SELECT status, coalesce(ending, ''), reason FROM tasks WHERE id = ?", (task,)).fetchone()
            asked = db.execute(
                "SELECT question FROM approvals WHERE task_id = ? AND answer IS NULL", (task,)
            ).fetchall()
        if row[0] in {"done", "failed", "cancelled"}:
            return row[0], row[1], row[2]
        if row[0] == "waiting" or time.monotonic() > until:
            daemon.ask("POST", f"/api/task/{task}/cancel")
            words = "; ".join(question for (question,) in asked) or row[2]
            return row[0], "asked its owner" if row[0] == "waiting" else "took too long", words
        time.sleep(0.1)


def _steps(home: Path, task: int) -> list[Step]:
    query = """SELECT phase, outcome, note, data, coalesce(total, 0),
        (julianday(ended_at) - julianday(started_at)) * 86400 FROM steps WHERE task_id = ? ORDER BY attempt, step_no"""
    with books(home) as db:
        rows = db.execute(query, (task,)).fetchall()
    return [
        Step(phase=phase, outcome=outcome, note=note, tests=tests, took_s=took_s,
             label=(fields := json.loads(data)).get("label", ""), reason=fields.get("reason", ""))
        for phase, outcome, note, data, tests, took_s in rows
    ]  # fmt: skip


_SENT_AGAIN = "the reply changed nothing"  # the step's note if the model sends a right answer again


def _refusals(steps: Sequence[Step], asked: Sequence[tuple[str, str]], reason: str) -> Iterator[str]:
    """Yield the refusals of the right answer: the steps after that answer that did not succeed.

    If there are none, yield the reason of the task's end, if any.
    """
    answers = [what for phase, what in asked if phase == "CODING"]
    coded, is_refused = 0, False
    for step in steps:
        coded += step.phase == "CODING"
        if "right" in answers[:coded] and step.phase in {"CODING", "TESTING"} and step.outcome != "ok":
            if step.note != _SENT_AGAIN:
                yield f"{step.phase}: {step.reason or step.note} | {step.note}"
            is_refused = True
    if reason and not is_refused:
        yield reason


def _requests_after(asked: Sequence[tuple[str, str]]) -> int:
    """Count the requests after the first right answer."""
    first = next((n for n, (_, what) in enumerate(asked) if what == "right"), len(asked))
    return len(asked[first + 1 :])


# The functions below format the outcomes, and run all lists.


def describe(outcome: Outcome) -> str:
    """Format an outcome in one line."""
    word = (
        "let wrong through" if outcome.slipped else "passed" if outcome.at_once else "late" if outcome.passed else "NO"
    )
    ratio = f"{outcome.cpu_s / outcome.bare_cpu_s:.1f}" if outcome.bare_cpu_s else "?"
    return (
        f"{outcome.case:28} {outcome.kind:8} {'wrong first' if outcome.began_wrong else '':12}"
        f"{word:8} {outcome.requests_after} more requests, {outcome.judged} judged, processors {outcome.cpu_s:.1f} s "
        f"({ratio} bare), testing {outcome.wall_s:.1f} s (bare {outcome.bare_wall_s:.1f}), {outcome.label}"
    )


def summary(outcomes: Sequence[Outcome]) -> Iterator[str]:
    """Yield the summary of all outcomes, line by line."""
    for kind in sorted({outcome.kind for outcome in outcomes}):
        yield f"{kind:9} {_share([outcome for outcome in outcomes if outcome.kind == kind])}"
    yield f"all: {_share(outcomes)} (goal: 95 %)"
    wrong = [outcome for outcome in outcomes if outcome.began_wrong]
    through = sum(outcome.passed and not outcome.slipped for outcome in wrong)
    yield (
        f"wrong first answers: {len(wrong)}, let through {sum(outcome.slipped for outcome in wrong)}, mended {through}"
    )
    yield f"requests after the code was right: {sum(outcome.requests_after for outcome in outcomes)} (goal: 0)"
    once = [outcome for outcome in outcomes if outcome.judged == 1 and outcome.bare_cpu_s]
    if once:
        cpu, bare, base = (
            sum(getattr(outcome, name) for outcome in once) for name in ("cpu_s", "bare_cpu_s", "base_cpu_s")
        )
        wall, bare_wall = (sum(getattr(outcome, name) for outcome in once) for name in ("wall_s", "bare_wall_s"))
        within = sum(outcome.cpu_s <= 1.5 * outcome.bare_cpu_s + outcome.base_cpu_s for outcome in once)
        yield (
            f"judged once ({len(once)}): processors {cpu:.0f} s, bare {bare:.0f} s and base {base:.0f} s: "
            f"{cpu / bare:.2f} bare runs ({within} within 1.5 and one of the base); by the clock {wall:.0f} s, "
            f"bare {bare_wall:.0f} s: {wall / bare_wall:.2f}"
        )
    yield f"labels of what passed: {dict(Counter(outcome.label for outcome in outcomes if outcome.passed))}"
    for outcome in outcomes:
        for refusal in dict.fromkeys(outcome.refusals):
            yield f"refused: {outcome.case}: {' '.join(refusal.split())[:600]}"


def _share(some: Sequence[Outcome]) -> str:
    right = [outcome for outcome in some if not outcome.slipped]
    at_once = sum(outcome.at_once for outcome in right)
    late = sum(outcome.passed and not outcome.at_once for outcome in right)
    words = f"right answers {len(right)}, passed at once {at_once} ({at_once / max(1, len(right)):.0%})"
    return f"{words}, later {late}, never {len(right) - at_once - late}"


def cases_of(repo: Path, rows: Sequence[Mapping[str, Any]], folder: Path, wrong: float) -> Iterator[Case]:
    """Yield the cases of a repository; print why a commit is left out."""
    python = plain_environment(folder / "plain", open_runtime(ROOT / ".runner"))
    install(python, sorted({name for row in rows for name in row.get("packages", ())}))
    reader = GitManager(workspace=folder / "ours", author=Author(), auto_push=False, emit=lambda _event: None)
    cases = Reader(repo, Checkout(repo, folder / "tree", python), reader, random.Random(1), wrong)
    try:
        for number, row in enumerate(rows):
            case = cases.case(f"{repo.name} {number}", row)
            if isinstance(case, Case):
                yield case
            else:
                print(f"{repo.name} {number} is left out: {case}", flush=True)
    finally:
        reader.close()


def main() -> None:
    """Run all lists and print the figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("lists", nargs="+", type=Path, metavar="REPO LIST")
    parser.add_argument("--wrong", type=float, default=0.3)
    parser.add_argument("--most", type=int, help="entries of each list")
    parser.add_argument("--json", type=Path)
    a = parser.parse_args()
    script, outcomes = Script(), list[Outcome]()
    with tempfile.TemporaryDirectory(prefix="real-") as root, WireServer(script) as server:
        settings = settings_for(server, WORKER_COUNT="1", RECALL_LIMIT="0", MAX_RETRIES="1")
        daemon = Daemon(Path(root, "home"), settings)
        with processor_group(daemon) as group:
            for given, listed in zip(a.lists[::2], a.lists[1::2], strict=True):
                folder = Path(root, given.resolve().name)
                clone = folder / given.resolve().name
                subprocess.run(["git", "clone", "-q", "--no-local", given, clone], check=True)
                rows = [json.loads(line) for line in listed.read_text().splitlines()][: a.most]
                for case in cases_of(clone, rows, folder, a.wrong):
                    outcomes.append(work(daemon, script, clone, case, group))
                    print(describe(outcomes[-1]), flush=True)
                    if a.json:
                        a.json.write_text(json.dumps([asdict(outcome) for outcome in outcomes], indent=1))
    print("\n".join(summary(outcomes)))


if __name__ == "__main__":
    main()
