// Runs the tests of one file without node:test in the process; the file imports a stand-in that lies beside it.

import { closeSync, readFileSync, writeSync } from "node:fs";
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";

const events = +process.argv[3];
const told = JSON.parse(readFileSync(+process.argv[2], "utf8"));
closeSync(+process.argv[2]);
const path = told.workspace + told.path;
const { exit } = process;
const report = (name, result) => writeSync(events, `${told.secret}${told.path}::${name}\t${result}\n`);

process.argv = [process.argv[0], path];
process.execArgv = [];
const shim = createRequire(pathToFileURL(path))(`./${told.shim}`);
const { finish } = shim;
await import(pathToFileURL(path).href);
for (const [name, result] of await finish()) {
  report(name, result);
}
exit(0);
