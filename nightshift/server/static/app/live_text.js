// What models write just now, by task: it comes over the live channel, and is gone when its call is.

import {signal} from './ui.js';

/** Task to its newest call: `{call, step_no, parts: [{tool, text}], tokens, …}` as the stream's `writing` tells it. */
export const calls = signal(new Map());

const set = (change) => {
  const next = new Map(calls.peek());
  change(next);
  calls.value = next;
};

/** Take a frame of the stream: a call as it stands. */
export const write = (frame) => set((next) => next.set(frame.task_id, frame));

/** Forget all: the connection was away, and the next one begins with what there is. */
export const forget = () => set((next) => next.clear());

/** The calls as frames for a tab that joins. */
export const frames = () => [...calls.peek().values()];

/** How fast a call is written, in tokens a second; null while that says little. */
export const rate = ({tokens, writing_s: seconds}) => (seconds >= 0.5 && tokens >= 5 ? tokens / seconds : null);
