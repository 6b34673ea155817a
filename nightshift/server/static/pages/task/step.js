// A step that is open: what happened, prompts and replies, changes, tests, and the log lines of that time.

import {address, useData} from '../../app/api.js';
import {Button, Empty, Loaded, Tabs} from '../../app/parts.js';
import {words} from '../../app/text.js';
import {html} from '../../app/ui.js';
import {forking} from './actions.js';
import {Calls} from './calls.js';
import {Copy} from '../../app/copy.js';
import {Change} from '../../app/difference.js';
import {Files} from './files.js';
import {go, place} from './place.js';
import {Tests} from './tests.js';
import {Tools} from './tools.js';

const FIRST = {CODING: 'change', TESTING: 'tests'};

/**
 * The content of an open step.
 * @param {{task: object, step: object}} props `step` is a row of the timeline; `step.unfinished` is true while it runs,
 * and `step.isEmpty` while it has neither replies nor tool calls
 */
export function Step({task, step}) {
  const path = `/api/task/${task.task_id}/step/${step.attempt}/${step.step_no}`;
  const kinds = step.unfinished ? (line) => line.task_id === task.task_id : undefined;
  const detail = useData(step.isEmpty ? null : path, {}, kinds);
  if (step.unfinished && detail.data === null) return html`<${Empty}>It is running; prompts and replies will appear here.<//>`;
  return html`<${Loaded} of=${detail}>${(data) => html`<${Detail} task=${task} step=${step} detail=${data} />`}<//>`;
}

