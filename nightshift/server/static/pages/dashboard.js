// The dashboard: what the daemon does now, with controls.

import {mount, status} from '../app/shell.js';
import {html} from '../app/ui.js';
import {Asks, Holds, Notices} from './dashboard/alerts.js';
import {Models} from './dashboard/brains.js';
import {Figures} from './dashboard/figures.js';
import {Git} from './dashboard/git.js';
import {Machine} from './dashboard/machine.js';
import {Optional} from './dashboard/optional.js';
import {Workers} from './dashboard/workers.js';

function Dashboard() {
  const report = status.data;
  if (report === null) return html`<h1 class="unseen">Dashboard</h1><p class="empty">${status.error ?? '…'}</p>`;
  return html`<h1 class="unseen">Dashboard</h1>
    <${Holds} holds=${report.holds} />
    <${Notices} notices=${report.notices} />
    <${Figures} report=${report} />
    <div class="columns">
      <div>
        <${Asks} />
        <${Workers} workers=${report.workers} />
        <${Git} />
      </div>
      <div role="complementary" aria-label="Models, machine">
        <${Models} models=${report.models} />
        <${Machine} report=${report} />
        <${Optional} extras=${report.extras} />
      </div>
    </div>`;
}

mount(Dashboard, {title: 'Dashboard'});
