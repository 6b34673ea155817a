// Runs one file of node:test in this process and reports each test as it ends; first of all code in the process.
//
//     node … --test-reporter=harness.mjs start.mjs TOLD EVENTS
//
// node:test loads this module as its reporter, and `start.mjs` calls it as the program. It speaks the language of `session.py`, with each line behind a
// secret that the trusted parent checks, and one event more: `now` names the test that begins. What is needed later is
// bound here, before any code of the workspace is imported, and nothing is called by a name that such code could change
// meanwhile: no methods of arrays or strings, no `toJSON`.

import assert from "node:assert";
import { AsyncLocalStorage } from "node:async_hooks";
import fs from "node:fs";
import test, { beforeEach } from "node:test";
import { pathToFileURL } from "node:url";
import { guard } from "./guard.mjs";
import { compare, lock, take } from "./seal.mjs";
import { MustFail } from "./must_fail.mjs";

const { writeSync, readFileSync, closeSync, fstatSync } = fs;
const { reallyExit } = process;
const { stringify } = JSON;
const { apply, getOwnPropertyDescriptor, getPrototypeOf, ownKeys } = Reflect;
const { exec } = RegExp.prototype;
const { slice, indexOf, replaceAll, split } = String.prototype;
const genuinePrototype = assert.AssertionError.prototype;
const later = setImmediate;
const MESSAGE = 4000;
const FRAMES = 40;
const JOINED = " > ";

const call = (method, self, ...args) => apply(method, self, args);
const text = (value) => stringify(typeof value === "string" ? value : `${value}`);

let told;
let events;
let pipe;
let sealed;
const changed = { __proto__: null };
let path = "";
let name = "";
let failures = 0;
let announce;
const started = new Promise((resolve) => {
  announce = resolve;
});

/** The number of what a descriptor leads to; tested code may close ours and put something in its place. */
function place(descriptor) {
  return getOwnPropertyDescriptor(fstatSync(descriptor), "ino")?.value;
}

function emit(line) {
  if (place(events) !== pipe) {
    reallyExit(70); // the report has no end then
  }
  writeSync(events, `${told.secret}${line}\n`);
}

/** Look whether what results rest on is what it was. */
function look() {
  compare(sealed, (name) => {
    changed[name] = true;
  });
}

/** Say in the output whose it is from here on. */
function mark(id) {
  for (;;) {
    try {
      writeSync(1, `${told.token}${call(replaceAll, id, "\n", " ")}\n`);
      return;
    } catch (error) {
      // Full for the moment: Node.js makes this descriptor one that does not wait.
      if (error.code !== "EAGAIN") {
        throw error;
      }
    }
  }
}

/** Titles may hold what separates parameters in the ids of other frameworks. */
function escaped(title) {
  return call(replaceAll, title, "[", "\u27e6");
}

/** Names of tests from the titles above them; those that are there already are numbered. */
class Places {
  #counts = { __proto__: null };
  #above = [];

