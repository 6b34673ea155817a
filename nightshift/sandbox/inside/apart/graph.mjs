// What both sides of a split run hold: objects that crossed by value, under numbers, and what was last told of them.
//
// A message describes its objects one by one, each naming others by number, so that identity, cycles and shared parts
// stay what they are. Whoever speaks tells besides which of the objects that both hold have changed. A description is
// `[number, kind, prototype, payload, properties, extensible]`.

import { byName, names } from "./intrinsics.mjs";
import { KINDS, kindOf } from "./kinds.mjs";
import { Nonsense, Unpackable, check } from "./properties.mjs";

const { apply, getPrototypeOf, setPrototypeOf } = Reflect;
const { isFrozen, isSealed, isExtensible, freeze, seal, preventExtensions, is } = Object;
const { isArray } = Array;
const { stringify } = JSON;
const { get: getEntry, set: setEntry, has: hasEntry, delete: deleteEntry, forEach: eachEntry } = Map.prototype;
const { toString: digits } = BigInt.prototype;
const descriptionOf = Reflect.getOwnPropertyDescriptor(Symbol.prototype, "description").get;
const { for: registered, keyFor } = Symbol;
const bigOf = BigInt;
const ROOM = [64_000, 2_000]; // characters of descriptions that are looked at again with each message: at first, later
const EARLY = 300; // messages
const OBJECTS = 200_000;
const SPECIAL = { __proto__: null, NaN, Infinity, "-Infinity": -Infinity, "-0": -0 };

const get = (map, key) => apply(getEntry, map, [key]);
const put = (map, key, value) => apply(setEntry, map, [key, value]);
const has = (map, key) => apply(hasEntry, map, [key]);

export class Graph {
  #side;
  #next;
  #entries = new Map(); // object or symbol to its entry
  #things = new Map(); // number to object or symbol
  #recent = [];
  #queue = [];
  #messages = 0;
  #naming = false;
  hasLost = false; // something that both hold is not looked at any more

  /**
   * `side.first` is the first of its numbers, odd or even; `side.other(value)` names what does not cross as JSON,
   * `side.known(tag, number)` finds it again; `side.track(number, promise)` follows a promise of this side, and
   * `side.promise(number)` makes one for the other's; `side.took(object)`, where it is there, hears of what was filled.
   */
  constructor(side) {
    this.#side = side;
    this.#next = side.first;
    this.encode = (value) => this.#encode(value);
    this.decode = (data) => this.#decode(data);
  }

  /** A message as two JSON values: what `said` writes, and the descriptions that belong to it. */
  write(said) {
    this.#messages += 1;
    this.#queue = [];
    this.#follow();
    try {
      this.#naming = true;
      const text = said();
      this.#naming = false;
      return `${text},[${this.#descriptions()}]`;
    } catch (error) {
      this.#forget();
      throw error;
    }
  }

