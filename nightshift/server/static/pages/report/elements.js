// What a report says: the elements that report/elements.py knows, drawn; texts are texts and nothing else.

import {Copy} from '../../app/copy.js';
import {Button} from '../../app/forms.js';
import {markRead} from '../../app/reads.js';
import {h, html} from '../../app/ui.js';

/** A text with links to the tasks that it names. */
const Linked = ({text}) => text.split(/\b(task \d+)\b/).map((part, index) => (index % 2
  ? html`<a key=${index} href=${`/task/${part.slice(5)}`}>${part}</a>` : part));

/** What a command of the report does, as a button beside it. */
const ACTS = [
  [/ review (\d+) --read$/, (id) => html`<${Button} sends kind="small" onClick=${() => markRead(`The commits of task ${id} are marked as read.`, undefined, `/api/task/${id}/reviewed`)}>Mark as read<//>`],
  [/ revert (\d+)$/, (id) => html`<a role="button" class="button small" href=${`/review?task=${id}`}>Look and revert</a>`],
];

function Act({command}) {
  const [found] = ACTS.flatMap(([form, made]) => (form.test(command) ? [made(command.match(form)[1])] : []));
  return found ?? null;
}

function Node({node}) {
  if (typeof node === 'string') return html`<${Linked} text=${node} />`;
  const {tag, attributes, children} = node;
  if (tag === 'code' || tag === 'title') return h(tag, attributes, children);
  const [what, command] = children;
  return h(tag, attributes, children.map((child, index) => html`<${Node} key=${index} node=${child} />`),
    attributes.class === 'command' ? html`<${Copy} text=${command.children[0]} what=${`the command: ${what.trim().replace(/:$/, '')}`} /> <${Act} command=${command.children[0]} />` : null);
}

/** The elements of a part of the report. @param {{of: object[]}} props */
export const Elements = ({of}) => of.map((node, index) => html`<${Node} key=${index} node=${node} />`);
