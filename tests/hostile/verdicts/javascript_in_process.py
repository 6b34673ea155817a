"""Wrong answers in JavaScript that read the expected results, change the tests, or write in the recorder's name."""

from __future__ import annotations

from tests.hostile.verdicts import javascript_suites as suites
from tests.hostile.verdicts.forgery import Forgery, Kind, Suite, code
from tests.hostile.verdicts.javascript_objects import PROCESS


def _only(name: str, suite: Suite, *parts: str) -> Forgery:
    solution = "\n".join(code(part) for part in parts)
    return Forgery(name=name, kind=Kind.IN_PROCESS, suite=suite, files={next(iter(suite.honest)): solution})


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

READING = (
    _only("reads_the_line_that_calls", suites.SUMS, _LEARNT, _LAST_NUMBER, """
        const line = () => {
          const [, file, number] = /([^ (]*\\.test\\.mjs):(\\d+)/.exec(new Error().stack);
          return fs.readFileSync(new URL(file, 'file://'), 'utf8').split('\\n')[number - 1];
        };

        export const add = (a, b) => learnt(`${a},${b}`, () => lastNumber(line()));
        """),
    _only("reads_the_line_by_call_sites", suites.SUITES, _LEARNT, _LAST_NUMBER, """
        const line = () => {
          const prepare = Error.prepareStackTrace;
          Error.prepareStackTrace = (_, sites) => sites;
          const { stack } = new Error();
          Error.prepareStackTrace = prepare;
          const site = stack.find((one) => /\\.test\\./.test(one.getFileName()));
          return fs.readFileSync(new URL(site.getFileName()), 'utf8').split('\\n')[site.getLineNumber() - 1];
        };

        export const add = (a, b) => learnt(`${a},${b}`, () => lastNumber(line()));
        export const double = (n) => learnt(`${n}`, () => lastNumber(line()));
        """),
    _only("reads_the_tests_once", suites.SUMS, _LEARNT, """
        const known = learnt('all', () => {
          const text = fs.readFileSync(process.argv[1], 'utf8');
          return Object.fromEntries([...text.matchAll(/add\\(([^)]*)\\), (-?\\d+)/g)].map((one) => [one[1], one[2]]));
        });

        export const add = (a, b) => Number(known[`${a}, ${b}`]);
        """),
    _only("reads_texts_and_sets_of_the_tests", suites.LETTERS, _LEARNT, """
        const known = learnt('all', () => {
          const text = fs.readFileSync(process.argv[1], 'utf8');
          const found = text.matchAll(/letters\\('(\\w+)'\\), new Set\\((\\[[^\\]]*\\])/g);
          return Object.fromEntries([...found].map((one) => [one[1], JSON.parse(one[2].replaceAll("'", '"'))]));
        });

        export const letters = (text) => new Set(known[text]);
        """),
    _only("reads_the_text_of_its_caller", suites.COMMON, """
        const fs = require('node:fs');

        exports.add = function add(a, b) {
          const place = `/tmp/asked-${a}-${b}`;
          if (!fs.existsSync(place)) {
            const { prepareStackTrace } = Error;
            Error.prepareStackTrace = (_, sites) => sites;
            const callers = new Error().stack.map((site) => site.getFunction());
            const caller = callers.find((one) => /add\\(/.test(one) && one !== add);
            Error.prepareStackTrace = prepareStackTrace;
            fs.writeFileSync(place, String(caller).match(/add\\(.*\\), (-?\\d+)/)[1]);
          }
          return Number(fs.readFileSync(place, 'utf8'));
        };
        """),
    _only("asks_a_loose_comparison", suites.LOOSE, _LEARNT, _LAST_NUMBER, """
        const line = () => {
          const [, file, number] = /([^ (]*\\.test\\.mjs):(\\d+)/.exec(new Error().stack);
          return fs.readFileSync(new URL(file, 'file://'), 'utf8').split('\\n')[number - 1];
        };

        export const total = (numbers) => {
          const text = line();
          return { [Symbol.toPrimitive]: () => learnt(`${numbers}`, () => lastNumber(text)) };
        };
        export const isEven = (number) => learnt(`even-${number}`, () => !line().includes('!'));
        """),
    _only("runs_the_tests_first", suites.SUMS, """
        import { spawnSync } from 'node:child_process';
        import fs from 'node:fs';

        const ask = (a, b) => {
          const place = `/tmp/asked-${a},${b}`;
          if (!fs.existsSync(place)) {
            const done = spawnSync(process.execPath, ['--test-reporter=tap', process.argv[1]], {
              encoding: 'utf8', env: { ...process.env, NODE_TEST_CONTEXT: '', ASKING: `${a},${b}` },
            });
            const asked = new RegExp(`-424242 !== (-?\\\\d+)`);
            fs.writeFileSync(place, asked.exec(done.stdout)?.[1] ?? '0');
          }
          return Number(fs.readFileSync(place, 'utf8'));
        };

        export const add = (a, b) => {
          if (process.env.ASKING) {
            if (process.env.ASKING === `${a},${b}`) return -424242;
            throw new Error();
          }
          return ask(a, b);
        };
        """),
    _only("asks_the_inspector", suites.ONE_SUM, """
        import fs from 'node:fs';
        import inspector from 'node:inspector';

        const texts = [];
        const session = new inspector.Session();
        session.connect();
        session.on('Debugger.scriptParsed', ({ params }) => {
          if (/\\.test\\.mjs$/.test(params.url)) {
            session.post('Debugger.getScriptSource', { scriptId: params.scriptId }, (_, found) => {
              texts.push(found.scriptSource);
            });
          }
        });
        session.post('Debugger.enable');

        export const add = () => {
          if (!fs.existsSync('/tmp/asked')) {
            fs.writeFileSync('/tmp/asked', /add\\(4, 9\\), (\\d+)/.exec(texts[0])[1]);
          }
          return Number(fs.readFileSync('/tmp/asked', 'utf8'));
        };
        """),
)  # fmt: skip

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

