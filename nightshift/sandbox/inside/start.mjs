// The program that runs a file of node:test; apart from its reporter, which node:test loads while this one waits.

import { main } from "./harness.mjs";

await main(+process.argv[2], +process.argv[3]);
