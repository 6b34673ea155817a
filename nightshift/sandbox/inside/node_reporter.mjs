// Reports the tests of node:test. Runs in the process that starts the test files, in which no code of the tree runs.

import { basename, resolve } from "node:path";
import channel from "./channel.cjs";

const { say, print, fault } = channel;
const isSet = (value) => value !== undefined && value !== false;

let exit;
if (process.execArgv.includes("--test-force-exit")) {
  // With this flag, Node.js 20 does not wait for its reporters.
  exit = process.exit.bind(process);
  process.exit = () => {};
}

export default async function* report(source) {
  const files = new Set();
  const titles = []; // of the tests that are open, by their depth
  const running = [];
  const below = []; // what failed last inside of each
  let current = "";
  // A test belongs to the file that defines it. Tests that a helper defines belong to the file that began last.
  const owner = (file) => (current = !current || files.has(file) ? file : current);

  for await (const { type, data } of source) {
    const { nesting = 0, name, file, details } = data;
    const isFile = nesting === 0 && file && resolve(name ?? "") === file;
    const hasEnded = type === "test:pass" || type === "test:fail";
    const error = details?.error;
    if (type === "test:stdout" || type === "test:stderr") {
      print(file, data.message);
    } else if (isFile) {
      files.add(file);
      if (type === "test:dequeue") {
        say({ e: "now", file, titles: [basename(file)] }); // a test that never yields is not told of in time
      } else if (hasEnded) {
        say({ e: "file", file, how: error ? "failed" : "passed", status: String(error?.signal ?? error?.exitCode ?? "") });
      }
    } else if (type === "test:dequeue") {
      running.splice(nesting, Infinity, name);
      say({ e: "now", file: owner(file), titles: running });
    } else if (type === "test:start") {
      titles.splice(nesting, Infinity, name);
      below.splice(nesting + 1);
    } else if (hasEnded) {
      const inside = error?.failureType === "subtestsFailed";
      const cause = error && ((inside && below[nesting + 1]) || fault(error.cause ?? error));
      const isSkipped = isSet(data.skip) || isSet(data.todo);
      if (!isSkipped && cause) {
        below[nesting] = cause;
      }
      if (details?.type !== "suite" || (error && !inside)) {
        const how = isSkipped ? "skipped" : error ? "failed" : "passed";
        const seconds = (details?.duration_ms ?? 0) / 1000;
        say({ e: "test", file: owner(file), titles: titles.slice(0, nesting + 1), how, seconds, error: cause });
      }
    }
  }
  say({ e: "end" });
  exit?.();
}
