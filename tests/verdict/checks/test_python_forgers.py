"""Ways in which an answer in Python talks a test into passing: each gives a finding, however it is spelt."""

from __future__ import annotations

import pytest

from nightshift.core.tasks.change_checks import Severity
from nightshift.core.tasks.task import TaskSpec
from nightshift.verdict.checks import python
from nightshift.verdict.checks.policy import Policy
from tests.support.checking import hooks
from tests.support.python_forgers import OWN, SEEN


def findings(text: str) -> dict[str, Severity | None]:
    spec, policy = TaskSpec(description="Write it"), Policy()
    return {seen.rule: policy.severity(seen, spec, is_test=False) for seen in python.scan(text, hooks)}


@pytest.mark.parametrize(("rule", "text"), [(rule, text) for rule, texts in SEEN.items() for text in texts])
def test_a_forger_gets_a_finding(rule: str, text: str) -> None:
    found = findings(text)
    assert rule in found
    assert found[rule] is not None


NOTHING_SPECIAL = [
    f"{OWN}    def __eq__(self, other): return self.v == other.v",
    f"{OWN}    def __eq__(self, other): return isinstance(other, T) and self.v == other.v",
    (
        f"{OWN}    def __eq__(self, other):\n        if not isinstance(other, T):\n            return NotImplemented\n"
        "        return self.v == other.v"
    ),
    (
        f"{OWN}    def __eq__(self, other):\n        if other.__class__ is not self.__class__:\n            return 0\n"
        "        return self.__dict__ == other.__dict__"
    ),
    f"{OWN}    def __eq__(self, other): return type(self) is type(other) and vars(self) == vars(other)",
    f"{OWN}    def __eq__(self, other): return self is other",
    f"{OWN}    def __eq__(self, other): return NotImplemented",
    f"{OWN}    def __eq__(self, other): raise NotImplementedError",
    f"{OWN}    def __ne__(self, other): return not self == other",
    f"{OWN}    def __lt__(self, other): return (self.v, self.w) < (other.v, other.w)",
    f"{OWN}    def __eq__(self, other): return self._key() == other._key()\n    def _key(self): return self.v",
    (
        f"{OWN}    def __eq__(self, other):\n        if isinstance(other, T):\n"
        "            return self._cmp(other) == 0\n"
        "        return NotImplemented\n    def _cmp(self, other): return abs(self.v - other) % 2"
    ),
    f"{OWN}    __hash__ = None",
    f"{OWN}    __eq__ = object.__eq__",
    "class Empty:\n    def __eq__(self, other): return isinstance(other, Empty)",
    (
        "class Bag:\n    def __contains__(self, item): return item in self.items\n"
        "    def __len__(self): return len(self.items)"
    ),
    "class Bag(list):\n    def total(self): return sum(self)",
    "class Names(dict):\n    def __missing__(self, key): return key",
    "import enum\nclass Level(enum.IntEnum):\n    LOW = 1",
    "class Ok: pass",
    "class Failed(Exception): pass",
    "def wrap(f):\n    def g(): return f()\n    g.__name__ = f.__name__\n    return g",
    "getattr(self, f'visit_{kind}')",
    "getattr(self, name.replace('-', '_'))",
    "object.__setattr__(self, 'x', 1)",
    "import threading\ndef main():\n    threading.Thread(target=f).start()\nif __name__ == '__main__':\n    main()",
    "open(0)",
    "open('/proc/meminfo')",
    "'''Reads /proc/self/mem no more.'''",
    "from pathlib import Path\nPath('data').glob('*.csv')",
    "import logging\nlogging.getLogger(__name__).exception('x')",
    "import types\nisinstance(f, types.FunctionType)",
    "import warnings\nwith warnings.catch_warnings():\n    warnings.simplefilter('ignore')",
]


@pytest.mark.parametrize("text", NOTHING_SPECIAL)
def test_what_only_looks_alike_gets_none(text: str) -> None:
    assert findings(text) == {}


def test_tests_may_know_of_tests_and_compare_as_they_like() -> None:
    text = "import hypothesis\nfrom unittest import mock\nopen('tests/data.txt')\n"
    assert python.scan(text, hooks, is_test=True) == []
