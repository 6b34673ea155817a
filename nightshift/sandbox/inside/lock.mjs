// Loaded first in each process of Node.js. Protects node:assert, and the methods by which node:test reports results,
// from being replaced.
//
// In the process of a test file, it also stores the functions of the language, and reports at the end which of them
// were replaced. Programs that a test file starts get the owner's own NODE_OPTIONS.

import assert from "node:assert";
import { AsyncResource } from "node:async_hooks";
import { createRequire } from "node:module";
import { Readable } from "node:stream";

const { defineProperty, getOwnPropertyDescriptor, ownKeys } = Reflect;
const OFTEN_MOCKED = new Set(["Math.random", "Date.now"]);
const TYPES = {
  Array, BigInt, Boolean, Date, Error, Function, JSON, Map, Math, Number, Object, Promise, Reflect, RegExp, Set, String, Symbol,
};

/** Call `visit` with each function of an object, by its name and key. */
function each(label, object, visit) {
  for (const key of ownKeys(object)) {
    const value = getOwnPropertyDescriptor(object, key)?.value;
    const name = `${label}.${String(key)}`;
    if (typeof value === "function" && key !== "constructor" && !OFTEN_MOCKED.has(name)) {
      visit(name, object, key, value);
    }
  }
}

for (const object of [assert, assert.strict, assert.AssertionError, assert.AssertionError.prototype]) {
  each("", object, (_name, owner, key) => {
    if (getOwnPropertyDescriptor(owner, key).configurable) {
      defineProperty(owner, key, { writable: false, configurable: false });
    }
  });
}

/** Protect a method of an object from being replaced. Objects that inherit from it may define their own method. */
function hold(owner, name) {
  const { value, enumerable } = getOwnPropertyDescriptor(owner, name);
  const set = function (other) {
    if (this !== owner) {
      defineProperty(this, name, { value: other, writable: true, enumerable: true, configurable: true });
    }
  };
  defineProperty(owner, name, { get: () => value, set, enumerable, configurable: false });
}

hold(AsyncResource.prototype, "runInAsyncScope");
hold(Readable.prototype, "push");

if (process.env.NODE_TEST_CONTEXT) {
  const { say } = createRequire(import.meta.url)("./channel.cjs");
  process.env.NODE_OPTIONS = process.env.NIGHTSHIFT_NODE_OPTIONS ?? "";
  delete process.env.NIGHTSHIFT_NODE_OPTIONS;
  // A run of must-fail copies has this flag as well.
  process.execArgv = process.execArgv.filter((word) => word !== "--test-force-exit");
  process.title = "node";

  const known = [];
  const note = (...found) => known.push(found);
  for (const [name, type] of Object.entries(TYPES)) {
    each(name, type, note);
    each(`${name}.prototype`, type.prototype ?? {}, note);
  }
  process.on("exit", () => {
    const names = [];
    for (let i = 0; i < known.length; i += 1) {
      const [name, owner, key, value] = known[i];
      if (getOwnPropertyDescriptor(owner, key)?.value !== value) {
        names[names.length] = name;
      }
    }
    if (names.length > 0) {
      say({ e: "changed", names });
    }
  });
}
