// What tests are handed over to at run time: in must-fail copies it makes checks fail, in their originals nothing.
//
// Both have the same calls of it in their texts, under the same name, so that nothing tells one from the other. As in
// `harness.mjs`, what it calls is bound before the tested code runs.

import assert from "node:assert";
import { isDeepStrictEqual } from "node:util";

const checks = { __proto__: null, ...assert };
const { AssertionError } = assert;
const { apply, defineProperty, getPrototypeOf, ownKeys } = Reflect;
const { create, freeze } = Object;
const { isArray } = Array;
const { indexOf, splice } = Array.prototype;
const { isFinite: isFiniteNumber, isInteger, isNaN: isNotANumber } = Number;
const { floor, random } = Math;
const { set: setEntry } = Map.prototype;
const { add: addItem, has: hasItem } = Set.prototype;
const { toUpperCase, slice, split } = String.prototype;
const { toString: toSource } = Function.prototype;
const { exec } = RegExp.prototype;
const [MapOf, SetOf, DateOf, BigIntOf] = [Map, Set, Date, BigInt];
const [plain, mapping, items, dates] = [Object.prototype, Map.prototype, Set.prototype, Date.prototype];
const LETTERS = "bcdfghjklmnpqrstvwxz";
const EQUALITIES = { __proto__: null, toBe: 1, toEqual: 1, toStrictEqual: 1 }; // of jest and vitest
const KEEPS = { __proto__: null, throws: 1, rejects: 1, doesNotThrow: 1, doesNotReject: 1 }; // of its arguments
const OPPOSITE = {
  __proto__: null, notEqual: "equal", notStrictEqual: "strictEqual", notDeepEqual: "deepEqual", match: "doesNotMatch",
  notDeepStrictEqual: "deepStrictEqual", doesNotMatch: "match", throws: "doesNotThrow", rejects: "doesNotReject",
  doesNotThrow: "throws", doesNotReject: "rejects",
};

export class MustFail {
  #mustFail;
  #reached;
  #doneAt;

  /** `storage` tells which test a call belongs to, `doneAt` which of a test's parameters is a callback. */
  constructor(mustFail, storage, doneAt = 1) {
    this.#mustFail = mustFail;
    this.#reached = storage;
    this.#doneAt = doneAt;
  }

  #note() {
    for (let test = this.#reached.getStore(); test; test = test.above) {
      test.reached = true;
    }
  }

  /** Make the call of a check; a copy compares with another value, or makes the opposite one. */
  check(method, check, ...values) {
    if (!this.#mustFail) {
      return apply(check, undefined, values);
    }
    this.#note();
    const opposite = OPPOSITE[method];
    if (opposite !== undefined) {
      return KEEPS[method] ? checks[opposite](values[0]) : checks[opposite](values[0], values[1]);
    }
    const [left, right] = values;
    const other = perturbed(right);
    if (isDeepStrictEqual(other, right)) {
      return checks[`not${apply(toUpperCase, method[0], [])}${apply(slice, method, [1])}`](left, right);
    }
    return check(left, other);
  }

  /** Make the call at the end of a chain, as in `expect(x).resolves.toBe(y)`; a copy makes one that must fail. */
  expect(chain, expectation, ...values) {
    const words = apply(split, chain, ["."]);
    if (!this.#mustFail) {
      return follow(expectation, words, values);
    }
    this.#note();
    const last = words.length - 1;
    const at = apply(indexOf, words, ["not"]);
    if (at >= 0) {
      apply(splice, words, [at, 1]);
      return follow(expectation, words, values);
    }
    const other = EQUALITIES[words[last]] ? perturbed(values[0]) : values[0];
    if (isDeepStrictEqual(other, values[0])) {
      apply(splice, words, [last, 0, "not"]);
      return follow(expectation, words, values);
    }
    return follow(expectation, words, [other]);
  }

  /** A condition; a copy has its opposite. */
  is(value) {
    if (!this.#mustFail) {
      return value;
    }
    this.#note();
    return !value;
  }

  /** A test's function. A copy that passed without reaching a changed check fails afterwards; else it has to there. */
  run(callback) {
    if (!this.#mustFail || typeof callback !== "function") {
      return callback;
    }
    const doneAt = this.#doneAt;
    const run = (self, args) => {
      const test = { reached: false, above: this.#reached.getStore() };
      const check = (result) => {
        if (!test.reached) {
          throw new AssertionError({ message: "this copy must fail" });
        }
        return result;
      };
      const last = args.length - 1;
      const isDone = last >= doneAt && args.length === callback.length && typeof args[last] === "function";
      return this.#reached.run(test, () => settled(callback, self, args, check, isDone ? last : -1));
    };
    const mustFail = function (...args) {
      return run(this, args);
    };
    // The frameworks look at the number of parameters, and vitest at how they are written.
    defineProperty(mustFail, "length", { value: callback.length });
    defineProperty(mustFail, "toString", { value: () => apply(toSource, callback, []) });
    return mustFail;
  }
}