  enter(nesting, title) {
    const plain = nesting > 0 ? `${this.#above[nesting - 1]}${JOINED}${escaped(title)}` : escaped(title);
    const count = (this.#counts[plain] ?? 0) + 1;
    this.#counts[plain] = count;
    this.#above[nesting] = count === 1 ? plain : `${plain} #${count}`;
    return this.#above[nesting];
  }

  at(nesting) {
    return this.#above[nesting];
  }
}

/** The first property that can be read without harm; what was thrown may be anything. */
function property(value, key) {
  try {
    return value === null || value === undefined ? undefined : value[key];
  } catch {
    return undefined;
  }
}

function isGenuine(error) {
  try {
    return typeof error === "object" && error !== null && getPrototypeOf(error) === genuinePrototype && error.code === "ERR_ASSERTION";
  } catch {
    return false;
  }
}

/** An assertion failed in the test, in a callback of its making, or in a test below it. */
function failedGenuinely(type, cause, below) {
  if (type === "testCodeFailure" || type === "uncaughtException" || type === "unhandledRejection") {
    return isGenuine(cause);
  }
  return type === "subtestsFailed" && below;
}

function kindOf(error) {
  const code = property(error, "code");
  const message = property(error, "message");
  if (code === "ERR_MODULE_NOT_FOUND" || code === "MODULE_NOT_FOUND") {
    return "ModuleNotFoundError";
  }
  if (typeof message === "string" && call(indexOf, message, "does not provide an export named") >= 0) {
    return "ImportError";
  }
  const known = property(property(error, "constructor"), "name") ?? property(error, "name");
  return typeof known === "string" ? known : typeof error;
}

/** `[path, line, function]` of the frames below the workspace, outermost first. */
function framesOf(error) {
  const stack = property(error, "stack");
  if (typeof stack !== "string") {
    return "[]";
  }
  const pattern = /^(?: +at (?:async )?(?:(.*?) \()?)?(?:file:\/\/)?(\/[^:()]*):(\d+)(?::\d+)?\)?$/;
  let found = "";
  const lines = call(split, call(slice, stack, 0, 20000), "\n");
  for (let i = 0; i < lines.length && i < FRAMES; i += 1) {
    const match = call(exec, pattern, lines[i]);
    if (match && call(indexOf, match[2], told.workspace) === 0) {
      const own = call(slice, match[2], told.workspace.length);
      found = `[${text(own)},${+match[3]},${text(match[1] ?? "<module>")}]${found ? "," : ""}${found}`;
    }
  }
  return `[${found}]`;
}

function details(error, otherwise) {
  const message = property(error, "message");
  const said = typeof message === "string" ? message : typeof error === "string" ? error : otherwise;
  const shown = call(slice, call(replaceAll, call(replaceAll, said, "file://", ""), `${told.helper}.is(`, "("), 0, MESSAGE);
  return `"kind":${text(kindOf(error))},"message":${text(shown)},"frames":${framesOf(error)}`;
}

/** One row a phase, as pytest's reports have them. */
function row(when, outcome, raised, genuine, seconds) {
  return `[${text(when)},${text(outcome)},false,false,${raised === null ? "null" : text(raised)},${genuine},${+seconds || 0}]`;
}

function end(id, rows, fault) {
  emit(`{"e":"start","id":${text(id)}}`);
  emit(`{"e":"end","id":${text(id)},"rows":[${rows}],"fail":${fault}}`);
}

function ended(id, data, below) {
  const seconds = property(data.details, "duration_ms") / 1000;
  const error = property(data.details, "error");
  const type = property(error, "failureType");
  const cause = property(error, "cause") ?? error;
  if ((data.skip !== undefined && data.skip !== false) || (data.todo !== undefined && data.todo !== false)) {
    end(id, row("call", "skipped", null, false, seconds), `{"kind":"Skipped","message":"the test is skipped or still to be written","frames":[]}`);
  } else if (error === undefined) {
    end(id, `${row("setup", "passed", null, false, 0)},${row("call", "passed", null, false, seconds)},${row("teardown", "passed", null, false, 0)}`, "null");
  } else {
    const when = type === "hookFailed" || type === "cancelledByParent" ? "setup" : "call";
    const genuine = failedGenuinely(type, cause, below);
    end(id, row(when, "failed", kindOf(cause), genuine, seconds), `{"when":${text(when)},${details(cause, "it failed")}}`);
  }
}

/** Takes the events of node:test, in the order in which the file has its tests. */
class Recorder {
  #places = new Places();
  #running = new Places();
  #genuine = [];

  take(event) {
    const { type, data } = event;
    const { nesting } = data;
    look();
    if (type === "test:dequeue") {
      const id = `${told.path}::${this.#running.enter(nesting, data.name)}`;
      emit(`{"e":"now","id":${text(id)}}`);
      mark(id);
    } else if (type === "test:start") {
      this.#places.enter(nesting, data.name);
      this.#genuine[nesting + 1] = false;
    } else if (type === "test:pass" || type === "test:fail") {
      this.#ended(type, nesting, data);
    } else if (type === "test:plan" && nesting === 0) {
      mark("");
      look();
      emit(`{"e":"finish","exit":${failures ? 1 : 0},"changed":${stringify(ownKeys(changed))}}`);
    }
  }

  #ended(type, nesting, data) {
    const error = property(data.details, "error");
    const below = this.#genuine[nesting + 1];
    const counts = data.todo === undefined || data.todo === false;
    failures += type === "test:fail" && counts ? 1 : 0;
    // A suite is no test: it is worth a word only when it failed by itself.
    const isSuite = property(data.details, "type") === "suite";
    if (!isSuite || (type === "test:fail" && property(error, "failureType") !== "subtestsFailed")) {
      ended(`${told.path}::${this.#places.at(nesting)}`, data, below);
    }
    const own = failedGenuinely(property(error, "failureType"), property(error, "cause"), below);
    this.#genuine[nesting] = this.#genuine[nesting] || own;
  }
}

export default async function* report(source) {
  announce();
  const recorder = new Recorder();
  for await (const event of source) {
    recorder.take(event);
  }
}

/** Make the process look like `node FILE`, and keep its memory from the tested code's eyes. */
function disguise() {
  process.argv = [process.argv[0], path];
  process.execArgv = [];
  process.title = "node"; // the words of the command line tell copies from originals
}

/** Run the file that the descriptor `toldFd` tells of. */
export async function main(toldFd, eventsFd) {
  told = JSON.parse(readFileSync(toldFd, "utf8"));
  closeSync(toldFd);
  events = eventsFd;
  pipe = place(events);
  path = told.workspace + told.path;
  lock(globalThis, told.helper, Object.freeze(new MustFail(told.must_fail, new AsyncLocalStorage())));
  // A turn of the loop before each test: the events before it are told by the time its own code runs.
  beforeEach(() => new Promise((resolve) => later(resolve)));
  await started;
  disguise();
  guard();
  sealed = take(assert, test);
  try {
    await import(pathToFileURL(path).href);
  } catch (error) {
    failures += 1;
    process.exitCode = 1;
    emit(`{"e":"collect","id":${text(told.path)},${details(error, "it could not be imported")}}`);
  }
}
