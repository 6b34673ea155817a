// The test side's end of a split run: asks the code side, waits for its answer, and keeps what that does to a result.
//
// A test is judged only if all that it needed could be carried over. What could not is kept (`Unjudged`), also where
// the test catches the error; an answer that is none, or none at all, ends the code side for good (`Broken`).

import { AssertionError } from "node:assert";
import { promiseHooks } from "node:v8";
import { Channel, Closed, TooLarge } from "./channel.mjs";
import { isStrange } from "./comparing.mjs";
import { Graph } from "./graph.mjs";
import { Handles } from "./handles.mjs";
import { Broken, Standing, Unjudged } from "./standing.mjs";
import { Unpackable, check, property } from "./properties.mjs";

const CALLS = 20_000; // of one test
const ALL_CALLS = 40_000;
const BYTES = 48 << 20;
const SLOW_MS = 4000;
const MANY = 500;
const MISSING = /([\w$]+) is not (?:a function|a constructor|defined)$/;
const now = () => performance.now();


export class Link {
  #channel;
  #graph;
  #handles;
  #deferred = new Map();
  #thrownThere = new WeakSet();
  #primitives = new Map();
  #modules = new Map();
  #calls = 0;
  #callsBefore = 0;
  #started = now();
  #asked = false;
  #busy = false;
  #pumping = false;
  #idle = false; // nothing is left to do on the other side
  #standing = new Standing();
  #missing; // a name that a test asked for in vain
  hasStrange = false; // an object answers for its content itself
  steps = 0; // how often something else was done than asking objects for primitive values
  turns = 0; // how often tested code may have run: what was looked up before is out of date then

