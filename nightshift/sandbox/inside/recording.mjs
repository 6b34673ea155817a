// Reports what vitest or jest say of tests, from their own process, in which no tested code runs.
//
// The lines are those of `harness.mjs`: each bears a secret that the trusted parent checks. Tested code runs in processes
// that are forked from here, and what these say of their tests over the runner's channel is taken as the runner takes
// it; so the must-fail copies decide whether it is to be believed.

import { readFileSync, closeSync, writeSync } from "node:fs";
import { isAbsolute, relative } from "node:path";

const JOINED = " > ";
const MESSAGE = 4000;
const FRAMES = 40;
const FRAME = /^(?: +at (?:async )?(?:(.*?) \()?)?(?:file:\/\/)?(\/[^:()]*):(\d+)(?::\d+)?\)?$/;
const COLOURS = /\u001b\[[0-9;]*m/g;

/** Read what the trusted parent tells from a descriptor, which is closed then. */
export function readTold(descriptor) {
  const told = JSON.parse(readFileSync(descriptor, "utf8"));
  closeSync(descriptor);
  return told;
}

/** Titles may hold what separates parameters in the ids of other frameworks. */
const escaped = (title) => String(title).replaceAll("[", "\u27e6");

export class Recording {
  #told;
  #events;
  #failed = false;

  constructor(told, events) {
    this.#told = told;
    this.#events = events;
  }

  /** The path of a file as the plan has it. */
  path(file) {
    return isAbsolute(file) ? relative(this.#told.workspace, file) : file;
  }

  #emit(event) {
    const line = Buffer.from(`${this.#told.secret}${JSON.stringify(event)}\n`);
    for (let at = 0; at < line.length; ) {
      try {
        at += writeSync(this.#events, line, at);
      } catch (error) {
        if (error.code !== "EAGAIN") {
          throw error;
        }
      }
    }
  }

  /** A test begins; its titles are not numbered here. */
  now(file, titles) {
    this.#emit({ e: "now", id: `${this.path(file)}::${titles.map(escaped).join(JOINED)}` });
  }

  /** A test ended: passed, failed or skipped, with what it threw. */
  ended(file, name, { outcome, error, seconds }) {
    const id = `${this.path(file)}::${name}`;
    const row = (when, how, raised, genuine, took) => [when, how, false, false, raised, genuine, took];
    let rows = [row("setup", "passed", null, false, 0), row("call", "passed", null, false, seconds), row("teardown", "passed", null, false, 0)];
    let fail = null;
    if (outcome === "skipped") {
      rows = [row("call", "skipped", null, false, seconds)];
      fail = { kind: "Skipped", message: "the test is skipped or still to be written", frames: [] };
    } else if (outcome === "failed") {
      this.#failed = true;
      fail = { when: "call", ...this.#details(error) };
      rows = [row("call", "failed", fail.kind, error.genuine === true, seconds)];
    }
    this.#emit({ e: "start", id });
    this.#emit({ e: "end", id, rows, fail });
  }

  /** A file, or what ran beside its tests, is at fault. */
  collect(file, error) {
    this.#failed = true;
    this.#emit({ e: "collect", id: this.path(file), ...this.#details(error) });
  }

  /** End the report, and this process with the status that it tells. */
  finish() {
    const exit = this.#failed ? 1 : 0;
    this.#emit({ e: "finish", exit, changed: [] });
    process.reallyExit(exit);
  }

  #details({ kind, message, stack }) {
    const workspace = this.#told.workspace;
    const frames = [];
    for (const line of String(stack ?? "").slice(0, 20000).split("\n").slice(0, FRAMES)) {
      const match = FRAME.exec(line);
      if (match?.[2].startsWith(workspace)) {
        frames.unshift([match[2].slice(workspace.length), +match[3], match[1] ?? "<module>"]);
      }
    }
    const shown = String(message ?? "it failed").replace(COLOURS, "").replaceAll("file://", "").slice(0, MESSAGE);
    return { kind: String(kind ?? "Error"), message: shown, frames };
  }
}

/** Names of a file's tests from the titles above them; those that are there already are numbered. */
export class Names {
  #counts = new Map();

  below(above, title) {
    const plain = above ? `${above}${JOINED}${escaped(title)}` : escaped(title);
    const count = (this.#counts.get(plain) ?? 0) + 1;
    this.#counts.set(plain, count);
    return count === 1 ? plain : `${plain} #${count}`;
  }
}

/** What a message of the language itself is called, as `harness.mjs` has it. */
export function kindOf(name, code, message) {
  if (code === "ERR_MODULE_NOT_FOUND" || code === "MODULE_NOT_FOUND" || /^(Error: )?(Cannot find (module|package)|Failed to (load url|resolve import)) /.test(message)) {
    return "ModuleNotFoundError";
  }
  return name || "Error";
}
