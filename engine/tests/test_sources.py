"""Files that may be changed, stubs, examples of a docstring, and earlier findings."""

from __future__ import annotations

import ast
from collections.abc import Mapping

import pytest

from nightshift.core.tasks.task import digest
from nightshift.core.text.encoding import decode, encode
from nightshift_engine import choose, stubs
from nightshift_engine.engine import SearchHistory, rebase
from nightshift_engine.evaluation import ErrorInfo, EvaluationJob, ObservedTest, RunStatus, SuiteObservation
from nightshift_engine.problem import Finding, Problem
from nightshift_engine.sources import render, sources
from tests.support.trees import TextTree

BASE = TextTree({"pkg/a.py": "A = 1\n", "pkg/b.py": "B = 1\n", "tests/test_b.py": "", "conftest.py": "", "x.txt": "x"})


def job(change: Mapping[str, str | None] | None = None) -> EvaluationJob:
    return EvaluationJob(base=BASE, change=change or {}, tests={"test_a.py": "import a"})


def failing(**lines: int) -> SuiteObservation:
    ran = {path.replace("__", "/") + ".py": frozenset({line}) for path, line in lines.items()}
    return SuiteObservation(tests=(ObservedTest(id="t", how=RunStatus.FAILED, lines=ran),))


def test_the_tasks_own_files_may_be_changed_and_those_that_failing_tests_run() -> None:
    changeable = sources(job({"new.py": "N = 1\n", "gone.py": None, "notes.md": "x"}), failing(pkg__a=1))
    assert dict(changeable.texts) == {"new.py": "N = 1\n", "pkg/a.py": "A = 1\n"}


def test_tests_and_what_steers_them_may_not() -> None:
    observation = failing(tests__test_b=1, conftest=1, test_a=1)
    assert not sources(job({"test_a.py": "x = 1"}), observation).texts


def test_a_file_that_cannot_be_imported_is_there_even_if_it_does_not_parse() -> None:
    error = ErrorInfo(kind="SyntaxError", message="bad", frames=(("pkg/b.py", 1, ""),))
    changeable = sources(job({"pkg/b.py": "B = (\n"}), SuiteObservation(broken={"test_a.py": error}))
    assert changeable.texts == {"pkg/b.py": "B = (\n"}
    assert not changeable.trees


def test_only_stubs_that_failing_tests_run_are_looked_at_where_that_is_known() -> None:
    tree = ast.parse("def f(a):\n    pass\n\ndef g(a):\n    pass\n\nclass A:\n    def m(self): ...\n")
    observation = SuiteObservation(tests=(ObservedTest(id="t", how=RunStatus.FAILED, lines={"m.py": frozenset({5})}),))
    stub_places = stubs.find({"m.py": tree}, observation)
    assert [stub.scope for stub in stub_places] == ["g"]
    new_tree = stubs.fill(tree, stub_places[0], "def g(a):\n    return a + 1")
    assert ast.unparse(new_tree).endswith("def g(a):\n    return a + 1\n\nclass A:\n\n    def m(self):\n        ...")


def test_examples_in_docstrings_become_tests_if_they_call_the_function_and_end_in_a_literal() -> None:
    text = """
    >>> f(2)
    4
    >>> f([1], key="x")
    {'a': [1]}
    >>> g(2)
    3
    >>> print(f(2))
    4
    >>> f(0)
    Traceback (most recent call last):
    ZeroDivisionError
    >>> f(2)
    4
    """
    tests, ids = choose.docstring_tests("src/pkg/m.py", "f", text)
    assert tests.startswith("from pkg.m import f\n")
    assert tests.count("assert") == len(ids) == 2
    assert "assert (f([1], key=\"x\")) == ({'a': [1]})" in tests
    ast.parse(tests)


@pytest.mark.parametrize(("path", "scope"), [("m.py", "A.f"), ("m.py", ""), ("m.js", "f")])
def test_what_cannot_be_imported_by_name_has_no_examples(path: str, scope: str) -> None:
    assert choose.docstring_tests(path, scope, ">>> f(2)\n4\n") == ("", [])


def test_what_was_found_besides_the_answer_comes_next_and_what_was_refused_never() -> None:
    memory, start = SearchHistory(), job({"m.py": "bug"})
    problem = Problem(job=start, task_id=7)
    findings = [
        Finding(change={path: text}) for path, text in (("m.py", "one"), ("pkg/a.py", "two"), ("m.py", "three"))
    ]
    memory.keep(problem, start, findings)
    later = Problem(job=job({"m.py": "one"}), task_id=7, excluded=frozenset({digest({"m.py": "one"})}))
    origin = memory.origin(later)
    assert origin is not None
    second = memory.next_of(origin, later)
    assert second is not None
    assert second.change == {"m.py": "bug", "pkg/a.py": "two"}, "the refused answer is taken back"
    refused = digest({"m.py": "bug", "pkg/a.py": "two"})
    last = Problem(
        job=job(dict(second.change)), task_id=7, excluded=later.excluded | {refused, digest({"m.py": "three"})}
    )
    again = memory.origin(last)
    assert again is origin
    assert memory.next_of(again, last) is None


