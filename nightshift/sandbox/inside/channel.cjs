// The channel of the reporters to the trusted parent. It is a named pipe, because Node.js passes no other descriptors
// to its child processes.
//
// Each line begins with the run's secret, which this module removes from the environment. The processes that node:test
// starts for test files still have the secret for `lock.mjs`, which removes it before code of the tree runs.

const { openSync, writeSync } = require("node:fs");
const { inspect } = require("node:util");

const { stringify } = JSON;
const [secret, path, token] = (process.env.NIGHTSHIFT_REPORT ?? "").split(" ");
if (!process.execArgv.includes("--test")) {
  delete process.env.NIGHTSHIFT_REPORT;
}
const pipe = path && openSync(path, "w");
const TEXT = 4000;
let printing;

/** Write one event. */
exports.say = (event) => {
  if (pipe) {
    writeSync(pipe, `${secret}${stringify(event)}\n`);
  }
};

/** Pass on what a file prints, with a line that names the file when it changes. */
exports.print = (file, printed) => {
  if (token) {
    process.stdout.write(file === printing ? printed : `${token}${file}\n${printed}`);
    printing = file;
  }
};

const text = (value, most) => String(value ?? "").slice(0, most);

/** Describe what a test threw: name, code, message, stack, and whether a check threw it. */
exports.fault = (error) => {
  const { name, code, message, stack } = typeof error?.message === "string" ? error : read(error);
  const isCheck = name === "AssertionError" || code === "ERR_ASSERTION" || Boolean(error?.matcherResult);
  return { name: text(name, 100), code: text(code, 100), message: text(message, TEXT), stack: text(stack, 4 * TEXT), isCheck };
};

/** Read the same from the text of a thrown value that is not an error, or of an error that could not be passed on. */
function read(thrown) {
  const stack = typeof thrown === "string" ? thrown : inspect(thrown);
  const [, name, code, message] = /^(?:([A-Za-z$_][\w$]*)(?: \[(\w+)\])?: )?([^]*?)(?=\n +at |$)/.exec(stack);
  return { name, code, message, stack };
}
