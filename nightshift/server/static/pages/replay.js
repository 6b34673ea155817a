// The night again: one scrubber over the workers' steps, tests and costs; a moment tells what ran, a step leads to its prompt.

import {useData} from '../app/api.js';
import {go} from '../app/boot.js';
import {forNow} from '../app/kept.js';
import {useKeys} from '../app/keys.js';
import {Card, Empty, Loaded, Pill} from '../app/parts.js';
import {mount} from '../app/shell.js';
import {clock, counted, day, duration, money} from '../app/text.js';
import {classes, html, useMemo, useRef, useSignal} from '../app/ui.js';

const KEPT = 'replay-since';
const SPANS = [['read', 'since I last read the brief'], ['night', 'last night'], ['today', 'today']];
/** How high the bar of a phase is, of 1: so that phases differ without their colours. */
const HEIGHTS = {CLARIFYING: 0.4, PLANNING: 0.4, CODING: 1, REVIEW: 0.7, AUDIT: 0.7, TESTING: 0.85, REFLECTING: 0.55, COMMIT: 0.25};
const SHOWN = [['PLANNING', 'planning'], ['CODING', 'coding'], ['REVIEW', 'review'], ['TESTING', 'tests'], ['REFLECTING', 'reflecting']];
const MOST_TICKS = 6;
const STEPS_S = [1, 5, 15, 60, 300, 900, 1800, 3600, 7200, 14_400, 28_800, 86_400, 172_800, 604_800];
/** So far the pointer may move in a click, in pixels. */
const STILL_PX = 4;
/** The address names the moment when it has stood so long. */
const SETTLED_MS = 300;
/** So much is drawn around the work: of its length, and in seconds at least. */
const [MARGIN, LEAST_MARGIN_S] = [0.03, 0.05];
/** Moments are told to a hundredth of a second: a night may have lasted one second only. */
const exact = (at) => Number(at.toFixed(2));

const lower = (phase) => phase.toLowerCase();
const linkOf = (step, tab) => `/task/${step.task_id}#${step.attempt}-${step.iteration}-${step.step_no}/${tab}`;
const hasFailed = (step) => step.failed > 0 || (step.phase === 'TESTING' && step.outcome !== 'ok');

/** The span that is asked for: that of the address, else the one that was chosen last. */
function asked() {
  const given = new URLSearchParams(location.search);
  if (!given.get('since')) return {since: forNow.recall(KEPT) ?? 'night'};
  return {since: given.get('since'), ...(given.get('until') ? {until: given.get('until')} : {})};
}

/** What is drawn: from a little before the first step or call to a little after the last, in seconds from the beginning of the span. */
function worked({steps, costs}, span) {
  if (!steps.length) return {from: 0, to: span};
  const calls = costs.map(({at_s: at}) => at);
  const [first, last] = [Math.min(...steps.map((step) => step.start_s), ...calls), Math.max(...steps.map((step) => step.end_s), ...calls)];
  const margin = Math.max(LEAST_MARGIN_S, MARGIN * (last - first));
  return {from: Math.max(0, first - margin), to: Math.min(span, last + margin)};
}

/** Facts that are asked for at each moment, in the order in which a moment is found in them. */
function indexed(told) {
  const lanes = told.workers.map((name, place) => ({name, steps: told.steps.filter(({worker}) => worker === place)}));
  const span = (new Date(told.until) - new Date(told.since)) / 1000;
  const tasks = new Map(told.tasks.map((task) => [task.task_id, task]));
  const {from, to} = worked(told, span);
  return {...told, lanes, from, to, length: to - from, byId: tasks, ends: told.tasks.filter(({ended_s: at}) => at !== null)};
}

