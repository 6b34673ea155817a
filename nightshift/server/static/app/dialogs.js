// Modal dialogs, and tabs.

import {Button} from './forms.js';
import {html, signal, useEffect, useRef} from './ui.js';

/**
 * A modal dialog. Escape or a click outside of the dialog closes it.
 * @param {{open: boolean, title: string, onClose: () => void, wide?: boolean}} props
 */
export function Dialog({open, title, onClose, wide = false, children}) {
  const [box, isOwn] = [useRef(null), useRef(false)];
  useEffect(() => {
    if (open && !box.current.open) box.current.showModal();
    if (!open && box.current.open) {
      isOwn.current = true;
      box.current.close();
    }
  }, [open]);
  // The browser fires the close event a little later. By then the dialog may already be open again.
  const closed = () => {
    if (!isOwn.current) onClose();
    isOwn.current = false;
  };
  const beside = (event) => event.target === box.current && onClose();
  return html`<dialog ref=${box} class=${wide ? 'wide' : undefined} aria-label=${title} onClose=${closed} onClick=${beside}>
    ${open ? html`<article>
      <header><h2>${title}</h2>
        <button type="button" class="bare" aria-label="Close" onClick=${onClose}>×</button></header>
      ${children}
    </article>` : null}
  </dialog>`;
}

const asked = signal(null);

/**
 * Ask for confirmation of an action. The labels of the two buttons, `yes` and `no`, name their effect. The button `no`
 * has the focus, and Escape has the same effect as this button.
 * @param {{title: string, text: any, yes: string, no: string, danger?: boolean}} question
 * @returns {Promise<boolean>}
 */
export const confirmed = (question) => new Promise((answer) => { asked.value = {...question, answer}; });

/** Shows the question of `confirmed`. The shell contains one instance of it. */
export function Confirm() {
  const question = asked.value;
  const reply = (said) => {
    asked.value = null;
    question?.answer(said);
  };
  return html`<${Dialog} open=${question !== null} title=${question?.title ?? ''} onClose=${() => reply(false)}>
    <p>${question?.text}</p>
    <footer>
      <${Button} autofocus onClick=${() => reply(false)}>${question?.no}<//>
      <${Button} sends kind=${question?.danger ? 'danger' : 'main'} onClick=${() => reply(true)}>${question?.yes}<//>
    </footer>
  <//>`;
}

/**
 * Tabs. Arrow keys move from tab to tab.
 * @param {{tabs: [string, any][], chosen: string, onChoose: (name: string) => void, label: string}} props `tabs` are
 * pairs of a name and a title
 */
export function Tabs({tabs, chosen, onChoose, label, children}) {
  const list = useRef(null);
  const move = (event) => {
    const step = {ArrowRight: 1, ArrowLeft: -1}[event.key];
    if (!step) return;
    const at = tabs.findIndex(([name]) => name === chosen);
    const next = (at + step + tabs.length) % tabs.length;
    onChoose(tabs[next][0]);
    list.current.children[next].focus();
  };
  return html`<div class="tabs">
    <div role="tablist" aria-label=${label} ref=${list} onKeyDown=${move}>
      ${tabs.map(([name, title]) => html`<button key=${name} type="button" role="tab" class="bare"
        aria-selected=${String(name === chosen)} tabindex=${name === chosen ? 0 : -1}
        onClick=${() => onChoose(name)}>${title}</button>`)}
    </div>
    <div role="tabpanel">${children}</div>
  </div>`;
}
