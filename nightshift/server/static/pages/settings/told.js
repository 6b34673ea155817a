// A sentence in which text in backticks is shown as code.

import {html} from '../../app/ui.js';

export const Told = ({text}) => text.split('`').map((part, index) => (index % 2 ? html`<code>${part}</code>` : part));
