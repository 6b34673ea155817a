// throws | throws at all | throws a class | rejects | is not | is true | matches | does not throw
import test, { describe, it, before, after, beforeEach } from 'node:test';
import assert from 'node:assert/strict';
import { parse } from '../parse.mjs';
test('throws', () => { assert.throws(() => parse('x'), { name: 'RangeError', message: /bad/ }); });
test('throws at all', () => { assert.throws(() => parse('x')); });
test('throws a class', () => { assert.throws(() => parse('x'), RangeError); });
test('rejects', async () => { await assert.rejects(async () => parse('x')); });
test('is not', () => { assert.notEqual(parse('1'), 2); });
test('is true', () => { assert.ok(parse('1') === 1); assert(parse('2') > 1); });
test('matches', () => { assert.match(String(parse('12')), /^1/); });
test('does not throw', () => { assert.doesNotThrow(() => parse('1')); });
