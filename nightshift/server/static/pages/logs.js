// The log page: all events with live updates, a filter and a search.

import {address} from '../app/api.js';
import {useKeys} from '../app/keys.js';
import {Button, Fault} from '../app/parts.js';
import {mount, status, toast} from '../app/shell.js';
import {counted} from '../app/text.js';
import {html, useEffect, useRef} from '../app/ui.js';
import {Bar} from './log/bar.js';
import {copyLink, toggle} from './log/detail.js';
import {clear, filter, isFiltered, query} from './log/filter.js';
import {Finder, beside} from './log/find.js';
import {LogModel} from './log/model.js';
import {LogView, idOf} from './log/view.js';

/** The lines that the page shows, and the functions that update them. */
export const model = new LogModel();
const finder = new Finder(model);
let current = null;

/** Show the end of the log, or the lines around a given line or time. A given line is marked. */
async function open(place = {}) {
  if (!await model.open(place)) return;
  if (model.view.rowOf(place.line)) choose(place.line, 'center');
  else if (place.line) toast(`Line ${place.line} is not there: it was pruned, or the filter hides it.`);
  if (place.at) model.view.toRow(idOf(nearest(model.view)));
  finder.count();
  finder.paint();
}

/** Return the first row at or after the requested time. Lines before that time are loaded as well. */
const nearest = (view) => [...view.box.querySelectorAll('.line')].find((each) => idOf(each) >= model.middle)
  ?? view.box.lastElementChild?.lastElementChild;

function choose(id, block = 'nearest') {
  model.view.rowOf(current)?.removeAttribute('aria-current');
  const row = model.view.rowOf(id);
  if (!row) return;
  current = id;
  row.setAttribute('aria-current', 'true');
  if (block === 'center') model.view.toRow(id);
  else row.scrollIntoView({block});
}

function step(by) {
  const at = model.view.rowOf(current) ?? model.view.firstInSight();
  if (!at) return;
  let one = current === null ? at : beside(at, by);
  while (one && !one.id) one = beside(one, by);
  if (!one) return;
  model.following.value = false;
  choose(idOf(one));
}

async function find(by) {
  const id = await finder.next(by, current);
  if (id === null) return;
  model.following.value = false;
  if (model.view.rowOf(id)) choose(id, 'center');
  else await open({line: id});
  finder.paint();
}

/** Return the id of the line that the page's address names; 0 if it names no line. */
const named = () => Number(/^#L(\d+)$/.exec(location.hash)?.[1] ?? 0);

function clicked(event) {
  const row = event.target.closest('.line');
  if (!row || event.target.closest('.detail') || event.ctrlKey || event.metaKey || event.shiftKey) return;
  const at = event.target.closest('a.at');
  if (!at && (event.target.closest('a') || String(getSelection()))) return;
  event.preventDefault();
  choose(idOf(row));
  if (at) history.replaceState(null, '', `#${row.id}`);
  else toggle(row, open);
}

function watchScrolling(box) {
  let top = 0;
  let due = false;
  const look = () => {
    due = false;
    if (box.scrollTop < top && !model.view.isAtEnd) model.following.value = false;
    if (model.view.isAtEnd && model.live.peek() && !model.paused.peek()) {
      model.following.value = true;
      model.unseen.value = 0;
    }
    top = box.scrollTop;
    if (!model.loading.peek()) model.reach();
    if (finder.wanted) finder.paint();
  };
  box.addEventListener('scroll', () => {
    if (!due) requestAnimationFrame(look);
    due = true;
  });
}

const BINDINGS = {
  j: ['next line', () => step(1)],
  k: ['previous line', () => step(-1)],
  Enter: ['open or close the line', () => current !== null && toggle(model.view.rowOf(current), open)],
  y: ['copy a link to the line', () => current !== null && copyLink(current)],
  n: ['next match of the search', () => find(1)],
  N: ['previous match', () => find(-1)],
  t: ['filter by text', () => document.getElementById('filter-text').focus()],
  f: ['follow the end, or stop', () => model.follow(!model.following.peek())],
  ' ': ['pause or resume', () => model.pause()],
  G: ['go to the end', () => model.follow()],
  'g g': ['go to the first line', () => open({at: '1970-01-01T00:00:00Z'})],
};

function Lines() {
  const box = useRef(null);
  useEffect(() => {
    model.view = new LogView(box.current);
    watchScrolling(box.current);
    open(named() ? {line: named()} : {});
    addEventListener('hashchange', () => named() && open({line: named()}));
  }, []);
  useKeys(BINDINGS);
  return html`<div class="lines" id="lines" ref=${box} tabindex="0" role="log" aria-live="off"
    aria-label="Lines of the log, oldest first" aria-busy=${model.loading.value ? 'true' : undefined} onClick=${clicked}></div>`;
}

function Under() {
  const unseen = model.unseen.value;
  if (model.paused.value) {
    return html`<div class="under"><${Button} kind="main" onClick=${() => model.pause(false)}>
      Paused${unseen ? ` · ${counted(unseen, 'new line')}` : ''} · go on<//></div>`;
  }
  if (model.live.value && model.following.value) return null;
  return html`<div class="under"><${Button} onClick=${() => model.follow()}>
    ${unseen ? `${counted(unseen, 'new line')} ↓` : 'To the end ↓'}<//></div>`;
}

function Nothing() {
  if (model.loading.value || model.error.value || model.count.value) return null;
  if (model.start.value > 1) return html`<p class="empty">Looking back … nothing so far passes the filter.</p>`;
  return isFiltered()
    ? html`<p class="empty">No line passes this filter yet; new matching lines appear here. <${Button} onClick=${unfiltered}>Show all lines<//></p>`
    : html`<p class="empty">No events yet. Submit a task on the dashboard, and its events appear here.</p>`;
}

function unfiltered() {
  clear();
  open();
}

function Page() {
  return html`<${Bar} model=${model} finder=${finder} open=${open} find=${find}
      download=${address('/api/logs/download', query())} workers=${status.data?.workers.map((each) => each.name) ?? []} />
    ${model.error.value ? html`<${Fault} error=${model.error.value} retry=${() => open()} />` : null}
    <${Nothing} />
    <div class="window"><${Lines} /><${Under} /></div>
    <p class="hint foot">${counted(model.count.value, 'line')} loaded${model.start.value > 1 ? '; older ones load as you scroll up' : ', from the first line'}</p>`;
}

document.getElementById('main').classList.add('fills');
mount(Page, {title: () => (filter.value.task ? `Log of task ${filter.value.task}` : 'Log')});
