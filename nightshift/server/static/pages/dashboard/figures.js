// The line of key figures: tasks by status, the daemon's uptime, and the next checkpoint.

import {Button, Moment, Span, confirmed} from '../../app/parts.js';
import {act} from '../../app/shell.js';
import {html, useMemo} from '../../app/ui.js';

const STATUSES = ['queued', 'scheduled', 'blocked', 'shared', 'running', 'waiting', 'done', 'failed', 'cancelled'];
/** Statuses that are hidden while no task has them. A task is `shared` only on a machine that belongs to a hub. */
const RARE = new Set(['shared']);

async function takeStock() {
  const sure = await confirmed({
    title: 'Hold a checkpoint now?',
    text: 'Running tasks finish, a report is written, and no task is started until you resume.',
    yes: 'Hold checkpoint',
    no: 'Keep working',
  });
  if (!sure) return;
  const answer = await act('/api/checkpoint', '');
  if (answer.ok && !answer.data.asked) await act('/api/status', '');
}

/** The number of tasks in each status. Each number links to the list of these tasks. */
const Counts = ({queue}) => html`<ul class="counts" aria-label="Tasks by status">
  ${STATUSES.filter((name) => queue[name] || !RARE.has(name)).map((name) => {
    const count = queue[name] ?? 0;
    return html`<li key=${name} data-status=${name} class=${count ? name : 'zero'}>
      <a href=${`/tasks?status=${name}`}><b>${count}</b> ${name}</a></li>`;
  })}
</ul>`;

export function Figures({report}) {
  const startedAt = useMemo(() => Date.now() - report.uptime_s * 1000, [report]);
  const isAsked = report.state === 'checkpoint' || report.holds.some(({source}) => source === 'checkpoint');
  return html`<section class="figures" aria-label="Key figures">
    <${Counts} queue=${report.queue} />
    <dl>
      <div><dt>uptime</dt><dd><${Span} since=${startedAt} /></dd></div>
      <div><dt>next checkpoint</dt><dd><${Moment} at=${report.next_checkpoint_at} /></dd></div>
    </dl>
    ${isAsked ? null : html`<${Button} sends onClick=${takeStock}>Checkpoint now<//>`}
  </section>`;
}
