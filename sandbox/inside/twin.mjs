// What the must-fail copies of tests use at run time, where their text alone cannot make a check fail.

import assert from "node:assert";
import { isDeepStrictEqual } from "node:util";

const checks = { __proto__: null, ...assert };
const { AssertionError } = assert;

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
      const opposite = `not${method[0].toUpperCase()}${method.slice(1)}`;
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
    const result = Reflect.apply(callback, self, args);
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
  return Reflect.apply(callback, self, [args[0], done]);
}

/** Another value of the same type and shape; the value itself where none can be made. */
function perturbed(value) {
  const step = 1000 + Math.floor(Math.random() * 9000);
  switch (typeof value) {
    case "boolean":
      return !value;
    case "number":
      return Number.isFinite(value) && value + step !== value ? value + step : step;
    case "bigint":
      return value + BigInt(step);
    case "string":
      return `${value}bcdfgh`;
    case "undefined":
      return step;
    default:
      return perturbedObject(value, step);
  }
}

function perturbedObject(value, step) {
  if (value === null) {
    return step;
  }
  const prototype = Object.getPrototypeOf(value);
  if (Array.isArray(value)) {
    return value.length ? value.map(perturbed) : [step];
  }
  if (prototype === Map.prototype) {
    return new Map([...value, [{}, step]]);
  }
  if (prototype === Set.prototype) {
    return new Set([...value, step]);
  }
  if (prototype === Date.prototype) {
    return new Date(Number.isNaN(+value) ? step : +value + step);
  }
  if (prototype === Object.prototype || prototype === null) {
    const keys = Object.keys(value);
    const made = Object.create(prototype);
    for (const key of keys.length ? keys : ["other"]) {
      made[key] = keys.length ? perturbed(value[key]) : step;
    }
    return made;
  }
  return value;
}
