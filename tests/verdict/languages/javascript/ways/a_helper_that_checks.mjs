// by helper
import test, { describe, it, before, after, beforeEach } from 'node:test';
import assert from 'node:assert/strict';
import { add } from '../add.mjs';
function check(a, b, sum) {
  assert.strictEqual(add(a, b), sum);
}
test('by helper', () => { check(1, 2, 3); check(2, 2, 4); });
