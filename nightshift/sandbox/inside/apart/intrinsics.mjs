// The objects of the language itself, by names that mean the same on both sides of a split run.
//
// Only what computes is among them: no `eval`, no `Function`, nothing that changes another object at a caller's wish.
// The code side says which of them a test gets, and must not come to run code of its own on the test side by that.

import { AssertionError } from "node:assert";
import { EventEmitter } from "node:events";

const { getOwnPropertyDescriptor, getPrototypeOf, ownKeys } = Reflect;
const { preventExtensions } = Object;
const WITH_METHODS = [ // of what crosses by value: on anything else a method has to run where the object is
  "Array", "Map", "Set", "Date", "RegExp", "Promise", "Number", "String", "Boolean", "Symbol", "BigInt", "Error",
  "ArrayBuffer", "DataView", "Buffer", "TypedArray",
];
const OTHERS = [
  "Object", "AggregateError", "EvalError", "RangeError", "ReferenceError", "SyntaxError", "TypeError", "URIError",
  "DOMException", "Int8Array", "Uint8Array", "Uint8ClampedArray", "Int16Array", "Uint16Array", "Int32Array",
  "Uint32Array", "Float32Array", "Float64Array", "BigInt64Array", "BigUint64Array", "WeakMap", "WeakSet", "WeakRef",
  "FinalizationRegistry", "SharedArrayBuffer", "URL", "URLSearchParams", "TextEncoder", "TextDecoder",
  "AbortController", "AbortSignal", "Event", "EventTarget", "AssertionError", "EventEmitter",
];
const FUNCTIONS = [
  "parseInt", "parseFloat", "isNaN", "isFinite", "encodeURI", "encodeURIComponent", "decodeURI", "decodeURIComponent",
];
const OF_OBJECT = ["keys", "values", "entries", "fromEntries", "is", "hasOwn", "getPrototypeOf", "getOwnPropertyNames"];
const SHOWN = /^(Object|Function|Array|EventEmitter|DOMException|[A-Za-z]*Error)\.prototype$/;

export const byName = new Map();
export const names = new Map();
const there = { __proto__: null, AssertionError, EventEmitter, TypedArray: getPrototypeOf(Uint8Array) };

function add(name, value) {
  if (value !== undefined && !names.has(value)) {
    names.set(value, name);
    byName.set(name, value);
  }
}

function addMethods(name, owner, keys) {
  for (const key of keys) {
    const value = getOwnPropertyDescriptor(owner, key)?.value;
    if (typeof value === "function" && key !== "constructor") {
      add(`${name}.${String(key)}`, value);
    }
  }
}

for (const key of ownKeys(Symbol)) {
  add(`Symbol.${String(key)}`, typeof Symbol[key] === "symbol" ? Symbol[key] : undefined);
}
for (const name of [...WITH_METHODS, ...OTHERS]) {
  const value = there[name] ?? globalThis[name];
  add(name, value);
  add(`${name}.prototype`, value.prototype);
}
for (const name of WITH_METHODS) {
  const value = byName.get(name);
  addMethods(name, value, ownKeys(value));
  addMethods(`${name}.prototype`, value.prototype, ownKeys(value.prototype));
}
for (const name of FUNCTIONS) {
  add(name, globalThis[name]);
}
for (const name of ["JSON", "Math"]) {
  add(name, globalThis[name]);
  addMethods(name, globalThis[name], ownKeys(globalThis[name]));
}
add("Function.prototype", Function.prototype);
addMethods("Function.prototype", Function.prototype, ["call", "apply", "bind", Symbol.hasInstance]);
addMethods("Object", Object, OF_OBJECT);
addMethods("Object.prototype", Object.prototype, ["hasOwnProperty", "isPrototypeOf", "propertyIsEnumerable", "valueOf", "toLocaleString"]);

/** Tell whether objects below a prototype of this name keep something that no property shows. */
export function hidesState(name) {
  return name.endsWith(".prototype") && !SHOWN.test(name);
}

/** Let nothing be added to them any more. */
export function close() {
  for (const value of names.keys()) {
    if (typeof value !== "symbol") {
      preventExtensions(value);
    }
  }
}
