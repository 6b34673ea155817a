"""Fixes that the message of an error suggests: missing imports, misspelt names, a missing `self`, wrong arguments."""

import pytest

from nightshift_engine.evaluation import ErrorInfo
from nightshift_engine.quick import QuickFix, quick_fixes
from nightshift_engine.quick.fix import fault_of

IMPORTS = "from typing import Any, Optional\n\nx: List = []\n"
HEAD = '"""A module."""\n\nfrom __future__ import annotations\n\nimport os\n\nfrom typing import List\n'
BOX = "class Box:\n    def __init__(self):\n        self.items = []\n\n    def size(self):\n"
METHODS = "class Box:\n    def size():\n        return 1\n\n    def put(item):\n        return item\n"
AVERAGE = "def average(values):\n    return average(values[1:]) if values else 0\n"
CALLER = "def g(width=1):\n    return width\n\n\ndef f():\n    return g(widht=2)\n"


def mends(files: dict[str, str], kind: str, message: str, *frames: tuple[str, int, str]) -> list[QuickFix]:
    error = ErrorInfo(kind=kind, message=message, frames=frames)
    fixes = list(quick_fixes(files, [("test_a.py::test", error)]))
    assert all(fault_of(fix.text) is None for fix in fixes)
    assert all(fix.text != files[fix.path] for fix in fixes)
    assert len({(fix.path, fix.text) for fix in fixes}) == len(fixes)
    return fixes


@pytest.mark.parametrize(
    ("text", "name", "mended"),
    [
        ("x = math.sqrt(2)\n", "math", "import math\n\nx = math.sqrt(2)\n"),
        ("x = math.pi\r\n", "math", "import math\r\n\r\nx = math.pi\r\n"),
        ("x = heappush\n", "heappush", "from heapq import heappush\n\nx = heappush\n"),
        ("x = datetime.now()\n", "datetime", "from datetime import datetime\n\nx = datetime.now()\n"),
        ("x = copy.copy(y)\n", "copy", "import copy\n\nx = copy.copy(y)\n"),
        (f"{HEAD}\nx = re\n", "re", f"{HEAD}\nx = re\n".replace("import os\n", "import os\nimport re\n")),
        (f"{HEAD}\nx = deque\n", "deque", f"{HEAD}from collections import deque\n\nx = deque\n"),
        (IMPORTS, "List", IMPORTS.replace("Any, Optional", "Any, List, Optional")),
        ("def f(values):\n    return sum(vlaues)\n", "vlaues", "def f(values):\n    return sum(values)\n"),
        ("x = null\n", "null", "x = None\n"),
        (f"{BOX}        return len(items)\n", "items", f"{BOX}        return len(self.items)\n"),
    ],
)
def test_a_name_that_is_not_defined_is_imported_or_spelt_as_it_is_elsewhere(text: str, name: str, mended: str) -> None:
    line = next(number for number, each in reversed([*enumerate(text.split("\n"), 1)]) if name in each)
    assert mends({"a.py": text}, "NameError", f"name '{name}' is not defined", ("a.py", line, "f"))[0].text == mended


@pytest.mark.parametrize(
    ("text", "kind", "message", "line", "old", "new"),
    [
        ("def f(count, amount):\n    return amont\n", "NameError",
         "name 'amont' is not defined. Did you mean: 'count'?", 2, "amont", "count"),
        ("from collections import defaultdic\n\nx = defaultdic(list)\n", "ImportError",
         "cannot import name 'defaultdic' from 'collections' (x.py)", 1, "defaultdic", "defaultdict"),
        ("from itertools import reduce\n\nx = reduce\n", "ImportError",
         "cannot import name 'reduce' from 'itertools' (unknown location)", 1, "itertools", "functools"),
        (AVERAGE, "ImportError", "cannot import name 'mean' from 'a' (a.py)", 0, "average", "mean"),
        (AVERAGE, "AttributeError", "module 'a' has no attribute 'mean'", 0, "average", "mean"),
        ("def f(x):\n    x.apend(1)  # ä\n    return x\n", "AttributeError",
         "'list' object has no attribute 'apend'", 2, "apend", "append"),
        ("def f(x):\n    return 'ä' + x.trim()\n", "AttributeError",
         "'str' object has no attribute 'trim'", 2, "trim", "strip"),
        (f"{BOX}        return len(self.itmes)\n", "AttributeError",
         "'Box' object has no attribute 'itmes'", 6, "itmes", "items"),
        ('ROW = {"name": 1}\n\n\ndef f():\n    return ROW["nmae"]\n', "KeyError", "'nmae'", 5, "nmae", "name"),
        (CALLER, "TypeError", "g() got an unexpected keyword argument 'widht'", 6, "widht", "width"),
        ("def g(widht=1):\n    return widht\n", "TypeError",
         "g() got an unexpected keyword argument 'width'", 0, "widht", "width"),
        (METHODS, "TypeError", "Box.size() takes 0 positional arguments but 1 was given", 0, "size()", "size(self)"),
        (METHODS, "TypeError", "Box.put() takes 1 positional argument but 2 were given", 0, "put(i", "put(self, i"),
        ("class Box:\n    def _init_(self, size):\n        self.size = size\n", "TypeError",
         "Box() takes no arguments", 0, "_init_", "__init__"),
        ("def g(a):\n    return a\n\n\ndef f(a, b):\n    return g(a, b)\n", "TypeError",
         "g() takes 1 positional argument but 2 were given", 6, "g(a, b)", "g(a)"),
        ("def g(a, depth):\n    return a\n\n\ndef f(a, depth):\n    return g(a)\n", "TypeError",
         "g() missing 1 required positional argument: 'depth'", 6, "g(a)\n", "g(a, depth)\n"),
    ],
)  # fmt: skip
def test_the_first_fix_replaces_what_the_message_complains_of(
    text: str, kind: str, message: str, line: int, old: str, new: str
) -> None:
    assert mends({"a.py": text}, kind, message, ("a.py", line, "f"))[0].text == text.replace(old, new)


def test_a_name_of_another_file_is_imported_from_there() -> None:
    files = {
        "shop/prices.py": "RATE = 2\n\n\ndef net(price):\n    return price / RATE\n",
        "shop/till.py": "x = net(3)\n",
    }
    fixes = mends(files, "NameError", "name 'net' is not defined", ("shop/till.py", 1, "<module>"))
    assert fixes[0].text == "from shop.prices import net\n\nx = net(3)\n"


def test_nothing_is_said_of_troubles_that_tell_nothing() -> None:
    text = "def f(x):\n    return x\n"
    assert not mends({"a.py": text}, "AssertionError", "assert 1 == 2", ("a.py", 2, "f"))
    assert not mends({"a.py": text}, "ValueError", "name 'x' is not defined")
    assert not mends({"a.py": text}, "NameError", "name 'zzzzzz' is not defined", ("b.py", 2, "f"))


def test_a_text_that_is_no_python_is_mended_where_tests_stumble_over_it_and_left_alone_elsewhere() -> None:
    files = {"old.py": "print 1\n", "a.py": "x = math.pi\n"}
    broken = mends(files, "SyntaxError", "Missing parentheses", ("old.py", 1, "<module>"))
    assert {fix.path for fix in broken} == {"old.py"}
    unknown_name = mends(files, "NameError", "name 'math' is not defined", ("a.py", 1, "<module>"))
    assert {fix.path for fix in unknown_name} == {"a.py"}
