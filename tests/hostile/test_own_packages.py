"""Forged verdicts in a repository that provides a package of the framework's: each forgery as the module `packaging`.

Its code is then imported under a name that pytest asks for too, which must give it no power that others have not.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace

import pytest

from nightshift.core.tasks.held_out import HeldOut
from nightshift.core.tasks.task import Language
from nightshift.core.tasks.verdicts import Label, Verdict
from tests.hostile.verdicts.every import FORGERIES
from tests.hostile.verdicts.forgery import Did, Suite
from tests.hostile.verdicts.right_answers import RIGHT
from tests.support.sandboxes import Judge

OWN = "packaging"
FORGED = [
    name
    for name, forgery in FORGERIES.items()
    if forgery.did is not Did.LEAKS and forgery.language is Language.PYTHON and not forgery.may_pass
]
HONEST = [name for name, suite in RIGHT.items() if suite.language is Language.PYTHON]


def renamed(text: str) -> str:
    return re.sub(r"\bsolution\b", OWN, text)


def all_renamed(files: Mapping[str, str]) -> dict[str, str]:
    return {renamed(path): renamed(text) for path, text in files.items()}


def held(out: HeldOut) -> HeldOut:
    cases = tuple(replace(case, call=renamed(case.call)) for case in out.cases)
    return replace(out, cases=cases, shown=all_renamed(out.shown), oracle=all_renamed(out.oracle))


async def judged(judge: Judge, suite: Suite, files: Mapping[str, str]) -> Verdict:
    base = {f"{OWN}.py": "", **all_renamed(suite.base)}
    more = {"held": held(suite.held), "cpu_s": 15}
    verdict = await judge(all_renamed(files), all_renamed(suite.given), base, **more)
    assert not verdict.evidence.dropped.keys() & {f"{OWN}.py"}
    return verdict


@pytest.mark.parametrize("name", FORGED)
async def test_a_forged_answer_does_not_pass(name: str, judge: Judge) -> None:
    forgery = FORGERIES[name]
    verdict = await judged(judge, forgery.suite, forgery.files)
    assert not verdict.passed, verdict.reason


@pytest.mark.parametrize("name", HONEST)
async def test_a_right_answer_passes(name: str, judge: Judge) -> None:
    suite = RIGHT[name]
    verdict = await judged(judge, suite, suite.honest)
    assert verdict.passed, verdict.reason
    assert verdict.evidence.label is (Label.VERIFIED if suite.held.cases else Label.TESTS_PASSED)