/** What holds at a moment: a step for each worker (null: idle), the last tests, tasks that ended, the cost. */
function momentOf(night, at) {
  const running = night.lanes.map(({name, steps}) => ({name, step: steps.find((step) => step.start_s <= at && at < step.end_s) ?? null,
    last: steps.findLast((step) => step.end_s <= at) ?? null}));
  const tested = night.steps.findLast((step) => step.passed !== null && step.end_s <= at) ?? null;
  const ended = night.ends.filter(({ended_s: end}) => end <= at);
  const spent = night.costs.findLast(({at_s: end}) => end <= at) ?? {cost_usd: 0, unpriced: 0};
  return {running, tested, spent, done: ended.filter(({status}) => status === 'done').length,
    failed: ended.filter(({status}) => status === 'failed').length};
}

function timeOf(night, at, isLong) {
  const time = new Date(new Date(night.since).getTime() + at * 1000);
  return isLong ? `${day(time)} ${clock(time)}` : clock(time);
}

const inWords = (night, at) => {
  const {running, spent, done, failed} = momentOf(night, at);
  const works = running.filter(({step}) => step).map(({name, step}) => `${name} ${lower(step.phase)} of task ${step.task_id}`);
  return `${timeOf(night, at, true)}: ${works.join(', ') || 'nothing ran'}; ${done} done, ${failed} failed, ${money(spent.cost_usd, spent.unpriced)} so far`;
};

/** Times for the axis: whole ones of the clock, few enough to be read. */
function ticksOf(night) {
  const gap = STEPS_S.find((each) => night.length / each <= MOST_TICKS) ?? night.length;
  const began = new Date(night.since);
  const offset = began.getTime() / 1000 - began.getTimezoneOffset() * 60 + night.from;
  const first = night.from + ((gap - (offset % gap)) % gap);
  return Array.from({length: Math.floor((night.to - first) / gap) + 1}, (_, place) => first + place * gap);
}

const placeOf = (night, at) => `${(100 * (at - night.from)) / night.length}%`;
const held = (night, at) => Math.min(night.to, Math.max(night.from, at));

function Bar({night, step}) {
  const width = Math.max((100 * (step.end_s - step.start_s)) / night.length, 0.12);
  const title = `#${step.task_id} ${lower(step.phase)}, iteration ${step.iteration}: ${duration(step.end_s - step.start_s)}`;
  return html`<span class=${classes('piece', 'run', lower(step.phase), step.outcome)} data-step=${`${step.task_id}-${step.attempt}-${step.step_no}`} title=${title}
    style=${{left: placeOf(night, step.start_s), width: `${width}%`, height: `${100 * (HEIGHTS[step.phase] ?? 0.5)}%`}}></span>`;
}

const Verdicts = ({night, steps}) => steps.filter(({passed}) => passed !== null).map((step) => html`
  <span class=${classes('sign', {bad: hasFailed(step)})} style=${{left: placeOf(night, step.end_s)}} aria-hidden="true">${hasFailed(step) ? '✗' : '✓'}</span>`);

const Lane = ({night, lane}) => html`<div class="lane"><b class="name">${lane.name}</b>
  <div class="strip-of" aria-hidden="true">${lane.steps.map((step) => html`<${Bar} key=${`${step.task_id}-${step.attempt}-${step.step_no}`} night=${night} step=${step} />`)}</div>
  <div class="signs" aria-hidden="true"><${Verdicts} night=${night} steps=${lane.steps} /></div></div>`;

/** The cost up to each moment: it grows when a call ends. */
function Costs({night}) {
  const last = night.costs.at(-1);
  const most = last?.cost_usd || 1;
  let y = 100;
  const path = ['M0,100'];
  night.costs.forEach(({at_s: at, cost_usd: cost}) => {
    const x = (1000 * (at - night.from)) / night.length;
    path.push(`L${x.toFixed(1)},${y.toFixed(1)}`);
    y = 100 - 94 * (cost / most);
    path.push(`L${x.toFixed(1)},${y.toFixed(1)}`);
  });
  path.push(`L1000,${y.toFixed(1)}`);
  return html`<div class="lane cost"><b class="name">cost <small>${money(last?.cost_usd ?? 0, last?.unpriced ?? 0)}</small></b>
    <svg viewBox="0 0 1000 100" preserveAspectRatio="none" aria-hidden="true"><path class="area" d=${`${path.join(' ')} L1000,100 Z`} /><path class="line" d=${path.join(' ')} /></svg></div>`;
}

