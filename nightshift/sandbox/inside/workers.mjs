// Has what vitest and jest fork begin with our own code, shut off from the process that reports.
//
// A forked process is told by a pipe of its own, which it reads before any other code runs there: whether its files are
// must-fail copies stands in no word of a command line and in no environment.

import child_process from "node:child_process";
import { syncBuiltinESMExports } from "node:module";

const PRELOAD = new URL("worker.mjs", import.meta.url).href;

/** Change how processes are forked, before the runner is loaded. `told` is what they are told. */
export function prepareForks({ words, environment, flags }, told) {
  const { fork } = child_process;
  child_process.fork = function (path, args, options) {
    const given = (Array.isArray(args) ? options : args) ?? {};
    const { silent } = given;
    const stdio = Array.isArray(given.stdio) ? [...given.stdio] : Array(3).fill(given.stdio ?? (silent ? "pipe" : "inherit"));
    if (!stdio.includes("ipc")) {
      stdio.push("ipc");
    }
    const descriptor = stdio.push("pipe") - 1;
    const execArgv = [...words.slice(1), process.execPath, ...flags, "--import", PRELOAD, ...(given.execArgv ?? [])];
    const env = { ...(given.env ?? process.env), ...environment, NIGHTSHIFT_TOLD: String(descriptor) };
    const made = fork(path, Array.isArray(args) ? args : [], { ...given, silent: false, stdio, env, execPath: words[0], execArgv });
    made.stdio[descriptor].on("error", () => {});
    made.stdio[descriptor].end(JSON.stringify(told));
    return made;
  };
  syncBuiltinESMExports();
}
