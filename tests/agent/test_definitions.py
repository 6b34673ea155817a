"""Single definitions in a reply replace the definitions of the same name in their file and change nothing else."""

from __future__ import annotations

import ast

from hypothesis import given
from hypothesis import strategies as st

from nightshift.agent.replies.definitions import merge_definitions, quote_definitions

FILE = '''"""Prices."""

import math
from decimal import Decimal

RATE = 19


@cache
def tax(amount):
    # Halves go up.
    return amount * RATE


class Order:
    """An order."""

    paid = False

    def total(self):
        return 0


if __name__ == "__main__":
    print(tax(1))
'''
TAX = "@cache\ndef tax(amount):\n    # Halves go up.\n    return amount * RATE"


def test_a_class_with_a_part_of_its_methods_keeps_the_others() -> None:
    method = "    def is_empty(self):\n        return True\n"
    merged = merge_definitions(FILE, f"class Order:\n{method}")
    assert merged == FILE.replace("        return 0\n", f"        return 0\n\n{method}")


def test_imports_that_the_file_lacks_follow_its_last_one() -> None:
    merged = merge_definitions(
        FILE, "from __future__ import annotations\nimport math\nimport re\n\n\ndef tax(amount):\n    return re\n"
    )
    assert "from decimal import Decimal\nimport re\n\nRATE" in merged
    assert merged.count("import math") == 1
    assert "__future__" not in merged


def test_form_feeds_and_a_missing_last_newline_stay() -> None:
    old = FILE.replace("\n\n\nclass", "\n\n\x0c\nclass")
    short = "def tax(amount):\n    return 1"
    assert merge_definitions(old.rstrip("\n"), f"{short}\n") == old.rstrip("\n").replace(TAX, short)
    method = "    def total(self):\n        return 7"
    merged = merge_definitions(old, f"class Order:\n{method}\n")
    assert merged == old.replace("    def total(self):\n        return 0", method)


NAMES = st.lists(st.sampled_from("abcdefgh"), unique=True)


@given(NAMES, NAMES)
def test_each_function_has_its_newest_text_and_stands_once(old: list[str], new: list[str]) -> None:
    text = "\n\n".join(f"def {name}():\n    return 'old'\n" for name in old)
    answer = "\n\n".join(f"def {name}():\n    return 'new'\n" for name in new)
    merged = ast.unparse(ast.parse(merge_definitions(text, answer)))
    wanted = {**dict.fromkeys(old, "old"), **dict.fromkeys(new, "new")}
    functions = sorted(f"def {name}():\n    return '{value}'" for name, value in wanted.items())
    assert sorted(filter(None, merged.split("\n\n"))) == functions


def test_imports_and_named_definitions_are_quoted_with_the_constants_that_they_use() -> None:
    quoted = f"import math\nfrom decimal import Decimal\n\n\nRATE = 19\n\n\n{TAX}"
    assert quote_definitions(FILE, "Make tax faster") == quoted
    assert (
        quote_definitions(FILE.replace("RATE = 19", f"RATE = [{'1,' * 9}\n" + "1,\n" * 20 + "]"), "tax").count("\n")
        < 12
    )
    assert not quote_definitions(FILE, "Add net to it")
    assert not quote_definitions(FILE, "Add net to it")
