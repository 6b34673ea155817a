// Optional packages that are not installed, each with its purpose, its size, and a button that installs it.

import {Button, Card, Prose} from '../../app/parts.js';
import {act, status} from '../../app/shell.js';
import {classes, html, useEffect} from '../../app/ui.js';

const POLL_MS = 1000;

const size = (megabytes) => (megabytes >= 1000 ? `${(megabytes / 1000).toFixed(1)} GB` : `${megabytes} MB`);

function Extra({extra: {name, purpose, megabytes, state, detail}}) {
  const works = state === 'installing';
  const hasFailed = state === 'failed';
  return html`<li data-extra=${name}>
    <div class="model-head"><b>${name}</b> <span class="hint model-name">about ${size(megabytes)}</span>
      <${Button} sends kind="small end" busy=${works} title=${`Install ${name}`} onClick=${() => act(`/api/extra/${name}/install`, '')}>
        ${works ? 'Installing' : hasFailed ? 'Try again' : 'Install'}<//></div>
    <small>For ${purpose}</small>
    ${detail ? html`<small class=${classes({bad: hasFailed})} role=${works ? 'status' : undefined}><${Prose} text=${detail} /></small>` : null}
  </li>`;
}

export function Optional({extras}) {
  const missing = extras.filter(({state}) => state !== 'installed');
  const works = missing.some(({state}) => state === 'installing');
  useEffect(() => {
    if (!works) return undefined;
    const timer = setInterval(status.reload, POLL_MS);  // no event reports each megabyte
    return () => clearInterval(timer);
  }, [works]);
  return missing.length ? html`<${Card} title="Optional packages">
    <ul class="plain">${missing.map((extra) => html`<${Extra} key=${extra.name} extra=${extra} />`)}</ul><//>` : null;
}
