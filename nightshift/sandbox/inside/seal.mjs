// Notices when tested code changes node:test, node:assert or what they stand on, and keeps the first two from it.
//
// Tests may well replace parts of `process`, of `fs` or of other modules; nothing here rests on them.
//
// The functions of node:assert and node:test cannot be replaced from here on; others can be added beside them. Two on
// which every result rests cannot be either; what else both are built on is remembered, and compared at each event of a
// test. This is one layer of several: code that puts everything back in time is not noticed here.

import { AsyncResource } from "node:async_hooks";
import { EventEmitter } from "node:events";
import { Readable, Transform, Writable } from "node:stream";

const { ownKeys, getOwnPropertyDescriptor, defineProperty, getPrototypeOf, apply } = Reflect;
const { push } = Array.prototype;
const { freeze } = Object;
const OPTIONS = ["only", "skip", "todo", "timeout", "signal", "concurrency", "plan", "expectFailure"]; // of a test

/** Define what can be neither seen in a listing nor changed. */
export function lock(owner, name, value) {
  defineProperty(owner, name, { value, writable: false, enumerable: false, configurable: false });
}

/** Remember how things are; locks the functions of node:assert and node:test. */
export function take(assert, test) {
  const locked = [assert, assert.strict, assert.AssertionError, assert.AssertionError.prototype, test];
  for (const name of ownKeys(test)) {
    const value = getOwnPropertyDescriptor(test, name)?.value;
    if (typeof value === "function" && value !== test) {
      apply(push, locked, [value]);
    }
  }
  for (const object of locked) {
    fix(object);
  }
  hold(AsyncResource.prototype, "runInAsyncScope");
  hold(Readable.prototype, "push");
  const generated = getPrototypeOf(async function* () {}.prototype);
  const watched = [
    AsyncResource.prototype, EventEmitter.prototype, Readable.prototype, Writable.prototype, Transform.prototype,
    Promise.prototype, Promise, Function.prototype, Error, Object.prototype, generated, getPrototypeOf(generated),
    getPrototypeOf([][Symbol.iterator]()),
  ];
  return freeze({ objects: watched, seen: watched.map(look) });
}

const replaced = [];

/** Keep a method what it is; objects below its owner may still have one of their own. */
function hold(owner, name) {
  const { value, enumerable } = getOwnPropertyDescriptor(owner, name);
  const set = function (other) {
    if (this === owner) {
      apply(push, replaced, [label(owner, name)]);
    } else {
      defineProperty(this, name, { value: other, writable: true, enumerable: true, configurable: true });
    }
  };
  defineProperty(owner, name, { get: () => value, set, enumerable, configurable: false });
}

/** Call `note` with the name of each property that is not what it was. */
export function compare(before, note) {
  for (let i = 0; i < before.objects.length; i += 1) {
    const [names, values] = before.seen[i];
    for (let j = 0; j < names.length; j += 1) {
      if (valueOf(before.objects[i], names[j]) !== values[j]) {
        note(label(before.objects[i], names[j]));
      }
    }
  }
  for (let i = 0; i < OPTIONS.length; i += 1) {
    if (getOwnPropertyDescriptor(Object.prototype, OPTIONS[i])) {
      note(`Object.prototype.${OPTIONS[i]}`);
    }
  }
  for (let i = 0; i < replaced.length; i += 1) {
    note(replaced[i]);
  }
}

function fix(object) {
  for (const name of ownKeys(object)) {
    const found = getOwnPropertyDescriptor(object, name);
    if (found.configurable) {
      defineProperty(object, name, "value" in found ? { writable: false, configurable: false } : { configurable: false });
    }
  }
}

/** The functions of an object, by name. */
function look(object) {
  const names = [];
  const values = [];
  for (const name of ownKeys(object)) {
    const value = valueOf(object, name);
    if (typeof value === "function") {
      names[names.length] = name;
      values[values.length] = value;
    }
  }
  return [names, values];
}

function valueOf(object, name) {
  return getOwnPropertyDescriptor(object, name)?.value;
}

function label(object, name) {
  const owner = valueOf(object, "constructor")?.name ?? object.name ?? "Object";
  return `${owner}.${typeof name === "symbol" ? "symbol" : name}`;
}
