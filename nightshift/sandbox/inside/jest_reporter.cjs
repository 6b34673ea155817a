// Reports jest's tests, in addition to jest's own reporters.

const { say, fault } = require("./channel.cjs");

const SKIPPED = new Set(["pending", "skipped", "todo", "disabled"]);

/** Describe what a test threw; jest passes on its text and some of its properties. */
function thrown(text, details) {
  const found = fault(text);
  const isCheck = found.isCheck || Boolean(details?.matcherResult) || details?.code === "ERR_ASSERTION";
  return { ...found, code: String(details?.code ?? found.code), isCheck };
}

module.exports = class {
  onTestCaseStart({ path }, { ancestorTitles, title }) {
    say({ e: "now", file: path, titles: [...ancestorTitles, title] });
  }

  onTestResult(_test, { testFilePath: file, testResults, testExecError, failureMessage }) {
    for (const { ancestorTitles, title, status, duration, failureMessages, failureDetails } of testResults) {
      const how = status === "passed" ? "passed" : SKIPPED.has(status) ? "skipped" : "failed";
      const error = how === "failed" ? thrown(failureMessages[0] ?? "it failed", failureDetails[0]) : undefined;
      say({ e: "test", file, titles: [...ancestorTitles, title], how, seconds: (duration ?? 0) / 1000, error });
    }
    if (testExecError) {
      say({ e: "file", file, how: "failed", error: thrown(failureMessage ?? testExecError.message, testExecError) });
    }
  }

  onRunComplete() {
    say({ e: "end" });
  }
};
