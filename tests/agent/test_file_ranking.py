"""The files of a repository are ranked by their relevance to a task, and each file is read only once."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nightshift.agent.file_ranking import Interest, interest_in, rank, read
from nightshift.agent.library import FileTree
from nightshift.agent.prompt.context import estimate_tokens
from nightshift.agent.prompt.sections import prompt_context, the_repository
from nightshift.agent.symbols import SymbolCache, tags, words_of
from nightshift.agent.view import View
from nightshift.core.tasks.attempt_state import AttemptState
from nightshift.core.tasks.states import Phase
from tests.support.agent_parts import Bench, case_for, model_for

WORK = AttemptState(phase=Phase.CODING, base="0" * 40)


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


def test_python_defines_and_refers() -> None:
    file_tags = tags("a.py", "LIMIT = 3\n\n\ndef price_of(basket):\n    return basket.total + LIMIT + tax(basket)\n")
    assert set(file_tags.defines) == {"LIMIT", "price_of"}
    assert file_tags.refers == {"basket": 2, "total": 1, "tax": 1}


def test_javascript_defines_and_refers() -> None:
    text = (
        "import { tax } from './tax.mjs';\nexport function priceOf(basket) { return tax(basket); }\nconst LIMIT = 3;\n"
    )
    file_tags = tags("a.mjs", text)
    assert set(file_tags.defines) == {"priceOf", "LIMIT"}
    assert file_tags.refers["tax"] == 2


@given(st.text(max_size=200), st.sampled_from(["a.py", "a.mjs", "a.ts", "a.css"]))
def test_whatever_a_file_holds_it_has_tags(text: str, path: str) -> None:
    file_tags = tags(path, text)
    assert not set(file_tags.defines) & file_tags.refers.keys()


def test_what_is_referred_to_from_the_focus_is_near_and_what_nothing_leads_to_is_not() -> None:
    tags_by_path = read(View(FileTree(shop()), {}), SymbolCache())
    order = [path for path, _ in rank(tags_by_path, Interest(files={"shop/basket.py"}))]
    assert order == ["shop/basket.py", "shop/prices.py", "shop/money.py"]


def test_the_words_of_the_task_lead_to_files_by_path_and_by_name() -> None:
    tags_by_path = read(View(FileTree(shop()), {}), SymbolCache())
    assert rank(tags_by_path, Interest(words=words_of("the feed of the blog shows posts twice")))[0][0].startswith(
        "blog/"
    )


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


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("let Cart.checkout pay", {"Cart", "checkout"}),
        ("call draw() after 3d.scene.show and 2grow(x)", {"draw", "scene", "show", "grow"}),
        ("a.b.1 and go( or over (it)", set()),
        ("x" * 50_000, set()),
        ("1x" * 50_000 + ".py", set()),
    ],
)
def test_what_is_written_like_code_is_a_name(text: str, names: set[str]) -> None:
    assert interest_in(text).names == names


def test_a_quoted_message_and_an_option_lead_to_the_file_that_holds_them() -> None:
    files = {f"app/part{n}.py": "def grow():\n    raise ValueError('too deep here')\n" for n in range(5)}
    files["app/deep.py"] = "def sink():\n    raise ValueError('Maximum depth exceeded')\n"
    files["app/cli.py"] = "def main(parser):\n    parser.add('--indent-columns')\n"
    assert first_for("Long input ends with 'Maximum depth exceeded'", files) == "app/deep.py"
    assert first_for("--indent-columns does nothing", files) == "app/cli.py"


def test_rare_words_count_more_than_common_ones_and_sources_more_than_tests() -> None:
    files = {f"app/stock{n}.py": "# stock of goods\ndef count(): ...\n" for n in range(6)}
    files |= {"app/bar.py": "# goods, with a progress bar\n", "tests/test_bar.py": "# goods: progress bar, progress\n"}
    assert first_for("The progress of goods in stock is wrong", files) == "app/bar.py"


def test_a_file_is_read_once_for_its_content_and_a_changed_one_anew() -> None:
    tree, symbol_cache = counting(shop()), SymbolCache()
    read(View(tree, {}), symbol_cache)
    assert len(tree.reads) == 5
    again = read(View(tree, {"shop/money.py": "def other_name():\n    pass\n"}), symbol_cache)
    assert len(tree.reads) == 5
    assert again["shop/money.py"].defines == ("other_name",)
    assert len(symbol_cache) == 5


def test_a_full_shelf_forgets_what_it_read_first() -> None:
    tree, symbol_cache = counting(shop()), SymbolCache(most=3)
    assert not symbol_cache.is_new
    read(View(tree, {}), symbol_cache)
    assert len(symbol_cache) == 3
    assert symbol_cache.is_new
    assert len(read(View(tree, {}), symbol_cache)) == 5


def _many(count: int) -> Iterator[tuple[str, str]]:
    for n in range(count):
        up = n // 3
        text = f"from pkg{up % 50}.mod{up} import make_{up}\n\n\ndef make_{n}(x):\n    return make_{up}(x) + {n}\n"
        yield f"pkg{n % 50}/mod{n}.py", text


def test_a_prompt_about_five_thousand_files_stays_within_its_budget_and_reads_them_once() -> None:
    tree = counting(dict(_many(5000)))
    bench = Bench(model_for())
    tools = bench.tools
    object.__setattr__(tools, "tree", tree)
    case = case_for("Make make_4242 in pkg42/mod4242.py double its argument")
    first = prompt_context(case, WORK, tools, Phase.CODING)
    text = the_repository(first).fill(4800).text
    assert estimate_tokens(text) < 0.2 * tools.settings.prompt_tokens
    assert first.near.matter[0] == "pkg42/mod4242.py"
    assert "pkg14/mod1414.py" in (*first.near.matter, *first.near.around[:40])
    count = len(tree.reads)
    assert prompt_context(case, WORK, tools, Phase.CODING).near == first.near
    assert len(tree.reads) <= count + 2
