"""Suites of JavaScript tests that the owner supplies, in common styles, each with its honest answer."""

from __future__ import annotations

from nightshift.core.tasks.task import Language
from tests.hostile.verdicts.forgery import Suite, code

_STRICT = "import test from 'node:test';\nimport assert from 'node:assert/strict';\n"


def _suite(name: str, imported: str, tests: str, honest: str, *, head: str = _STRICT) -> Suite:
    text = f"{head}import {{ {imported} }} from '../solution.mjs';\n\n{code(tests)}"
    return Suite(
        name=name,
        given={"test/given.test.mjs": text},
        honest={"solution.mjs": code(honest)},
        words=f"Write {imported} in solution.mjs.",
        language=Language.JAVASCRIPT,
    )


ADD = "export const add = (a, b) => a + b;\n"
SUMS = _suite(
    "sums",
    "add",
    """
    test('small', () => {
      assert.equal(add(2, 3), 5);
    });

    test('below', () => {
      assert.equal(add(-1, 1), 0);
    });

    test('large', () => {
      assert.equal(add(10, 20), 30);
    });
    """,
    ADD,
)
AWAITED = _suite(
    "awaited",
    "add",
    """
    test('small', async () => {
      assert.strictEqual(await add(2, 3), 5);
    });

    test('large', async () => {
      assert.deepEqual([await add(10, 20)], [30]);
    });
    """,
    "export const add = async (a, b) => a + b;\n",
)
LETTERS = _suite(
    "letters",
    "letters",
    """
    test('word', () => {
      assert.deepEqual(letters('hello'), new Set(['h', 'e', 'l', 'o']));
    });

    test('capitals', () => {
      assert.deepEqual(letters('AB'), new Set(['a', 'b']));
    });
    """,
    "export const letters = (text) => new Set(text.toLowerCase());\n",
)
BOUNDS = _suite(
    "bounds",
    "clamp",
    """
    test('between', () => {
      const found = clamp(50, 0, 10);
      assert.ok(found >= 10);
      assert.ok(found <= 10);
    });

    test('below', () => {
      const found = clamp(-50, 0, 10);
      assert.ok(found >= 0);
      assert.ok(found <= 0);
    });
    """,
    "export const clamp = (value, low, high) => Math.max(low, Math.min(value, high));\n",
)
COMMON = Suite(
    name="common",
    given={
        "test/given.test.cjs": code(
            """
            const { add } = require('../solution.cjs');
            const test = require('node:test');
            const assert = require('node:assert/strict');

            test('small', () => {
              assert.equal(add(2, 3), 5);
            });

            test('large', () => {
              assert.equal(add(10, 20), 30);
            });
            """
        )
    },
    honest={"solution.cjs": "exports.add = (a, b) => a + b;\n"},
    words="Write add in solution.cjs.",
    language=Language.JAVASCRIPT,
)

JAVASCRIPT_SUITES = tuple(suite for suite in globals().values() if isinstance(suite, Suite))
