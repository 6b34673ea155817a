from __future__ import annotations

import builtins
import json
from collections.abc import Callable

import pytest
from _pytest.runner import CallInfo, runtestprotocol

from nightshift.sandbox.inside.seal import Seal


def other() -> None:
    pass


def another() -> None:
    pass


class Sly:
    def __get__(self, _owner: object, _kind: type) -> str:
        return "passed"


CHANGES: dict[str, Callable[[pytest.MonkeyPatch], None]] = {
    "json.dumps": lambda patch: patch.setattr(json, "dumps", other),
    "json.loads": lambda patch: patch.setattr(json.loads, "__code__", other.__code__),
    "json.extra": lambda patch: patch.setattr(json, "extra", other, raising=False),
    "json.load": lambda patch: patch.delattr(json, "load"),
    "builtins.len": lambda patch: patch.setattr(builtins, "len", lambda _: 1),
    "_pytest.runner.CallInfo.from_call": lambda patch: patch.setattr(
        CallInfo, "from_call", classmethod(lambda _: None)
    ),
    "_pytest.runner.CallInfo.outcome": lambda patch: patch.setattr(CallInfo, "outcome", Sly(), raising=False),
    "_pytest.runner.runtestprotocol": lambda patch: patch.setattr(runtestprotocol, "__code__", other.__code__),
}


@pytest.mark.parametrize("name", CHANGES)
def test_what_is_changed_has_its_name_told(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    seal = Seal()
    seal.begin()
    with monkeypatch.context() as patch:
        CHANGES[name](patch)
        found = seal.changed()
    assert found == [name]
    assert seal.changed() == []


@pytest.mark.parametrize("name", CHANGES)
def test_what_a_plugin_has_changed_before_the_tests_must_stay_as_well(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    seal = Seal()
    with monkeypatch.context() as patch:
        CHANGES[name](patch)
        seal.begin()
        kept = seal.changed()
    assert kept == []
    assert seal.changed() == [name]


@pytest.mark.parametrize("values", [(other, another), (Sly(), Sly()), (Sly(), None)])
def test_what_a_plugin_has_changed_may_not_be_changed_once_more(
    values: tuple[object, object], monkeypatch: pytest.MonkeyPatch
) -> None:
    seal = Seal()
    with monkeypatch.context() as patch:
        patch.setattr(CallInfo, "from_call", values[0])
        seal.begin()
        patch.setattr(CallInfo, "from_call", values[1])
        found = seal.changed()
    assert found == ["_pytest.runner.CallInfo.from_call"]


def test_nor_may_the_code_that_a_plugin_has_put_into_a_function(monkeypatch: pytest.MonkeyPatch) -> None:
    seal = Seal()
    with monkeypatch.context() as patch:
        patch.setattr(json.loads, "__code__", other.__code__)
        seal.begin()
        patch.setattr(json.loads, "__code__", another.__code__)
        found = seal.changed()
    assert found == ["json.loads"]


def test_what_does_not_decide_may_change(monkeypatch: pytest.MonkeyPatch) -> None:
    seal = Seal()
    seal.begin()
    monkeypatch.setattr(json, "a_number", 1, raising=False)
    monkeypatch.setattr(builtins, "a_function", other, raising=False)
    assert seal.changed() == []
