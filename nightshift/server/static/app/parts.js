// Basic components of the pages. Components from other files of this folder are re-exported here.

import {html, useErrorBoundary} from './ui.js';
import {Button} from './forms.js';

export {Code, Diff} from './code.js';
export {Dialog, Tabs, confirmed} from './dialogs.js';
export {Button, Check, Field} from './forms.js';
export {Count, Dot, Label, Meter, Moment, Money, Pill, Prose, Span, Sparkline} from './marks.js';

/**
 * A card with a heading.
 * @param {{title: string, hint?: any, actions?: any, id?: string}} props `hint` and `actions` are shown beside the
 * heading
 */
export const Card = ({title, hint, actions, id, class: more = '', children}) => html`
  <section class=${`card ${more}`} aria-label=${title} id=${id}>
    <div class="card-head"><h2>${title}</h2>${hint ? html` <span class="hint">${hint}</span>` : null}
      ${actions ? html`<div class="actions">${actions}</div>` : null}</div>
    <${Safe}>${children}<//>
  </section>`;

/** The text that is shown instead of an empty list. It says what the user can do. */
export const Empty = ({children}) => html`<p class="empty">${children}</p>`;

/** An error with a button that tries again. */
export const Fault = ({error, retry}) => html`<div class="fault" role="alert">
  <p>${error}</p>${retry ? html`<${Button} onClick=${retry}>Try again<//>` : null}</div>`;

/** An error boundary: if its content throws an error, the rest of the page still works. */
export function Safe({children}) {
  const [error, again] = useErrorBoundary((thrown) => console.error(thrown));
  return error ? html`<${Fault} error=${`This part cannot be shown: ${error.message}`} retry=${again} />` : children;
}

/**
 * Shows the data of a source, or the error if the data could not be loaded.
 * @param {{of: import('./api.js').Source, children: (data: any) => any, empty?: any}} props `children` draws the data
 */
export function Loaded({of, children}) {
  if (of.data !== null) {
    return html`${of.error ? html`<${Fault} error=${of.error} retry=${of.reload} />` : null}${children(of.data)}`;
  }
  if (of.error) return html`<${Fault} error=${of.error} retry=${of.reload} />`;
  return html`<p class="empty" aria-busy="true">…</p>`;
}
