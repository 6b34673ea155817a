"""The files of a repository are ranked by their relevance to a task, and each file is read only once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from hypothesis import given
from hypothesis import strategies as st

from nightshift.agent.file_ranking import Interest, interest_in, rank, read
from nightshift.agent.symbols import SymbolCache, tags
from nightshift.agent.view import View
from nightshift.core.code.tree import FileTree


@dataclass(frozen=True, slots=True, eq=False)
class Counting(FileTree):
    """A tree that records its reads."""

    reads: list[str] = None  # type: ignore[assignment]  # given by each test
    hashes: Mapping[str, str] = None  # type: ignore[assignment]  # made once: thousands of files are hashed

    def entries(self) -> Mapping[str, str]:
        return self.hashes

    def read(self, path: str) -> bytes:
        self.reads.append(path)
        return FileTree.read(self, path)


def counting(files: Mapping[str, str]) -> Counting:
    return Counting(files, reads=[], hashes=FileTree(files).entries())


def shop() -> dict[str, str]:
    return {
        "shop/basket.py": "from shop.prices import price_of\n\n\ndef total(basket):\n    return price_of(basket)\n",
        "shop/prices.py": "def price_of(basket):\n    return convert_money(basket)\n",
        "shop/money.py": "def convert_money(x):\n    return x\n",
        "blog/posts.py": "def render_post(p):\n    return p\n",
        "blog/feed.py": "from blog.posts import render_post\n",
    }


@given(st.text(max_size=200), st.sampled_from(["a.py", "a.mjs", "a.ts", "a.css"]))
def test_whatever_a_file_holds_it_has_tags(text: str, path: str) -> None:
    file_tags = tags(path, text)
    assert not set(file_tags.defines) & file_tags.refers.keys()


def test_what_is_referred_to_from_the_focus_is_near_and_what_nothing_leads_to_is_not() -> None:
    tags_by_path = read(View(FileTree(shop()), {}), SymbolCache())
    order = [path for path, _ in rank(tags_by_path, Interest(files={"shop/basket.py"}))]
    assert order == ["shop/basket.py", "shop/prices.py", "shop/money.py"]


def first_for(text: str, files: Mapping[str, str]) -> str:
    view = View(FileTree(files), {})
    return rank(read(view, SymbolCache()), interest_in(text), view.text)[0][0]


def test_a_name_that_the_task_writes_leads_to_the_file_that_defines_it() -> None:
    files = {
        "sql/keywords.py": "SQL_REGEX = [('--', 1)]\n",
        "sql/sql.py": "class Sql:\n    def regex(self): ...\n" * 3,
        "sql/lexer.py": "from sql import keywords\n\nuse = keywords.SQL_REGEX\n" * 5,
        "sql/regex.py": "from sql.keywords import SQL_REGEX\n\n\ndef sql_names(): ...\n",
        "tests/regex.sql": "regex names",
        "shop/cart.py": "class Cart:\n    LIMIT = 3\n\n    def checkout(self): ...\n",
    }
    assert first_for("SQL_REGEX should take @names", files) == "sql/keywords.py"
    assert first_for("Let Cart.checkout refuse an empty cart", files) == "shop/cart.py"
    assert first_for("LIMIT is too low", files) == "shop/cart.py"


def test_a_quoted_message_and_an_option_lead_to_the_file_that_holds_them() -> None:
    files = {f"app/part{n}.py": "def grow():\n    raise ValueError('too deep here')\n" for n in range(5)}
    files["app/deep.py"] = "def sink():\n    raise ValueError('Maximum depth exceeded')\n"
    files["app/cli.py"] = "def main(parser):\n    parser.add('--indent-columns')\n"
    assert first_for("Long input ends with 'Maximum depth exceeded'", files) == "app/deep.py"
    assert first_for("--indent-columns does nothing", files) == "app/cli.py"


def test_a_file_is_read_once_for_its_content_and_a_changed_one_anew() -> None:
    tree, symbol_cache = counting(shop()), SymbolCache()
    read(View(tree, {}), symbol_cache)
    assert len(tree.reads) == 5
    again = read(View(tree, {"shop/money.py": "def other_name():\n    pass\n"}), symbol_cache)
    assert len(tree.reads) == 5
    assert again["shop/money.py"].defines == ("other_name",)
    assert len(symbol_cache) == 5