  constructor(descriptor, isStrict) {
    this.#channel = new Channel(descriptor);
    this.#handles = new Handles(this, isStrict);
    this.#graph = new Graph({
      first: 1,
      other: (value) => this.#handles.name(value),
      known: (number) => this.#handles.known(number),
      track: () => this.refuse("a promise of the tests goes to the tested code"),
      promise: (number) => this.#promise(number),
      took: (object) => {
        this.hasStrange ||= isStrange(object);
      },
    });
    promiseHooks.onBefore(() => this.#turn());
  }

  /** Ask for an action; returns its value or raises what the tested code raised. */
  ask(action, given, rest = []) {
    this.steps += 1;
    return this.#answered(action, given, rest);
  }

  /** Ask for the primitive value of an object, or for what makes one; the answer holds until something else is done. */
  askPrimitive(key, action, given, rest = []) {
    const known = this.#primitives.get(key);
    if (known?.step === this.steps) {
      return known.value;
    }
    const value = this.#answered(action, given, rest);
    this.#primitives.set(key, { step: this.steps, value });
    return value;
  }

  #answered(action, given, rest) {
    const said = this.#exchange(action, given, rest);
    if (action === "own" && said[0] === "value") {
      return this.#trusting(() => new Map(said[1].map((one) => property(one, this.#graph.decode))));
    }
    const value = this.#trusting(() => this.#graph.decode(said[1]));
    if (said[0] === "raised") {
      throw this.#thrown(value);
    }
    return value;
  }

  /** Import a module of the workspace: what stands for it, and the pairs of name and value that it exports. */
  import(specifier, changed) {
    this.steps += 1;
    const said = this.#exchange("import", [], [], JSON.stringify(specifier));
    if (said[0] === "raised") {
      throw this.#thrown(this.#trusting(() => this.#graph.decode(said[1])));
    }
    return this.#trusting(() => {
      const [number, namespace, ...pairs] = said[1];
      this.#modules.set(number, changed);
      return [this.#graph.decode(namespace), pairs.map((pair) => pair.map(this.#graph.decode))];
    });
  }

  /** Tell whether an object was made by a test, and not by the tested code. */
  isOwn(value) {
    return this.#graph.isOwn(value) && !this.#handles.has(value);
  }

  trapsOf(value) {
    return typeof value === "function" ? this.#handles.trapsOf(value) : undefined;
  }

  /** A name for an object or function that both sides know. */
  nameOf(value) {
    return this.#handles.numberOf(value) ?? `r${this.#graph.numberOf(value)}`;
  }

  /** Tell whether an object stands for one of the tested code. */
  isHandle(value) {
    return this.#handles.has(value);
  }

  /** Let an object of this side stand for the one that a proxy stood for. */
  replace(proxy, object) {
    this.#handles.replace(proxy, object);
  }

  #thrown(value) {
    if (typeof value === "object" && value !== null) {
      this.#thrownThere.add(value);
    }
    return value;
  }

  /** Tell whether an error came from the tested code, or says that there is none any more. */
  isTheirs(error) {
    return error instanceof Broken || typeof error !== "object" || this.#thrownThere.has(error);
  }

  /** Note that a test cannot be judged. */
  refuse(why) {
    this.#standing.refuse(why);
  }

  /** Begin a test, which may be one inside of another. */
  begin() {
    if (this.#standing.begin()) {
      this.#callsBefore = this.#calls;
    }
  }

  /** What an error makes of a test: `failed` where an assertion of its own did, else `raised`. */
  blame(error) {
    this.#missing = this.isTheirs(error) ? undefined : MISSING.exec(error.message)?.[1];
    return error instanceof AssertionError && !this.isTheirs(error) ? "failed" : "raised";
  }

  /** The result of the test that ends, as `[result, why]`. */
  weigh(result, why) {
    return this.#standing.end(result, why, () => this.#lacking());
  }

  /** Why a failure may be due to what this side does not have; empty when it has all. */
  #lacking() {
    if (!this.#graph.hasLost && this.#missing === undefined) {
      return "";
    }
    try {
      const [isStale, added] = this.ask("stale", []);
      if (this.#graph.hasLost && (isStale || this.#graph.isStale())) {
        return "something that both sides hold has changed";
      }
      return added.includes(this.#missing) ? "the tested code adds to what the language brings along" : "";
    } catch (error) {
      return error instanceof Broken ? "" : `the test side failed: ${error.message}`;
    }
  }

  #exchange(action, given, rest, plain = "") {
    this.#limit();
    this.#busy = true;
    this.turns += action === "own" || action === "above" || action === "has" ? 0 : 1;
    try {
      const list = (values) => values.map(this.#graph.encode).join(",");
      const text = this.#write(() => `${JSON.stringify(action)},[${plain || list(given)}],[${list(rest)}]`);
      const said = this.#trusting(() => {
        this.#channel.send(`[${text}]`);
        return this.#channel.receive();
      });
      this.#asked = action !== "tick";
      this.#trusting(() => this.#take(said));
      return said;
    } finally {
      this.#busy = false;
      this.#pump();
    }
  }

  #write(said) {
    try {
      return this.#graph.write(said);
    } catch (error) {
      return this.refuse(error instanceof Unjudged || error instanceof Unpackable ? error.message : "the test side failed");
    }
  }

  /** Do what only an honest code side lets succeed. */
  #trusting(work) {
    try {
      return work();
    } catch (error) {
      if (error instanceof Unjudged) {
        throw error;
      }
      if (error instanceof TooLarge || error instanceof Unpackable) {
        this.refuse("an answer is too large");
      }
      const ended = error instanceof Closed || error.code === "EPIPE" || error.code === "ECONNRESET";
      return this.#standing.break(ended ? "the tested code ended its process" : "the tested code's process gave an answer that is none");
    }
  }

  #take(said) {
    check(Array.isArray(said) && said.length === 6);
    const [how, , news, moved, descriptions, handles] = said;
    this.#handles.take(handles);
    this.#graph.read(descriptions);
    if (how === "large") {
      this.refuse("an answer is too large");
    }
    check(how === "value" || how === "raised" || how === "idle");
    this.#idle = how === "idle";
    for (const [number, state, value] of news) {
      const { resolve, reject } = this.#deferred.get(number);
      this.#deferred.delete(number);
      const found = this.#graph.decode(value);
      state === "f" ? resolve(found) : reject(this.#thrown(found));
    }
    for (const [number, name, value] of moved) {
      this.#modules.get(number)(name, this.#graph.decode(value));
    }
  }

  #limit() {
    this.#standing.check();
    this.#calls += 1;
    const many = this.#calls - this.#callsBefore > CALLS || this.#calls > ALL_CALLS || this.#channel.bytes > BYTES;
    if (many || (now() - this.#started > SLOW_MS && this.#calls > MANY)) {
      this.refuse("too many calls, or too large ones");
    }
  }

  #promise(number) {
    let deferred;
    const promise = new Promise((resolve, reject) => {
      deferred = { resolve, reject };
    });
    this.#deferred.set(number, deferred);
    promise.catch(() => {}); // whoever waits for it hears of it
    return promise;
  }

  /** Before each turn of a promise here: let those of the other side have theirs. */
  #turn() {
    if (this.#asked && !this.#busy && !this.#standing.isBroken) {
      this.#quietly("tick");
    }
  }

  /** When nothing is left to do here: wait until a promise of the other side settles. */
  #pump() {
    if (!this.#pumping && this.#deferred.size > 0 && !this.#idle && !this.#standing.isBroken) {
      this.#pumping = true;
      setImmediate(() => setImmediate(() => {
        this.#pumping = false;
        if (this.#deferred.size > 0 && !this.#standing.isBroken) {
          this.#quietly("wait");
        }
      }));
    }
  }

  #quietly(action) {
    this.steps += 1;
    try {
      this.#exchange(action, [], []);
    } catch {
      // It is kept, and the next question fails by it.
    }
  }
}
