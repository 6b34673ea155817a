// The settings page: settings with their description and source, and controls that override config.yaml.
//
// Rarely changed settings are shown only if they are set or searched for; `on_page` says which ones are always shown.

import {Card, Check, Fault, Loaded} from '../app/parts.js';
import {whenever} from '../app/live.js';
import {mount, status} from '../app/shell.js';
import {counted} from '../app/text.js';
import {html, useEffect, useState} from '../app/ui.js';
import {Chain} from './settings/chain.js';
import {Effective} from './settings/effective.js';
import {drafted, isChanged, known, reread} from './settings/model.js';
import {Row} from './settings/row.js';
import {SaveBar} from './settings/savebar.js';
import {Telling} from './settings/telling.js';
import {brief} from './settings/values.js';

const anchor = (group) => group.toLowerCase().replaceAll(/\W+/g, '-');

function fits(row, words) {
  const text = `${row.name} ${row.name.replaceAll('_', ' ')} ${row.text} ${row.group} ${brief(row, row.value)}`.toLowerCase();
  return words.every((word) => text.includes(word));
}

const byGroup = (groups, rows) => groups.map(({name, text}) => ({name, text, rows: rows.filter((row) => row.group === name)}))
  .filter((group) => group.rows.length);

const Workers = () => {
  const workers = status.data?.workers;
  if (!workers) return null;
  const busy = workers.filter(({task_id: task}) => task !== null).length;
  return html`<span data-workers=${workers.length}>${counted(workers.length, 'worker')} now, ${busy} busy</span>`;
};

const HINTS = {'Workers and hours': Workers};
const BEFORE = {Models: Chain};
const AFTER = {'Dashboard, notices and storage': Telling};

function Group({name, text, rows, whole}) {
  const [Before, After, Hint] = [whole && BEFORE[name], whole && AFTER[name], HINTS[name]];
  return html`<${Card} title=${name} id=${anchor(name)} class="group" hint=${Hint ? html`<${Hint} />` : null}>
    <p class="hint">${text}</p>
    ${Before ? html`<${Before} />` : null}${rows.map((row) => html`<${Row} key=${row.name} row=${row} />`)}${After ? html`<${After} />` : null}
  <//>`;
}

const Groups = ({groups}) => html`<nav class="groups" aria-label="Groups of settings"><ul class="plain">
  ${groups.map(({name: group, rows}) => html`<li key=${group}><a href=${`#${anchor(group)}`}>${group}</a>
    ${rows.some(({name}) => drafted.value.includes(name)) ? html` <span class="dot busy" title="has unsaved changes"></span>` : null}</li>`)}</ul></nav>`;

function All({data}) {
  const [search, setSearch] = useState(new URLSearchParams(location.search).get('q') ?? '');
  const [changed, setChanged] = useState(false);
  const words = search.toLowerCase().split(/\s+/).filter(Boolean);
  const whole = !words.length && !changed;
  const rows = data.settings.filter((row) => fits(row, words) && (isChanged(row) || (!changed && (words.length || row.on_page))));
  const groups = byGroup(data.groups, rows);
  return html`<div class="bar"><input type="search" class="wide" data-search aria-label="Search the settings" placeholder="Search: workers, budget, quiet …"
      value=${search} onInput=${(event) => setSearch(event.target.value)} />
      <${Check} label="changed only" checked=${changed} onChange=${(event) => setChanged(event.target.checked)} />
      <${Effective} rows=${data.settings} /></div>
    ${data.faults.length ? html`<${Fault} error=${`The settings have faults, so the old ones stay in use: ${data.faults.join('; ')}`} />` : null}
    <div class="settings"><${Groups} groups=${groups} />
      <div>${groups.length ? groups.map((group) => html`<${Group} key=${group.name} ...${group} whole=${whole} />`)
    : html`<p class="empty">No setting matches. Try another word, or show all.</p>`}
        ${whole ? html`<p class="hint">${data.settings.length - rows.length} more settings have their default. Search for one to see it.</p>` : null}</div></div>
    <${SaveBar} />`;
}

function Settings() {
  useEffect(() => {
    known.first();
    return whenever(['settings_reloaded', 'settings_refused', 'daemon_started'], reread);
  }, []);
  return html`<div class="bar"><h1>Settings</h1>${known.data ? html`<span class="hint">${known.data.file}</span>` : null}</div>
    <${Loaded} of=${known}>${(data) => html`<${All} data=${data} />`}<//>`;
}

mount(Settings, {title: () => (drafted.value.length ? `Settings (${drafted.value.length} unsaved)` : 'Settings')});
