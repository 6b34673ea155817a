// Re-exports Preact, htm and signals. No other module imports from vendor/, except for the chart.

import {here} from './boot.js';
import {Fragment, createContext, h, options, render} from '../vendor/preact.js';
import htm from '../vendor/htm.js';

export {useCallback, useContext, useEffect, useErrorBoundary, useId, useLayoutEffect, useMemo, useReducer, useRef,
  useState} from '../vendor/hooks.js';
export {batch, computed, effect, signal, untracked, useComputed, useSignal, useSignalEffect} from '../vendor/signals.js';
export {Fragment, createContext, h, render};

/** Markup as a tagged template: ``html`<${Pill} status=${task.status} />` ``. Strings become text nodes. */
export const html = htm.bind(h);

// Links are written as paths from the first page. Add the sub-path of a proxy to them.
const before = options.vnode;
options.vnode = (node) => {
  if (typeof node.type === 'string' && node.props.href) node.props.href = here(node.props.href);
  before?.(node);
};

/** Join class names. An object adds the names whose value is true: `classes('row', {chosen: isChosen})`. */
export function classes(...names) {
  return names.flatMap((name) => {
    if (!name) return [];
    if (typeof name === 'string') return [name];
    return Object.entries(name).filter(([, is]) => is).map(([each]) => each);
  }).join(' ') || undefined;
}
