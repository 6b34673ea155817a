// outer > inner | outer > inner #2 | outer
import test, { describe, it, before, after, beforeEach } from 'node:test';
import assert from 'node:assert/strict';
import { add } from '../add.mjs';
test('outer', async (t) => {
  await t.test('inner', () => { assert.equal(add(1, 1), 2); });
  await t.test('inner', () => { assert.deepEqual({ n: add(1, 2) }, { n: 3 }); });
});
