// Text that models are writing now, for each task. It comes over the live stream.

import {signal} from './ui.js';

/**
 * Maps a task's id to its newest model call: `{call, step_no, parts: [{tool, text}], tokens, …}`, as in the stream's
 * event `writing`.
 */
export const calls = signal(new Map());

const set = (change) => {
  const next = new Map(calls.peek());
  change(next);
  calls.value = next;
};

/** Store the current state of a call, as the stream sends it. */
export const write = (frame) => set((next) => next.set(frame.task_id, frame));

/** Remove all calls. Called after a lost connection, because the new stream sends all running calls again. */
export const forget = () => set((next) => next.clear());

/** Return the current state of all calls, for a tab that joins. */
export const frames = () => [...calls.peek().values()];

/** Return the writing speed of a call in tokens per second; null while there is too little data. */
export const rate = ({tokens, writing_s: seconds}) => (seconds >= 0.5 && tokens >= 5 ? tokens / seconds : null);
