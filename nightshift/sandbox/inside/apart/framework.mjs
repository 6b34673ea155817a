// A stand-in for node:test where the tested code is in another process: runs the tests of one file, one after the other.

const JOINED = " > ";

const hooks = () => ({ before: [], after: [], beforeEach: [], afterEach: [] });

function read(given) {
  const [name, options] = given;
  const last = given.at(-1);
  return {
    name: typeof name === "string" ? name : typeof name === "function" ? name.name : "",
    options: [name, options].find((one) => typeof one === "object" && one !== null) ?? {},
    callback: typeof last === "function" ? last : undefined,
  };
}

/** What was thrown, in one line. */
function told(error) {
  try {
    const text = typeof error === "object" && error !== null ? `${error.name}: ${error.message}` : String(error);
    return text.split("\n").filter(Boolean).slice(0, 8).join(" ").slice(0, 400);
  } catch {
    return "something was thrown that cannot be shown";
  }
}

async function invoke(callback, context) {
  if (callback.length > 1) {
    await new Promise((resolve, reject) => {
      callback.call(context, context, (error) => (error ? reject(error) : resolve()));
    });
  } else {
    await callback.call(context, context);
  }
}

export class Framework {
  #judge;
  #report;
  #root = { path: "", tests: [], hooks: hooks() };
  #counts = new Map();
  #current = this.#root;
  #open = [];

  /**
   * `judge.begin()` and `judge.weigh(result, why)` stand around each test, `judge.blame(error)` is the result that an
   * error makes; `report(name, result, why)` hears of it.
   */
  constructor(judge, report) {
    this.#judge = judge;
    this.#report = report;
  }

  /** What the file imports in the place of node:test. */
  get exports() {
    const test = this.#maker("test");
    const suite = this.#maker("suite");
    const named = { test, it: test, describe: suite, suite };
    for (const name of Object.keys(hooks())) {
      named[name] = (hook) => void this.#current.hooks[name].push(hook);
    }
    return Object.assign(test, named);
  }

  /** Run what was added. */
  async run() {
    await this.#scope(this.#root);
  }

  /** End the tests that are still open, as those that never will. */
  abandon(why) {
    for (const entry of this.#open.splice(0).reverse()) {
      this.#end(entry, "raised", why);
    }
  }

  #maker(kind) {
    const make = (...given) => void this.#add(kind, given, false);
    make.skip = (...given) => void this.#add(kind, given, true);
    make.todo = make.skip;
    return make;
  }

  #add(kind, given, skipped) {
    const { name, options, callback } = read(given);
    const owner = this.#current;
    const title = name.replaceAll("[", "\u27e6");
    const plain = owner.path ? `${owner.path}${JOINED}${title}` : title;
    const count = (this.#counts.get(plain) ?? 0) + 1;
    this.#counts.set(plain, count);
    const entry = {
      path: count === 1 ? plain : `${plain} #${count}`,
      kind, owner, callback, tests: [], hooks: hooks(),
      isSkipped: skipped || Boolean(options.skip) || Boolean(options.todo) || !callback,
    };
    owner.tests.push(entry);
    if (kind === "suite" && !entry.isSkipped) {
      this.#inside(entry, () => {
        entry.ready = callback.call({ name }, { name });
      });
    }
    return entry;
  }

  #inside(entry, work) {
    const before = this.#current;
    this.#current = entry;
    try {
      work();
    } catch (error) {
      entry.broken = { error };
    } finally {
      this.#current = before;
    }
  }

  async #scope(scope) {
    await scope.ready;
    if (scope.broken) {
      throw scope.broken.error;
    }
    for (const hook of scope.hooks.before) {
      await invoke(hook, {});
    }
    for (const entry of scope.tests) {
      await (entry.kind === "test" ? this.#test(entry) : this.#suite(entry));
    }
    for (const hook of scope.hooks.after) {
      await invoke(hook, {});
    }
  }

  async #suite(entry) {
    if (entry.isSkipped) {
      return;
    }
    try {
      await this.#scope(entry);
    } catch (error) {
      this.#fail(entry, this.#judge.blame(error), told(error));
    }
  }

  /** All tests of a suite that was not run through. */
  #fail(entry, result, why) {
    for (const inner of entry.tests) {
      if (inner.kind === "suite") {
        this.#fail(inner, result, why);
      } else if (inner.result === undefined && !inner.isSkipped) {
        this.#judge.begin();
        this.#end(inner, result, why);
      }
    }
  }

  async #test(entry) {
    if (entry.isSkipped) {
      return;
    }
    this.#open.push(entry);
    this.#judge.begin();
    const context = this.#context(entry);
    try {
      await this.#each(entry.owner, "beforeEach", context);
      for (const hook of entry.hooks.before) {
        await invoke(hook, context);
      }
      await invoke(entry.callback, context);
      await this.#each(entry.owner, "afterEach", context);
      for (const hook of entry.hooks.after) {
        await invoke(hook, context);
      }
      const failed = entry.tests.find((inner) => inner.result !== "passed");
      this.#end(entry, failed ? failed.result : "passed", failed ? failed.why : "");
    } catch (error) {
      this.#end(entry, this.#judge.blame(error), told(error));
    }
    this.#open = this.#open.filter((one) => one !== entry);
  }

  #end(entry, result, why) {
    if (entry.kind === "test" && entry.result === undefined && !entry.isSkipped) {
      [entry.result, entry.why] = this.#judge.weigh(result, why);
      this.#report(entry.path, entry.result, entry.why);
    }
  }

  #context(entry) {
    const add = (name) => (hook) => void entry.hooks[name].push(hook);
    return {
      name: entry.path.split(JOINED).at(-1),
      diagnostic() {},
      before: add("before"),
      after: add("after"),
      beforeEach: add("beforeEach"),
      afterEach: add("afterEach"),
      test: async (...given) => {
        let inner;
        this.#inside(entry, () => {
          inner = this.#add("test", given, false);
        });
        await this.#test(inner);
      },
    };
  }

  async #each(owner, name, context) {
    const chain = [];
    for (let scope = owner; scope; scope = scope.owner) {
      chain.push(scope);
    }
    for (const scope of name === "beforeEach" ? chain.reverse() : chain) {
      for (const hook of scope.hooks[name]) {
        await invoke(hook, context);
      }
    }
  }
}
