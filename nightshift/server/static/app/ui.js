// What pages are built with: Preact, htm and signals under one roof. No other module imports from vendor/, but the chart.

import {Fragment, createContext, h, render} from '../vendor/preact.js';
import htm from '../vendor/htm.js';

export {useCallback, useContext, useEffect, useErrorBoundary, useId, useLayoutEffect, useMemo, useReducer, useRef,
  useState} from '../vendor/hooks.js';
export {batch, computed, effect, signal, untracked, useComputed, useSignal, useSignalEffect} from '../vendor/signals.js';
export {Fragment, createContext, h, render};

/** Markup as a tagged template: ``html`<${Pill} status=${task.status} />` ``. Texts become text nodes. */
export const html = htm.bind(h);

/** Class names of what is true: `classes('row', {chosen: isChosen})`. */
export function classes(...names) {
  return names.flatMap((name) => {
    if (!name) return [];
    if (typeof name === 'string') return [name];
    return Object.entries(name).filter(([, is]) => is).map(([each]) => each);
  }).join(' ') || undefined;
}
