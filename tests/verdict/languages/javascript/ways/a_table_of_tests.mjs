// 1 and 2 [table] | 2 and 2 [table]
import test, { describe, it, before, after, beforeEach } from 'node:test';
import assert from 'node:assert/strict';
import { add } from '../add.mjs';
for (const [a, b, sum] of [[1, 2, 3], [2, 2, 4]]) {
  test(`${a} and ${b} [table]`, () => assert.equal(add(a, b), sum));
}
