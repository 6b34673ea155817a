"""JavaScript and TypeScript as syntax trees: syntax errors with their lines, module names, and the import graph."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nightshift.core.code.dependencies import ImportCache, closure, dependants
from nightshift.core.code.javascript import fault, literal, parse, references, specifiers
from nightshift.core.code.paths import is_test_path
from tests.support.trees import TextTree

SOUND = [
    "#!/usr/bin/env node\nimport x from 'y' with { type: 'json' };\nawait 1;\n",
    "label: for await (const { a, ...b } of c()) { a ||= b?.[0]; continue label; }\n",
    "export const f = async function* () { yield* g(`a${`b`}`); };\nexport default /[/]\\/(?<n>x)/v;\n",
    "module.exports = { ['a' + 1]: 2, async *b() {}, get c() { return 1_000; } };\nreturn;\n",
]


@pytest.mark.parametrize("text", SOUND)
def test_current_syntax_has_no_fault(text: str) -> None:
    assert fault("a.js", text) is None


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ("const a = 1;\nfunction f() {\n  return (a;\n}\n", 3, "missing )"),
        ("const a = {\n  b: 1;\n};\n", 2, "unexpected ';'"),
        ("class A {\n  m() {\n}\n", 3, "missing }"),
    ],
)
def test_a_fault_is_told_with_its_line(text: str, line: int, message: str) -> None:
    syntax_fault = fault("a.mjs", text)
    assert syntax_fault is not None
    assert (syntax_fault.line, syntax_fault.message) == (line, message)


@given(st.text())
def test_no_text_at_all_is_too_much_for_the_parser(text: str) -> None:
    fault("a.mjs", text)
    specifiers("a.ts", text)
    references("a.js", text)


def test_literals_are_read_as_node_would() -> None:
    def value(text: str) -> str | None:
        return literal(parse("a.js", text).named_children[0].named_children[0])

    assert value("'a\\u0041\\n\\x41\\u{1F600}'") == "aA\nA\U0001f600"
    assert value("`plain`") == "plain"
    assert value("`a${b}`") is None


@pytest.mark.parametrize("path", ["a.test.mjs", "test/helper.js", "a/test/b/c.mts", "a.spec.js"])
def test_the_conventions_of_node_name_tests(path: str) -> None:
    assert is_test_path(path)


TREE = TextTree(
    {
        "package.json": '{"type": "module"}',
        "src/a.js": "import { b } from './b.js';\n",
        "src/b.js": "export const b = 1;\n",
        "src/c.cjs": "const d = require('./d');\n",
        "src/d/index.js": "module.exports = 1;\n",
        "src/lone.js": "export default 1;\n",
        "test/a.test.js": "import { a } from '../src/a.js';\n",
        "test/c.test.cjs": "require('../src/c');\n",
        "test/all.test.js": "import fs from 'node:fs';\nfor (const name of fs.readdirSync(dir)) await import(name);\n",
        "tests/test_py.py": "import os\n",
    }
)


def test_the_closure_of_a_test_holds_what_it_imports() -> None:
    test_closure = closure(TREE, {}, {"test/a.test.js": TREE.files["test/a.test.js"]}, ImportCache())
    assert (test_closure.paths, test_closure.complete) == (
        frozenset({"test/a.test.js", "src/a.js", "src/b.js", "package.json"}), True
    )  # fmt: skip
    common = closure(TREE, {}, {"test/c.test.cjs": TREE.files["test/c.test.cjs"]}, ImportCache())
    assert {"src/c.cjs", "src/d/index.js"} <= common.paths
    listing = closure(TREE, {}, {"test/all.test.js": TREE.files["test/all.test.js"]}, ImportCache())
    assert not listing.complete


def test_the_tests_that_a_change_may_break_are_found() -> None:
    assert dependants(TREE, ["src/b.js"], ImportCache(), unknown=False) == {"test/a.test.js"}
    assert dependants(TREE, ["src/d/index.js"], ImportCache(), unknown=False) == {"test/c.test.cjs"}
    assert dependants(TREE, ["src/lone.js"], ImportCache()) == {"test/all.test.js"}
    everything = dependants(TREE, ["package.json"], ImportCache(), unknown=False)
    assert everything == {"test/a.test.js", "test/c.test.cjs", "test/all.test.js"}
