// The kinds of objects that cross by value: how each is described as JSON, made again and filled.
//
// Nothing here calls a method or reads a property of the described object in a way that its class could answer.

import { types } from "node:util";
import { Unpackable, check, fillProperties, properties } from "./properties.mjs";

const { apply, ownKeys, getOwnPropertyDescriptor: descriptorOf, getPrototypeOf, defineProperty, deleteProperty } = Reflect;
const { isArray } = Array;
const { stringify } = JSON;
const getter = (owner, key) => descriptorOf(owner, key).get;
const TypedArray = getPrototypeOf(Uint8Array);
const { valueOf: numberOf } = Number.prototype;
const { valueOf: textOf } = String.prototype;
const { valueOf: truthOf } = Boolean.prototype;
const { valueOf: bigOf } = BigInt.prototype;
const { valueOf: symbolOf } = Symbol.prototype;
const { getTime, setTime } = Date.prototype;
const { forEach: eachEntry, set: setEntry, clear: clearMap } = Map.prototype;
const { forEach: eachItem, add: addItem, clear: clearSet } = Set.prototype;
const sourceOf = getter(RegExp.prototype, "source");
const flagsOf = getter(RegExp.prototype, "flags");
const viewName = getter(TypedArray.prototype, Symbol.toStringTag);
const viewItems = getter(TypedArray.prototype, "length");
const [viewBuffer, viewOffset, viewLength] = ["buffer", "byteOffset", "byteLength"].map((key) => getter(TypedArray.prototype, key));
const [dataBuffer, dataOffset, dataLength] = ["buffer", "byteOffset", "byteLength"].map((key) => getter(DataView.prototype, key));
const { from } = Buffer;
const { base64Slice, copy } = Buffer.prototype;
const bytesOf = (...range) => new Uint8Array(...range);
const Views = { __proto__: null, DataView };
for (const name of ["Int8", "Uint8", "Uint8Clamped", "Int16", "Uint16", "Int32", "Uint32", "Float32", "Float64", "BigInt64", "BigUint64"]) {
  Views[`${name}Array`] = globalThis[`${name}Array`];
}
export const LONGEST = 2_000_000; // items of one array

const never = () => false;
const isIndex = (key) => typeof key === "string" && `${key >>> 0}` === key;

const ordinary = {
  prototype: Object.prototype,
  describe: (value, encode) => ["0", properties(value, ownKeys(value), 0, undefined, encode)],
  make: () => ({}),
  fill: (object, payload, props, decode) => fillProperties(object, props, decode, never),
};

const arrays = {
  prototype: Array.prototype,
  describe(value, encode) {
    const { length } = value;
    const keys = ownKeys(value);
    if (length > LONGEST || keys.length > LONGEST) {
      throw new Unpackable("too long a list");
    }
    let text = "";
    let present = 0;
    for (let i = 0; i < length; i += 1) {
      const found = descriptorOf(value, i);
      if (found && !("value" in found)) {
        throw new Unpackable("a list with accessors");
      }
      present += found ? 1 : 0;
      text += `${i ? "," : ""}${found ? encode(found.value) : '["-"]'}`;
    }
    return [`[${text}]`, properties(value, keys, present, "length", encode)];
  },
  make: () => [],
  fill(object, payload, props, decode) {
    check(isArray(payload));
    object.length = payload.length;
    for (let i = 0; i < payload.length; i += 1) {
      if (isArray(payload[i]) && payload[i][0] === "-") {
        deleteProperty(object, i);
      } else {
        const value = decode(payload[i]);
        check(defineProperty(object, i, { __proto__: null, value, writable: true, enumerable: true, configurable: true }));
      }
    }
    fillProperties(object, props, decode, (key) => key === "length" || isIndex(key));
  },
};

function entriesKind(prototype, describeItems, make, clear, put) {
  return {
    prototype,
    describe: (value, encode) => [`[${describeItems(value, encode)}]`, properties(value, ownKeys(value), 0, undefined, encode)],
    make,
    fill(object, payload, props, decode) {
      check(isArray(payload));
      apply(clear, object, []);
      put(object, payload, decode);
      fillProperties(object, props, decode, never);
    },
  };
}

const maps = entriesKind(
  Map.prototype,
  (value, encode) => {
    let text = "";
    apply(eachEntry, value, [(item, key) => {
      text += `${text ? "," : ""}${encode(key)},${encode(item)}`;
    }]);
    return text;
  },
  () => new Map(),
  clearMap,
  (object, payload, decode) => {
    for (let i = 0; i + 1 < payload.length; i += 2) {
      apply(setEntry, object, [decode(payload[i]), decode(payload[i + 1])]);
    }
  },
);

const sets = entriesKind(
  Set.prototype,
  (value, encode) => {
    let text = "";
    apply(eachItem, value, [(item) => {
      text += `${text ? "," : ""}${encode(item)}`;
    }]);
    return text;
  },
  () => new Set(),
  clearSet,
  (object, payload, decode) => {
    for (let i = 0; i < payload.length; i += 1) {
      apply(addItem, object, [decode(payload[i])]);
    }
  },
);

