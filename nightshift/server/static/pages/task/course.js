// The course of a task: its attempts, and the iterations of one attempt. Each iteration is a bar of its phases, drawn
// to scale, and a list of steps that can be opened.

import {Count, Empty, Moment, Money, Span, Tabs} from '../../app/parts.js';
import {useKeys} from '../../app/keys.js';
import {counted, duration, words} from '../../app/text.js';
import {classes, html, signal, useEffect, useMemo, useRef} from '../../app/ui.js';
import {Writing, callOf} from '../../app/writing.js';
import {go, place, toggle} from './place.js';
import {Step} from './step.js';

/** True if each new step is opened as soon as it has finished. */
export const following = signal(false);

/** Number of the step that was selected with the keys j and k, or by a click. */
const at = signal(null);

const isOpen = (step) => place.value.step === step.step_no && (place.value.attempt ?? step.attempt) === step.attempt;

/** The phases of an iteration as a bar. The width of each phase is proportional to its duration. */
function Strip({each, longest}) {
  const whole = each.phases.reduce((sum, run) => sum + run.duration_s, 0) || 1;
  const said = each.phases.map((run) => `${words(run.phase)} ${duration(run.duration_s)}`).join(', ');
  return html`<div class="track"><div class="strip" role="img" aria-label=${said} style=${{width: `${Math.max(2, (whole / longest) * 100)}%`}}>
    ${each.phases.map((run) => html`<span class=${`run ${run.phase.toLowerCase()} ${run.outcome}`} style=${{flexGrow: Math.max(0.5, (run.duration_s / whole) * 100)}}
      title=${`${words(run.phase)}, ${duration(run.duration_s)}: ${words(run.outcome)}`}></span>`)}
  </div></div>`;
}

const Tests = ({row}) => (row.total === null ? html`<span class="tests"></span>` : html`<span class=${classes('tests', row.failed ? 'bad' : 'good')}
  title=${`${row.passed} of ${row.total} tests passed`}>${row.passed}/${row.total}</span>`);

/** Flags that mark what is notable about a step. */
function Flags({step}) {
  const {prompt} = step;
  const full = prompt && prompt.limit ? prompt.tokens / prompt.limit : 0;
  const less = prompt ? prompt.shortened + prompt.omitted : 0;
  return html`<span class="flags">
    ${step.repeats.length ? html`<span class="flag bad" title=${step.repeats.join('\n')}>failed before</span>` : null}
    ${step.stuck ? html`<span class="flag bad" title=${step.stuck}>stuck</span>` : null}
    ${step.fresh ? html`<span class="flag" title="a fresh context began">fresh</span>` : null}
    ${step.tools ? html`<span class=${classes('flag', {warn: step.tools_failed})} title=${step.tools_failed ? `${step.tools_failed} of them failed` : undefined}>${counted(step.tools, 'tool call')}</span>` : null}
    ${step.findings ? html`<span class="flag warn">${counted(step.findings, 'finding')}</span>` : null}
    ${step.lessons ? html`<span class="flag">${counted(step.lessons, 'lesson')}</span>` : null}
    ${less ? html`<span class="flag warn" title=${`${prompt.tokens} of ${prompt.limit} tokens; ${prompt.left_out} files left out`}>${counted(less, 'part')} cut</span>`
      : full > 0.9 ? html`<span class="flag" title=${`${prompt.tokens} of ${prompt.limit} tokens`}>prompt ${Math.round(full * 100)} %</span>` : null}
  </span>`;
}

function Row({task, step}) {
  const open = isOpen(step);
  const name = `s${step.attempt}-${step.step_no}`;
  return html`<li class=${classes('step', {open, at: at.value === step.step_no})} id=${name}>
    <button type="button" class="bare head" aria-expanded=${String(open)} aria-controls=${`${name}-body`} onClick=${() => { at.value = step.step_no; toggle(step); }}>
      <span class="no">${step.step_no}</span>
      <span class=${`phase ${step.outcome}`} title=${words(step.outcome)}>${step.phase.toLowerCase()}</span>
      <span class="note">${step.note || words(step.outcome)}</span>
      <${Flags} step=${step} />
      <${Tests} row=${step} />
      <span class="minor" title=${step.models.join(', ')}>${step.calls ? html`<${Count} value=${step.tokens_in + step.tokens_out} /> tok` : ''}</span>
      <span class="minor">${step.cost_usd || step.unpriced ? html`<${Money} usd=${step.cost_usd} unpriced=${step.unpriced} />` : ''}</span>
      <span class="took"><${Span} seconds=${step.duration_s} /></span>
    </button>
    <div id=${`${name}-body`} class="body" hidden=${!open}>${open ? html`<${Step} task=${task} step=${step} />` : null}</div>
  </li>`;
}

