from nightshift_engine.evaluation import ErrorInfo
from nightshift_engine.quick import QuickFix, quick_fixes
from nightshift_engine.quick.fix import fault_of

BOX = "class Box:\n    def __init__(self):\n        self.items = []\n\n    def size(self):\n"


def mends(files: dict[str, str], kind: str, message: str, *frames: tuple[str, int, str]) -> list[QuickFix]:
    error = ErrorInfo(kind=kind, message=message, frames=frames)
    fixes = list(quick_fixes(files, [("test_a.py::test", error)]))
    assert all(fault_of(fix.text) is None for fix in fixes)
    assert all(fix.text != files[fix.path] for fix in fixes)
    assert len({(fix.path, fix.text) for fix in fixes}) == len(fixes)
    return fixes


def first(text: str, kind: str, message: str, line: int = 0) -> str:
    return mends({"a.py": text}, kind, message, ("a.py", line, "f"))[0].text


def unknown(text: str, name: str, line: int = 0) -> str:
    number = line or next(n for n, each in enumerate(text.split("\n"), 1) if name in each)
    return first(text, "NameError", f"name '{name}' is not defined", number)


# Tests of missing imports.


def test_a_module_of_the_standard_library_is_imported() -> None:
    assert unknown("x = math.sqrt(2)\n", "math") == "import math\n\nx = math.sqrt(2)\n"


def test_a_well_known_name_is_taken_from_the_module_that_offers_it() -> None:
    wanted = {
        "defaultdict": "collections", "Counter": "collections", "Path": "pathlib", "reduce": "functools",
        "dataclass": "dataclasses", "List": "typing", "heappush": "heapq", "sqrt": "math", "Enum": "enum",
        "deque": "collections", "combinations": "itertools", "Decimal": "decimal", "lru_cache": "functools",
    }  # fmt: skip
    for name, module in wanted.items():
        assert unknown(f"x = {name}\n", name) == f"from {module} import {name}\n\nx = {name}\n", name


def test_a_class_named_as_its_module_is_told_by_its_use() -> None:
    assert unknown("x = datetime.now()\n", "datetime").startswith("from datetime import datetime\n")
    assert unknown("x = datetime.datetime.now()\n", "datetime").startswith("import datetime\n")
    assert unknown("x = copy(y)\n", "copy").startswith("from copy import copy\n")
    assert unknown("x = copy.copy(y)\n", "copy").startswith("import copy\n")


def test_an_import_goes_behind_docstring_and_future_and_to_its_like() -> None:
    head = '"""A module."""\n\nfrom __future__ import annotations\n\nimport os\n\nfrom typing import List\n'
    text = head + "\n\ndef f():\n    return re\n"
    assert unknown(text, "re") == text.replace("import os\n", "import os\nimport re\n")
    later = text.replace("return re", "return deque")
    assert unknown(later, "deque") == later.replace("List\n", "List\nfrom collections import deque\n")


def test_an_import_behind_a_docstring_keeps_its_blank_lines() -> None:
    text = '"""A module."""\n\n\ndef f():\n    return math.pi\n'
    assert unknown(text, "math") == '"""A module."""\n\nimport math\n\n\ndef f():\n    return math.pi\n'


def test_an_import_behind_a_comment_at_the_head() -> None:
    assert (
        unknown("#!/usr/bin/python\nprint(sys.argv)\n", "sys") == "#!/usr/bin/python\n\nimport sys\n\nprint(sys.argv)\n"
    )


def test_a_name_joins_those_from_the_same_module() -> None:
    text = "from typing import Any, Optional\n\nx: List = []\n"
    assert unknown(text, "List") == text.replace("Any, Optional", "Any, List, Optional")


def test_a_name_of_another_file_is_imported_from_there() -> None:
    files = {
        "shop/prices.py": "RATE = 2\n\n\ndef net(price):\n    return price / RATE\n",
        "shop/till.py": "x = net(3)\n",
    }
    fixes = mends(files, "NameError", "name 'net' is not defined", ("shop/till.py", 1, "<module>"))
    assert fixes[0].text == "from shop.prices import net\n\nx = net(3)\n"


def test_a_misspelt_module_gets_its_name() -> None:
    files = {"a.py": "from colections import deque\n\nx = deque()\n"}
    fixes = mends(files, "ModuleNotFoundError", "No module named 'colections'", ("a.py", 1, "<module>"))
    assert fixes[0].text == "from collections import deque\n\nx = deque()\n"


