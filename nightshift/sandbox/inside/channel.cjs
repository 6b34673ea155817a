// The channel of the reporters to the trusted parent: a named pipe, because Node.js hands no other descriptor on.
//
// Each line bears the run's secret, which leaves the environment here; processes that node:test starts for test files have
// it for `lock.mjs`, and lose it before code of the tree is there.

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

/** Pass on what a file prints, and say in the output whose it is. */
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

/** What can be read from the text of something that is no error, or of one that could not be handed on. */
function read(thrown) {
  const stack = typeof thrown === "string" ? thrown : inspect(thrown);
  const [, name, code, message] = /^(?:([A-Za-z$_][\w$]*)(?: \[(\w+)\])?: )?([^]*?)(?=\n +at |$)/.exec(stack);
  return { name, code, message, stack };
}
