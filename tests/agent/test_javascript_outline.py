"""JavaScript in prompts and checks: signatures, imports, tests without assertions, and syntax errors."""

from __future__ import annotations

from nightshift.agent import javascript_outline, syntax

MODULE = """#!/usr/bin/env node
import { a } from './lib/a.mjs';
import b from '../b';
const z = require('./z');
export function add(a, b) { return a + b; }
export default class Box extends Base {
  constructor(x) { super(); }
  get size() { return 1; }
}
export const mul = (a, b) => a * b, K = 5;
async function* gen() {}
module.exports = { add };
exports.f = function (x) { return x; };
"""


def test_signatures_leave_the_bodies_out() -> None:
    assert javascript_outline.signatures("src/x.mjs", MODULE) == [
        "const z = …",
        "export function add(a, b)",
        "export default class Box extends Base",
        ". constructor(x)",
        ". get size()",
        "export const mul = (a, b) =>",
        "export const K = …",
        "async function* gen()",
        "module.exports = { add };",
        "exports.f = function (x)",
    ]


def test_imports_are_followed_from_the_place_of_the_file() -> None:
    files = {"src/lib/a.mjs", "b/index.js", "z.js"}
    assert javascript_outline.local_files("src/x.mjs", MODULE, files) == ["src/lib/a.mjs", "b/index.js"]
    assert javascript_outline.list_wanted_files("src/x.mjs", MODULE, files) == [
        "src/lib/a.mjs",
        "b/index.js",
        "src/z.js",
    ]


def test_what_does_not_parse_never_runs() -> None:
    failure = syntax.fault("src/a.mjs", "const a = 1;\nfunction x() {\n  return (1;\n}\n")
    assert failure is not None
    assert (failure.kind, failure.message, failure.frame) == ("SyntaxError", "missing ) (line 3)", "src/a.mjs:3")
    assert ">    3    return (1;" in failure.excerpt
    assert syntax.fault("src/a.mjs", MODULE) is None
    assert syntax.fault("a.ts", "const a: number = 1;\n") is None
