// Reports vitest's tests, in addition to vitest's own reporters.

import channel from "./channel.cjs";

const { say, fault } = channel;

const titles = (test) => (test.parent && test.parent.type !== "module" ? [...titles(test.parent), test.name] : [test.name]);

/** Errors of vitest's checks have both properties, including checks that a project adds. */
const thrown = (error) => fault(error && "actual" in error && "expected" in error ? { ...error, name: "AssertionError" } : error);

function tell(file, tasks, above) {
  for (const { name, type, mode, tasks: inner, result } of tasks) {
    const isSkipped = mode === "skip" || mode === "todo" || result?.state === "skip";
    const how = isSkipped ? "skipped" : result?.state === "pass" ? "passed" : "failed";
    const error = how === "failed" ? thrown(result?.errors?.[0] ?? new Error("the test did not come to its end")) : undefined;
    const path = [...above, name];
    if (type !== "suite" || result?.errors?.length) {
      say({ e: "test", file, titles: path, how, seconds: (result?.duration ?? 0) / 1000, error });
    }
    tell(file, inner ?? [], path);
  }
}

export default class {
  onTestCaseReady(test) {
    say({ e: "now", file: test.module.moduleId, titles: titles(test) });
  }

  onTestRunEnd(modules, errors) {
    this.onFinished(modules.map(({ task }) => task), errors);
  }

  onFinished(files, errors) {
    if (this.hasEnded) {
      return; // a version that calls both
    }
    this.hasEnded = true;
    for (const { filepath: file, tasks, result } of files) {
      tell(file, tasks, []);
      if (result?.errors?.length) {
        say({ e: "file", file, how: "failed", error: thrown(result.errors[0]) });
      }
    }
    for (const error of errors) {
      say({ e: "file", file: files[0]?.filepath ?? "", how: "failed", error: thrown(error) });
    }
    say({ e: "end" });
  }
}
