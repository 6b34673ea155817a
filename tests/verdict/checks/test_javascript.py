"""Findings in JavaScript and TypeScript, from the syntax tree; strings and comments do not count as code."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nightshift.verdict.checks import javascript
from nightshift.verdict.checks.catalogue import JAVASCRIPT
from tests.support.checking import hooks

SEEN = {
    "js.eval": ["(0, eval)('x')", "globalThis['eval'](x)", "const e = eval; e(x)", "import('data:text/javascript,x')"],
    "js.function-constructor": ["new Function('a', 'return a')", "(() => {}).constructor('return 1')()"],
    "js.vm": ["import vm from 'node:vm'; vm.runInNewContext(x)", "new (require('vm').Script)(x)"],
    "js.child-process-shell": [
        "import { exec as run } from 'node:child_process'; run(x)",
        "const { execSync } = require('child_process'); execSync('ls')",
        "const cp = await import('child_process'); cp.exec(x)",
        "import { spawn } from 'child_process'; spawn('ls', [], { shell: true })",
    ],
    "js.child-process": ["import * as cp from 'child_process'; cp.spawn('ls')"],
    "js.network": ["import net from 'net'; net.connect(1)"],
    "js.delete-outside": [
        "import { rm } from 'node:fs/promises'; rm('../x')",
        "import { unlink } from 'fs'; import { homedir as h } from 'os'; import p from 'path'; unlink(p.join(h()))",
        "const fs = require('fs'); fs.promises.rm(`${process.env.HOME}/x`)",
    ],
    "js.private-file": ["import fs from 'fs'; fs.readFileSync(process.env.HOME + '/.ssh/id_rsa')"],
    "js.native": [
        "process.binding('fs')",
        "import v8 from 'node:v8'",
        "const { binding } = process; binding('fs')",
        "const v8 = process.getBuiltinModule('node:v8'); v8.setFlagsFromString('--x')",
        "import 'node:wasi'",
    ],
    "js.dynamic-import": ["import(name)", "require(name)"],
    "js.test-detection": ["if (process.env.NODE_TEST_CONTEXT) f()", "import test from 'node:test'"],
    "js.hard-exit": ["process.reallyExit(0)", "process.kill(process.pid)"],
    "js.exit": ["process.exit(0)"],
    "js.swap": [
        "Array.prototype.map = f",
        "import assert from 'node:assert'; assert.equal = f",
        "Array.prototype['ma' + 'p'] = f",
        "Object.defineProperty(Array.prototype, 'map', { value: f })",
        "Object.assign(Object.prototype, { x: 1 })",
        "Promise = f",
        "import fs from 'node:fs'; fs.readFileSync = f",
    ],
    "command.rm-outside": ["require('child_process').execSync('rm -rf /')"],
    "command.force-push": ["import { spawn } from 'child_process'; spawn('git', ['push', '--force'])"],
}
UNSEEN = [
    "// eval(x)\nconst s = 'eval(x)'; /* new Function('x') */",
    "/abc/.exec(x); re.exec(s)",
    "process.env.PORT; process.env.X = '1'; process.exitCode = 1",
    "import fs from 'fs'; fs.rmSync('build', { recursive: true })",
    "import { readFile } from 'fs/promises'; readFile('x')",
    "const f = function () {}; f()",
    "obj.eval(x); obj.constructor.name",
    "Object.assign(process.env, { X: '1' }); e = { ...process.env }",
    "class T { toString() { return `${this.a}`; } toJSON() { return { a: this.a }; } get key() { return this._key; } }",
    "class T { *[Symbol.iterator]() { let i = 0; while (i < 3) yield i++; } }",
    "class E extends Error { constructor(m) { super(m); this.name = 'E'; Error.captureStackTrace(this, E); } }",
    "try { f() } catch (error) { console.error(error.stack) }",
    "function Old() {} Old.prototype.run = function () { return 1; }",
    "import fs from 'fs'; fs.writeSync(1, 'x'); fs.readFileSync(0, 'utf8')",
    "import fs from 'fs'; const fd = fs.openSync('x'); fs.writeSync(fd, 'y'); fs.closeSync(fd)",
    "import { AsyncLocalStorage } from 'node:async_hooks'; const s = new AsyncLocalStorage()",
    "import { createRequire } from 'node:module'; const require = createRequire(import.meta.url)",
    "process.on('SIGINT', stop); process.exitCode = 1; if (require.main === module) main()",
    "o[`key_${name}`] = 1; o[name] = 2; list[i + 1]; process.env[name] = 'x'; module.exports[name] = f",
    "async function* lines(s) { for await (const l of s) yield l; }",
    "Object.defineProperty(this, 'x', { value: 1 }); Object.assign({}, a); Object.freeze(o)",
]


def rules(text: str, path: str, *, is_test: bool = False) -> set[str]:
    return {seen.rule for seen in javascript.scan(path, text, hooks, is_test=is_test)}


@pytest.mark.parametrize("path", ["a.mjs", "a.ts"])
@pytest.mark.parametrize(("rule", "text"), [(rule, text) for rule, texts in SEEN.items() for text in texts])
def test_it_is_seen(rule: str, text: str, path: str) -> None:
    assert rule in rules(text, path)


@pytest.mark.parametrize("text", UNSEEN)
def test_it_is_nothing_special(text: str) -> None:
    assert rules(text, "a.js") == set()


def test_every_rule_of_the_catalogue_is_seen_somewhere() -> None:
    assert {rule.name for rule in JAVASCRIPT} - SEEN.keys() == set()


def test_a_test_may_know_that_it_is_one() -> None:
    assert rules("import test from 'node:test'", "a.test.mjs", is_test=True) == set()


@given(st.text(max_size=120))
def test_no_text_makes_it_fail(text: str) -> None:
    javascript.scan("a.js", text, hooks)