const dates = {
  prototype: Date.prototype,
  describe: (value, encode) => [encode(apply(getTime, value, [])), properties(value, ownKeys(value), 0, undefined, encode)],
  make: () => new Date(0),
  fill(object, payload, props, decode) {
    apply(setTime, object, [decode(payload)]);
    fillProperties(object, props, decode, never);
  },
};

const patterns = {
  prototype: RegExp.prototype,
  describe(value, encode) {
    const said = [apply(sourceOf, value, []), apply(flagsOf, value, []), descriptorOf(value, "lastIndex").value];
    return [`[${encode(said[0])},${encode(said[1])},${encode(said[2])}]`, properties(value, ownKeys(value), 0, "lastIndex", encode)];
  },
  make: (payload) => new RegExp(payload[0], payload[1]),
  fill(object, payload, props, decode) {
    object.lastIndex = decode(payload[2]);
    fillProperties(object, props, decode, (key) => key === "lastIndex");
  },
};

// A stack tells of the side on which it was made.
const errors = {
  prototype: Error.prototype,
  describe: (value, encode) => ["0", properties(value, ownKeys(value), 0, "stack", encode)],
  make: () => new Error(),
  fill: (object, payload, props, decode) => fillProperties(object, props, decode, (key) => key === "stack"),
};

function binaryKind(prototype, name, bytes, make, length) {
  return {
    prototype,
    describe(value, encode) {
      const keys = ownKeys(value);
      const own = bytes(value);
      const said = apply(base64Slice, from(own.buffer, own.byteOffset, own.byteLength), [0, own.byteLength]);
      return [`[${stringify(name(value))},${stringify(said)}]`, properties(value, keys, length(value), undefined, encode)];
    },
    make(payload) {
      check(isArray(payload) && payload.length === 2 && typeof payload[1] === "string");
      return make(payload[0], from(payload[1], "base64"));
    },
    fill(object, payload, props, decode) {
      const [source, target] = [from(payload[1], "base64"), bytes(object)];
      check(source.length === target.length);
      apply(copy, source, [target]);
      fillProperties(object, props, decode, isIndex);
    },
  };
}

const isData = (value) => apply(viewName, value, []) === undefined;
const views = binaryKind(
  undefined,
  (value) => apply(viewName, value, []) ?? "DataView",
  (value) =>
    isData(value)
      ? bytesOf(apply(dataBuffer, value, []), apply(dataOffset, value, []), apply(dataLength, value, []))
      : bytesOf(apply(viewBuffer, value, []), apply(viewOffset, value, []), apply(viewLength, value, [])),
  (name, content) => {
    check(name in Views);
    const own = bytesOf(content.length);
    apply(copy, content, [own]);
    return new Views[name](own.buffer);
  },
  (value) => (isData(value) ? 0 : apply(viewItems, value, [])),
);
const buffers = binaryKind(ArrayBuffer.prototype, () => "ArrayBuffer", (value) => bytesOf(value), (_, content) => {
  const own = bytesOf(content.length);
  apply(copy, content, [own]);
  return own.buffer;
}, () => 0);

const boxed = {
  prototype: undefined,
  describe(value, encode) {
    const isText = types.isStringObject(value);
    const read = isText ? textOf : types.isNumberObject(value) ? numberOf
      : types.isBooleanObject(value) ? truthOf : types.isBigIntObject(value) ? bigOf : symbolOf;
    const inside = apply(read, value, []);
    return [encode(inside), properties(value, ownKeys(value), isText ? inside.length : 0, isText ? "length" : undefined, encode)];
  },
  make: (payload, decode) => Object(decode(payload)),
  fill(object, payload, props, decode) {
    const isText = types.isStringObject(object);
    fillProperties(object, props, decode, isText ? (key) => key === "length" || isIndex(key) : never);
  },
};

const promises = {
  prototype: Promise.prototype,
  describe: (value, encode) => ["0", properties(value, ownKeys(value), 0, undefined, encode)],
  make: undefined, // the side that is told of the promise makes it
  fill: (object, payload, props, decode) => fillProperties(object, props, decode, never),
};

export const KINDS = { __proto__: null, o: ordinary, a: arrays, m: maps, t: sets, d: dates, x: patterns, e: errors, v: views, f: buffers, k: boxed, p: promises };

function isPrototype(value) {
  const made = descriptorOf(value, "constructor")?.value;
  return typeof made === "function" && !types.isProxy(made) && descriptorOf(made, "prototype")?.value === value;
}

/** The kind of an object as a letter, or undefined for what stays where it is. */
export function kindOf(value) {
  if (typeof value !== "object" || types.isProxy(value)) {
    return undefined;
  }
  if (isArray(value)) return "a";
  const made = getPrototypeOf(value);
  if (types.isArgumentsObject(value) || types.isModuleNamespaceObject(value) || types.isExternal(value)) return undefined;
  if (types.isMap(value)) return "m";
  if (types.isSet(value)) return "t";
  if (types.isDate(value)) return "d";
  if (types.isRegExp(value)) return "x";
  if (types.isNativeError(value)) return "e";
  if (types.isArrayBufferView(value)) return "v";
  if (types.isArrayBuffer(value)) return "f";
  if (types.isBoxedPrimitive(value)) return "k";
  if (types.isPromise(value)) return made === Promise.prototype ? "p" : undefined;
  return (made === Object.prototype || made === null) && !isPrototype(value) ? "o" : undefined;
}
