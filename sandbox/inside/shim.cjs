// A stand-in for node:test, for code that behaves only while it is being tested: calls the tests of one file in turn.

"use strict";

const JOINED = " > ";
const root = { path: "", tests: [], hooks: hooks(), options: {} };
const results = [];
let current = root;

function hooks() {
  return { before: [], after: [], beforeEach: [], afterEach: [] };
}

function read(given) {
  const [name, options, callback] = [...given];
  const last = given[given.length - 1];
  return {
    name: typeof name === "string" ? name : "",
    options: typeof name === "object" ? name : typeof options === "object" && options !== null ? options : {},
    callback: typeof last === "function" ? last : callback,
  };
}

function add(kind, given, extra) {
  const made = read(given);
  const owner = current;
  const title = made.name.replaceAll("[", "\u27e6");
  const plain = owner.path ? `${owner.path}${JOINED}${title}` : title;
  const count = results.filter((one) => one.plain === plain).length + 1;
  const entry = { plain, path: count === 1 ? plain : `${plain} #${count}`, kind, owner, tests: [], hooks: hooks() };
  results.push(entry);
  entry.callback = made.callback;
  entry.options = { ...made.options, ...extra };
  owner.tests.push(entry);
  if (kind === "suite" && entry.callback && !entry.options.skip) {
    current = entry;
    try {
      entry.callback({ name: made.name });
    } catch (error) {
      entry.broken = error;
    } finally {
      current = owner;
    }
  }
  return entry;
}

function maker(kind) {
  const make = (...given) => void add(kind, given, {});
  make.skip = (...given) => void add(kind, given, { skip: true });
  make.todo = (...given) => void add(kind, given, { todo: true });
  make.only = make;
  return make;
}

async function each(owner, name, context) {
  const chain = [];
  for (let scope = owner; scope; scope = scope.owner) {
    chain.unshift(scope);
  }
  for (const scope of name === "afterEach" ? chain.reverse() : chain) {
    for (const hook of scope.hooks[name]) {
      await invoke(hook, context);
    }
  }
}

async function invoke(callback, context) {
  if (callback.length > 1) {
    await new Promise((resolve, reject) => {
      callback.call(context, context, (error) => (error ? reject(error) : resolve()));
    });
  } else {
    await callback.call(context, context);
  }
}

async function runTest(entry) {
  if (entry.options.skip || entry.options.todo || !entry.callback) {
    entry.result = "skipped";
    return;
  }
  const inner = [];
  const context = {
    name: entry.path,
    signal: new AbortController().signal,
    diagnostic() {},
    before: (hook) => entry.hooks.before.push(hook),
    after: (hook) => entry.hooks.after.push(hook),
    beforeEach: (hook) => entry.hooks.beforeEach.push(hook),
    afterEach: (hook) => entry.hooks.afterEach.push(hook),
    test: async (...given) => {
      const before = current;
      current = entry;
      const made = add("test", given, {});
      current = before;
      inner.push(made);
      await runTest(made);
    },
  };
  try {
    await each(entry.owner, "beforeEach", context);
    await invoke(entry.callback, context);
    await each(entry.owner, "afterEach", context);
    for (const hook of entry.hooks.after) {
      await invoke(hook, context);
    }
    entry.result = inner.some((one) => one.result !== "passed") ? "subtest failed" : "passed";
  } catch (error) {
    entry.result = String(error?.name ?? "Error");
  }
}

async function runAll(scope) {
  if (scope.broken) {
    throw scope.broken;
  }
  for (const hook of scope.hooks.before) {
    await invoke(hook, {});
  }
  for (const entry of scope.tests) {
    if (entry.kind === "suite") {
      await runAll(entry).catch((error) => {
        entry.result = String(error?.name ?? "Error");
      });
    } else {
      await runTest(entry);
    }
  }
  for (const hook of scope.hooks.after) {
    await invoke(hook, {});
  }
}

const test = maker("test");
// Written out one by one, so that `import { describe } from` finds them.
exports.test = test;
exports.it = test;
exports.describe = maker("suite");
exports.suite = exports.describe;
exports.before = (hook) => void current.hooks.before.push(hook);
exports.after = (hook) => void current.hooks.after.push(hook);
exports.beforeEach = (hook) => void current.hooks.beforeEach.push(hook);
exports.afterEach = (hook) => void current.hooks.afterEach.push(hook);

/** Run what was added; resolves to pairs of name and result. */
async function finish() {
  await runAll(root);
  return results.filter((one) => one.kind === "test").map((one) => [one.path, one.result ?? "missing"]);
}

module.exports = Object.assign(test, exports, { finish });
