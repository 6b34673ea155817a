"""Several commits are judged on top of each other.

Those that pass together land together. If the merged tree fails, the commit that breaks it is identified.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nightshift.attempt.merge_queue import Candidate, JointWork, Merged, merge
from nightshift.core.tasks.commit_message import CommitMessage
from nightshift.core.tasks.revisions import Author, Workspace
from nightshift.core.tasks.task import Change, TaskSpec
from nightshift.git.manager import GitManager


class Line:
    """A target branch, and commits that are candidates to land on it."""

    def __init__(self, folder: Path) -> None:
        author = Author(name="Test", email="test@example.org")
        self.git = GitManager(workspace=folder, author=author, auto_push=False, emit=lambda _: None)
        self.where: Workspace = self.git.open(None, None, 1, "x")
        self.judged: list[JointWork] = []

    def close(self) -> None:
        self.git.close()

    def candidate(self, key: int, change: Change, **spec: dict[str, str]) -> Candidate:
        workspace = self.git.open(None, None, key, f"candidate {key}")
        text = CommitMessage(subject=f"candidate {key}", trailers={"Task": str(key)})
        commit = self.git.commit(workspace, self.where.base, change, text)
        assert commit
        return Candidate(key=key, commit=commit, spec=TaskSpec(description="x", **spec))  # type: ignore[arg-type]

    def merged(
        self, candidates: list[Candidate], passes: Callable[[JointWork], bool]
    ) -> tuple[Merged, tuple[Candidate, ...]]:
        async def judge(work: JointWork) -> bool:
            self.judged.append(work)
            return passes(work)

        return asyncio.run(merge(self.git, self.where, self.where.base, candidates, judge))


@pytest.fixture
def line(tmp_path: Path) -> Iterator[Line]:
    with closing(Line(tmp_path / "workspace")) as opened:
        yield opened


def test_tests_of_tasks_are_told_from_those_of_agents_and_from_the_change(line: Line) -> None:
    first = line.candidate(1, {"a.py": "1\n", "test_a.py": "given\n"}, tests={"test_a.py": "given\n"})
    second = line.candidate(2, {"b.py": "2\n", "test_b.py": "own\n"})
    line.merged([first, second], lambda _: True)
    (work,) = line.judged
    assert work.given == {"test_a.py": "given\n"}
    assert work.own == {"test_b.py": "own\n"}
    assert work.change == {"a.py": "1\n", "b.py": "2\n"}


def test_what_conflicts_is_left_to_its_node(line: Line) -> None:
    candidates = [line.candidate(key, {"same.py": f"{key}\n"}) for key in (1, 2)]
    merged, alone = line.merged(candidates, lambda _: True)
    assert ([candidate.key for candidate, _ in merged.commits], [candidate.key for candidate in alone]) == ([1], [2])


def test_two_that_break_each_other_let_the_first_one_land(line: Line) -> None:
    candidates = [line.candidate(key, {f"m{key}.py": f"{key}\n"}) for key in (1, 2, 3, 4)]
    merged, alone = line.merged(candidates, lambda work: not {"m2.py", "m3.py"} <= work.change.keys())
    assert [candidate.key for candidate, _ in merged.commits] == [1, 2, 4]
    assert [candidate.key for candidate in alone] == [3]


@settings(max_examples=15, deadline=None)
@given(bad=st.sets(st.integers(1, 7)), count=st.integers(1, 7))
def test_whoever_breaks_the_tree_is_found_and_all_others_land(
    bad: set[int], count: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    with closing(Line(tmp_path_factory.mktemp("line"))) as line:
        _all_but_the_bad_land(line, bad, count)


def _all_but_the_bad_land(line: Line, bad: set[int], count: int) -> None:
    candidates = [line.candidate(key, {f"m{key}.py": f"{key}\n"}) for key in range(1, count + 1)]
    merged, alone = line.merged(candidates, lambda work: not {f"m{key}.py" for key in bad} & work.change.keys())
    assert [candidate.key for candidate, _ in merged.commits] == [key for key in range(1, count + 1) if key not in bad]
    assert sorted(candidate.key for candidate in alone) == sorted(key for key in bad if key <= count)
    assert sorted(line.git.tree(None, merged.last).entries()) == [
        f"m{candidate.key}.py" for candidate, _ in merged.commits
    ]
