// Runs files of jest with the project's own jest and configuration, and reports each test.
//
//     node … jest.mjs TOLD EVENTS

import { createRequire } from "node:module";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { Names, Recording, kindOf, readTold } from "./recording.mjs";
import { prepareForks } from "./workers.mjs";

const { forks, worker, ...told } = readTold(+process.argv[2]);
const recording = new Recording(told, +process.argv[3]);
process.argv.length = 2;
prepareForks(forks, worker);

const SKIPPED = new Set(["pending", "skipped", "todo", "disabled"]);
const NO_MEMORY_LIMIT = 2 ** 50; // jest runs tests in its own process unless their processes have a limit
const inside = (name) => fileURLToPath(new URL(name, import.meta.url));

/** What a test threw, of which jest hands on the text and some of its properties. */
function fault(text, details) {
  const [head] = text.split("\n    at ");
  const [, name, message] = /^(?:([A-Za-z$_][\w$]*)(?: \[\w+\])?: )?([^]*)$/.exec(head);
  const genuine = Boolean(details?.matcherResult) || name === "AssertionError" || details?.code === "ERR_ASSERTION";
  return { kind: kindOf(genuine ? "AssertionError" : name, details?.code, message), message, stack: text, genuine };
}

function record({ testFilePath, testResults, testExecError, failureMessage }) {
  const names = new Names();
  for (const { ancestorTitles, title, status, duration, failureMessages, failureDetails } of testResults) {
    const above = ancestorTitles.map((one) => one.replaceAll("[", "\u27e6")).join(" > ");
    const outcome = status === "passed" ? "passed" : SKIPPED.has(status) ? "skipped" : "failed";
    const error = fault(failureMessages[0] ?? "it failed", failureDetails[0]);
    recording.ended(testFilePath, names.below(above, title), { outcome, error, seconds: (duration ?? 0) / 1000 });
  }
  if (testExecError) {
    recording.collect(testFilePath, fault(failureMessage ?? testExecError.message ?? "it could not be run", testExecError));
  }
}

class Reporter {
  onTestCaseStart({ path }, { ancestorTitles, title }) {
    recording.now(path, [...ancestorTitles, title]);
  }
}

async function main() {
  const { runCLI } = createRequire(join(told.root, "package.json"))("jest");
  globalThis[Symbol.for("nightshift")] = Reporter;
  const { results } = await runCLI({
    _: told.files.map((file) => join(told.workspace, file)),
    $0: "jest",
    rootDir: told.root,
    runTestsByPath: true,
    ci: true,
    watchman: false,
    maxWorkers: Math.min(2, told.files.length),
    workerIdleMemoryLimit: NO_MEMORY_LIMIT,
    coverage: false,
    bail: 0,
    passWithNoTests: true,
    forceExit: false,
    cacheDirectory: join(process.env.TMPDIR ?? "/tmp", "jest"),
    reporters: [inside("jest_reporter.cjs")],
    testRunner: inside("jest_runner.cjs"),
  }, [told.root]);
  results.testResults.forEach(record);
}

try {
  await main();
} catch (error) {
  recording.collect(told.files[0], fault(String(error?.stack ?? error), error));
}
recording.finish();
