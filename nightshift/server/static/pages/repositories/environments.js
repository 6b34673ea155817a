// A card with the environments: what was built for repositories, from which files, and what was left out.

import {useData} from '../../app/api.js';
import {Card, Empty, Loaded, Moment} from '../../app/parts.js';
import {Table} from '../../app/table.js';
import {html} from '../../app/ui.js';

const MB = 2 ** 20;

const COLUMNS = [
  {key: 'sources', label: 'Declared by', cell: (row) => html`<b>${row.sources.join(', ') || row.name}</b>
    ${row.remarks.map((remark) => html`<br /><small>${remark}</small>`)}`},
  {key: 'interpreter', label: 'For', cell: (row) => [row.interpreter || row.kind, ...(row.services.length ? [row.services.join(', ')] : [])].join(': ')},
  {key: 'packages', label: 'Packages', number: true, cell: (row) => Object.keys(row.packages).length},
  {key: 'size_bytes', label: 'MB', number: true, minor: true, cell: (row) => Math.round(row.size_bytes / MB)},
  {key: 'used_at', label: 'Used', minor: true, cell: (row) => html`<${Moment} at=${row.used_at} />`},
];

export function Environments() {
  const found = useData('/api/environments', {}, ['environment_made', 'environment_failed']);
  return html`<${Card} title="Environments" hint="dependencies that repositories declare, installed once and read-only for runs">
    <${Loaded} of=${found}>${(data) => (data.environments.length
    ? html`<${Table} rows=${data.environments} columns=${COLUMNS} keyOf=${(row) => row.name} label="Environments" walk=${false} />`
    : html`<${Empty}>None yet. One is made when a task first works on a repository that declares packages.<//>`)}<//><//>`;
}
