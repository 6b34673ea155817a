// all
import test, { describe, it, before, after, beforeEach } from 'node:test';
import assert from 'node:assert/strict';
import { add } from '../add.mjs';
test('all', () => {
  for (const [a, b, sum] of [[1, 2, 3], [2, 2, 4]]) {
    assert.equal(add(a, b), sum);
  }
});
