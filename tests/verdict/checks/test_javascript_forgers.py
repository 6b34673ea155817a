"""Ways in which an answer in JavaScript forges a pass: each gives a finding, however it is spelt."""

from __future__ import annotations

import pytest

from nightshift.verdict.checks import javascript
from tests.support.checking import hooks

SEEN = {
    "js.odd-throw": ["import assert from 'node:assert'; throw new assert.AssertionError({})"],
    "js.native": [
        "const { binding } = process; binding('fs')",
        "const { ['bind' + 'ing']: b } = process; b('fs')",
        "Reflect.get(process, 'binding')('fs')",
        "const v8 = process.getBuiltinModule('node:v8'); v8.setFlagsFromString('--x')",
        "import { startupSnapshot } from 'node:v8'",
        "process.stdout._handle.close()",
        "import 'node:wasi'",
    ],
    "js.frames": [
        "const s = new Error().stack",
        "try { f() } catch (e) { e.stack.split('\\n') }",
        "const o = {}; Error.captureStackTrace(o)",
        "import { getCallSites as g } from 'node:util'; g()",
        "require.main.children",
    ],
    "js.call-site": ["Error.captureStackTrace(err)"],
    "js.hooks": [
        "import { registerHooks } from 'node:module'; registerHooks({})",
        "require('module')._load = f",
        "const M = require('module'); M._extensions['.js'] = f",
        "import { createHook } from 'node:async_hooks'; createHook({})",
        "process.removeAllListeners('exit')",
    ],
    "js.beside": ["process.on('exit', f)", "process.exitCode = 0", "new FinalizationRegistry(f)", "setInterval(f, 1)"],
    "js.swap": [
        "Array.prototype['ma' + 'p'] = f",
        "Object.defineProperty(Array.prototype, 'map', { value: f })",
        "Object.assign(Object.prototype, { x: 1 })",
        "[].__proto__.map = f",
        "''.constructor.prototype.trim = f",
        "Promise = f",
        "import fs from 'node:fs'; fs.readFileSync = f",
        "import assert from 'node:assert'; for (const k of Object.keys(assert)) assert[k] = f",
    ],
    "js.patching": ["export const patch = (C) => { C.prototype.map = f; }", "o.__proto__ = p"],
    "js.hidden-name": [
        "process[name]('fs')",
        "f['const' + 'ructor']('x')",
        "o[String.fromCharCode(120)]",
        "const k = Buffer.from('eA==', 'base64').toString(); o[k]",
        "Object.getOwnPropertyDescriptor(process, 'binding').value('fs')",
    ],
    "js.dynamic-name": ["globalThis[name]", "import fs from 'fs'; fs[name](p)"],
    "js.test-files": ["import fs from 'fs'; fs.readFileSync('test/a.test.mjs')", "import './test/a.test.mjs'"],
    "js.own-sources": ["import fs from 'fs'; fs.readdirSync('.')", "import fs from 'fs'; fs.readFileSync(__filename)"],
    "js.process-files": [
        "import fs from 'fs'; fs.openSync('/proc/self/mem', 'r+')",
        "import fs from 'fs'; fs.readFileSync(`/proc/${process.ppid}/cmdline`)",
        "import fs from 'fs'; fs.writeFileSync('/dev/fd/3', 'x')",
    ],
    "js.descriptors": [
        "import fs from 'fs'; for (let fd = 3; fd < 99; fd++) fs.writeSync(fd, 'x')",
        "import fs from 'fs'; fs.createWriteStream(null, { fd: 4 })",
        "import net from 'net'; new net.Socket({ fd: 3 })",
    ],
    "js.some-descriptor": ["import fs from 'fs'; [3, 4].forEach((fd) => fs.writeSync(fd, 'x'))"],
    "js.eval": ["import('data:text/javascript,x')"],
}
NOTHING_SPECIAL = [
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


def rules(text: str, path: str = "a.mjs", *, is_test: bool = False) -> set[str]:
    return {seen.rule for seen in javascript.scan(path, text, hooks, is_test=is_test)}


@pytest.mark.parametrize(("rule", "text"), [(rule, text) for rule, texts in SEEN.items() for text in texts])
def test_a_forger_gets_a_finding(rule: str, text: str) -> None:
    assert rule in rules(text)


@pytest.mark.parametrize("text", NOTHING_SPECIAL)
def test_what_only_looks_alike_gets_none(text: str) -> None:
    assert rules(text) == set()


def test_tests_may_read_what_lies_beside_them() -> None:
    assert rules("import fs from 'fs'; fs.readFileSync('test/data.json')", "test/a.test.mjs", is_test=True) == set()