const Legend = () => html`<ul class="plain legend" aria-label="Phases">${SHOWN.map(([phase, name]) => html`
  <li key=${phase}><span class="key"><span class=${`piece run ${lower(phase)} ok`} style=${{height: `${100 * HEIGHTS[phase]}%`}}></span></span>${name}</li>`)}
  <li><span class="sign">✓</span> tests passed</li><li><span class="sign bad">✗</span> tests failed</li></ul>`;

/** One worker at the moment. */
function Works({night, name, step, last}) {
  if (!step) return html`<li class="idle"><b>${name}</b> <span class="hint">${last ? `idle since ${timeOf(night, last.end_s)}` : 'idle'}</span></li>`;
  const task = night.byId.get(step.task_id);
  return html`<li><b>${name}</b> <span class=${`phase ${hasFailed(step) ? 'redo' : 'ok'}`}>${lower(step.phase)}</span>
    <a class="what" href=${linkOf(step, '')}><span class="number">#${step.task_id}</span> ${task?.title}</a>
    <small>iteration ${step.iteration}, step ${step.step_no}, ${duration(step.end_s - step.start_s)}${step.passed === null ? '' : `; ${step.passed} of ${step.passed + step.failed} tests passed`}</small>
    <span class="actions"><a class="button small" href=${linkOf(step, 'calls')}>Prompt</a><a class="button small" href=${linkOf(step, 'change')}>Diff</a></span></li>`;
}

function Moment({night, at}) {
  const now = momentOf(night, at.value);
  return html`<${Card} title=${timeOf(night, at.value, true)} hint=${html`<span class="figures"><b>${money(now.spent.cost_usd, now.spent.unpriced)}</b> so far · ${counted(now.done, 'task')} done
      · ${now.failed} failed${now.tested ? html` · last tests <${Pill} status=${hasFailed(now.tested) ? 'failed' : 'done'}>${now.tested.passed} of ${now.tested.passed + now.tested.failed}<//>` : null}</span>`} class="moment">
    <ul class="plain works">${now.running.map((each) => html`<${Works} key=${each.name} night=${night} ...${each} />`)}</ul><//>`;
}

/** Where the pointer is, in seconds after the beginning. */
function secondsAt(night, box, x) {
  const {left, width} = box.getBoundingClientRect();
  return held(night, night.from + ((x - left) / width) * night.length);
}

/** The line at the moment; it alone is drawn anew when that moves. */
const Scrubber = ({night, at, onKeyDown}) => html`<div class="scrubber" role="slider" tabindex="0" aria-label="Moment" aria-valuemin=${exact(night.from)}
  aria-valuemax=${exact(night.to)} aria-valuenow=${exact(at.value)} aria-valuetext=${inWords(night, at.value)} onKeyDown=${onKeyDown}
  style=${{left: placeOf(night, at.value)}}></div>`;

