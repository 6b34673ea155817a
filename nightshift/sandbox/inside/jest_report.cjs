// Writes what jest says of each test as JUnit XML; jest loads it in its own process, beside the tested code.

const { relative } = require("node:path");
const { writeFileSync } = require("node:fs");

const REPORT = "junit-jest.xml";
const ENTITIES = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" };
const DONE_WITHOUT = new Set(["pending", "skipped", "todo", "disabled"]);

// Characters that no XML may hold are left out, among them the colours of a terminal.
const written = (text) =>
  String(text)
    .replace(/\u001b\[[0-9;]*m/g, "")
    .replace(/[^\t\n\r\u0020-\uD7FF\uE000-\uFFFD]/g, "")
    .replace(/[&<>"]/g, (letter) => ENTITIES[letter]);

function testCase(file, { title, ancestorTitles, status, duration, failureMessages }) {
  const name = [...ancestorTitles, title].join(" > ");
  const head = `<testcase classname="${written(file)}" name="${written(name)}" time="${(duration ?? 0) / 1000}">`;
  if (status === "failed") {
    const message = failureMessages.join("\n");
    return `${head}<failure message="${written(message.split("\n")[0])}">${written(message)}</failure></testcase>`;
  }
  return `${head}${DONE_WITHOUT.has(status) ? "<skipped/>" : ""}</testcase>`;
}

function suite(root, { testFilePath, testResults, testExecError, failureMessage }) {
  const file = relative(root, testFilePath);
  const cases = testResults.map((one) => testCase(file, one));
  if (testExecError) {
    const text = written(failureMessage ?? testExecError.message);
    cases.push(`<testcase classname="${written(file)}" name="(file)"><error>${text}</error></testcase>`);
  }
  return `<testsuite name="${written(file)}" tests="${cases.length}">${cases.join("\n")}</testsuite>`;
}

module.exports = class JestReport {
  constructor({ rootDir }) {
    this.root = rootDir;
  }

  onRunComplete(_contexts, { testResults }) {
    const suites = testResults.map((one) => suite(this.root, one)).join("\n");
    writeFileSync(REPORT, `<?xml version="1.0" encoding="UTF-8"?>\n<testsuites>${suites}</testsuites>\n`);
  }
};
