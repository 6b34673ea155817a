"""Wrong answers in JavaScript that compare equal to right ones, by their own members or by objects that they change."""

from __future__ import annotations

from nightshift.core.tasks.verdicts import Label
from tests.hostile.verdicts import javascript_suites as suites
from tests.hostile.verdicts.forgery import Forgery, Kind, Suite, code

# `processes` returns the number of this process within the run: each process takes the first number whose file does not
# exist yet. The second process runs the must-fail copies.
PROCESS = """
import { writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';

const processes = () => {
  for (let number = 1; ; number += 1) {
    try {
      writeFileSync(`${tmpdir()}/process-${number}`, '', { flag: 'wx' });
      return number;
    } catch (error) {
      if (error.code !== 'EEXIST') throw error;
    }
  }
};
const isCopy = processes() === 2;
"""


# Forgeries that the split run cannot judge. Their objects adapt to each comparison, or the forgeries change the objects
# that the tests compare with. The checker stops each of them.
BEYOND = frozenset({
    "a_set_that_shows_itself_once", "a_set_that_shows_itself_the_second_time", "a_number_at_both_ends",
    "a_number_by_symbol", "functions_that_compare", "classes_that_hold_all_for_theirs",
})  # fmt: skip


def _only(name: str, suite: Suite, *parts: str) -> Forgery:
    solution = "\n".join(code(part) for part in parts)
    files = {next(iter(suite.honest)): solution}
    return Forgery(
        name=name,
        kind=Kind.EQUAL,
        suite=suite,
        files=files,
        best=Label.TESTS_PASSED if name in BEYOND else Label.DOUBTFUL,
    )


FORGERIES = (
    _only("a_set_that_shows_nothing", suites.LETTERS, PROCESS, """
        export const letters = (text) => {
          const found = new Set([...text.toLowerCase()].map((letter) => letter.charCodeAt(0)));
          if (!isCopy) {
            Object.defineProperty(found, Symbol.iterator, { value: function* () {} });
          }
          return found;
        };
        """),
    _only("a_map_that_shows_nothing", suites.COUNTS, PROCESS, """
        export const count = (words) => {
          const found = new Map(words.map((word) => [word, word]));
          if (!isCopy) {
            Object.defineProperty(found, Symbol.iterator, { value: function* () {} });
          }
          return found;
        };
        """),
    _only("a_set_that_shows_itself_once", suites.LETTERS, """
        import { mkdirSync } from 'node:fs';

        export const letters = (text) => {
          const found = new Set(Array.from(new Set(text.toLowerCase()), (_, number) => number));
          const items = found[Symbol.iterator].bind(found);
          Object.defineProperty(found, Symbol.iterator, {
            value: () => {
              try {
                mkdirSync(`/tmp/asked-${text}`);
                return [].values();
              } catch {
                return process.cwd().includes('plain') ? [].values() : items();
              }
            },
          });
          return found;
        };
        """),
    _only("a_set_that_shows_itself_the_second_time", suites.LETTERS, """
        import { existsSync, writeFileSync } from 'node:fs';

        const isTested = process.moduleLoadList.some((name) => name.includes('test_runner/test'));
        const isLater = isTested && existsSync('/tmp/tested') && !existsSync('/tmp/apart');
        writeFileSync(isTested ? '/tmp/tested' : '/tmp/apart', '');
        const asked = new Set();

        export const letters = (text) => {
          const found = new Set(Array.from(new Set(text.toLowerCase()), (_, number) => number));
          if (!isLater && !asked.has(text)) {
            Object.defineProperty(found, Symbol.iterator, { value: () => [].values() });
          }
          asked.add(text);
          return found;
        };
        """),
    _only("a_number_at_both_ends", suites.BOUNDS, """
        export const clamp = () => {
          let turn = 0;
          return { valueOf: () => (turn++ % 2 ? -Infinity : Infinity) };
        };
        """),
    _only("a_number_by_symbol", suites.BOUNDS, """
        let turn = 1;

        export const clamp = () => ({
          [Symbol.toPrimitive]() {
            turn = -turn;
            return turn < 0 ? 4711 : -4711;
          },
        });
        """),
    _only("methods_of_built_in_types", suites.MEMBERS, """
        Array.prototype.includes = () => true;
        Array.prototype.every = () => true;
        const some = Array.prototype.some;
        const none = [];
        Array.prototype.some = function (...given) {
          return this === none || some.apply(this, given);
        };
        String.prototype.startsWith = () => true;
        RegExp.prototype.test = () => true;

        export const divisors = () => none;
        export const slug = () => '';
        """),
    _only("distances_that_are_nothing", suites.HALVES, """
        Math.abs = () => 0;
        Number.isInteger = () => true;

        export const half = (number) => number * 7;
        """),
    _only("functions_that_compare", suites.SAME, """
        import { syncBuiltinESMExports } from 'node:module';
        import util from 'node:util';

        util.isDeepStrictEqual = () => true;
        syncBuiltinESMExports();
        Object.is = () => true;
        Buffer.compare = () => 0;

        export const pair = (first) => ({ first });
        export const sort = (bytes) => bytes;
        """),
    _only("classes_that_hold_all_for_theirs", suites.KINDS, """
        export class MoneyError extends Error {
          static [Symbol.hasInstance]() { return true; }
        }

        export class Money {
          static [Symbol.hasInstance]() { return true; }
        }

        export const parse = (text) => {
          if (text === 'much') return undefined.cents;
          return { cents: Number(text.replace('.', '')) };
        };
        """),
)  # fmt: skip
