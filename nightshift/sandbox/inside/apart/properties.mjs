// The own properties of an object, as JSON and back, with their attributes and accessors.

const { ownKeys, getOwnPropertyDescriptor: descriptorOf, defineProperty, deleteProperty } = Reflect;
const { isArray } = Array;
const [WRITABLE, ENUMERABLE, CONFIGURABLE] = [1, 2, 4];
/** Something that cannot be told the other side. */
export class Unpackable extends Error {}

/** What came from the other side is no message of ours. */
export class Nonsense extends Error {}

export function check(right) {
  if (!right) {
    throw new Nonsense("an answer that is none");
  }
}

/** An object's own properties from the given keys on, as a JSON list. */
export function properties(value, keys, start, leftOut, encode) {
  let text = "";
  for (let i = start; i < keys.length; i += 1) {
    const found = keys[i] === leftOut ? undefined : descriptorOf(value, keys[i]);
    if (found) {
      const flags = (found.writable === false ? WRITABLE : 0) | (found.enumerable ? 0 : ENUMERABLE) | (found.configurable ? 0 : CONFIGURABLE);
      const said = "value" in found ? encode(found.value) : `["g",${encode(found.get)},${encode(found.set)}]`;
      text += `${text ? "," : ""}[${encode(keys[i])},${said}${flags ? `,${flags}` : ""}]`;
    }
  }
  return `[${text}]`;
}

/** `[key, descriptor]` of one property as JSON. */
export function property(given, decode) {
  check(isArray(given) && (given.length === 2 || given.length === 3));
  const key = decode(given[0]);
  check(typeof key === "string" || typeof key === "symbol");
  const flags = given.length === 3 ? given[2] : 0;
  const found = { __proto__: null, enumerable: !(flags & ENUMERABLE), configurable: !(flags & CONFIGURABLE) };
  if (isArray(given[1]) && given[1][0] === "g") {
    found.get = decode(given[1][1]);
    found.set = decode(given[1][2]);
  } else {
    found.value = decode(given[1]);
    found.writable = !(flags & WRITABLE);
  }
  return [key, found];
}

function sameOrder(mine, wanted) {
  let i = 0;
  for (; i < mine.length && i < wanted.length; i += 1) {
    if (mine[i] !== wanted[i][0]) {
      return false;
    }
  }
  return i === mine.length;
}

/** Make an object's own properties what was described; `managed` tells which belong to its kind. */
export function fillProperties(object, given, decode, managed) {
  check(isArray(given));
  const wanted = [];
  for (let i = 0; i < given.length; i += 1) {
    wanted[i] = property(given[i], decode);
  }
  const mine = [];
  const keys = ownKeys(object);
  for (let i = 0; i < keys.length; i += 1) {
    if (!managed(keys[i])) {
      mine[mine.length] = keys[i];
    }
  }
  if (!sameOrder(mine, wanted)) {
    for (let i = 0; i < mine.length; i += 1) {
      deleteProperty(object, mine[i]);
    }
  }
  for (let i = 0; i < wanted.length; i += 1) {
    check(!managed(wanted[i][0]) && defineProperty(object, wanted[i][0], wanted[i][1]));
  }
}


