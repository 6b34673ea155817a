// The queue: every task, found and steered.

import {Queue} from '../../app/queue.js';
import {html} from '../../app/ui.js';

export const Tasks = () => html`<${Queue} />`;
