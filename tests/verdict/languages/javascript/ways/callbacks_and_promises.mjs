// callback | promise
import test, { describe, it, before, after, beforeEach } from 'node:test';
import assert from 'node:assert/strict';
import { add } from '../add.mjs';
test('callback', (t, done) => { setTimeout(() => { assert.equal(add(1, 1), 2); done(); }, 1); });
test('promise', () => Promise.resolve(add(1, 1)).then((sum) => assert.equal(sum, 2)));
