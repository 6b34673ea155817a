"""The seal reports changed functions outside the tree."""

from __future__ import annotations

import filecmp
import json
import random

import pytest

from nightshift.sandbox.inside import seal


@pytest.mark.parametrize(
    ("holder", "name"),
    [(json, "dumps"), (random.Random, "randint")],
    ids=lambda each: getattr(each, "__name__", each),
)
def test_what_is_replaced_is_named(monkeypatch: pytest.MonkeyPatch, holder: object, name: str) -> None:
    before = seal.take()
    usual = set(before.changed())
    monkeypatch.setattr(holder, name, lambda *_: None)
    names = set(before.changed()) - usual
    assert {each.rpartition(".")[2] for each in names} >= {name}


def test_other_code_in_the_same_function_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    before = seal.take()
    usual = set(before.changed())
    monkeypatch.setattr(filecmp.cmp, "__code__", (lambda f1, f2, shallow=True: True).__code__)
    assert "filecmp.cmp" in set(before.changed()) - usual


def test_what_stays_as_it_is_does_not_count() -> None:
    before = seal.take()
    usual = before.changed()
    random.seed(1)
    json.dumps({"a": 1})
    assert before.changed() == usual
