// Buttons and form fields.

import {connection} from './live.js';
import {html, useId, useState, classes} from './ui.js';

const AWAY = 'The daemon does not answer, so this cannot be done now.';

/**
 * A button that is disabled while its handler runs, so that it cannot be pressed twice.
 * @param {{onClick?: (event: Event) => any, kind?: 'main'|'quiet'|'bare'|'danger', busy?: boolean, sends?: boolean}}
 * props with `sends`, the button changes something in the daemon, and is disabled while the daemon does not answer
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
 * A form field with its label, its hint and its error.
 *
 * The control is an element of the kind `as` (`input`, `select` or `textarea`) with the remaining props. If the only
 * child is a function, this function builds the control; it receives the attributes that connect the control to its
 * label.
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

/** A checkbox with its label. */
export const Check = ({label, checked, onChange, ...rest}) => html`
  <label class="check"><input type="checkbox" checked=${checked} onChange=${onChange} ...${rest} /> ${label}</label>`;