function Detail({task, step, detail}) {
  const tabs = tabsOf(detail);
  const wanted = place.value.tab || (detail.tools.length ? 'tools' : FIRST[step.phase]);
  const chosen = tabs.some(([name]) => name === wanted) ? wanted : tabs[0][0];
  const choose = (name) => go({attempt: step.attempt, iteration: step.iteration, step: step.step_no, tab: name, item: ''});
  return html`<div class="detail">
    <div class="tools">${detail.step ? html`<${Button} kind="small" onClick=${() => { forking.value = {attempt: step.attempt, step_no: step.step_no}; }}>Fork from here…<//>` : null}
      <${Copy} text=${location.href} what="the link to this step" /></div>
    <${Tabs} label=${`Step ${step.step_no}`} tabs=${tabs} chosen=${chosen} onChoose=${choose}>
      <${Shown} name=${chosen} task=${task} detail=${detail} /><//>
  </div>`;
}

/** Return the tabs that have content, as pairs of a name and a title. */
function tabsOf(detail) {
  const {step, calls, tools, files, verdict, lines} = detail;
  return [
    step && ['happened', 'What happened'],
    tools.length && ['tools', `Tool calls (${tools.length})`],
    calls.length && ['calls', `Prompts and replies (${calls.length})`],
    step && files.some((file) => file.here) && ['change', 'Changes'],
    files.length && ['files', `Files (${files.length})`],
    verdict && ['tests', `Tests (${verdict.tests.length + verdict.left_out})`],
    lines.length && ['log', `Log (${lines.length})`],
  ].filter(Boolean);
}

function Shown({name, task, detail}) {
  const {attempt, step_no: step} = detail;
  if (name === 'happened') return html`<${Happened} detail=${detail} />`;
  if (name === 'tools') return html`<${Tools} task=${task} detail=${detail} />`;
  if (name === 'calls') return html`<${Calls} task=${task} detail=${detail} />`;
  if (name === 'change') return html`<${Change} path=${address(`/api/task/${task.task_id}/diff`, {of: 'step', attempt, step})} />`;
  if (name === 'files') return html`<${Files} task=${task} detail=${detail} />`;
  if (name === 'tests') return html`<${Tests} verdict=${detail.verdict} />`;
  return html`<${Lines} lines=${detail.lines} />`;
}

const Text = ({title, of, open = true}) => (of.text ? html`<details open=${open && of.chars < 3000}><summary>${title}</summary>
  <pre class="wrap" tabindex="0">${of.text}${of.cut ? `\n… (${of.chars} characters in all)` : ''}</pre></details>` : null);

const THOUGHTS = [['root_cause', 'Cause'], ['pattern', 'Pattern'], ['hypothesis', 'Hypothesis'], ['suggested_fix', 'Suggested fix']];

const Thought = ({thought}) => html`<h3>Diagnosis</h3><dl>${THOUGHTS.filter(([name]) => thought[name]).map(([name, title]) => html`
    <dt>${title}</dt><dd>${thought[name]}</dd>`)}
  ${thought.replan ? html`<dt>Advice</dt><dd>plan again</dd>` : null}${thought.tests_at_fault ? html`<dt>Blames</dt><dd>the agent's own tests</dd>` : null}${thought.contradicting_test ? html`<dt>Contradicts the task</dt><dd>${thought.contradicting_test}</dd>` : null}</dl>`;

const Findings = ({findings}) => html`<h3>Findings</h3><ul class="plain findings">${findings.map((one) => html`<li>
  <span class=${`pill ${one.severity}`}>${one.severity}</span> <code>${one.place}</code> ${one.reason}
  ${one.rule === 'memory.failed_before' ? html` <span class="flag bad">failed before</span>` : null}
  ${one.fix ? html`<small>Suggested: ${one.fix}</small>` : null}</li>`)}</ul>`;

const Brief = ({brief}) => html`<h3>How the task was understood</h3><dl class="reading">
  ${[['Goal', brief.goal], ['Inputs', brief.inputs], ['Outputs', brief.outputs]].filter(([, text]) => text).map(([name, text]) => html`<dt>${name}</dt><dd>${text}</dd>`)}
  ${[['Constraints', brief.constraints], ['Accepted when', brief.acceptance]].filter(([, list]) => list.length).map(([name, list]) => html`
    <dt>${name}</dt><dd><ul>${list.map((text) => html`<li>${text}</li>`)}</ul></dd>`)}
  ${brief.questions.map((one) => html`<dt>Question</dt><dd>${one.text} <${Answered} one=${one} /></dd>`)}</dl>`;

function Answered({one}) {
  if (!one.answer) return html`<small>not answered; otherwise assumed: ${one.default}</small>`;
  return one.answer === one.default ? html`<small>assumed: ${one.default}</small>` : html`<b>${one.answer}</b> <small>instead of ${one.default}</small>`;
}

const Lessons = ({lessons}) => html`<h3>Recalled lessons</h3><ul class="plain">${lessons.map((one) => html`<li>
  <a href=${`/memory#${one.kind}-${one.item}`}>${one.kind} ${one.item}</a> <span class="hint">score ${one.score.toFixed(2)}, ${one.age_days < 1 ? 'under a day' : `${Math.round(one.age_days)} d`} old</span>
  <pre class="wrap" tabindex="0">${one.text.text}</pre></li>`)}</ul>`;

function Happened({detail}) {
  const {step, thought, findings, lessons, packages} = detail;
  return html`<p>${step.note || words(step.outcome)}${step.next ? html` <span class="hint">then ${words(step.next)}</span>` : null}</p>
    ${step.stuck ? html`<p class="notice">Stuck: ${step.stuck}${step.fresh ? '; a fresh context began' : ''}</p>` : null}
    ${thought ? html`<${Thought} thought=${thought} />` : null}
    ${findings.length ? html`<${Findings} findings=${findings} />` : null}
    ${detail.brief ? html`<${Brief} brief=${detail.brief} />` : null}
    <${Text} title="Plan" of=${detail.plan} open=${step.phase === 'PLANNING'} />
    ${step.outcome === 'ok' ? null : html`<${Text} title="Feedback to the next phase" of=${detail.feedback} />`}
    ${lessons.length ? html`<${Lessons} lessons=${lessons} />` : null}
    ${Object.keys(packages).length ? html`<p class="hint">ran with ${Object.entries(packages).map(([name, version]) => html`<code>${name} ${version}</code> `)}</p>` : null}`;
}

/** Lines of the log, without live updates. */
const Lines = ({lines}) => html`<table class="loglines"><tbody>${lines.map((line) => html`<tr class=${line.level}>
  <td class="when"><a href=${`/logs#L${line.id}`}>${line.timestamp.slice(11, 19)}</a></td><td>${line.event}</td><td class="what">${line.message}</td></tr>`)}</tbody></table>`;