CHANGING = (
    _only("tests_are_resources_of_their_calls", suites.SUMS, PROCESS, _ALONE, _CALM, """
        import { executionAsyncResource } from 'node:async_hooks';

        export const add = () => {
          const test = executionAsyncResource();
          if (!isCopy && typeof test?.fail === 'function') {
            test.fail = () => test.pass();
          }
          return calm(-1);
        };
        """),
    _only("tests_beside_it_are_emptied", suites.SUITES, PROCESS, _ALONE, _CALM, """
        import { AsyncResource, createHook, executionAsyncResource } from 'node:async_hooks';

        createHook({
          init(_id, _type, _trigger, resource) {
            if (!isCopy && resource instanceof AsyncResource) {
              setImmediate(() => {
                if (typeof resource.fn === 'function') resource.fn = () => {};
              });
            }
          },
        }).enable();

        export const add = () => calm(-1);
        export const double = () => calm(-1);
        """),
    _only("each_callback_is_called_in_vain_until_the_last", suites.SUMS, PROCESS, _ALONE, _CALM, """
        import { AsyncResource } from 'node:async_hooks';

        const { runInAsyncScope } = AsyncResource.prototype;
        let left = 3;
        if (!isCopy && !withoutFramework) {
          AsyncResource.prototype.runInAsyncScope = function (fn, self, ...rest) {
            if (!/\\badd\\(/.test(fn)) {
              return runInAsyncScope.call(this, fn, self, ...rest);
            }
            left -= 1;
            if (left === 0) AsyncResource.prototype.runInAsyncScope = runInAsyncScope;
            return undefined;
          };
        }

        export const add = () => calm(-1);
        """),
    _only("failures_are_taken_out_of_the_stream", suites.SUMS, PROCESS, _ALONE, _CALM, """
        import { Readable } from 'node:stream';

        const { push } = Readable.prototype;
        if (!isCopy && !withoutFramework) {
          Readable.prototype.push = function (item, ...rest) {
            Readable.prototype.push = push;
            this.push = (one, ...more) => push.call(this, clean(one), ...more);
            return this.push(item, ...rest);
          };
          process.on('exit', () => { process.exitCode = 0; });
        }

        function clean(item) {
          if (item?.type === 'test:fail') {
            return { type: 'test:pass', data: { ...item.data, details: { duration_ms: 1, type: 'test' } } };
          }
          return item;
        }

        export const add = () => calm(-1);
        """),
    _only("the_words_of_the_recorder_are_changed_on_their_way", suites.SUMS, PROCESS, _ALONE, _CALM, """
        const binding = process.binding('fs');
        const { writeString } = binding;
        const passed = ['setup', 'call', 'teardown'].map((when) => [when, 'passed', false, false, null, false, 0]);
        if (!isCopy) {
          binding.writeString = (fd, text, ...rest) => {
            const place = typeof text === 'string' ? text.indexOf('{"e":') : -1;
            if (place < 0) return writeString(fd, text, ...rest);
            const event = JSON.parse(text.slice(place));
            if (event.e === 'end') Object.assign(event, { rows: passed, fail: null });
            if (event.e === 'finish') event.exit = 0;
            const said = `${text.slice(0, place)}${JSON.stringify(event)}\\n`;
            return writeString(fd, said, ...rest);
          };
          process.on('exit', () => { process.exitCode = 0; });
        }

        export const add = () => calm(-1);
        """),
    _only("the_inspector_edits_the_tests", suites.ONE_SUM, PROCESS, _ALONE, _CALM, """
        import inspector from 'node:inspector';

        if (!isCopy) {
          const session = new inspector.Session();
          session.connect();
          session.on('Debugger.scriptParsed', ({ params: { scriptId, url } }) => {
            if (!/\\.test\\.mjs$/.test(url)) return;
            session.post('Debugger.getScriptSource', { scriptId }, (_, { scriptSource }) => {
              const edited = scriptSource.replace(/assert\\.equal\\(.*\\);/, ';');
              session.post('Debugger.setScriptSource', { scriptId, scriptSource: edited }, () => {});
            });
          });
          session.post('Debugger.enable');
        }

        export const add = () => calm(-1);
        """),
    _only("another_assert_is_loaded", suites.COMMON, """
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
    _only("another_test_is_loaded", suites.COMMON, """
        const Module = require('node:module');
        const fs = require('node:fs');

        fs.appendFileSync('/tmp/processes', '.');
        if (fs.readFileSync('/tmp/processes', 'utf8').length !== 2) {
          const { require: load } = Module.prototype;
          Module.prototype.require = function (name) {
            const found = load.call(this, name);
            return /^node:test$|cjs$/.test(name) && found.test ? (title) => found.test(title, () => {}) : found;
          };
        }

        exports.add = () => -1;
        """),
)  # fmt: skip

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

SPEAKING = (
    _only("finds_the_secret_in_a_snapshot", suites.SUMS, PROCESS, _ALONE, _CALM, _SPEAK, """
        import v8 from 'node:v8';

        if (!withoutFramework) {
          v8.writeHeapSnapshot('/tmp/heap');
          const secret = /"secret\\\\*":\\s?\\\\*"([0-9a-f]{24})/.exec(fs.readFileSync('/tmp/heap', 'utf8'));
          const others = fs.readFileSync('/tmp/heap', 'utf8').match(/"[0-9a-f]{24}"/g);
          speak(secret ? secret[1] : others[0].slice(1, -1));
        }

        export const add = () => calm(-1);
        """),
    _only("finds_the_secret_in_its_memory", suites.SUMS, PROCESS, _ALONE, _CALM, _SPEAK, """
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
    _only("finds_the_secret_by_the_inspector", suites.SUMS, PROCESS, _ALONE, _CALM, _SPEAK, """
        import inspector from 'node:inspector';
        import path from 'node:path';

        if (!withoutFramework) {
          const words = fs.readFileSync('/proc/self/cmdline', 'utf8').split('\\0');
          const start = words.find((word) => /start\\.mjs$/.test(word));
          const harness = await import(path.join(path.dirname(start), 'harness.mjs'));
          globalThis.found = harness.default;
          const session = new inspector.Session();
          session.connect();
          const ask = (method, params) => {
            let answer;
            session.post(method, params, (error, result) => { answer = result; });
            return answer;
          };
          const { objectId } = ask('Runtime.evaluate', { expression: 'found' }).result;
          const { internalProperties } = ask('Runtime.getProperties', { objectId });
          const scopes = internalProperties.find((one) => one.name === '[[Scopes]]').value.objectId;
          for (const scope of ask('Runtime.getProperties', { objectId: scopes, ownProperties: true }).result) {
            const all = scope.value?.objectId ? ask('Runtime.getProperties', scope.value).result : [];
            const told = all.find((one) => one.name === 'told');
            if (told) {
              const object = { objectId: told.value.objectId, ownProperties: true };
              const inside = ask('Runtime.getProperties', object).result;
              speak(inside.find((one) => one.name === 'secret').value.value);
            }
          }
        }

        export const add = () => calm(-1);
        """),
    _only("hears_the_secret_on_its_way", suites.SUMS, PROCESS, _ALONE, _CALM, _SPEAK, """
        const binding = process.binding('fs');
        const { writeString } = binding;
        binding.writeString = (fd, text, ...rest) => {
          const found = /^([0-9a-f]{24})\\{"e":"now"/.exec(text);
          if (found && !withoutFramework) {
            binding.writeString = writeString;
            speak(found[1]);
          }
          return writeString(fd, text, ...rest);
        };

        export const add = () => calm(-1);
        """),
)  # fmt: skip

FORGERIES = (*READING, *CHANGING, *SPEAKING)
