// Runs first in the processes that vitest and jest fork for tests: shuts what `guard.mjs` does, and has the helper of tests.

import { AsyncLocalStorage } from "node:async_hooks";
import { guard } from "./guard.mjs";
import { MustFail } from "./must_fail.mjs";
import { readTold } from "./recording.mjs";
import { lock } from "./seal.mjs";

const { helper: name, must_fail: mustFail, done_at: doneAt, is_context: isContext } = readTold(+process.env.NIGHTSHIFT_TOLD);
delete process.env.NIGHTSHIFT_TOLD;
process.execArgv = [];

const helper = Object.freeze(new MustFail(mustFail, new AsyncLocalStorage(), doneAt));
let isShut = false;

/** Give the tests of a context the helper. */
export function give(context) {
  lock(context, name, helper);
}

/** Shut what no test needs; what the framework itself loads may have parts that are no JavaScript. */
export function shut() {
  if (!isShut) {
    isShut = true;
    guard();
  }
}

give(globalThis);
if (!isContext) {
  shut();
}