def test_a_misspelt_name_of_a_module_gets_its_name_also_where_it_is_used() -> None:
    files = {"a.py": "from collections import defaultdic\n\nx = defaultdic(list)\n"}
    message = "cannot import name 'defaultdic' from 'collections' (collections/__init__.py)"
    fixes = mends(files, "ImportError", message, ("a.py", 1, "<module>"))
    assert fixes[0].text == "from collections import defaultdict\n\nx = defaultdict(list)\n"


def test_a_name_from_the_wrong_module_is_taken_from_the_right_one() -> None:
    files = {"a.py": "from itertools import reduce\n\nx = reduce\n"}
    fixes = mends(files, "ImportError", "cannot import name 'reduce' from 'itertools' (unknown location)")
    assert fixes[0].text == "from functools import reduce\n\nx = reduce\n"


def test_what_a_test_imports_is_what_the_file_defines() -> None:
    files = {"a.py": "def totl(x):\n    return totl(x - 1) if x else 0\n"}
    fixes = mends(files, "ImportError", "cannot import name 'total' from 'a' (a.py)")
    assert fixes[0].text == "def total(x):\n    return total(x - 1) if x else 0\n"


# Tests of misspelt names.


def test_what_a_test_asks_for_is_the_function_of_related_words_or_the_only_one() -> None:
    missing = "cannot import name 'mean' from 'a' (a.py)"
    related = "def helper():\n    return 1\n\n\ndef compute_mean(values):\n    return sum(values) / len(values)\n"
    fixes = mends({"a.py": related}, "ImportError", missing)
    assert related.replace("compute_mean", "mean") in {fix.text for fix in fixes}
    only = "def average(values):\n    return average(values[1:]) if values else 0\n"
    fixes = mends({"a.py": only}, "ImportError", missing)
    assert fixes[0].text == only.replace("average", "mean")
    fixes = mends({"a.py": only}, "AttributeError", "module 'a' has no attribute 'mean'")
    assert fixes[0].text == only.replace("average", "mean")


def test_no_function_takes_a_name_that_the_file_uses_already() -> None:
    text = "mean = 3\n\n\ndef average(values):\n    return mean\n"
    assert not mends({"a.py": text}, "AttributeError", "module 'a' has no attribute 'mean'")


def test_a_misspelt_variable_gets_its_name() -> None:
    assert unknown("def f(values):\n    return sum(vlaues)\n", "vlaues") == "def f(values):\n    return sum(values)\n"


def test_words_of_other_languages_are_those_of_python() -> None:
    assert unknown("x = true\n", "true") == "x = True\n"
    assert unknown("x = null\n", "null") == "x = None\n"


def test_what_python_suggests_comes_first() -> None:
    text = "def f(count, amount):\n    return amont\n"
    message = "name 'amont' is not defined. Did you mean: 'count'?"
    assert first(text, "NameError", message, 2) == text.replace("amont", "count")


def test_a_name_stored_under_another_spelling() -> None:
    text = "def f():\n    resutl = 1\n    return result\n"
    fixes = mends({"a.py": text}, "NameError", "name 'result' is not defined", ("a.py", 3, "f"))
    assert text.replace("resutl", "result") in [fix.text for fix in fixes]


def test_a_misspelt_method_of_a_builtin_type() -> None:
    text = "def f(x):\n    x.apend(1)  # ä\n    return x\n"
    assert first(text, "AttributeError", "'list' object has no attribute 'apend'", 2) == text.replace("apend", "append")
    text = "def f(x):\n    return 'ä' + x.trim()\n"
    assert first(text, "AttributeError", "'str' object has no attribute 'trim'", 2) == text.replace("trim", "strip")


def test_a_misspelt_attribute_of_a_class_of_the_file() -> None:
    text = BOX + "        return len(self.itmes)\n"
    message = "'Box' object has no attribute 'itmes'"
    assert first(text, "AttributeError", message, 6) == text.replace("itmes", "items")


def test_a_misspelt_attribute_of_a_module() -> None:
    text = "import math\n\nx = math.squrt(2)\n"
    assert first(text, "AttributeError", "module 'math' has no attribute 'squrt'", 3) == text.replace("squrt", "sqrt")


def test_a_method_that_tests_call_by_another_name() -> None:
    text = "class Box:\n    def isempty(self):\n        return True\n"
    fixes = mends({"a.py": text}, "AttributeError", "'Box' object has no attribute 'is_empty'")
    assert fixes[0].text == text.replace("isempty", "is_empty")


