// What people press and fill in.

import {connection} from './live.js';
import {html, useId, useState, classes} from './ui.js';

const AWAY = 'The daemon does not answer, so this cannot be done now.';

/**
 * A button that is busy while its work is under way, and cannot be pressed twice.
 * @param {{onClick?: (event: Event) => any, kind?: 'main'|'quiet'|'bare'|'danger', busy?: boolean, sends?: boolean}} props
 *   one that `sends` a change to the daemon is off while that does not answer
 */
export function Button({onClick, kind = '', busy = false, disabled = false, sends = false, type = 'button', title, children, ...rest}) {
  const isOff = sends && connection.value === 'reconnecting';
  const [works, setWorks] = useState(false);
  const isBusy = busy || works;
  const press = async (event) => {
    const done = onClick?.(event);
    if (!done?.then) return;
    setWorks(true);
    try {
      await done;
    } finally {
      setWorks(false);
    }
  };
  return html`<button type=${type} class=${classes(kind, {busy: isBusy})} disabled=${disabled || isBusy || isOff}
    title=${isOff ? AWAY : title} aria-busy=${isBusy ? 'true' : undefined} onClick=${press} ...${rest}>${children}</button>`;
}

/**
 * A labelled field with its hint and what is wrong with it.
 *
 * The control is made of `as` (`input`, `select`, `textarea`) and what else is given, or is the one child: a function
 * that is handed the attributes which tie it to its label.
 * @param {{label: string, hint?: any, error?: string, as?: string, wide?: boolean}} props
 */
export function Field({label, hint, error, as = 'input', wide = false, id, children, ...rest}) {
  const own = useId();
  const name = id ?? own;
  const about = [hint && `${name}-hint`, error && `${name}-error`].filter(Boolean).join(' ') || undefined;
  const tied = {id: name, 'aria-describedby': about, 'aria-invalid': error ? 'true' : undefined};
  const control = typeof children === 'function' ? children(tied) : html`<${as} ...${tied} ...${rest}>${children}<//>`;
  return html`<div class=${classes('field', {wide})}>
    <label for=${name}>${label}</label>
    ${control}
    ${error ? html`<p class="error" id=${`${name}-error`}>${error}</p>` : null}
    ${hint ? html`<p class="hint" id=${`${name}-hint`}>${hint}</p>` : null}
  </div>`;
}

/** A box to tick, its label behind it. */
export const Check = ({label, checked, onChange, ...rest}) => html`
  <label class="check"><input type="checkbox" checked=${checked} onChange=${onChange} ...${rest} /> ${label}</label>`;
