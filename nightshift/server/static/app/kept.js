// Texts that the browser stores for the owner. If the browser forbids storage, they are lost without an error.

const shelf = (name) => {
  try {
    return window[name];
  } catch {
    return null;
  }
};

const kept = (name) => ({
  /** Return the text stored under a key, or null. */
  recall: (key) => shelf(name)?.getItem(key) ?? null,
  /** Store a text under a key; null removes the key. */
  keep: (key, text) => {
    try {
      if (text === null) shelf(name)?.removeItem(key);
      else shelf(name)?.setItem(key, text);
    } catch {
      // The storage is full. Losing the text is not worth an error.
    }
  },
});

/** Texts that are stored for all tabs, until the browser's data are cleared. */
export const forGood = kept('localStorage');

/** Texts that are stored while the tab is open. */
export const forNow = kept('sessionStorage');
