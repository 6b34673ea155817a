// A sentence in which words between backticks are code.

import {html} from '../../app/ui.js';

export const Told = ({text}) => text.split('`').map((part, index) => (index % 2 ? html`<code>${part}</code>` : part));
