// The bar above the lines of the log: filter, search, jump to a time, and controls of the live stream.

import {Button} from '../../app/parts.js';
import {html, useEffect, useRef, useState} from '../../app/ui.js';
import {LEVELS, change, clear, filter, isFiltered} from './filter.js';
import {foundText} from './find.js';

const TYPING_MS = 300;

/** A labelled control on one line. */
const Labelled = ({label, id, children}) => html`<span class="control"><label for=${id}>${label}</label>${children}</span>`;

function Filters({open, workers}) {
  const now = filter.value;
  const timer = useRef(0);
  const set = (parts) => {
    clearTimeout(timer.current);
    change(parts);
    open();
  };
  const typed = (parts) => {
    clearTimeout(timer.current);
    timer.current = setTimeout(set, TYPING_MS, parts);
  };
  const names = [...new Set([...workers, now.worker])].filter(Boolean);
  return html`<form class="filters" aria-label="Filter" onSubmit=${(event) => event.preventDefault()}>
    <${Labelled} label="Level" id="filter-level"><select id="filter-level" value=${now.level} onChange=${(event) => set({level: event.target.value})}>
      <option value="">all</option>
      ${LEVELS.slice(1).map((level) => html`<option value=${level}>${level.toLowerCase()}${level === 'ERROR' ? '' : ' +'}</option>`)}
    </select><//>
    <${Labelled} label="Task" id="filter-task"><input id="filter-task" type="number" min="1" step="1" placeholder="all" value=${now.task}
      onInput=${(event) => event.target.validity.valid && typed({task: event.target.value})} /><//>
    <${Labelled} label="Worker" id="filter-worker"><select id="filter-worker" value=${now.worker} onChange=${(event) => set({worker: event.target.value})}>
      <option value="">all</option>${names.map((name) => html`<option key=${name} value=${name}>${name}</option>`)}
    </select><//>
    <span class="text-filter"><${Labelled} label="Text" id="filter-text"><input id="filter-text" type="text" maxlength="500" placeholder="only lines with …" value=${now.q}
      onInput=${(event) => typed({q: event.target.value})} /><//>
    <${Switch} on=${now.regex} what="the text is a regular expression (RE2)" onPress=${() => set({regex: now.regex ? '' : '1'})}>.*<//>
    <${Switch} on=${now.inverse} what="only lines that do not match the text" onPress=${() => set({inverse: now.inverse ? '' : '1'})}>not<//></span>
    ${now.kind ? html`<${Button} title="lines of all kinds" onClick=${() => set({kind: ''})}>${now.kind} ×<//>` : null}
    ${isFiltered() ? html`<${Button} kind="bare" onClick=${() => {
      clear();
      open();
    }}>Clear<//>` : null}
  </form>`;
}

const Switch = ({on, what, onPress, children}) => html`
  <button type="button" class="switch" aria-pressed=${on ? 'true' : 'false'} aria-label=${what} title=${what} onClick=${onPress}>${children}</button>`;

function Find({finder, model, find}) {
  const [text, setText] = useState('');
  useEffect(() => {
    const soon = setTimeout(() => model.view && finder.seek(text), TYPING_MS / 2);
    return () => clearTimeout(soon);
  }, [text, model.count.value]);
  const pressed = (event) => {
    if (event.key === 'Escape') event.target.blur();
    if (event.key !== 'Enter') return;
    finder.seek(event.target.value);
    find(event.shiftKey ? 1 : -1);
  };
  return html`<span class="find">
    <${Labelled} label="Find" id="find"><input id="find" data-search type="text" placeholder="highlight and go to …" value=${text}
      onInput=${(event) => setText(event.target.value)} onKeyDown=${pressed} /><//>
    <button type="button" class="icon" aria-label="Previous match" title="previous match (N, Enter)" disabled=${!text} onClick=${() => find(-1)}>↑</button>
    <button type="button" class="icon" aria-label="Next match" title="next match (n, Shift+Enter)" disabled=${!text} onClick=${() => find(1)}>↓</button>
    <span class="hint" role="status">${foundText(finder.matches.value, model.count.value)}</span>
  </span>`;
}

function Place({open}) {
  const [at, setAt] = useState('');
  const go = (event) => {
    event.preventDefault();
    if (at) open({at: new Date(at).toISOString()});
  };
  return html`<form class="place" onSubmit=${go}>
    <${Labelled} label="Time" id="jump"><input id="jump" type="datetime-local" step="1" value=${at} onInput=${(event) => setAt(event.target.value)} /><//>
    <button type="submit" disabled=${!at}>Go</button>
  </form>`;
}

/** The whole bar with all its controls. */
export const Bar = ({model, finder, open, find, download, workers}) => html`
  <div class="logbar">
    <h1 class="unseen">Log</h1>
    <${Filters} open=${open} workers=${workers} />
    <div class="tools">
      <${Find} finder=${finder} model=${model} find=${find} />
      <${Place} open=${open} />
      <span class="stream">
        <button type="button" class="switch" aria-pressed=${String(model.following.value)} title="follow the end (f)"
          onClick=${() => model.follow(!model.following.value)}>Follow</button>
        <button type="button" class="switch" aria-pressed=${String(model.paused.value)} title="stop adding lines (space)"
          onClick=${() => model.pause()}>Pause log</button>
        <a class="button small" href=${download} download title=${isFiltered() ? 'all lines that pass the filter' : 'the whole log'}>Download</a>
      </span>
    </div>
  </div>`;
