// The test side of a split run: runs tests, whose texts are in memory alone, against code in another process.
//
//     node --experimental-vm-modules … tests.mjs TOLD EVENTS LINK
//
// No code of the workspace runs here. Each result is a line of JSON, `[id, result, why]`, and each test that the plan
// lists gets one. A file's must-fail copy follows if all its tests have passed.

import { AsyncLocalStorage } from "node:async_hooks";
import { closeSync, readFileSync, writeSync } from "node:fs";
import { lock } from "../seal.mjs";
import { MustFail } from "../must_fail.mjs";
import { Framework } from "./framework.mjs";
import { close } from "./intrinsics.mjs";
import { Link } from "./link.mjs";
import { Loader } from "./loading.mjs";

const [toldFd, events, link] = process.argv.slice(2).map(Number);
const told = JSON.parse(readFileSync(toldFd, "utf8"));
closeSync(toldFd);

const exit = process.reallyExit;
const judge = new Link(link, told.files[0].isModule);
let current;

/** One file: its framework, and the results of its tests. */
class Run {
  #results = new Map();

  constructor(file) {
    this.file = file;
    this.framework = new Framework(judge, (name, result, why) => this.#report(name, result, why));
  }

  #report(name, result, why) {
    this.#results.set(name, result);
    writeSync(events, `${JSON.stringify([`${this.file.id}::${name}`, result, why])}\n`);
  }

  get hasPassed() {
    return [...this.#results.values()].every((result) => result === "passed");
  }

  /** Give a result to each test that has none. */
  finish(result, why) {
    this.framework.abandon(why);
    for (const name of this.file.tests) {
      if (!this.#results.has(name)) {
        judge.begin();
        this.#report(name, ...judge.weigh(result, why));
      }
    }
  }
}

/** Run one file; tells whether all its tests have passed. */
async function run(file) {
  current = new Run(file);
  try {
    await new Loader(judge, current.framework.exports, file).run();
    await current.framework.run();
  } catch (error) {
    const theirs = judge.isTheirs(error) || error instanceof SyntaxError;
    current.finish(theirs ? "raised" : "unjudged", `the file could not be run: ${error?.message ?? error}`);
  }
  current.finish("raised", "this test did not run");
  return current.hasPassed;
}

function end(result, why) {
  current?.finish(result, why);
  exit(0);
}

process.on("unhandledRejection", (error) => current?.framework.abandon(`nobody handles a rejected promise: ${error?.message ?? error}`));
process.on("uncaughtException", () => end("unjudged", "the test side failed"));
process.on("beforeExit", () => end("raised", "a promise never settles"));

close();
const [original, copy] = told.files;
lock(globalThis, told.helper, Object.freeze(new MustFail(true, new AsyncLocalStorage()))); // originals come without it
if ((await run(original)) && copy) {
  await run(copy);
}
exit(0);
