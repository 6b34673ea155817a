// mocked | timers
import test, { describe, it, before, after, beforeEach } from 'node:test';
import assert from 'node:assert/strict';
import { mock } from 'node:test';
import { add } from '../add.mjs';
test('mocked', () => {
  const spy = mock.fn(add);
  spy(1, 2);
  assert.equal(spy.mock.callCount(), 1);
});
test('timers', (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  let seen = 0;
  setTimeout(() => { seen = add(seen, 5); }, 1000);
  t.mock.timers.tick(1000);
  assert.equal(seen, 5);
});
