// Runs files of vitest with the project's own vitest and configuration, and reports each test.
//
//     node … vitest.mjs TOLD EVENTS

import { createRequire } from "node:module";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { Names, Recording, kindOf, readTold } from "./recording.mjs";
import { prepareForks } from "./workers.mjs";

const { forks, worker, ...told } = readTold(+process.argv[2]);
const recording = new Recording(told, +process.argv[3]);
process.argv.length = 2;
prepareForks(forks, worker);

function fault(error) {
  const { name, message, stack, code } = error ?? {};
  // What a check of vitest's throws has both, also one that a project adds.
  const genuine = name === "AssertionError" || code === "ERR_ASSERTION" || (error && "actual" in error && "expected" in error);
  return { kind: kindOf(name, code, String(message)), message, stack, genuine };
}

function outcome({ mode, result }) {
  if (mode === "skip" || mode === "todo" || result?.state === "skip") {
    return "skipped";
  }
  return result?.state === "pass" ? "passed" : "failed";
}

function record(file, tasks, above, names) {
  for (const task of tasks) {
    const name = names.below(above, task.name);
    const [error] = task.result?.errors ?? [];
    if (task.type === "suite") {
      record(file, task.tasks, name, names);
      if (error) {
        recording.ended(file, name, { outcome: "failed", error: { ...fault(error), genuine: false }, seconds: 0 });
      }
    } else {
      const missing = { message: "the test did not come to its end" };
      const seconds = (task.result?.duration ?? 0) / 1000;
      recording.ended(file, name, { outcome: outcome(task), error: fault(error ?? missing), seconds });
    }
  }
}

const titles = (test) => (test.parent && test.parent.type !== "module" ? [...titles(test.parent), test.name] : [test.name]);

async function main() {
  const found = createRequire(join(told.root, "package.json")).resolve("vitest/node");
  const { startVitest } = await import(pathToFileURL(found).href);
  const files = told.files.map((file) => join(told.workspace, file));
  const pool = { execArgv: [], isolate: true, singleFork: false, minForks: 1, maxForks: 2 };
  const vitest = await startVitest("test", [], {
    root: told.root,
    dir: told.root,
    // These files and no others, whatever the project's configuration names.
    include: told.files.map((file) => join(told.workspace, file).replace(/[[\]{}()*?!+@\\]/g, "\\$&")),
    exclude: [],
    watch: false,
    run: true,
    ui: false,
    open: false,
    update: false,
    bail: 0,
    pool: "forks",
    poolOptions: { forks: pool },
    isolate: true,
    fileParallelism: files.length > 1,
    maxWorkers: 2,
    minWorkers: 1,
    coverage: { enabled: false },
    typecheck: { enabled: false },
    passWithNoTests: true,
    reporters: [{ onTestCaseReady: (test) => recording.now(test.module.moduleId, titles(test)) }],
  }, { cacheDir: join(process.env.TMPDIR ?? "/tmp", "vite"), server: { watch: null } });
  if (!vitest) {
    throw new Error("vitest did not start");
  }
  for (const file of vitest.state.getFiles()) {
    const [error] = file.result?.errors ?? [];
    record(file.filepath, file.tasks, "", new Names());
    if (error) {
      recording.collect(file.filepath, fault(error));
    }
  }
  for (const error of vitest.state.getUnhandledErrors()) {
    recording.collect(told.files[0], fault(error));
  }
}

try {
  await main();
} catch (error) {
  recording.collect(told.files[0], fault(error));
}
recording.finish();
