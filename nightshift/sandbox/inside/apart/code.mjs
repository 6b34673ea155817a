// The code side of a split run: imports the tested code and does with it what the test side asks for.
//
//     node … code.mjs LINK FOLDER
//
// No test is on this side, nothing that is expected is told to it, and all that it answers counts as a claim. While the
// test side runs, this one waits, and the other way round, so that the two behave as one thread: promises and timers go
// on when the test side has nothing left to do (`wait`), and between two of its turns (`tick`).

import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";
import { types } from "node:util";
import { Channel, Closed, TooLarge } from "./channel.mjs";
import { Graph } from "./graph.mjs";
import { hidesState, names } from "./intrinsics.mjs";
import { Unpackable, properties } from "./properties.mjs";

const { apply, construct, get, set, has, deleteProperty, defineProperty, getOwnPropertyDescriptor, getPrototypeOf, ownKeys } = Reflect;
const { get: getEntry, set: setEntry } = Map.prototype;
const { then } = Promise.prototype;
const { isArray } = Array;
const { is, isExtensible } = Object;
const { isProxy } = types;
const { stringify } = JSON;
const later = setImmediate;
const objectOf = Object;
const exit = process.reallyExit;
const drain = process._tickCallback;
const [CALLABLE, LIST, HIDDEN] = [1, 2, 4];

const SHARED = [
  Object, Array, String, Number, Function, Promise, Map, Set, Date, RegExp, Error, Symbol, Boolean, BigInt,
];
const extended = [globalThis, Math, JSON];
for (const constructor of SHARED) {
  extended.push(constructor, constructor.prototype);
}
const known = extended.map((owner) => new Set(ownKeys(owner)));
const { has: hasItem } = Set.prototype;

/** The names that were added to what the language brings along. */
function added() {
  const found = [];
  for (let i = 0; i < extended.length; i += 1) {
    const keys = ownKeys(extended[i]);
    for (let j = 0; j < keys.length; j += 1) {
      if (typeof keys[j] === "string" && !apply(hasItem, known[i], [keys[j]])) {
        found[found.length] = keys[j];
      }
    }
  }
  return found;
}

const channel = new Channel(+process.argv[2]);
const base = pathToFileURL(process.argv[3]);
const objects = [];
const numbers = new Map();
let unsaid = ""; // handles that were made for a message
let settled = [];
let waiting = false;
const modules = []; // [number, namespace, values by name]

function shapeOf(value) {
  if (typeof value === "function") {
    return CALLABLE;
  }
  let shape = isArray(value) ? LIST : 0;
  for (let above = value; !shape && above !== null && !isProxy(above); above = getPrototypeOf(above)) {
    const name = apply(getEntry, names, [above]);
    shape = name !== undefined && hidesState(name) ? HIDDEN : 0;
  }
  return shape;
}

const graph = new Graph({
  first: 2,
  other(value) {
    let number = apply(getEntry, numbers, [value]);
    if (number === undefined) {
      number = objects.length;
      objects[number] = value;
      apply(setEntry, numbers, [value, number]);
      unsaid += `${unsaid ? "," : ""}[${number},${shapeOf(value)}]`;
    }
    return `["h",${number}]`;
  },
  known: (number) => objects[number],
  track(number, promise) {
    const note = (how) => (value) => {
      settled[settled.length] = [number, how, value];
      if (waiting) {
        waiting = false;
        later(resume);
      }
    };
    apply(then, promise, [note("f"), note("r")]);
  },
  promise() {
    throw new Unpackable("a promise of the tests");
  },
});
const { encode, decode } = graph;

/** What became of promises since the last answer. */
function news() {
  let text = "";
  for (let i = 0; i < settled.length; i += 1) {
    const [number, how, value] = settled[i];
    text += `${i ? "," : ""}[${number},"${how}",${encode(value)}]`;
  }
  return `[${text}]`;
}

/** Exports that have another value than they had. */
function moved() {
  let text = "";
  for (let i = 0; i < modules.length; i += 1) {
    const [number, namespace, values] = modules[i];
    const keys = ownKeys(namespace);
    for (let j = 0; j < keys.length; j += 1) {
      if (typeof keys[j] === "string" && !is(values[keys[j]], namespace[keys[j]])) {
        values[keys[j]] = namespace[keys[j]];
        text += `${text ? "," : ""}[${number},${encode(keys[j])},${encode(values[keys[j]])}]`;
      }
    }
  }
  return `[${text}]`;
}

