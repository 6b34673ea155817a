"""Each language provides the parts that the verdict needs, behind one interface."""

from __future__ import annotations

import pytest

from nightshift.core.code.dependencies import ImportCache
from nightshift.core.tasks.task import Language
from nightshift.core.tasks.verdicts import SuiteJob
from nightshift.verdict.languages import dialect_of, language_of
from nightshift.verdict.languages.dialect import TestDialect as Dialect
from nightshift.verdict.languages.plan import copies
from tests.support import golang
from tests.support.sandboxes import runtime
from tests.support.trees import TextTree

SOURCES = {
    Language.PYTHON: ("add.py", "def add(a, b):\n    return a + b\n\n\ndef half(a):\n    return a / 2\n"),
    Language.JAVASCRIPT: (
        "add.mjs",
        "export function add(a, b) {\n  return a + b;\n}\n\n\nexport function half(a) {\n  return a / 2;\n}\n",
    ),
    Language.GO: (
        "add.go",
        "package sums; func add(a, b int) int {\n\treturn a + b\n}\n\nfunc half(a int) int {\n\treturn a / 2\n}\n",
    ),
}
TESTS = {
    Language.PYTHON: ("test_add.py", "from add import add\n\n\ndef test_add():\n    assert add(1, 2) == 3\n"),
    Language.JAVASCRIPT: (
        "add.test.mjs",
        (
            "import test from 'node:test';\nimport assert from 'node:assert/strict';\n"
            "import { add } from './add.mjs';\n\n"
            "test('adds', () => {\n  assert.equal(add(1, 2), 3);\n});\n"
        ),
    ),
    Language.GO: (
        "add_test.go",
        (
            'package sums\n\nimport "testing"\n\nfunc TestAdd(t *testing.T) {\n'
            "\tif got := add(1, 2); got != 3 { t.Error(got) }\n}\n"
        ),
    ),
}

IDLE = {Language.PYTHON: "    add(1, 2)", Language.JAVASCRIPT: "  add(1, 2);", Language.GO: "\tadd(1, 2)"}
"""For each language, the comparing line of its test, reduced to the call."""


@pytest.fixture(params=list(SOURCES), ids=str)
def language(request: pytest.FixtureRequest) -> Language:
    selected_language: Language = request.param
    return selected_language


@pytest.fixture
def dialect(language: Language) -> Dialect:
    return dialect_of(language)


def test_a_plan_has_the_tests_where_their_owner_has_them(language: Language, dialect: Dialect) -> None:
    (path, source), (test, text) = SOURCES[language], TESTS[language]
    job = SuiteJob(base=TextTree(), change={path: source}, given={test: text}, language=language)
    plan = dialect.make(job, ImportCache(), golang.runtime() if language is Language.GO else runtime())
    (file,) = plan.files
    assert (file.path, file.text) == (test, text)
    assert plan.texts == {path: source.encode(), test: text.encode()}
    if language is not Language.PYTHON:
        assert file.outline is not None
        assert file.names == set(file.outline.required)
        copy = copies(plan)
        assert copy is not None
        assert {name: raw.decode() for name, raw in copy.texts.items()} == {path: source, test: file.must_fail_text}
        assert file.must_fail_text != text


def test_a_file_of_tests_checks_something_or_does_not(language: Language, dialect: Dialect) -> None:
    text = TESTS[language][1]
    assert dialect.checks_something(text)
    lines = [IDLE[language] if "3" in line else line for line in text.split("\n")]
    assert not dialect.checks_something("\n".join(lines))


def test_faults_are_put_into_the_lines_that_are_asked_for(language: Language, dialect: Dialect) -> None:
    path, text = SOURCES[language]
    mutations = list(dialect.mutate(path, text, {2}))
    assert mutations
    assert {(name, fault.line) for name, fault, _ in mutations} == {("add", 2)}
    assert all(mutant() not in {None, text} for _, _, mutant in mutations)
    assert list(dialect.mutate(path, "this is ( neither", {1})) == []


def test_a_language_is_known_by_the_names_of_its_files(language: Language) -> None:
    assert language_of(SOURCES[language][0]) is language
    assert language_of("notes.md") is None
