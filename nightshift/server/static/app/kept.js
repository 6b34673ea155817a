// Values that the browser stores for the owner. If the browser forbids storage, they are lost without an error.

const shelf = (name) => {
  try {
    return window[name];
  } catch {
    return null;
  }
};

const kept = (name) => ({
  /** Return the text under a key, or null. */
  recall: (key) => shelf(name)?.getItem(key) ?? null,
  /** Store a text; null removes it. */
  keep: (key, text) => {
    try {
      if (text === null) shelf(name)?.removeItem(key);
      else shelf(name)?.setItem(key, text);
    } catch {
      // The storage is full: a lost value is not worth an error.
    }
  },
});

/** Stored until it is cleared, for all tabs. */
export const forGood = kept('localStorage');

/** Stored while the tab is open. */
export const forNow = kept('sessionStorage');
