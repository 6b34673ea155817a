// The objects of the language itself, by names that mean the same on both sides of a split run.
//
// Methods are listed only for what crosses by value: on anything else they have to run where the object is.

import { AssertionError } from "node:assert";
import { EventEmitter } from "node:events";

const { ownKeys, getOwnPropertyDescriptor } = Reflect;
const WITH_METHODS = [
  "Object", "Array", "Map", "Set", "Date", "RegExp", "Promise", "Number", "String", "Boolean", "Symbol", "BigInt",
  "Error", "ArrayBuffer", "DataView", "Buffer",
];
const SPACES = ["JSON", "Math", "Reflect"];
const HIDDEN_STATE = /^(?!Object|Function|Array|EventEmitter|DOMException|[A-Za-z]*Error)\w+\.prototype$/;

export const byName = new Map();
export const names = new Map();

function add(name, value) {
  if ((typeof value === "object" && value !== null) || typeof value === "function" || typeof value === "symbol") {
    if (!names.has(value)) {
      names.set(value, name);
      byName.set(name, value);
    }
  }
}

function addMethods(name, owner) {
  for (const key of ownKeys(owner)) {
    const value = getOwnPropertyDescriptor(owner, key).value;
    if (typeof value === "function" && key !== "constructor") {
      add(`${name}.${String(key)}`, value);
    }
  }
}

for (const key of ownKeys(Symbol)) {
  add(`Symbol.${String(key)}`, typeof Symbol[key] === "symbol" ? Symbol[key] : undefined);
}
for (const name of ownKeys(globalThis)) {
  const value = getOwnPropertyDescriptor(globalThis, name).value;
  if (typeof value === "function") {
    add(name, value);
    add(`${name}.prototype`, value.prototype);
  }
}
for (const [name, value] of Object.entries({ AssertionError, EventEmitter, Buffer, TypedArray: Object.getPrototypeOf(Uint8Array) })) {
  add(name, value);
  add(`${name}.prototype`, value.prototype);
}
for (const name of [...WITH_METHODS, "TypedArray"]) {
  addMethods(name, byName.get(name));
  addMethods(`${name}.prototype`, byName.get(name).prototype);
}
for (const name of SPACES) {
  add(name, globalThis[name]);
  addMethods(name, globalThis[name]);
}
for (const key of ["call", "apply", "bind", Symbol.hasInstance]) {
  add(`Function.prototype.${String(key)}`, Function.prototype[key]);
}

/** Tell whether objects below a prototype of this name keep something that no property shows. */
export function hidesState(name) {
  return HIDDEN_STATE.test(name);
}
