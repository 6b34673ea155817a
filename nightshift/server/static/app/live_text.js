// Text that models are writing now, by task: it comes over the live channel, and disappears when its call ends.

import {signal} from './ui.js';

/**
 * Maps a task to its newest call: `{call, step_no, parts: [{tool, text}], tokens, …}` as in the stream's `writing`
 * event.
 */
export const calls = signal(new Map());

const set = (change) => {
  const next = new Map(calls.peek());
  change(next);
  calls.value = next;
};

/** Store a frame of the stream: the current state of a call. */
export const write = (frame) => set((next) => next.set(frame.task_id, frame));

/** Remove all calls: the connection was lost, and the next one starts with all running calls. */
export const forget = () => set((next) => next.clear());

/** Return the calls as frames, for a tab that joins. */
export const frames = () => [...calls.peek().values()];

/** Return the speed of a call in tokens per second; null while there is too little data. */
export const rate = ({tokens, writing_s: seconds}) => (seconds >= 0.5 && tokens >= 5 ? tokens / seconds : null);