function answer(how, said) {
  try {
    channel.send(`[${graph.write(() => `"${how}",${said()},${news()},${moved()}`)},[${unsaid}]]`);
  } catch (error) {
    if (!(error instanceof Unpackable || error instanceof TooLarge)) {
      throw error;
    }
    channel.send(`["large",null,[],[],[],[${unsaid}]]`);
  }
  unsaid = "";
  settled = [];
}

const nothing = () => '["u"]';
const raised = (error) => answer("raised", () => encode(error));

const actions = {
  __proto__: null,
  get: (owner, key, receiver) => get(objectOf(owner), key, receiver),
  set: (owner, key, item, receiver) => set(owner, key, item, receiver),
  assign: (owner, key, item) => void (owner[key] = item),
  has: (owner, key) => has(owner, key),
  delete: (owner, key) => deleteProperty(owner, key),
  above: (owner) => getPrototypeOf(owner),
  call: (called, self, given) => apply(called, self, given),
  new: (called, given) => construct(called, given),
  require: (specifier) => createRequire(base)(specifier),
  extensible: (owner) => isExtensible(owner),
  stale: () => [graph.isStale(), added()],
  own(owner) {
    const keys = ownKeys(owner);
    const seen = isProxy(owner) ? copied(owner, keys) : owner;
    return () => properties(seen, keys, 0, undefined, encode);
  },
};

/** The properties of what answers by code of its own, asked for once. */
function copied(owner, keys) {
  const found = { __proto__: null };
  for (let i = 0; i < keys.length; i += 1) {
    const descriptor = getOwnPropertyDescriptor(owner, keys[i]);
    if (descriptor) {
      defineProperty(found, keys[i], descriptor);
    }
  }
  return found;
}

/** Import a module; its answer comes when that is done. */
function importing(specifier) {
  const found = (namespace) => {
    imported(namespace);
    guarded();
  };
  const failed = (error) => {
    raised(error);
    guarded();
  };
  const { href } = new URL(specifier, base);
  apply(then, import(href), [(namespace) => later(found, namespace), (error) => later(failed, error)]);
}

function imported(namespace) {
  const values = { __proto__: null };
  const number = modules.length;
  const keys = ownKeys(namespace);
  modules[number] = [number, namespace, values];
  answer("value", () => {
    let text = `${number},${encode(namespace)}`;
    for (let i = 0; i < keys.length; i += 1) {
      if (typeof keys[i] === "string") {
        values[keys[i]] = namespace[keys[i]];
        text += `,[${encode(keys[i])},${encode(values[keys[i]])}]`;
      }
    }
    return `[${text}]`;
  });
}

/** Let promises and timers go on, until the loop has turned or a promise has settled; the answer comes then. */
function away(action) {
  waiting = action === "wait" && settled.length === 0;
  if (!waiting) {
    later(resume);
  }
}

function listed(given) {
  const found = [];
  for (let i = 0; i < given.length; i += 1) {
    found[i] = decode(given[i]);
  }
  return found;
}

function perform(action, given, rest) {
  let found;
  try {
    given[given.length] = rest;
    found = apply(actions[action], undefined, given);
  } catch (error) {
    raised(error);
    return;
  }
  answer("value", action === "own" ? found : () => encode(found));
}

/** Answer until the test side lets this one go on. */
function serve() {
  for (;;) {
    const [action, given, rest, descriptions] = channel.receive();
    graph.read(descriptions);
    if (action === "import") {
      importing(given[0]);
      return;
    }
    if (action === "wait" || (action === "tick" && drain === undefined)) {
      away(action);
      return;
    }
    if (action === "tick") {
      apply(drain, process, []);
      answer("value", nothing);
    } else {
      perform(action, listed(given), listed(rest));
    }
  }
}

function guarded() {
  try {
    serve();
  } catch (error) {
    exit(error instanceof Closed ? 0 : 70);
  }
}

function resume() {
  answer("value", nothing);
  guarded();
}

process.argv = [process.argv[0], process.argv[3]];
process.execArgv = [];
process.on("beforeExit", () => {
  waiting = false;
  later(() => {
    answer("idle", nothing);
    guarded();
  });
});
later(guarded);
