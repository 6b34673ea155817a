"""The risk rank of a commit: each cause of risk counts once with its stated weight, and is given as a reason."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nightshift.core.tasks.remarks import Gravity, Remark
from nightshift.core.tasks.revisions import ChangedFile
from nightshift.core.tasks.verdicts import Label
from nightshift.report.risk import AREAS, HIGH, MEDIUM, WEIGHTS, Around, Level, areas_of, in_order, rank
from nightshift.storage.db.commit_signs import Signs
from nightshift.storage.db.report_queries import CommitRow

SAFE = CommitRow(
    id=1, at=datetime(2026, 11, 18, tzinfo=UTC), task_id=1, attempt=1, commit="a" * 40, asked_repo="", subject="s",
    label=Label.VERIFIED, model="m", iterations=1, integrated=True, pushed=False, reviewed=False, reverted=False,
    files=(ChangedFile(path="src/words.py", added=10, removed=0),), signs=Signs(),
)  # fmt: skip


LOSES = Remark(path="src/words.py", line=3, gravity=Gravity.CRITICAL, reason="it loses the last word")


def size(lines: int, files: int = 1) -> tuple[ChangedFile, ...]:
    first = ChangedFile(path="src/a0.py", added=lines, removed=0)
    return (first, *(ChangedFile(path=f"src/a{n}.py", added=0, removed=0) for n in range(1, files)))


CASES = [
    ("exit_code", replace(SAFE, label="exit_code"), Around(), 30),
    ("draft", replace(SAFE, label="draft"), Around(), 40),
    ("behaviour_kept", replace(SAFE, label="behaviour_kept"), Around(), 12),
    ("doubtful", replace(SAFE, label="doubtful"), Around(), 40),
    ("self_tested", replace(SAFE, label="self_tested"), Around(), 25),
    ("documented", replace(SAFE, label="documented"), Around(), 4),
    ("removed", replace(SAFE, label="removed"), Around(), 4),
    ("tests_passed", replace(SAFE, label="tests_passed"), Around(), 8),
    ("unjudged", replace(SAFE, label=""), Around(), 30), ("size", replace(SAFE, files=size(50)), Around(), 4),
    ("size", replace(SAFE, files=size(100_000)), Around(), 20),
    ("spread", replace(SAFE, files=size(1, 5)), Around(), 4),
    ("sensitive", replace(SAFE, files=(ChangedFile(path="app/auth/a.py", added=1, removed=0),)), Around(), 15),
    ("unknown", replace(SAFE, files=None), Around(), 6), ("iterations", replace(SAFE, iterations=5), Around(), 4),
    ("attempt", replace(SAFE, attempt=3), Around(), 6),
    ("stuck", replace(SAFE, signs=Signs(escalations=2)), Around(), 16),
    ("finding", replace(SAFE, signs=Signs(findings=("python.pickle:a.py",))), Around(), 4),
    ("critical_left", replace(SAFE, signs=Signs(remarks=(LOSES,))), Around(), 40),
    ("high_left", replace(SAFE, signs=Signs(remarks=(replace(LOSES, gravity=Gravity.HIGH),) * 3)), Around(), 24),
    ("left_out", replace(SAFE, signs=Signs(left_out=("conftest.py",))), Around(), 6),
    ("changed_tests", replace(SAFE, signs=Signs(changed_tests=("tests/test_a.py",))), Around(), 12),
    ("removed_tests", replace(SAFE, signs=Signs(removed_tests=("tests/test_a.py",))), Around(), 12),
    ("granted", SAFE, Around(granted=["python.socket:a.py"]), 6),
    ("allowed", replace(SAFE, allowed=("python.pickle",)), Around(), 6),
    ("owners", replace(SAFE, asked_repo="/home/me/shop"), Around(), 4),
    ("package", SAFE, Around(first_packages=["toolz"]), 8), ("later_failures", SAFE, Around(later_failures=[7, 8]), 10),
    ("regression", SAFE, Around(regressions=["test_a.py::test"]), 40),
]  # fmt: skip


@pytest.mark.parametrize(("weight", "commit", "around", "points"), CASES, ids=[f"{c[0]}-{c[3]}" for c in CASES])
def test_each_cause_adds_its_points_and_is_named(weight: str, commit: CommitRow, around: Around, points: int) -> None:
    (reason,) = rank(commit, around).reasons
    assert (reason.weight, reason.points, rank(commit, around).points) == (weight, points, points)
    assert reason.text


def test_every_weight_is_tried_here_and_says_why() -> None:
    assert {case[0] for case in CASES} == set(WEIGHTS)
    assert all(weight.why and 0 < weight.points <= weight.most for weight in WEIGHTS.values())


def test_the_weightiest_reason_comes_first_and_the_level_follows_the_sum() -> None:
    risky = replace(SAFE, label="self_tested", iterations=9, files=size(100_000))
    risk = rank(risky, Around())
    assert [reason.weight for reason in risk.reasons] == ["self_tested", "size", "iterations"]
    assert (risk.points, risk.level) == (57, Level.HIGH)
    assert rank(replace(SAFE, label="exit_code"), Around()).level is Level.MEDIUM
    assert HIGH > MEDIUM


@settings(deadline=None)
@given(st.permutations(range(6)))
def test_what_is_decided_comes_last_and_ties_go_to_the_older_commit(order: list[int]) -> None:
    rows = [
        replace(SAFE, id=n, label="self_tested" if n % 2 else "verified", reviewed=n == 1, reverted=n == 3)
        for n in range(6)
    ]
    ranking = in_order(rank(rows[n], Around()) for n in order)
    assert [risk.commit.id for risk in ranking] == [5, 0, 2, 4, 1, 3]


@pytest.mark.parametrize(
    ("path", "area"),
    [
        ("app/auth/views.py", "sign-in and rights"),
        ("lib/jwt.js", "secrets and cryptography"),
        ("db/migrations/0001_init.py", "migrations and schemas"),
        (".github/workflows/ci.yml", "continuous integration and release"),
        ("web/package-lock.json", "dependencies"),
        ("scripts/backfill.sh", "shell and processes"),
        ("shop/billing.py", "money"),
    ],
)
def test_files_that_reach_far_are_known_by_their_paths(path: str, area: str) -> None:
    assert list(areas_of([path])) == [area]


@pytest.mark.parametrize("path", ["src/author.py", "tests/test_auth.py", "docs/executive.md"])
def test_other_files_and_tests_are_not(path: str) -> None:
    assert areas_of([path]) == {}


def test_the_documents_name_the_same_areas_points_and_levels() -> None:
    text = (Path(__file__).parents[2] / "docs" / "manual" / "report.md").read_text()
    for name, points in {"CI and release": 12, "dependencies": 10, "shell and processes": 10, "money": 10}.items():
        assert f"{name} ({points})" in text
    for area in AREAS:
        assert f"({area.points})" in text
    for weight in WEIGHTS.values():
        assert f"| {weight.points} " in text or weight is WEIGHTS["sensitive"]
        assert weight.most == weight.points or f"up to {weight.most} " in text
    assert f"**High** is {HIGH} points and more, **medium** {MEDIUM}." in text
