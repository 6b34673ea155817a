// Loads a test file from its text, with stand-ins for node:test and for the modules of the workspace.
//
// Nothing of the workspace is executed here. Modules of Node.js are those of Node.js: which ones a file may import was
// decided when it was read.

import { createRequire, isBuiltin } from "node:module";
import * as modules from "node:module";
import vm from "node:vm";
import { Comparer } from "./comparing.mjs";

const COMPARING = /^(node:)?(assert|assert\/strict|util)$/;
const FRAMEWORK = "node:test";
const here = createRequire(import.meta.url);

/** A module that exports these values by name. */
async function made(exported, identifier) {
  const built = new vm.SyntheticModule(Object.keys(exported), () => {
    for (const [name, value] of Object.entries(exported)) {
      built.setExport(name, value);
    }
  }, { identifier });
  await built.link(() => {});
  await built.evaluate();
  return built;
}

export class Loader {
  #link;
  #framework;
  #file;
  #comparer;
  #known = new Map();

  /** `framework` is the stand-in, with its exports as properties; `file` has `path` and `text`, and says whether it `isModule`. */
  constructor(link, framework, file) {
    this.#link = link;
    this.#comparer = new Comparer(link);
    this.#framework = framework;
    this.#file = file;
  }

  /** Run the file. */
  async run() {
    const { path, isModule } = this.#file;
    const text = /\.[cm]?ts$/.test(path) ? modules.stripTypeScriptTypes(this.#file.text) : this.#file.text;
    await (isModule ? this.#runModule(path, text) : this.#runScript(path, text));
  }

  async #runModule(path, text) {
    const importModuleDynamically = (specifier) => this.#module(specifier);
    const module = new vm.SourceTextModule(text, { identifier: `file://${path}`, importModuleDynamically });
    await module.link((specifier) => this.#module(specifier));
    await module.evaluate();
  }

  #runScript(path, text) {
    const module = { exports: {} };
    const importModuleDynamically = (specifier) => this.#module(specifier);
    const parameters = ["exports", "require", "module", "__filename", "__dirname"];
    const run = vm.compileFunction(text, parameters, { filename: path, importModuleDynamically });
    const folder = path.slice(0, path.lastIndexOf("/"));
    run.call(module.exports, module.exports, (specifier) => this.#required(specifier), module, path, folder);
  }

  #module(specifier) {
    if (!this.#known.has(specifier)) {
      this.#known.set(specifier, this.#found(specifier));
    }
    return this.#known.get(specifier);
  }

  async #found(specifier) {
    if (specifier === FRAMEWORK) {
      return made({ ...this.#framework, default: this.#framework }, specifier);
    }
    if (isBuiltin(specifier)) {
      const exported = await import(specifier);
      return made(COMPARING.test(specifier) ? this.#comparer.wrapped(exported) : exported, specifier);
    }
    let built;
    const [proxy, pairs] = this.#link.import(specifier, (name, value) => built.setExport(name, value));
    built = await made({ __proto__: null, ...Object.fromEntries(pairs) }, specifier);
    this.#link.replace(proxy, built.namespace);
    return built;
  }

  #required(specifier) {
    if (specifier === FRAMEWORK) {
      return this.#framework;
    }
    if (!isBuiltin(specifier)) {
      return this.#link.ask("require", [specifier]);
    }
    return COMPARING.test(specifier) ? this.#comparer.wrapped({ default: here(specifier) }).default : here(specifier);
  }
}
