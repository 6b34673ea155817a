// What a browser remembers for its owner. One that forbids it forgets, and nothing else fails.

const shelf = (name) => {
  try {
    return window[name];
  } catch {
    return null;
  }
};

const kept = (name) => ({
  /** The text under a key, or null. */
  recall: (key) => shelf(name)?.getItem(key) ?? null,
  /** Remember a text; null forgets it. */
  keep: (key, text) => {
    try {
      if (text === null) shelf(name)?.removeItem(key);
      else shelf(name)?.setItem(key, text);
    } catch {
      // The shelf is full: what was to be kept is not worth an error.
    }
  },
});

/** Until it is cleared, for all tabs. */
export const forGood = kept('localStorage');

/** As long as the tab is open. */
export const forNow = kept('sessionStorage');
