"""Documentation: a page's statements are checked against the tree, and its examples run in the sandbox."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nightshift.core.code.documents import is_documentation
from nightshift.core.tasks.verdicts import Label
from nightshift.verdict.page_checks import Files, findings
from nightshift.verdict.pages import read
from tests.support.sandboxes import Judge

SHOP = 'def total(prices):\n    """Add up."""\n    return sum(prices)\n\n\nclass Cart:\n    size = 0\n'
TREE = {
    "shop/__init__.py": "", "shop/cart.py": SHOP, "docs/guide.md": "# First steps\n\n## Pay *now*\n",
    "LICENSE": "MIT\n", "run.py": "print(1)\n",
}  # fmt: skip


def faults(text: str, path: str = "README.md") -> list[str]:
    files = {**TREE, path: text}
    return [f"{finding.line}: {finding.message}" for finding in findings(path, text, Files(files, files.get))]


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("# A\n\nsee [it](docs/gide.md)", "3: the link to `docs/gide.md` is broken: docs/gide.md does not exist"),
        ("one\ntwo [it](docs/guide.md#paying)", "2: the link to `docs/guide.md#paying` names a heading that docs/g"),
        ("[a][b]\n\n[b]: ./shop/none/", "1: the link to `./shop/none/` is broken: shop/none does not exist"),
        ("use `shop.cart.pay`", "1: `pay` is not in shop/cart.py"),
        ("see `lib/cart.py`", "1: the file `lib/cart.py` does not exist; shop/cart.py does"),
        ("```sh\npip install x\n\npython runn.py --a\n```", "4: the script `runn.py` does not exist; run.py does"),
        ("```console\n$ python -m shop.card\n```", "2: `python -m shop.card` names a module that shop/ does not have"),
    ],
)
def test_what_the_tree_contradicts_is_found_with_its_line(text: str, fault: str) -> None:
    (sentence,) = faults(text)
    assert sentence.startswith(fault)


@pytest.mark.parametrize(
    ("path", "text", "answer"),
    [
        ("README.md", "# A\n\n<script>x()</script>\n", True),
        ("README.md", "a <b onclick=x()>b</b>\n", True),
        ("README.md", "write `<script>`\n\n```html\n<script>x()</script>\n```\n\n<b id='on'>a</b>\n", False),
        ("docs/a.rst", ".. include:: /etc/passwd\n", True),
        ("docs/a.rst", ".. include:: ../README.rst\n", False),
        ("docs/a.rst", ".. program-output:: sh -c id\n", True),
        ("docs/a.rst", ".. code-block:: sh\n\n   python none.py\n", False),
    ],
)
def test_a_page_that_runs_code_or_reads_files_of_others_is_found(path: str, text: str, answer: bool) -> None:
    assert bool(faults(text, path)) is answer


@pytest.mark.parametrize(
    "text",
    [
        "[a](docs/guide.md#pay-now) [b](docs) [c](docs/) [d](LICENSE) [e](https://x.org/none) [f](mailto:a@b.c)",
        "[a](docs/guide#first-steps) [issue](../../issues/1) [site](/api/) [n](notes) [t]({{ url }}) [s](a.md<b>)",
        "`shop.cart.total(prices)` `shop.cart` `shop.cart.Cart.size` `os.path.join` `requests.get` `a.json` `run.py`",
        "`shop.pay` `cart.total` `path/to/cart.py` `data/out.csv` `cart.py` `your/cart.py` `foo()`",
        "Write `mine.py`:\n\n```sh\npython mine.py\npython my_script.py\npython <file>.py\npython 'a\n```",
    ],
)
def test_what_may_be_right_is_no_finding(text: str) -> None:
    assert faults(text) == []


def test_a_page_in_a_folder_is_read_from_there() -> None:
    assert faults("[a](guide.md) [b](../run.py)\n```sh\npython ../run.py\npython run.py\n```\n", "docs/b.md") == []
    assert len(faults("[a](run.py)", "docs/b.md")) == 1


@given(st.text(alphabet="#[]()`!<>\n ab./-|*_", max_size=80))
def test_every_text_is_a_page_whose_pieces_lie_in_it(text: str) -> None:
    page = read(text)
    last = text.count("\n") + 1
    assert all(1 <= piece.line <= last for piece in (*page.links, *page.blocks, *page.spans))
    faults(text)


@pytest.mark.parametrize(
    ("path", "before", "after", "answer"),
    [
        ("README.md", None, "x", True),
        ("a.py", "def f():\n    return 1\n", 'def f():\n    """One."""\n    return 1  # one\n', True),
        ("a.py", "def f():\n    return 1\n", 'def f():\n    """One."""\n    return 2\n', False),
        ("a.mjs", "f(1);\n", "// one\nf(2);\n", False),
        ("requirements.txt", "a\n", "b\n", False),
        ("shop/words.md", "a\n", "b\n", False),
        ("a.py", "x = 1\n", "# -*- coding: latin-1 -*-\nx = 1\n", False),
        ("a.py", "x = 1\n", "# ruff: noqa\nx = 1\n", False),
        ("a.py", "#!/bin/python3\nx = 1\n", "#!/bin/sh\nx = 1\n", False),
        ("a.py", "def f(): pass\nprint(f.__doc__)\n", 'def f():\n    """One."""\nprint(f.__doc__)\n', False),
        ("used.py", "class A: pass\n", 'class A:\n    """One."""\n', False),
        ("a.mjs", "function f() { return 1; }\n", "function f() { return /* the\n one */ 1; }\n", False),
    ],
)
def test_documentation_is_what_leaves_the_code_as_it_was(
    path: str, before: str | None, after: str | None, answer: bool
) -> None:
    readers = [("b.py", "import used\nprint(used.A.__doc__, open('shop/words.md').read())\n")]
    assert is_documentation({path: after}, lambda _: before, lambda: readers) is answer


def page(*blocks: str) -> dict[str, str | None]:
    return {"README.md": "# Shop\n\n" + "\n".join(f"```python\n{block}\n```\n" for block in blocks)}


async def test_pages_whose_examples_run_are_documented(judge: Judge) -> None:
    change = page(
        "from shop.cart import total", "print(total([1, 2]))", ">>> total([1, 2])\n3",
        "import requests\n\nrequests.get('https://x.org')", "open('yours.csv')", "later(1)",
        "def total(prices) -> float", "total(None)  # raises TypeError", "while True:\n    pass",
    )  # fmt: skip
    verdict = await judge(change, base=TREE, documents=True)
    assert verdict.passed, verdict.reason
    assert verdict.evidence.label is Label.DOCUMENTED
    notes = "\n".join(verdict.evidence.notes)
    assert "1 page and 8 examples checked" in notes
    assert notes.count("was not run") == 5
    assert "No module named 'requests'" in notes
    assert "does not end within" in notes


@pytest.mark.parametrize(
    ("block", "message"),
    [
        ("from shop.cart import totl", "cannot import name 'totl'"),
        ("from shop.cart import total\ntotal([1], currency='EUR')", "unexpected keyword argument 'currency'"),
        (">>> from shop.cart import total\n>>> total([1])\n2", "`total([1])` gives 1 instead of 2"),
        ("pip install shop", "marked as Python but is not valid Python"),
    ],
)
async def test_what_an_example_shows_must_be_so(judge: Judge, block: str, message: str) -> None:
    verdict = await judge(page(block), base=TREE, documents=True)
    (failure,) = verdict.failures
    assert (verdict.passed, failure.id) == (False, "README.md:3")
    assert message in failure.message


async def test_only_what_the_change_brought_is_held_against_it(judge: Judge) -> None:
    old = "[a](no.md)\n\n```python\nfrom shop.cart import nothing\n```\n"
    verdict = await judge({"README.md": f"{old}\nMore.\n"}, base={**TREE, "README.md": old}, documents=True)
    assert verdict.passed, verdict.reason
    verdict = await judge({"README.md": f"{old}\n[b](none.md)\n"}, base={**TREE, "README.md": old}, documents=True)
    assert [failure.frame for failure in verdict.failures] == ["README.md:7"]


async def test_a_doctest_line_that_failed_before_is_not_held_against_a_change(judge: Judge) -> None:
    def document(summary: str, examples: str) -> dict[str, str]:
        return {"shop/cart.py": f'def total(prices):\n    """{summary}\n\n{examples}    """\n    return sum(prices)\n'}

    old = ">>> total([1, 2])\n4\n>>> total(None)\n0\n"
    base = {**TREE, **document("Add up.", old)}
    right = await judge(document("Add up all.", f"{old}>>> total([5])\n5\n"), base=base, documents=True)
    wrong = await judge(document("Add up all.", f"{old}>>> total([5])\n6\n"), base=base, documents=True)
    assert right.passed, right.reason
    assert not wrong.passed
    assert "`total([5])` gives 5 instead of 6" in wrong.reason