const MARKED = {WARNING: 'warn', ERROR: 'bad'};

const Mark = ({mark}) => html`<li class="mark"><span class=${classes('flag', MARKED[mark.level])}>${words(mark.event)}</span>
  <span class="note">${mark.message}</span><span class="took"><${Moment} at=${mark.at} form="clock" /></span></li>`;

/** Return the steps and the marks (notable events) of an iteration, sorted by time. */
function inOrder(steps, marks) {
  const rows = [...steps.map((step) => ({at: step.started_at, step})), ...marks.map((mark) => ({at: mark.at, mark}))];
  return rows.sort((one, other) => (one.at < other.at ? -1 : one.at > other.at ? 1 : one.step ? -1 : 1));
}

function Try({task, each, longest, marks, running}) {
  const title = each.iteration ? `Iteration ${each.iteration}` : 'Before the first iteration';
  return html`<section class="try" aria-label=${title}>
    <header><h2>${title}</h2><${Strip} each=${each} longest=${longest} /><${Tests} row=${each} />
      <span class="hint">${duration(each.duration_s)}${each.tokens_in ? html` · <${Count} value=${each.tokens_in + each.tokens_out} /> tokens` : ''}
        ${each.cost_usd ? html` · <${Money} usd=${each.cost_usd} />` : ''}</span></header>
    ${each.steps.length ? null : html`<p class="hint">${each.phases.map((run) => html`<span class=${`phase ${run.outcome}`}>${run.phase.toLowerCase()} <small>${duration(run.duration_s)}</small></span>`)}</p>`}
    <ol class="course">${inOrder(each.steps, marks).map((row) => (row.step
      ? html`<${Row} key=${`s${row.step.step_no}`} task=${task} step=${row.step} />`
      : html`<${Mark} key=${`m${row.mark.id}`} mark=${row.mark} />`))}
      ${running ? html`<${Running} key="running" task=${task} running=${running} />` : null}</ol>
  </section>`;
}

function Running({task, running}) {
  const step = {attempt: running.attempt, step_no: running.step_no, iteration: running.iteration, phase: running.phase ?? '', unfinished: true, isEmpty: !(running.calls || running.tools)};
  const open = isOpen(step);
  const call = callOf(task.task_id, running);
  return html`<li class=${classes('step', 'running', {open})} id=${`s${running.attempt}-${running.step_no}`}>
    <button type="button" class="bare head" aria-expanded=${String(open)} onClick=${() => toggle(step)}>
      <span class="no">${running.step_no}</span>
      <span class="phase now">${(running.phase ?? call?.phase ?? 'beginning').toLowerCase()}</span>
      <span class="note">${running.last_line || 'at work'}</span>
      <span class="flags">${running.tools ? html`<span class="flag">${counted(running.tools, 'tool call')}</span>` : null}
        ${running.calls ? html`<span class="flag">${counted(running.calls, 'reply', 'replies')}</span>` : null}</span>
      <span class="took">${running.since ? html`<${Span} since=${running.since} />` : '…'}</span>
    </button>
    ${call ? html`<${Writing} call=${call} small=${!open} />` : null}
    <div class="body" hidden=${!open}>${open ? html`<${Step} task=${task} step=${step} />` : null}</div>
  </li>`;
}

