// The newest lines of the log about one task, inside a page, with live updates.

import {get, fault} from './api.js';
import {row} from './logline.js';
import {onLine, onResync} from './live.js';
import {Empty, Fault} from './parts.js';
import {html, useEffect, useRef, useState} from './ui.js';

const FIRST = 200;
const MOST = 500;
const NEAR_PX = 40;

/** The newest lines of a task. @param {{task: number}} props */
export function LogLines({task}) {
  const list = useRef(null);
  const [state, setState] = useState({error: null, count: null, first: 1});
  useEffect(() => follow(list.current, task, setState), [task]);
  const {error, count, first} = state;
  return html`
    ${error ? html`<${Fault} error=${error} />` : null}
    <ol class="lines small" ref=${list} tabindex="0" aria-label="Lines of the log, oldest first" hidden=${!count}></ol>
    ${count === 0 ? html`<${Empty}>The log has no lines of this task${first > 1 ? ' lately' : ''}.<//>` : null}
    <p class="more"><a href=${`/logs?task=${task}`}>All lines of this task, with search</a></p>`;
}

function follow(list, task, setState) {
  let last = null;
  let early = [];
  const add = (lines) => {
    const isAtEnd = list.scrollHeight - list.scrollTop - list.clientHeight < NEAR_PX;
    const fresh = lines.filter((line) => line.task_id === task && line.id > last);
    if (!fresh.length) return;
    last = fresh.at(-1).id;
    list.append(...fresh.map((line) => row(line, false)));
    while (list.children.length > MOST) list.firstChild.remove();
    setState((now) => ({...now, count: list.children.length}));
    if (isAtEnd) setTimeout(() => { list.scrollTop = list.scrollHeight; });
  };
  const load = async () => {
    last = null;
    const answer = await get('/api/logs', {task, limit: FIRST});
    if (!answer.ok) return setState((now) => ({...now, error: fault(answer)}));
    list.replaceChildren();
    last = 0;
    setState({error: null, count: 0, first: answer.data.first_id});
    add([...answer.data.events, ...early]);
    last = Math.max(last, answer.data.last_id);
    early = [];
  };
  load();
  const ends = [onLine((line) => (last === null ? early.push(line) : add([line]))), onResync(load)];
  return () => ends.forEach((end) => end());
}
