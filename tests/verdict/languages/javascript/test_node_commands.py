"""Test commands of JavaScript projects: what is known to be node:test, and what is made to report its tests."""

from __future__ import annotations

import json

import pytest

from nightshift.verdict.languages.javascript.commands import parse, reporting

VITEST = ("vitest", "run", "--reporter=default", "--reporter=junit", "--outputFile.junit=junit-vitest.xml")
JEST = ("jest", "--ci", "--reporters=default", "--reporters=/ours/jest_report.cjs")


def told(argv: tuple[str, ...], **scripts: str) -> tuple[str, ...]:
    package = json.dumps({"scripts": scripts})
    return reporting(argv, {"package.json": package}.get, "/ours")


@pytest.mark.parametrize(
    ("argv", "script", "run"),
    [
        (("npm", "test"), "vitest run", VITEST),
        (("yarn", "test"), "vitest", VITEST),
        (("pnpm", "run", "test"), "jest", JEST),
        (("npx", "vitest", "run"), "", VITEST),
        (("vitest",), "", VITEST),
        (("jest", "src"), "", ("jest", "src", *JEST[1:])),
    ],
)
def test_vitest_and_jest_report_each_test(argv: tuple[str, ...], script: str, run: tuple[str, ...]) -> None:
    assert told(argv, test=script) == run


@pytest.mark.parametrize(
    ("argv", "script"),
    [
        (("npm", "test"), "mocha"),
        (("npm", "test"), "tsc && vitest run"),
        (("npm", "test"), "vitest run --reporter=dot"),
        (("npm", "test"), "jest --json"),
        (("vitest", "bench"), ""),
        (("jest", "--watch"), ""),
        (("make", "test"), "vitest run"),
    ],
)
def test_what_is_more_than_that_or_reports_otherwise_stays_as_it_is(argv: tuple[str, ...], script: str) -> None:
    assert told(argv, test=script) == argv


def test_scripts_before_and_after_the_tests_are_kept() -> None:
    assert told(("npm", "test"), test="vitest run", pretest="node make.js") == ("npm", "test")


def test_yarn_and_pnpm_run_node_test_like_npm() -> None:
    package = {"package.json": json.dumps({"scripts": {"test": "node --test"}})}
    for argv in (("npm", "test"), ("yarn", "test"), ("pnpm", "test")):
        found = parse(argv, package.get)
        assert found is not None
        assert found.files(["a.test.js", "b.js"]) == ["a.test.js"]
