"""The recorder's report on the phases of a test, and its settings."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from nightshift.sandbox.inside import channel, recorder

Row = tuple[str, str, bool, bool, BaseException | None]


def row(when: str, outcome: str = "passed", *, expected: bool = False, sub: bool = False, raised: bool = False) -> Row:
    return when, outcome, expected, sub, AssertionError() if raised else None


FINE = (row("setup"), row("call"), row("teardown"))


@pytest.mark.parametrize(
    ("rows", "result"),
    [
        (FINE, "passed"), ((FINE[0], row("call", "failed", raised=True), FINE[2]), "failed"),
        ((row("setup", "failed"), FINE[2]), "error"), ((*FINE[:2], row("teardown", "failed")), "error"),
        ((row("setup", "skipped"), FINE[2]), "skipped"),
        ((FINE[0], row("call", "skipped", expected=True), FINE[2]), "skipped"),
        ((FINE[0], row("call", raised=True), FINE[2]), "error"),
        ((FINE[0], row("call", "failed", sub=True), FINE[1], FINE[2]), "failed"),
        ((FINE[0], row("call", "rerun"), FINE[2]), None), ((FINE[1],), "error"),
        ((*FINE[:2], FINE[1], FINE[2]), "error"),
    ],
)  # fmt: skip
def test_a_test_passes_only_by_all_its_phases(rows: tuple[Row, ...], result: str | None) -> None:
    assert recorder.result_of(rows) == result


@pytest.mark.parametrize("is_named", [True, False], ids=["named pipe", "inherited pipe"])
def test_each_line_bears_the_secret(tmp_path: Path, *, is_named: bool) -> None:
    if is_named:
        path = tmp_path / "pipe"
        os.mkfifo(path)
        reading = os.open(path, os.O_RDWR)
        settings: dict[str, object] = {"path": str(path), "secret": "s3"}
    else:
        reading, writing = os.pipe()
        settings = {"fd": writing, "secret": "s3"}
    channel.Channel(settings).send({"e": "finish", "exit": 0})
    text = os.read(reading, 1000).decode()
    assert text.startswith("s3")
    assert json.loads(text.removeprefix("s3")) == {"e": "finish", "exit": 0}


def test_the_owner_s_options_stay_and_come_last() -> None:
    env = channel.environment(7, {"secret": "s3"}, {"PYTEST_ADDOPTS": "-q"})
    assert env["PYTEST_ADDOPTS"].endswith(" -q")
    assert json.loads(env[channel.VARIABLE]) == {"fd": 7, "addopts": "-q", "secret": "s3"}