/** What a chain of properties ends in, called; each is read once, in their order. */
function follow(start, words, values) {
  let owner = start;
  for (let i = 0; i < words.length - 1; i += 1) {
    owner = owner[words[i]];
  }
  return apply(owner[words[words.length - 1]], owner, values);
}

function settled(callback, self, args, check, doneAt) {
  if (doneAt < 0) {
    const result = apply(callback, self, args);
    return typeof result?.then === "function" ? result.then(check) : check(result);
  }
  const done = args[doneAt];
  args[doneAt] = (error) => {
    let failure = error;
    try {
      failure ??= check(undefined);
    } catch (missing) {
      failure = missing;
    }
    done(failure);
  };
  return apply(callback, self, args);
}

const among = (count) => floor(random() * count);

/** A near value of the same type and shape; the value itself where none can be made. `above` are those it is in. */
function perturbed(value, above = []) {
  const step = 1 + among(3);
  switch (typeof value) {
    case "boolean":
      return !value;
    case "number":
      return number(value, step);
    case "bigint":
      return value + BigIntOf(among(2) ? step : -step);
    case "string":
      return text(value);
    case "undefined":
      return step;
    case "object":
      return perturbedObject(value, step, above);
    default:
      return value;
  }
}

function number(value, step) {
  if (!isFiniteNumber(value)) {
    return step;
  }
  const moved = isInteger(value) ? value + (among(2) ? step : -step) : value * (1 + (among(2) ? step : -step) / 100);
  return moved === value ? value / 2 : moved;
}

function text(value) {
  const place = among(value.length);
  const letter = LETTERS[among(LETTERS.length)];
  if (value === "" || !among(3) || apply(exec, /[^A-Za-z]/, [value[place]])) {
    return `${value}${letter}`;
  }
  const put = letter === value[place] ? "y" : letter;
  return `${apply(slice, value, [0, place])}${put}${apply(slice, value, [place + 1])}`;
}

function perturbedObject(value, step, above) {
  if (value === null) {
    return step;
  }
  for (let i = 0; i < above.length; i += 1) {
    if (above[i] === value) {
      return value;
    }
  }
  switch (getPrototypeOf(value)) {
    case mapping:
      return apply(setEntry, new MapOf(value), [{}, step]);
    case items: {
      let added = step;
      while (apply(hasItem, value, [added])) {
        added += 1;
      }
      return apply(addItem, new SetOf(value), [added]);
    }
    case dates:
      return new DateOf(isNotANumber(+value) ? step : +value + step);
    case plain:
    case null:
      return filled(create(getPrototypeOf(value)), value, "other", step, above);
    default:
      return isArray(value) ? filled([], value, 0, step, above) : value;
  }
}

/** A copy with one item or every item another one; with one item more where there is none. */
function filled(made, value, added, step, above) {
  const inside = [];
  for (let i = 0; i < above.length; i += 1) {
    inside[i] = above[i];
  }
  inside[inside.length] = value;
  const names = ownKeys(value);
  const count = isArray(value) ? names.length - 1 : names.length;
  const chosen = among(2) ? -1 : among(count);
  for (let i = 0, place = 0; i < names.length; i += 1) {
    if (names[i] !== "length" || !isArray(value)) {
      made[names[i]] = chosen < 0 || chosen === place ? perturbed(value[names[i]], inside) : value[names[i]];
      place += 1;
    }
  }
  if (count === 0) {
    made[added] = step;
  }
  return made;
}

freeze(MustFail);
freeze(MustFail.prototype);
