// What stays on the code side, as the tests see it: proxies whose every use is asked for over the link.
//
// Nothing is sent that the test did not itself hand over: which properties there are is asked for as a whole, so that
// looking for an expected one does not tell of it.

import { check } from "./properties.mjs";

const [CALLABLE, LIST, HIDDEN] = [1, 2, 4];
const TO_PRIMITIVE = [Symbol.toPrimitive, "valueOf", "toString"];
const HAS_INSTANCE = Function.prototype[Symbol.hasInstance];
const INSPECT = Symbol.for("nodejs.util.inspect.custom");

/** What a proxy stands on: something of the same nature without properties of its own. */
function targetOf(shape) {
  if (!(shape & CALLABLE)) {
    return shape & LIST ? [] : {};
  }
  const target = function () {}.bind();
  delete target.name;
  delete target.length;
  return target;
}

class Traps {
  #link;
  #shape;
  #isStrict;
  #listed;
  #turn = -1;
  #makes = false; // primitive values of objects
  proxy;

  constructor(link, shape, isStrict) {
    this.#link = link;
    this.#shape = shape;
    this.#isStrict = isStrict;
  }

  /** Its own properties, by key. */
  #own() {
    if (this.#turn !== this.#link.turns) {
      this.#listed = this.#link.ask("own", [this.proxy]);
      this.#turn = this.#link.turns;
    }
    return this.#listed;
  }

  get(target, key, receiver) {
    if (key === INSPECT) {
      return undefined; // asked for by messages of errors alone
    }
    if (TO_PRIMITIVE.includes(key)) {
      return this.#maker(key, receiver);
    }
    const known = this.#turn === this.#link.turns ? this.#listed.get(key) : undefined;
    if (key === Symbol.hasInstance && this.#link.ask("get", [this.proxy, key, receiver]) !== HAS_INSTANCE) {
      this.#link.refuse("a class of the tested code says itself what is an instance of it");
    }
    return known && "value" in known ? known.value : this.#link.ask("get", [this.proxy, key, receiver]);
  }

  /** What makes a primitive value of an object, which it must not do otherwise each time. */
  #maker(key, receiver) {
    const name = `${String(key)} ${this.#link.nameOf(this.proxy)}`;
    const found = this.#link.askPrimitive(name, "get", [this.proxy, key, receiver]);
    this.#link.trapsOf(found)?.makes();
    return found;
  }

  makes() {
    this.#makes = true;
  }

  #isMaking(self) {
    return this.#makes || TO_PRIMITIVE.some((key) => Reflect.getOwnPropertyDescriptor(self, key)?.value === this.proxy);
  }

  set(target, key, value, receiver) {
    if (this.#isStrict && receiver === this.proxy) {
      this.#link.ask("assign", [this.proxy, key, value]);
      return true;
    }
    return this.#link.ask("set", [this.proxy, key, value, receiver]) === true;
  }

  has(target, key) {
    return this.#link.ask("has", [this.proxy, key]) === true;
  }

  deleteProperty(target, key) {
    return this.#link.ask("delete", [this.proxy, key]) === true;
  }

  ownKeys(target) {
    if (this.#shape & HIDDEN) {
      this.#link.refuse("an object is compared that keeps something inside");
    }
    return [...new Set([...this.#own().keys(), ...Reflect.ownKeys(target)])];
  }

  getOwnPropertyDescriptor(target, key) {
    const found = this.#own().get(key);
    const fixed = Reflect.getOwnPropertyDescriptor(target, key);
    return found ? { ...found, configurable: fixed ? fixed.configurable : true } : fixed;
  }

  /** What is frozen over there becomes so here, since a proxy cannot say otherwise than what it stands on. */
  isExtensible(target) {
    if (Reflect.isExtensible(target) && this.#link.ask("extensible", [this.proxy]) !== true) {
      Reflect.setPrototypeOf(target, this.getPrototypeOf());
      for (const [key, descriptor] of this.#own()) {
        Reflect.defineProperty(target, key, descriptor);
      }
      Reflect.preventExtensions(target);
    }
    return Reflect.isExtensible(target);
  }

  getPrototypeOf() {
    const above = this.#link.ask("above", [this.proxy]);
    check(above === null || typeof above === "object" || typeof above === "function");
    return above;
  }

  apply(target, self, given) {
    if (typeof self === "object" && self !== null && this.#link.isOwn(self)) {
      this.#link.refuse("a function of the tested code is called on an object of the test"); // which may hold what is expected
    }
    if (typeof self === "object" && self !== null && given.length < 2 && this.#isMaking(self)) {
      const name = `${this.#link.nameOf(this.proxy)} ${this.#link.nameOf(self)} ${given.map(String)}`;
      return this.#link.askPrimitive(name, "call", [this.proxy, self], given);
    }
    return this.#link.ask("call", [this.proxy, self], given);
  }

  construct(target, given, made) {
    if (made !== this.proxy) {
      this.#link.refuse("a test derives a class from one of the tested code");
    }
    return this.#link.ask("new", [this.proxy], given);
  }

  defineProperty() {
    return this.#link.refuse("a test defines a property of an object of the tested code");
  }

  setPrototypeOf() {
    return this.#link.refuse("a test changes what an object of the tested code is derived from");
  }

  preventExtensions() {
    return this.#link.refuse("a test freezes an object of the tested code");
  }
}

export class Handles {
  #link;
  #isStrict;
  #proxies = new Map();
  #numbers = new WeakMap();
  #traps = new WeakMap();

  constructor(link, isStrict) {
    this.#link = link;
    this.#isStrict = isStrict;
  }

  /** Make proxies for what was named for the first time: pairs of number and shape. */
  take(told) {
    for (const [number, shape] of told) {
      check(Number.isInteger(number) && Number.isInteger(shape) && !this.#proxies.has(number));
      const traps = new Traps(this.#link, shape, this.#isStrict);
      traps.proxy = new Proxy(targetOf(shape), traps);
      this.#proxies.set(number, traps.proxy);
      this.#numbers.set(traps.proxy, number);
      this.#traps.set(traps.proxy, traps);
    }
  }

  has(value) {
    return this.#numbers.has(value);
  }

  numberOf(value) {
    return this.#numbers.get(value);
  }

  /** The traps of a proxy. */
  trapsOf(value) {
    return this.#traps.get(value);
  }

  replace(proxy, object) {
    const number = this.#numbers.get(proxy);
    this.#proxies.set(number, object);
    this.#numbers.set(object, number);
  }

  known(number) {
    check(this.#proxies.has(number));
    return this.#proxies.get(number);
  }

  /** The JSON that names a value on the other side. */
  name(value) {
    const number = this.#numbers.get(value);
    if (number === undefined) {
      this.#link.refuse(typeof value === "function" ? "a function of the test goes to the tested code"
        : "an object of the test's own kind goes to the tested code");
    }
    return `["h",${number}]`;
  }
}