/** Bind keys: j and k move from step to step, and Enter opens or closes the selected step. */
function useSteps(steps) {
  const now = useRef(steps);
  now.current = steps;
  const move = (by) => {
    const all = now.current;
    if (!all.length) return;
    const known = at.peek() ?? place.peek().step;
    const from = all.findIndex((step) => step.step_no === known);
    const to = all[Math.min(all.length - 1, Math.max(0, from < 0 ? (by > 0 ? 0 : all.length - 1) : from + by))];
    at.value = to.step_no;
    const row = document.getElementById(`s${to.attempt}-${to.step_no}`);
    row?.scrollIntoView({block: 'nearest'});
    row?.querySelector('button.head').focus({preventScroll: true});
  };
  const open = () => {
    const step = now.current.find((each) => each.step_no === at.peek());
    if (step) toggle(step);
  };
  useKeys({
    j: ['next step', () => move(1)],
    k: ['previous step', () => move(-1)],
    Enter: ['open or close the step', open],
  });
}

/** While `following` is true, keep the newest step open and visible. Otherwise nothing is opened or scrolled. */
function useFollowing(newest) {
  useEffect(() => {
    if (!following.value || !newest) return;
    go({part: 'course', attempt: newest.attempt, iteration: newest.iteration, step: newest.step_no, tab: '', item: ''});
    document.getElementById(`s${newest.attempt}-${newest.step_no}`)?.scrollIntoView({block: 'nearest'});
  }, [newest?.step_no, newest?.attempt, following.value]);
}

/** Scroll to the step that the page's address names, when it is drawn for the first time. */
function useArrival() {
  const isFresh = useRef(true);
  useEffect(() => {
    const {step, attempt} = place.peek();
    if (!isFresh.current || step === null) return;
    isFresh.current = false;
    document.getElementById(`s${attempt}-${step}`)?.scrollIntoView({block: 'start'});
  }, []);
}

const Attempts = ({course}) => (course.attempts.length < 2 ? null : html`
  <${Tabs} label="Attempts" chosen=${String(course.attempt)} tabs=${course.attempts.map((each) => [String(each.attempt),
    html`Attempt ${each.attempt} <small>${counted(each.iterations, 'iteration')}, ${duration(each.duration_s)}</small>`])}
    onChoose=${(name) => go({attempt: Number(name), iteration: null, step: null, tab: '', item: ''})} />`);

/** The attempt that is shown, iteration by iteration. */
export function Course({task, course}) {
  const steps = useMemo(() => course.tries.flatMap((each) => each.steps), [course]);
  useSteps(steps);
  useFollowing(steps.at(-1));
  useArrival();
  const longest = Math.max(...course.tries.map((each) => each.phases.reduce((sum, run) => sum + run.duration_s, 0)), 0.001);
  const running = course.running?.attempt === course.attempt ? course.running : null;
  const marks = marksOf(course);
  if (!course.tries.length && !running) return html`<${Nothing} task=${task} course=${course} />`;
  return html`<${Attempts} course=${course} />
    ${course.left_out ? html`<p class="notice">${counted(course.left_out, 'earlier step')} of this attempt are not listed.</p>` : null}
    ${course.tries.map((each, index) => html`<${Try} key=${`${course.attempt}-${each.iteration}`} task=${task} each=${each} longest=${longest}
      marks=${marks[index]} running=${index === course.tries.length - 1 ? running : null} />`)}
    ${running && !course.tries.length ? html`<ol class="course"><${Running} task=${task} running=${running} /></ol>` : null}`;
}

/** Return the marks (notable events) of each iteration: those from its start until the next iteration starts. */
function marksOf(course) {
  const mine = course.marks.filter((mark) => (mark.attempt ?? course.attempt) === course.attempt);
  const begins = course.tries.map((each) => each.started_at);
  return course.tries.map((_, index) => mine.filter((mark) => (index === 0 || mark.at >= begins[index])
    && (index === begins.length - 1 || mark.at < begins[index + 1])));
}

const WAITING = {
  queued: 'Not started yet. A worker takes it after the tasks before it; a higher priority moves it forward.',
  scheduled: 'Not started yet; it waits for its time, or for a model.',
  blocked: 'Not started yet; it waits for the tasks that it depends on.',
  shared: 'Not started on this node: the hub decides which one does it. The Nodes page shows where it is.',
  running: 'Just started; its first step has not finished.',
};

function Nothing({task, course}) {
  if (course.pruned.length) return html`<${Empty}>${course.pruned.join(' ')}<//>`;
  return html`<${Empty}>${WAITING[task.status] ?? 'It ended before its first step; the log says why.'}<//>`;
}
