// Comparisons by content, of which the compared objects have no say.
//
// node:assert iterates sets and maps, and asks patterns and views for their members, by names that an object or its
// class can have something of its own for. Objects of the tested code that do are compared as copies without it.

import { kindOf } from "./kinds.mjs";

const TypedArray = Object.getPrototypeOf(Uint8Array);
const WITHIN = { m: Map.prototype, t: Set.prototype, d: Date.prototype, x: RegExp.prototype, f: ArrayBuffer.prototype };
const DEEP = new Set(["deepEqual", "notDeepEqual", "deepStrictEqual", "notDeepStrictEqual", "partialDeepStrictEqual"]);
const RAISING = new Set(["throws", "rejects"]);
const keep = (value) => value;
const read = (owner, key, value) => Reflect.getOwnPropertyDescriptor(owner, key).get.call(value);
const isIndex = (key) => typeof key === "string" && /^\d+$/.test(key);

function viewOf(value) {
  const name = read(TypedArray.prototype, Symbol.toStringTag, value) ?? "DataView";
  return [globalThis[name], name === "DataView" ? DataView.prototype : TypedArray.prototype];
}

/** The prototype that a kind of content brings along; undefined for kinds that are compared by properties alone. */
function within(kind, value) {
  if (kind === "v") {
    return Object.getPrototypeOf(value) === Buffer.prototype ? Buffer.prototype : viewOf(value)[0].prototype;
  }
  return WITHIN[kind];
}

/** Tell whether an object, or its class, has something of its own in the place of what its kind brings along. */
export function isStrange(value) {
  const kind = kindOf(value);
  const above = within(kind, value);
  if (above === undefined) {
    return false;
  }
  const isOwn = (key) => key in above && key !== "lastIndex" && !(kind === "v" && isIndex(key));
  return Object.getPrototypeOf(value) !== above || Reflect.ownKeys(value).some(isOwn);
}

export class Comparer {
  #link;
  #neutral = new Map(); // prototype to one that says as much of a class, and answers nothing

  constructor(link) {
    this.#link = link;
  }

  /** The exports of node:assert or node:util with comparisons of ours; `strict` is wrapped as well. */
  wrapped(exported) {
    const found = { ...exported };
    for (const [name, value] of Object.entries(exported)) {
      found[name] = name === "default" || name === "strict" ? this.#whole(value) : this.#function(name, value);
    }
    return found;
  }

  #whole(value) {
    return new Proxy(value, {
      get: (target, key, receiver) => {
        const found = Reflect.get(target, key, receiver);
        return key === "strict" || key === "default" ? this.#whole(found) : this.#function(key, found);
      },
    });
  }

  #function(name, check) {
    if (DEEP.has(name) || name === "isDeepStrictEqual") {
      return (left, right, ...rest) => check(...[left, right].map((value) => this.#pure(value)), ...rest);
    }
    if (RAISING.has(name)) {
      return (work, expected, ...rest) =>
        typeof expected === "object" && expected !== null && !(expected instanceof RegExp)
          ? check(this.#raising(work), expected, ...rest)
          : check(work, expected, ...rest);
    }
    return check;
  }

  /** The same function or promise, which raises a copy of what it raises where that is needed. */
  #raising(work) {
    const raise = (error) => {
      throw this.#pure(error);
    };
    if (typeof work !== "function") {
      return typeof work?.then === "function" ? Promise.prototype.then.call(work, keep, raise) : work;
    }
    return () => {
      let result;
      try {
        result = work();
      } catch (error) {
        return raise(error);
      }
      return result instanceof Promise ? result.then(keep, raise) : result;
    };
  }

  #pure(value) {
    return this.#link.hasStrange ? this.#copy(value, new Map()) : value;
  }

  #copy(value, seen) {
    if (typeof value !== "object" || value === null) {
      return value;
    }
    if (!seen.has(value)) {
      const kind = kindOf(value);
      if (kind === "p" || kind === "k" || (kind === undefined && !this.#link.isHandle(value))) {
        return value;
      }
      const made = this.#made(kind, value);
      seen.set(value, made);
      this.#fill(made, kind, value, seen);
    }
    return seen.get(value);
  }

  #made(kind, value) {
    const made = bare(kind, value);
    const above = Object.getPrototypeOf(value);
    const own = within(kind, value) ?? above;
    if (above !== own && !this.#neutral.has(above)) {
      this.#neutral.set(above, Object.create(own));
    }
    return Object.setPrototypeOf(made, above === own ? above : this.#neutral.get(above));
  }

  #fill(made, kind, value, seen) {
    if (kind === "m") {
      Map.prototype.forEach.call(value, (item, key) => Map.prototype.set.call(made, this.#copy(key, seen), this.#copy(item, seen)));
    } else if (kind === "t") {
      Set.prototype.forEach.call(value, (item) => Set.prototype.add.call(made, this.#copy(item, seen)));
    }
    const above = within(kind, value);
    for (const key of Reflect.ownKeys(value)) {
      if (kind === "a" && key === "length") {
        made.length = value.length;
      } else if (!(above && key in above) && !(kind === "v" && isIndex(key)) && !(kind === "e" && key === "stack")) {
        const { enumerable } = Reflect.getOwnPropertyDescriptor(value, key);
        const item = this.#copy(value[key], seen);
        Object.defineProperty(made, key, { value: item, writable: true, enumerable, configurable: true });
      }
    }
  }
}

/** An object of the same kind and content, with nothing of its own. */
function bare(kind, value) {
  switch (kind) {
    case "a": return [];
    case "m": return new Map();
    case "t": return new Set();
    case "e": return new Error();
    case "d": return new Date(Date.prototype.getTime.call(value));
    case "x": return new RegExp(...["source", "flags"].map((key) => read(RegExp.prototype, key, value)));
    case "f": return ArrayBuffer.prototype.slice.call(value, 0);
    case "v": {
      const [View, owner] = viewOf(value);
      const [buffer, start, length] = ["buffer", "byteOffset", "byteLength"].map((key) => read(owner, key, value));
      return new View(ArrayBuffer.prototype.slice.call(buffer, start, start + length));
    }
    default: return {};
  }
}
