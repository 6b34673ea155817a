// What a report says: the elements that report/elements.py knows, drawn; texts are texts and nothing else.

import {Copy} from '../../app/copy.js';
import {h, html} from '../../app/ui.js';

/** A text with links to the tasks that it names. */
const Linked = ({text}) => text.split(/\b(task \d+)\b/).map((part, index) => (index % 2
  ? html`<a key=${index} href=${`/task/${part.slice(5)}`}>${part}</a>` : part));

function Node({node}) {
  if (typeof node === 'string') return html`<${Linked} text=${node} />`;
  const {tag, attributes, children} = node;
  if (tag === 'code' || tag === 'title') return h(tag, attributes, children);
  const [what, command] = children;
  return h(tag, attributes, children.map((child, index) => html`<${Node} key=${index} node=${child} />`),
    attributes.class === 'command' ? html`<${Copy} text=${command.children[0]} what=${`the command: ${what.trim().replace(/:$/, '')}`} />` : null);
}

/** The elements of a part of the report. @param {{of: object[]}} props */
export const Elements = ({of}) => of.map((node, index) => html`<${Node} key=${index} node=${node} />`);
