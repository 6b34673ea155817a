"""The model that writes tests for a change sees the interface of the change, but no function bodies."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from nightshift.core.code.line_changes import list_written_lines
from nightshift.verdict.languages.authoring import SHORT, CodeReader

READER = CodeReader()

SHOP = '''"""A shop."""
from flask import Flask
from shop.models import Order, Unused

app = Flask(__name__)
RATE = 0.19
_SECRET = 7


@app.get("/orders/<int:number>")
def show(number: int, *, full: bool = False) -> dict:
    """Show an order.

    Raises KeyError for an unknown one.
    """
    if request.path == "/legacy":
        return {"hidden": 41}
    return load(Order(number))


class Cart:
    """What is bought."""

    items: list[str] = []
    limit: int = 10

    def total(self) -> float:
        return sum(self.prices) * 1.2345


def main(argv):
    parser = ArgumentParser()
    parser.add_argument("--days", type=int, default=7)
    return 0
'''


def test_docstrings_routes_options_and_defaults_are_shown_and_no_body_is() -> None:
    text = "\n".join(READER.describe_offer("shop/app.py", SHOP, None))
    for shown in (
        "@app.get('/orders/<int:number>')", "def show(number: int, *, full: bool=False) -> dict",
        "Raises KeyError for an unknown one.", "RATE = 0.19", "class Cart", "    limit: int = 10",
        "    def total(self) -> float", "parser.add_argument('--days', type=int, default=7)",
        "paths that it compares with: /legacy",
    ):  # fmt: skip
        assert shown in text
    for body in ("hidden", "41", "1.2345", "load(", "_SECRET", "return"):
        assert body not in text


def long_module() -> str:
    functions = "".join(f"def plain_{n}():\n    return {n}\n\n\n" for n in range(SHORT))
    names = [("helper", "x"), ("_core", "helper(x)"), ("api", "_core(x)")]
    return functions + "\n\n".join(f"def {name}(x):\n    return {value}\n" for name, value in names)


def test_of_a_long_file_only_what_the_change_touches_uses_and_is_used_by_is_shown() -> None:
    before = long_module()
    after = before.replace("return helper(x)", "return helper(x) + 1")
    assert READER.describe_offer("long.py", after, before) == [
        "def helper(x)", "def _core(x)", "def api(x)", f"… and {SHORT} other definitions",
    ]  # fmt: skip


def test_definitions_that_touched_code_imports_are_shown_from_where_they_are() -> None:
    files = {"shop/models.py": "class Order:\n    number: int\n\n    def paid(self) -> bool:\n        return 1 > 2\n"}
    shown = READER.describe_imports("shop/app.py", SHOP, None, files, files.get)
    assert shown == "shop/models.py\n    class Order\n        number: int\n        def paid(self) -> bool"
    relative = SHOP.replace("shop.models", ".models")
    assert READER.describe_imports("shop/app.py", relative, None, files, files.get) == shown
    assert READER.describe_imports("shop/app.py", SHOP, SHOP.replace("return 0", "return 1"), files, files.get) == ""


def test_javascript_is_shown_by_signatures_comments_and_routes() -> None:
    text = (
        '/** Adds two numbers. */\nexport function add(a, b = 2) {\n  return a + b * 7;\n}\napp.get("/sum", handler);\n'
    )
    assert READER.describe_offer("sum.mjs", text, None) == [
        "/** Adds two numbers. */", "export function add(a, b = 2)", 'routes: app.get("/sum"',
    ]  # fmt: skip


_LINES = st.lists(st.sampled_from(["a", "b", "c", ""]), max_size=12).map("\n".join)


@given(_LINES, _LINES)
def test_lines_that_no_change_wrote_stood_there_before(before: str, after: str) -> None:
    written_lines, lines = list_written_lines(before, after), after.split("\n")
    old_lines = [line for number, line in enumerate(lines, 1) if number not in written_lines]
    rest = iter(before.split("\n"))
    assert all(line in rest for line in old_lines), "the others stand in the same order"
    assert (not written_lines) == (before == after) or not before
