// What was done over time: tasks that ended, how many succeeded, tokens and cost.

import {useData} from '../../app/api.js';
import {Chart} from '../../app/chart.js';
import {forGood} from '../../app/kept.js';
import {Card, Loaded} from '../../app/parts.js';
import {compact, counted, day, money, percent, tokens} from '../../app/text.js';
import {html, useMemo, useState} from '../../app/ui.js';

const RANGES = [['24h', '24 h'], ['7d', '7 days'], ['30d', '30 days'], ['all', 'all']];
const SPANS = {'24h': 'in the last 24 hours', '7d': 'in the last 7 days', '30d': 'in the last 30 days'};
const BARS = [[3600, 'an hour'], [21_600, '6 hours'], [86_400, 'a day'], [604_800, 'a week']];
const KEPT = 'dashboard-range';
const KINDS = ['task_moved', 'model_called'];
const COLOURS = ['--c1', '--c2', '--c3', '--c4'];

const of = (buckets, read) => buckets.map(read);

/** Tokens by model, the most used first; those beyond the third are one. */
function byModel({models, buckets}, name) {
  const first = models.slice(0, models.length > 4 ? 3 : 4);
  const rest = models.slice(first.length);
  const series = first.map((each, index) => ({
    label: each.model || each.backend, values: each[name], colour: COLOURS[index], bars: true, stacked: true,
  }));
  if (rest.length) {
    const values = buckets.map((_, at) => rest.reduce((sum, each) => sum + each[name][at], 0));
    series.push({label: 'others', values, colour: COLOURS[3], bars: true, stacked: true});
  }
  return series.length ? series : [{label: 'no model asked', values: buckets.map(() => 0), colour: '--c1', bars: true}];
}

const isNothing = ({done, failed, cancelled, calls}) => done + failed + cancelled + calls === 0;

const spent = ({cost_usd: usd, unpriced}) => (!usd && unpriced ? 'Cost not known' : `${money(usd, unpriced)} spent`);

function Drawn({stats}) {
  const parts = useMemo(() => {
    const {buckets} = stats;
    return {
      times: of(buckets, ({start}) => Date.parse(start) / 1000),
      ended: [
        {label: 'done', values: of(buckets, ({done}) => done), colour: '--c-good', bars: true, stacked: true},
        {label: 'failed', values: of(buckets, ({failed}) => failed), colour: '--c-bad', bars: true, stacked: true},
      ],
      success: [{label: 'done of done and failed', values: of(buckets, (each) => each.success_rate), colour: '--c-good', filled: true, points: true}],
      tokens: byModel(stats, 'tokens'),
      costs: byModel(stats, 'costs_usd'),
    };
  }, [stats]);
  const {total} = stats;
  if (isNothing(total)) return html`<p class="empty charts-none">No task ended and no model was asked in this time.</p>`;
  const whole = (value) => (Number.isInteger(value) ? compact(value) : '');
  return html`<div class="charts">
    <${Chart} title=${`${counted(total.done, 'task')} done, ${total.failed} failed`} times=${parts.times} series=${parts.ended} format=${whole} />
    <${Chart} title=${total.success_rate === null ? 'Success rate' : `${percent(total.success_rate)} succeeded`} times=${parts.times}
      series=${parts.success} format=${percent} max=${1} />
    <${Chart} title=${`${tokens(total.tokens_in + total.tokens_out)} tokens`} times=${parts.times} series=${parts.tokens} format=${compact} />
    <${Chart} title=${spent(total)} times=${parts.times} series=${parts.costs} format=${money1} />
  </div>`;
}

/** The span in words, and what a bar stands for. */
function spanOf(data) {
  if (!data) return ' ';
  const [, bar] = BARS.find(([width]) => width === data.bucket_s) ?? [0, `${Math.round(data.bucket_s / 86_400)} days`];
  return `${SPANS[data.range] ?? `since ${day(Date.parse(data.since))}`}, ${bar} a bar`;
}

const money1 = (usd) => money(usd);

function chosen() {
  const kept = forGood.recall(KEPT);
  return RANGES.some(([name]) => name === kept) ? kept : 'fit';
}

export function Charts() {
  const [range, setRange] = useState(chosen);
  const stats = useData('/api/stats', {range}, KINDS);
  const choose = (name) => {
    forGood.keep(KEPT, name);
    setRange(name);
  };
  const buttons = html`<div class="choice" role="group" aria-label="How far back">${RANGES.map(([name, label]) => html`
    <button type="button" key=${name} class="bare small" aria-pressed=${String(name === (range === 'fit' ? stats.data?.range : range))} onClick=${() => choose(name)}>${label}</button>`)}</div>`;
  return html`<${Card} title="Work over time" hint=${spanOf(stats.data)} actions=${buttons} class="charts-card">
    <${Loaded} of=${stats}>${(data) => html`<${Drawn} stats=${data} />`}<//>
  <//>`;
}