def test_a_misspelt_key_gets_that_of_the_file() -> None:
    text = 'ROW = {"name": 1}\n\n\ndef f():\n    return ROW["nmae"]\n'
    assert first(text, "KeyError", "'nmae'", 5) == text.replace("nmae", "name")


def test_a_misspelt_keyword_at_a_call_and_in_a_definition() -> None:
    text = "def g(width=1):\n    return width\n\n\ndef f():\n    return g(widht=2)\n"
    message = "g() got an unexpected keyword argument 'widht'"
    assert first(text, "TypeError", message, 6) == text.replace("widht", "width")
    asked = mends({"a.py": "def g(widht=1):\n    return widht\n"}, "TypeError", message.replace("widht", "width"))
    assert asked[0].text == "def g(width=1):\n    return width\n"


# Tests of a missing `self` and of the number of arguments.


def test_a_method_without_self_gets_it() -> None:
    text = "class Box:\n    def size():\n        return 1\n\n    def put(item):\n        return item\n"
    fixes = mends({"a.py": text}, "TypeError", "Box.size() takes 0 positional arguments but 1 was given")
    assert fixes[0].text == text.replace("size()", "size(self)")
    fixes = mends({"a.py": text}, "TypeError", "Box.put() takes 1 positional argument but 2 were given")
    assert fixes[0].text == text.replace("put(item)", "put(self, item)")


def test_an_attribute_without_self_gets_it() -> None:
    text = BOX + "        return len(items)\n"
    assert unknown(text, "items", line=6) == text.replace("len(items)", "len(self.items)")


def test_an_initialiser_gets_its_name() -> None:
    text = "class Box:\n    def _init_(self, size):\n        self.size = size\n"
    assert first(text, "TypeError", "Box() takes no arguments") == text.replace("_init_", "__init__")


def test_an_argument_too_many_is_dropped_and_a_missing_one_put_in() -> None:
    text = "def g(a):\n    return a\n\n\ndef f(a, b):\n    return g(a, b)\n"
    assert first(text, "TypeError", "g() takes 1 positional argument but 2 were given", 6) == text.replace(
        "g(a, b)", "g(a)"
    )
    text = "def g(a, depth):\n    return a\n\n\ndef f(a, depth):\n    return g(a)\n"
    message = "g() missing 1 required positional argument: 'depth'"
    assert first(text, "TypeError", message, 6) == text.replace("g(a)\n", "g(a, depth)\n")


# Tests of all quick fixes together.


def test_nothing_is_said_of_troubles_that_tell_nothing() -> None:
    text = "def f(x):\n    return x\n"
    assert not mends({"a.py": text}, "AssertionError", "assert 1 == 2", ("a.py", 2, "f"))
    assert not mends({"a.py": text}, "ValueError", "name 'x' is not defined")
    assert not mends({"a.py": text}, "NameError", "name 'zzzzzz' is not defined", ("b.py", 2, "f"))


def test_a_text_that_is_no_python_is_mended_where_tests_stumble_over_it_and_left_alone_elsewhere() -> None:
    files = {"old.py": "print 1\n", "a.py": "x = math.pi\n"}
    assert {fix.path for fix in mends(files, "SyntaxError", "Missing parentheses", ("old.py", 1, "<module>"))} == {
        "old.py"
    }
    unknown_name = mends(files, "NameError", "name 'math' is not defined", ("a.py", 1, "<module>"))
    assert {fix.path for fix in unknown_name} == {"a.py"}


def test_troubles_take_turns() -> None:
    text = "def f(value):\n    return vlaue\n\n\ndef g():\n    return math.pi\n"
    errors = [
        ("t::1", ErrorInfo(kind="NameError", message="name 'vlaue' is not defined", frames=(("a.py", 2, "f"),))),
        ("t::2", ErrorInfo(kind="NameError", message="name 'math' is not defined", frames=(("a.py", 6, "g"),))),
    ]
    kinds = [fix.kind for fix in quick_fixes({"a.py": text}, errors)]
    assert set(kinds[:2]) == {"name", "import"}


def test_lines_that_end_in_another_way_stay_as_they_are() -> None:
    text = "def f(values):\r\n    return sum(vlaues)\r\n"
    assert unknown(text, "vlaues") == "def f(values):\r\n    return sum(values)\r\n"


def test_an_import_ends_its_line_as_the_others_do() -> None:
    assert unknown("x = math.pi\r\n", "math") == "import math\r\n\r\nx = math.pi\r\n"
