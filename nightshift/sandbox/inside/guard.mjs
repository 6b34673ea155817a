// Shuts what lets code reach below JavaScript in its own process: internals, add-ons, debugger, snapshots of the heap.
//
// With these one can read what is expected of the memory, or rewrite a test while it runs. Nothing that a program is
// likely to do is missed; whoever asks hears that it cannot be had here. What goes by way of another thread is left.

import { createRequire, syncBuiltinESMExports } from "node:module";

const load = createRequire(import.meta.url);
const { apply, defineProperty } = Reflect;
const { exec } = RegExp.prototype;
const INTERNALS = ["binding", "_linkedBinding", "dlopen", "_debugProcess", "_debugEnd", "_tickCallback"];
const HEAP = ["getHeapSnapshot", "writeHeapSnapshot", "setHeapSnapshotNearHeapLimit", "queryObjects", "startCpuProfile"];

function shut(owner, name) {
  if (typeof owner[name] === "function") {
    const refuse = () => {
      throw new Error(`${name} cannot be had while tests run`);
    };
    defineProperty(owner, name, { value: refuse, writable: false, enumerable: true, configurable: false });
  }
}

/** Shut it; call it before any code of the workspace is there. */
export function guard() {
  const v8 = load("node:v8");
  const inspector = load("node:inspector");
  const setFlags = v8.setFlagsFromString;
  for (const name of INTERNALS) {
    shut(process, name);
  }
  for (const name of HEAP) {
    shut(v8, name);
  }
  for (const name of ["open", "waitForDebugger"]) {
    shut(inspector, name);
  }
  for (const name of ["connect", "connectToMainThread"]) {
    shut(inspector.Session.prototype, name);
  }
  // Tests that look for leaks ask for a garbage collection; other flags change what the language is.
  defineProperty(v8, "setFlagsFromString", {
    value(flags) {
      if (!apply(exec, /^--?(no-?)?expose[-_]gc$/, [flags])) {
        throw new Error("setFlagsFromString cannot be had while tests run");
      }
      setFlags(flags);
    },
    writable: false, enumerable: true, configurable: false,
  });
  process.on("SIGUSR1", () => {}); // it would start the debugger
  syncBuiltinESMExports();
}
