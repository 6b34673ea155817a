from __future__ import annotations

from types import ModuleType
from typing import Any

import pytest

from engine.tests.support.trying import STATEFUL
from nightshift_engine.inside.snapshot import Opaque, Snapshot, is_harmless


@pytest.fixture
def module() -> ModuleType:
    new_module = ModuleType("made_for_traces")
    exec(compile(STATEFUL, "made.py", "exec"), new_module.__dict__)
    return new_module


@pytest.mark.parametrize(
    "change",
    [
        "TABLE['a'].append(3)",
        "LIMIT = 10 ** 6",
        "Pot.kept.append(1)",
        "Pot().fill().append(1)",
        "THE_POT.full = True",
        "asked.calls = 1",
        "stored(1, 2) if 0 else stored(1, {})",
        "squared(3)",
    ],
)
def test_every_change_of_what_outlives_a_test_is_seen(module: ModuleType, change: str) -> None:
    before = Snapshot([module], [])
    assert not before.have_changed()
    exec(change, module.__dict__)
    assert before.have_changed()


def test_changed_parameters_are_seen(module: ModuleType) -> None:
    parameters: list[Any] = [[3, 1, 2], {"a": {1}}]
    before = Snapshot([module], parameters)
    assert not before.have_changed()
    parameters[1]["a"].add(2)
    assert before.have_changed()


@pytest.mark.parametrize(
    "text",
    [
        "import random",
        "from random import choice",
        "NUMBERS = iter([1])",
        "def asked():\n    return open('x')",
        "class Slotted:\n    __slots__ = ('a',)\n\nONE = Slotted()",
        "LARGE = list(range(5000))",
    ],
)
def test_nothing_is_claimed_where_a_state_cannot_be_seen(module: ModuleType, text: str) -> None:
    exec(compile(text, "made.py", "exec"), module.__dict__)
    with pytest.raises(Opaque):
        Snapshot([module], [])


def test_code_is_harmless_when_it_uses_nothing_that_changes_what_is_not_seen() -> None:
    def harmless(text: str) -> bool:
        return bool(is_harmless(compile(text, "made.py", "exec")))

    assert harmless("def f(a):\n    return sorted(a)[0] + len(a)")
    assert harmless("def f(a):\n    import math\n    return math.sqrt(a)")
    assert not harmless("def f(a):\n    def g():\n        return eval(a)\n    return g()")
    assert not harmless("def f(a):\n    import os\n    return os.sep")
