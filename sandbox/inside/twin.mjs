// What the must-fail copies of tests use at run time, where their text alone cannot make a check fail.
//
// It is there in the processes of the originals too, under the same name, so that nothing tells one from the other.
// As in `harness.mjs`, what it calls is bound before the tested code runs.

import assert from "node:assert";
import { isDeepStrictEqual } from "node:util";

const checks = { __proto__: null, ...assert };
const { AssertionError } = assert;
const { apply, getPrototypeOf, ownKeys } = Reflect;
const { create, freeze } = Object;
const { isArray } = Array;
const { isFinite: isFiniteNumber, isNaN: isNotANumber } = Number;
const { floor, random } = Math;
const { set: setEntry } = Map.prototype;
const { add: addItem } = Set.prototype;
const { toUpperCase, slice } = String.prototype;
const [MapOf, SetOf, DateOf, BigIntOf] = [Map, Set, Date, BigInt];
const [plain, mapping, items, dates] = [Object.prototype, Map.prototype, Set.prototype, Date.prototype];

export class Twin {
  #reached;

  /** `storage` tells which test a call belongs to. */
  constructor(storage) {
    this.#reached = storage;
  }

  #note() {
    for (let test = this.#reached.getStore(); test; test = test.above) {
      test.reached = true;
    }
  }

  /** Compare with another value than `right`; where none can be made, turn the comparison round. */
  differ(method, left, right) {
    this.#note();
    const other = perturbed(right);
    if (isDeepStrictEqual(other, right)) {
      const opposite = `not${apply(toUpperCase, method[0], [])}${apply(slice, method, [1])}`;
      return checks[opposite](left, right);
    }
    return checks[method](left, other);
  }

  /** Call another check in a check's place. */
  turned(method, ...values) {
    this.#note();
    return checks[method](...values);
  }

  /** Fail after a test that passed without reaching a changed check; one that reached it has to fail there. */
  mustFail(callback) {
    if (typeof callback !== "function") {
      return callback;
    }
    const run = (self, args) => {
      const test = { reached: false, above: this.#reached.getStore() };
      const check = (result) => {
        if (!test.reached) {
          throw new AssertionError({ message: "this copy must fail" });
        }
        return result;
      };
      return this.#reached.run(test, () => settled(callback, self, args, check));
    };
    // node:test looks at the number of parameters: the second one is a callback.
    return callback.length > 1
      ? function twin(context, done) {
          return run(this, [context, done]);
        }
      : function twin(context) {
          return run(this, [context]);
        };
  }
}

function settled(callback, self, args, check) {
  if (args.length < 2) {
    const result = apply(callback, self, args);
    return typeof result?.then === "function" ? result.then(check) : check(result);
  }
  const done = (error) => {
    let failure = error;
    try {
      failure ??= check(undefined);
    } catch (missing) {
      failure = missing;
    }
    args[1](failure);
  };
  return apply(callback, self, [args[0], done]);
}

/** Another value of the same type and shape; the value itself where none can be made. */
function perturbed(value) {
  const step = 1000 + floor(random() * 9000);
  switch (typeof value) {
    case "boolean":
      return !value;
    case "number":
      return isFiniteNumber(value) && value + step !== value ? value + step : step;
    case "bigint":
      return value + BigIntOf(step);
    case "string":
      return `${value}bcdfgh`;
    case "undefined":
      return step;
    case "object":
      return perturbedObject(value, step);
    default:
      return value;
  }
}

function perturbedObject(value, step) {
  if (value === null) {
    return step;
  }
  switch (getPrototypeOf(value)) {
    case mapping:
      return apply(setEntry, new MapOf(value), [{}, step]);
    case items:
      return apply(addItem, new SetOf(value), [step]);
    case dates:
      return new DateOf(isNotANumber(+value) ? step : +value + step);
    case plain:
    case null:
      return filled(create(getPrototypeOf(value)), value, "other", step);
    default:
      return isArray(value) ? filled([], value, 0, step) : value;
  }
}

/** A copy with every item another one; with one item more where there is none. */
function filled(made, value, added, step) {
  const names = ownKeys(value);
  let count = 0;
  for (let i = 0; i < names.length; i += 1) {
    if (names[i] !== "length") {
      made[names[i]] = perturbed(value[names[i]]);
      count += 1;
    }
  }
  if (count === 0) {
    made[added] = step;
  }
  return made;
}

freeze(Twin);
freeze(Twin.prototype);
