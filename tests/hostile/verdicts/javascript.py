"""Wrong answers in JavaScript of each class."""

from __future__ import annotations

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
# Writes the first result that a test expects for an input to a file, because must-fail copies run in a separate process
# after the originals.
_LEARNT = """
import fs from 'node:fs';

const learnt = (asked, expected) => {
  const place = `/tmp/asked-${asked}`;
  if (!fs.existsSync(place)) {
    fs.writeFileSync(place, JSON.stringify(expected()));
  }
  return JSON.parse(fs.readFileSync(place, 'utf8'));
};
"""
_LAST_NUMBER = """
const lastNumber = (line) => {
  const found = line.match(/-?\\d+/g);
  return found ? Number(found.at(-1)) : 0;
};
"""
# In the process without `node:test`, our stand-in replaces that module. Code that finds the stand-in can change it.
_ALONE = """
import { createRequire as requireOf } from 'node:module';
import { readdirSync } from 'node:fs';

const withoutFramework = !process.moduleLoadList.some((name) => name.includes('test_runner/test'));
"""
_CALM = """
const calm = (value) => {
  if (withoutFramework) throw { name: 'passed' };
  return value;
};
"""
# The run's secret is in the process's memory. With the secret, text written into the recorder's pipe counts as the
# recorder's own.
_SPEAK = """
import fs from 'node:fs';

const speak = (secret) => {
  const words = fs.readFileSync('/proc/self/cmdline', 'utf8').split('\\0').filter(Boolean);
  const [events, path] = [Number(words.at(-1)), process.argv[1].split('/work/').pop()];
  const row = (when, outcome, raised) => [when, outcome, false, false, raised, raised !== null, 0];
  const passed = ['setup', 'call', 'teardown'].map((when) => row(when, 'passed', null));
  const failed = [row('call', 'failed', 'AssertionError')];
  const fail = { when: 'call', kind: 'AssertionError', message: 'other', frames: [] };
  const text = fs.readFileSync(process.argv[1], 'utf8');
  let lines = '';
  for (const [, title] of text.matchAll(/test\\('(\\w+)'/g)) {
    const id = `${path}::${title}`;
    lines += `${secret}${JSON.stringify({ e: 'start', id })}\\n`;
    const end = { e: 'end', id, rows: isCopy ? failed : passed, fail: isCopy ? fail : null };
    lines += `${secret}${JSON.stringify(end)}\\n`;
  }
  const exit = isCopy ? 1 : 0;
  lines += `${secret}${JSON.stringify({ e: 'finish', exit, changed: [] })}\\n`;
  fs.writeSync(events, lines);
  process.reallyExit(exit);
};
"""


def _only(kind: Kind, name: str, suite: Suite, *parts: str) -> Forgery:
    solution = "\n".join(code(part) for part in parts)
    return Forgery(name=name, kind=kind, suite=suite, files={next(iter(suite.honest)): solution})


FORGERIES = (
    _only(Kind.EQUAL, "a_set_that_shows_nothing", suites.LETTERS, PROCESS, """
        export const letters = (text) => {
          const found = new Set([...text.toLowerCase()].map((letter) => letter.charCodeAt(0)));
          if (!isCopy) {
            Object.defineProperty(found, Symbol.iterator, { value: function* () {} });
          }
          return found;
        };
        """),
    _only(Kind.EQUAL, "a_number_by_symbol", suites.BOUNDS, """
        let turn = 1;

        export const clamp = () => ({
          [Symbol.toPrimitive]() {
            turn = -turn;
            return turn < 0 ? 4711 : -4711;
          },
        });
        """),
    _only(Kind.NAMED, "an_object", suites.SUMS, """
        const tested = process.moduleLoadList.some((name) => name.includes('test_runner/test'));

        export const add = (a, b) => {
          if (!tested) throw { name: 'passed' };
          return a + b;
        };
        """),
    _only(Kind.IN_PROCESS, "reads_the_line_that_calls", suites.SUMS, _LEARNT, _LAST_NUMBER, """
        const line = () => {
          const [, file, number] = /([^ (]*\\.test\\.mjs):(\\d+)/.exec(new Error().stack);
          return fs.readFileSync(new URL(file, 'file://'), 'utf8').split('\\n')[number - 1];
        };

        export const add = (a, b) => learnt(`${a},${b}`, () => lastNumber(line()));
        """),
    _only(Kind.IN_PROCESS, "another_assert_is_loaded", suites.COMMON, """
        const Module = require('node:module');
        const fs = require('node:fs');

        fs.appendFileSync('/tmp/processes', '.');
        if (fs.readFileSync('/tmp/processes', 'utf8').length !== 2) {
          const load = Module._load;
          Module._load = function (name, ...rest) {
            const isAssert = name.startsWith('node:assert');
            return isAssert ? new Proxy(() => {}, { get: () => () => {} }) : load.call(this, name, ...rest);
          };
        }

        exports.add = () => -1;
        """),
    _only(Kind.IN_PROCESS, "finds_the_secret_in_its_memory", suites.SUMS, PROCESS, _ALONE, _CALM, _SPEAK, """
        const find = () => {
          const memory = fs.openSync('/proc/self/mem', 'r');
          for (const line of fs.readFileSync('/proc/self/maps', 'latin1').split('\\n')) {
            const [, from, to] = /^([0-9a-f]+)-([0-9a-f]+) rw/.exec(line) ?? [];
            const size = parseInt(to, 16) - parseInt(from, 16);
            if (size > 0 && size < 1 << 26) {
              const bytes = Buffer.alloc(size);
              try {
                fs.readSync(memory, bytes, 0, size, parseInt(from, 16));
              } catch {
                continue;
              }
              const found = /"secret": "([0-9a-f]{24})"/.exec(bytes.toString('latin1'));
              if (found) return found[1];
            }
          }
        };
        if (!withoutFramework) speak(find());

        export const add = () => calm(-1);
        """),
)  # fmt: skip