def test_a_change_of_one_state_is_put_on_another() -> None:
    start, now = job({"m.py": "bug"}), job({"m.py": "wrong", "pkg/b.py": "B = 2\n", "new.py": "N"})
    assert rebase({"pkg/a.py": "A = 2\n"}, start, now) == {
        "m.py": "bug", "pkg/b.py": "B = 1\n", "new.py": None, "pkg/a.py": "A = 2\n",
    }  # fmt: skip


TEXT = '''"""Prices."""

import math  # rounding


def total(items, rate):
    """Sum with tax."""
    result = 0   # in cents
    for name, price in items:  # each of them
        if price  >  0 and name != "gift":
            result += ( price
                        * 1 )  # once

    return math.floor(result * (1 + rate))


class Till:
    @property
    def full(self):
        return self.count == 100
'''


def edit(old: str, new: str, text: str = TEXT) -> ast.Module:
    assert text.count(old) == 1
    return ast.parse(text.replace(old, new))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("price  >  0", "price  >=  0"),
        ('name != "gift"', 'name not in "gift"'),
        ("result += (", "result -= ("),
        ("1 + rate", "1 - rate"),
        ("(result * ", "((result + 1) * "),
        ("self.count == 100", "self.count >= 100"),
        ("name, price in items", "name, price in sorted(items)"),
    ],
)
def test_an_expression_or_a_sign_is_replaced_and_nothing_else(old: str, new: str) -> None:
    assert render(TEXT, edit(old, new)) == TEXT.replace(old, new)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("    result = 0   # in cents\n", ""),
        ("    result = 0   # in cents\n", "    result = 0   # in cents\n    rate = rate or 0\n"),
        ('"""Sum with tax."""\n', '"""Sum with tax."""\n    if not items:\n        return 0\n'),
    ],
)
def test_statements_are_put_in_and_taken_out_by_lines(old: str, new: str) -> None:
    assert render(TEXT, edit(old, new)) == TEXT.replace(old, new)


def test_a_moved_statement_keeps_its_text() -> None:
    text = "def f(a):\n    b = [ a,1 ]\n    print( 'x' )\n    return b\n"
    moved = "def f(a):\n    print( 'x' )\n    b = [ a,1 ]\n    return b\n"
    assert render(text, ast.parse(moved)) == moved


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("x = a * b\n", "x = (a + c) * b\n"),
        (
            "if a:\n    x = 1\nelif b:\n    x = 2\nelse:\n    x = 3\n",
            "if a:\n    x = 1\nelif not b:\n    x = 2\nelse:\n    x = 3\n",
        ),
        ("if a:\n    x = 1\nelif b:\n    x = 2\n", "if a:\n    x = 1\nwhile b:\n    x = 2\n"),
        ("a = 1; b = 2\n", "b = 2\n"),
        ("def f(): return 1\n", "def f():\n    x = 1\n    return x\n"),
        ("x = f'{a!r} {b:>{w}}'\n", "x = f'{a!r} {c:>{w}}'\n"),
        ("def f(x, y=[]):\n    pass\n", "def f(x, y=None):\n    pass\n"),
    ],
)
def test_whatever_is_wanted_is_what_the_text_reads_as(text: str, wanted: str) -> None:
    written = render(text, ast.parse(wanted))
    assert ast.dump(ast.parse(written)) == ast.dump(ast.parse(wanted))


# Tests of files in encodings other than UTF-8.


LATIN = b"# -*- coding: latin-1 -*-\n# na\xefve\nNAMES = ['caf\xe9', 'th\xe9'][1:]  # \xe9t\xe9\n"


def test_a_file_in_another_encoding_is_changed_in_its_own_bytes() -> None:
    latin = EvaluationJob(base=TextTree(), change={"pkg/a.py": decode(LATIN)}, tests={})
    changeable = sources(latin, SuiteObservation())
    assert "café" in changeable.texts["pkg/a.py"]
    wanted = ast.parse(changeable.texts["pkg/a.py"].replace("[1:]", "[0:]").replace("thé", "thé für €"))
    assert encode(changeable.render("pkg/a.py", wanted)) == LATIN.replace(b"[1:]", b"[0:]").replace(
        b"th\xe9", b"th\xe9 f\xfcr \\u20ac"
    )
