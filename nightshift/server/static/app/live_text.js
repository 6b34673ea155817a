// What models write just now, by task: it comes over the live channel, and is gone when its call is.

import {signal} from './ui.js';

/** Task to its newest call: `{call, step_no, parts: [{tool, text}], tokens, …}` as the stream's `writing` tells it. */
export const calls = signal(new Map());

const set = (change) => {
  const next = new Map(calls.peek());
  change(next);
  calls.value = next;
};

/** Parts as they are after a frame: those it keeps, then its own. */
function joined(before, {keep, appends, parts}) {
  const kept = before.slice(0, keep);
  if (!appends || !kept.length) return [...kept, ...parts];
  const [more, ...rest] = parts;
  const last = kept.pop();
  return [...kept, {...last, text: last.text + more.text}, ...rest];
}

/** Take a frame of the stream; one that goes on from what this page has not seen is passed over. */
export function write(frame) {
  const before = calls.peek().get(frame.task_id);
  const known = before?.call === frame.call ? before.parts : [];
  if (known.length < frame.keep) return;
  set((next) => next.set(frame.task_id, {...frame, keep: 0, appends: false, parts: joined(known, frame)}));
}

/** Forget all: the connection was away, and the next one begins with what there is. */
export const forget = () => set((next) => next.clear());

/** The calls as frames for a tab that joins. */
export const frames = () => [...calls.peek().values()];

/** How fast a call is written, in tokens a second; null while that says little. */
export const rate = ({tokens, writing_s: seconds}) => (seconds >= 0.5 && tokens >= 5 ? tokens / seconds : null);
