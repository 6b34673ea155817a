// How the test that runs stands: what it needed could not be carried over, or the code side has ended.
//
// Both are kept where a test catches the error that says so.

/** Something is needed that a split run does not carry. */
export class Unjudged extends Error {}

/** There is no code side any more. */
export class Broken extends Error {}

export class Standing {
  #depth = 0; // of tests inside of tests
  #outside = "";
  #unjudged = "";
  #broken = "";
  #isHurt = false;

  get isBroken() {
    return this.#broken !== "";
  }

  /** Note that the test cannot be judged. */
  refuse(why) {
    this.#unjudged ||= why;
    throw new Unjudged(why);
  }

  /** Note that the code side is none any more. */
  break(why) {
    this.#broken ||= why;
    this.check();
  }

  /** Fail the test if it needs a code side that has ended. */
  check() {
    if (this.#broken) {
      this.#isHurt = true;
      throw new Broken(this.#broken);
    }
  }

  /** Begin a test; what was missing outside of tests counts for all of them. Tells whether it is in no other one. */
  begin() {
    const isFirst = this.#depth === 0;
    if (isFirst) {
      this.#outside ||= this.#unjudged;
      this.#unjudged = this.#outside;
      this.#isHurt = false;
    }
    this.#depth += 1;
    return isFirst;
  }

  /** The result of the test that ends, as `[result, why]`; `lacking` says why a failure may not be the code's. */
  end(result, why, lacking) {
    const found = this.#weighed(result, why, lacking);
    this.#depth -= 1;
    if (this.#depth === 0) {
      this.#unjudged = "";
    }
    return found;
  }

  #weighed(result, why, lacking) {
    if (this.#isHurt) {
      return ["raised", this.#broken];
    }
    const unjudged = this.#unjudged || (result === "passed" || this.#broken ? "" : lacking());
    return unjudged ? ["unjudged", unjudged] : [result, why];
  }
}
