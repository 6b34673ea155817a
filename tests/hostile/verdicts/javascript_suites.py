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
ONE_SUM = _suite("one_sum", "add", "test('add', () => {\n  assert.equal(add(4, 9), 13);\n});\n", ADD)
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
SUITES = _suite(
    "suites",
    "add, double",
    """
    describe('add', () => {
      it('adds small numbers', () => {
        assert.equal(add(2, 3), 5);
      });

      it('adds negative numbers', () => {
        assert.equal(add(-4, -9), -13);
      });

      it('adds nothing', () => {
        assert.deepEqual({ sum: add(7, 0) }, { sum: 7 });
      });
    });

    describe('double', () => {
      it('doubles', () => {
        assert.equal(double(21), 42);
      });

      it('doubles nothing', () => {
        assert.equal(double(0), 0);
      });
    });
    """,
    "export const add = (a, b) => a + b;\nexport const double = (n) => 2 * n;\n",
    head="import { describe, it } from 'node:test';\nimport assert from 'node:assert/strict';\n",
)
TEXTS = _suite(
    "texts",
    "slug",
    """
    test('words', () => {
      assert.equal(slug('Hello Big World'), 'hello-big-world');
    });

    test('spaces', () => {
      assert.equal(slug('  a  b '), 'a-b');
    });

    test('pattern', () => {
      assert.match(slug('An Owl'), /^an-owl$/);
    });
    """,
    "export const slug = (text) => text.trim().toLowerCase().split(/\\s+/).join('-');\n",
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
COUNTS = _suite(
    "counts",
    "count",
    """
    test('words', () => {
      assert.deepEqual(count(['a', 'b', 'a']), new Map([['a', 2], ['b', 1]]));
    });

    test('one', () => {
      assert.deepEqual(count(['x']), new Map([['x', 1]]));
    });
    """,
    """
    export const count = (words) => {
      const found = new Map();
      for (const word of words) {
        found.set(word, (found.get(word) ?? 0) + 1);
      }
      return found;
    };
    """,
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
MEMBERS = _suite(
    "members",
    "divisors, slug",
    """
    test('numbers', () => {
      assert.ok(divisors(12).includes(3));
      assert.ok(divisors(7).includes(7));
    });

    test('every', () => {
      assert.ok(divisors(8).every((n) => 8 % n === 0));
      assert.ok(divisors(8).some((n) => n === 4));
    });

    test('texts', () => {
      assert.ok(slug('Hello World').startsWith('hello'));
      assert.ok(/^[a-z-]+$/.test(slug('An Owl')));
    });
    """,
    """
    export const divisors = (number) => Array.from({ length: number }, (_, i) => i + 1).filter((n) => number % n === 0);
    export const slug = (text) => text.toLowerCase().split(' ').join('-');
    """,
)
HALVES = _suite(
    "halves",
    "half",
    """
    test('half', () => {
      assert.ok(Math.abs(half(3) - 1.5) < 1e-9);
    });

    test('below', () => {
      assert.ok(Math.abs(half(-1) + 0.5) < 1e-9);
    });

    test('whole', () => {
      assert.ok(Number.isInteger(half(8)));
    });
    """,
    "export const half = (number) => number / 2;\n",
)
SAME = _suite(
    "same",
    "pair, sort",
    """
    test('pair', () => {
      assert.ok(isDeepStrictEqual(pair(1, 2), { first: 1, second: 2 }));
    });

    test('zero', () => {
      assert.ok(Object.is(pair(3, 4).second, 4));
    });

    test('bytes', () => {
      assert.equal(Buffer.compare(sort(Buffer.from([3, 1, 2])), Buffer.from([1, 2, 3])), 0);
    });
    """,
    """
    export const pair = (first, second) => ({ first, second });
    export const sort = (bytes) => Buffer.from([...bytes].sort((a, b) => a - b));
    """,
    head=f"{_STRICT}import {{ isDeepStrictEqual }} from 'node:util';\n",
)
KINDS = _suite(
    "kinds",
    "Money, MoneyError, parse",
    """
    test('kind', () => {
      assert.ok(parse('12.50') instanceof Money);
    });

    test('value', () => {
      assert.equal(parse('12.50').cents, 1250);
    });

    test('error', () => {
      assert.throws(() => parse('much'), MoneyError);
    });
    """,
    """
    export class MoneyError extends Error {}

    export class Money {
      constructor(cents) {
        this.cents = cents;
      }
    }

    export const parse = (text) => {
      if (!/^\\d+\\.\\d\\d$/.test(text)) {
        throw new MoneyError(text);
      }
      return new Money(Number(text.replace('.', '')));
    };
    """,
)
LOOSE = _suite(
    "loose",
    "total, isEven",
    """
    test('total', () => {
      assert.equal(total([1, 2]), 3);
      assert.equal(total([5]), 5);
    });

    test('even', () => {
      assert.ok(isEven(4));
      assert.ok(!isEven(7));
    });
    """,
    """
    export const total = (numbers) => numbers.reduce((a, b) => a + b, 0);
    export const isEven = (number) => number % 2 === 0;
    """,
    head="import test from 'node:test';\nimport assert from 'node:assert';\n",
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