function Timeline({night, at}) {
  const [field, press, timer] = [useRef(null), useRef(null), useRef(0)];
  const move = (to) => {
    at.value = held(night, to);
    clearTimeout(timer.current);
    timer.current = setTimeout(() => history.replaceState(history.state, '', `#${at.peek().toFixed(1)}`), SETTLED_MS);
  };
  const edges = useMemo(() => [...new Set(night.steps.flatMap((step) => [step.start_s, step.end_s]))].sort((a, b) => a - b), [night]);
  const [small, large] = [night.length / 200, night.length / 20];
  const KEYS = {
    ArrowLeft: () => move(at.value - small), ArrowRight: () => move(at.value + small),
    ArrowDown: () => move(at.value - small), ArrowUp: () => move(at.value + small),
    PageDown: () => move(at.value - large), PageUp: () => move(at.value + large), Home: () => move(night.from), End: () => move(night.to),
  };
  useKeys({
    '.': ['the next step of the replay', () => move(edges.find((edge) => edge > at.value + 0.001) ?? night.to)],
    ',': ['the step before in the replay', () => move(edges.findLast((edge) => edge < at.value - 0.001) ?? night.from)],
  }, [night]);
  const onKeyDown = (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || !KEYS[event.key]) return;
    event.preventDefault();
    KEYS[event.key]();
  };
  const down = (event) => {
    if (event.button) return;
    press.current = {x: event.clientX, step: event.target.dataset.step};
    field.current.setPointerCapture(event.pointerId);
    if (!press.current.step) move(secondsAt(night, field.current, event.clientX));
  };
  const drag = (event) => {
    if (!press.current) return;
    if (Math.abs(event.clientX - press.current.x) > STILL_PX) press.current.step = null;
    if (!press.current.step) move(secondsAt(night, field.current, event.clientX));
  };
  const up = () => {
    const name = press.current?.step;
    press.current = null;
    const step = name && night.steps.find((each) => `${each.task_id}-${each.attempt}-${each.step_no}` === name);
    if (step) go(linkOf(step, 'calls'));
  };
  return html`<div class="timeline">
    <div class="field" ref=${field} onPointerDown=${down} onPointerMove=${drag} onPointerUp=${up} onPointerCancel=${() => { press.current = null; }}>
      <div class="axis" aria-hidden="true">${ticksOf(night).map((tick) => html`<span key=${tick} style=${{left: placeOf(night, tick)}}>${timeOf(night, tick).slice(0, night.length < 360 ? 8 : 5)}</span>`)}</div>
      ${night.lanes.map((lane) => html`<${Lane} key=${lane.name} night=${night} lane=${lane} />`)}
      <${Costs} night=${night} />
      <${Scrubber} night=${night} at=${at} onKeyDown=${onKeyDown} />
    </div>
    <${Legend} /></div>`;
}

function Night({told}) {
  const night = useMemo(() => indexed(told), [told]);
  const first = Number(location.hash.slice(1));
  const at = useSignal(first > 0 ? held(night, first) : night.steps[0]?.start_s ?? 0);
  if (!night.steps.length) return html`<${Empty}>No step ended in this time. Choose another, or look at <a href="/tasks">the tasks</a>.<//>`;
  return html`${told.cut ? html`<p class="notice">Of this span the newest ${counted(night.steps.length, 'step')} are shown, from ${timeOf(night, 0, true)} on.</p>` : null}
    <section class="card" aria-label="Replay"><${Timeline} night=${night} at=${at} /></section>
    <${Moment} night=${night} at=${at} />`;
}

function Head({query}) {
  const choose = ({target}) => {
    forNow.keep(KEPT, target.value);
    query.value = {since: target.value};
    history.replaceState(history.state, '', location.pathname);
  };
  const isNamed = SPANS.some(([name]) => name === query.value.since);
  return html`<header class="brief-head"><h1>Night replay</h1>
    <label class="unseen" for="since">Which time</label>
    <select id="since" value=${isNamed ? query.value.since : 'given'} onChange=${choose}>
      ${isNamed ? null : html`<option value="given">the time of the link</option>`}
      ${SPANS.map(([name, title]) => html`<option value=${name}>${title}</option>`)}</select>
    <span class="hint">Drag, or use the arrow keys; a click on a step opens its prompt.</span></header>`;
}

function Replay() {
  const query = useSignal(asked());
  const found = useData('/api/replay', query.value);
  return html`<${Head} query=${query} /><${Loaded} of=${found}>${(told) => html`<${Night} key=${`${told.since} ${told.until}`} told=${told} />`}<//>`;
}

mount(Replay, {title: 'Replay'});