  #descriptions() {
    const told = [];
    let found = "";
    for (let i = 0; i < this.#queue.length; i += 1) {
      const entry = this.#queue[i];
      const now = this.#describe(entry);
      if (now !== entry.text) {
        told[told.length] = [entry, now];
        found += `${found ? "," : ""}[${entry.number},${now}]`;
      }
    }
    for (let i = 0; i < told.length; i += 1) {
      told[i][0].text = told[i][1]; // only now, since what cannot be described ends the message
    }
    return found;
  }

  /** Drop the objects of a message that could not be written. */
  #forget() {
    this.#naming = false;
    for (let i = 0; i < this.#queue.length; i += 1) {
      const entry = this.#queue[i];
      if (entry.text === undefined) {
        entry.place = -1;
        apply(deleteEntry, this.#entries, [entry.thing]);
        apply(deleteEntry, this.#things, [entry.number]);
      }
    }
  }

  /** Take over what the other side told. */
  read(descriptions) {
    check(isArray(descriptions));
    const filled = [];
    for (let i = 0; i < descriptions.length; i += 1) {
      const [number, kind, , payload] = descriptions[i];
      check(typeof number === "number" && typeof kind === "string" && kind in KINDS);
      if (!has(this.#things, number)) {
        const made = kind === "p" ? this.#side.promise(number) : KINDS[kind].make(payload, this.decode);
        this.#register(made, kind, number);
      }
      filled[i] = get(this.#entries, get(this.#things, number));
      check(filled[i].kind === kind);
    }
    for (let i = 0; i < descriptions.length; i += 1) {
      this.#fill(filled[i].thing, descriptions[i]);
    }
    for (let i = 0; i < filled.length; i += 1) {
      filled[i].text = this.#describe(filled[i]);
      this.#touch(filled[i]);
      this.#side.took?.(filled[i].thing);
    }
  }

  numberOf(value) {
    return get(this.#entries, value)?.number;
  }

  /** Tell whether an object was made on this side. */
  isOwn(value) {
    const number = this.numberOf(value);
    return number === undefined || number % 2 === this.#side.first % 2;
  }

  /** Tell whether something that both hold has changed without the other side having been told. */
  isStale() {
    let found = false;
    apply(eachEntry, this.#entries, [(entry) => {
      found ||= entry.kind !== "y" && entry.text !== undefined && this.#describe(entry) !== entry.text;
    }]);
    return found;
  }

  #fill(object, [, kind, above, payload, props, extensible]) {
    const prototype = above === 0 ? KINDS[kind].prototype : this.#decode(above);
    if (getPrototypeOf(object) !== prototype) {
      setPrototypeOf(object, prototype);
    }
    KINDS[kind].fill(object, payload, props, this.decode);
    [undefined, preventExtensions, seal, freeze][extensible]?.(object);
  }

  #describe(entry) {
    const { thing, kind } = entry;
    const [payload, props] = KINDS[kind].describe(thing, this.encode);
    const above = getPrototypeOf(thing);
    const prototype = above === KINDS[kind].prototype ? "0" : this.#encode(above);
    const extensible = isExtensible(thing) ? 0 : isFrozen(thing) ? 3 : isSealed(thing) ? 2 : 1;
    return `"${kind}",${prototype},${payload},${props},${extensible}`;
  }

  #register(thing, kind, number) {
    const entry = { number, kind, thing, text: undefined, queued: 0, place: -1 };
    put(this.#entries, thing, entry);
    put(this.#things, number, thing);
    return entry;
  }

  /** Look again at what crossed last, as far as there is room. */
  #follow() {
    let left = ROOM[this.#messages < EARLY ? 0 : 1];
    const kept = [];
    for (let i = this.#recent.length - 1; i >= 0; i -= 1) {
      const entry = this.#recent[i];
      if (entry.place === i && (left -= entry.text?.length ?? 0) >= 0) {
        kept[kept.length] = entry;
        this.#enqueue(entry);
      } else if (entry.place === i) {
        entry.place = -1;
        this.hasLost = true;
      }
    }
    this.#recent = [];
    for (let i = kept.length - 1; i >= 0; i -= 1) {
      this.#touch(kept[i]);
    }
  }

  #touch(entry) {
    entry.place = this.#recent.length;
    this.#recent[entry.place] = entry;
  }

  #enqueue(entry) {
    if (entry.queued !== this.#messages) {
      entry.queued = this.#messages;
      this.#queue[this.#queue.length] = entry;
      this.#touch(entry);
    }
  }

  #encode(value) {
    switch (typeof value) {
      case "string":
        return stringify(value);
      case "boolean":
        return value ? "true" : "false";
      case "number":
        return value - value === 0 && !is(value, -0) ? `${value}` : is(value, -0) ? '["n","-0"]' : `["n","${value}"]`;
      case "undefined":
        return '["u"]';
      case "bigint":
        return `["i","${apply(digits, value, [])}"]`;
      case "symbol":
        return this.#symbol(value);
      default:
        return value === null ? "null" : this.#reference(value);
    }
  }

  #symbol(value) {
    if (has(names, value)) {
      return `["b",${stringify(get(names, value))}]`;
    }
    if (keyFor(value) !== undefined) {
      return `["Y",${stringify(keyFor(value))}]`;
    }
    const { number } = get(this.#entries, value) ?? this.#register(value, "y", this.#number());
    const description = apply(descriptionOf, value, []);
    return `["y",${number}${description === undefined ? "" : `,${stringify(description)}`}]`;
  }

  #reference(value) {
    if (has(names, value)) {
      return `["b",${stringify(get(names, value))}]`;
    }
    let entry = get(this.#entries, value);
    if (entry === undefined) {
      const kind = kindOf(value);
      if (kind === undefined) {
        return this.#side.other(value);
      }
      const number = this.#number();
      if (kind === "p") {
        this.#side.track(number, value);
      }
      entry = this.#register(value, kind, number);
    }
    if (this.#naming || entry.text === undefined) {
      this.#enqueue(entry);
    }
    return `["r",${entry.number}]`;
  }

  #number() {
    const number = this.#next;
    this.#next += 2;
    if (number > 2 * OBJECTS) {
      throw new Unpackable("too many objects");
    }
    return number;
  }

  #decode(data) {
    if (!isArray(data)) {
      check(data === null || typeof data !== "object");
      return data;
    }
    const [tag, what, description] = data;
    switch (tag) {
      case "u":
        return undefined;
      case "n":
        check(what in SPECIAL);
        return SPECIAL[what];
      case "i":
        check(typeof what === "string");
        return bigOf(what);
      case "b":
        check(has(byName, what));
        return get(byName, what);
      case "Y":
        return registered(what);
      case "y":
        if (!has(this.#things, what)) {
          this.#register(Symbol(description), "y", what);
        }
        return get(this.#things, what);
      case "r":
        check(has(this.#things, what));
        return get(this.#things, what);
      case "h":
        return this.#side.known(what);
      default:
        throw new Nonsense("an answer that is none");
    }
  }
}
