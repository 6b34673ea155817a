"""Test commands of JavaScript projects: those recognised as `node:test`, and those made to report their tests."""

from __future__ import annotations

import json

import pytest

from nightshift.verdict.languages.javascript.commands import parse, with_reporter

PRINTING = ("--test-reporter=spec", "--test-reporter-destination=stdout")
VITEST = ("--reporter=default", "--reporter=/ours/vitest_reporter.mjs")
JEST = ("--reporters=default", "--reporters=/ours/jest_reporter.cjs")


def describe(argv: tuple[str, ...], **scripts: str) -> tuple[str, ...]:
    package = json.dumps({"scripts": scripts})
    return with_reporter(argv, {"package.json": package}.get, "/ours").words


@pytest.mark.parametrize(
    ("argv", "script", "more"),
    [
        (("npm", "test"), "vitest run", ("--", *VITEST)),
        (("npm", "test", "--", "src"), "vitest run", VITEST),
        (("pnpm", "run", "test"), "jest", JEST),
        (("npx", "vitest", "run"), "", VITEST),
    ],
)
def test_vitest_and_jest_get_one_reporter_more(argv: tuple[str, ...], script: str, more: tuple[str, ...]) -> None:
    assert describe(argv, test=script) == (*argv, *more)


@pytest.mark.parametrize(
    ("argv", "script"),
    [
        (("npm", "test"), "mocha"),
        (("npm", "test"), "tsc && vitest run"),
        (("npm", "test"), "vitest run --reporter=dot"),
        (("jest", "--watch"), ""),
    ],
)
def test_other_commands_stay_as_they_are_typed(argv: tuple[str, ...], script: str) -> None:
    assert describe(argv, test=script) == argv


@pytest.mark.parametrize(
    ("script", "printing"),
    [
        ("node --test", PRINTING),
        ("node --test --test-reporter=dot", PRINTING[1:]),
        ("node --test --test-reporter=dot --test-reporter-destination=out.txt", ()),
    ],
)
def test_node_test_prints_by_its_owners_reporter_or_by_its_own(script: str, printing: tuple[str, ...]) -> None:
    package = json.dumps({"scripts": {"test": script}})
    assert with_reporter(("npm", "test"), {"package.json": package}.get, "/ours").printing == printing
    assert with_reporter(("make", "test"), {"Makefile": f"test:\n\t{script}\n"}.get, "/ours").printing == printing


def test_the_files_of_node_test_are_those_that_it_finds_by_itself() -> None:
    command = parse(("node", "--test"), lambda _path: None)
    assert command is not None
    paths = [
        "a.test.js",
        "a_test.mjs",
        "test.js",
        "test-a.cjs",
        "src/test/deep/help.js",
        "tests/a.js",
        "a.spec.js",
        "b.js",
    ]
    assert command.files([*paths, "node_modules/x/a.test.js"]) == paths[:5]


def test_yarn_and_pnpm_run_node_test_like_npm() -> None:
    package = {"package.json": json.dumps({"scripts": {"test": "node --test", "unit": "node --test test/"}})}
    for argv in (("npm", "test"), ("yarn", "test"), ("pnpm", "test"), ("npm", "run", "unit"), ("yarn", "unit")):
        command = parse(argv, package.get)
        assert command is not None
        assert command.files(["test/a.test.js", "b.js"]) == ["test/a.test.js"]
