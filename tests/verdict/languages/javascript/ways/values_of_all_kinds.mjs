// 1+1 | 2+3 | class | same | symbol | fn | error | generator | template | ifError | only if error | nested > n 1 | nested > n 2 | nested | not | promise chain
import * as assert from 'node:assert';
import test from 'node:test';
import { add } from '../add.mjs';
class Point { constructor(x) { this.x = x; } equals(o) { return o.x === this.x; } }
const rows = await Promise.resolve([[1, 1, 2], [2, 3, 5]]);
rows.forEach(([a, b, c]) => test(`${a}+${b}`, () => assert.strictEqual(add(a, b), c)));
test('class', () => { assert.deepStrictEqual(new Point(add(1, 1)), new Point(2)); });
test('same', () => { const p = new Point(1); assert.strictEqual(p, p); });
test('symbol', () => { const s = Symbol('a'); assert.equal(s, s); });
test('fn', () => { assert.equal(typeof add, 'function'); assert.equal(add.length, 2); });
test('error', () => { let err; try { null.x; } catch (e) { err = e; } assert.ok(err instanceof TypeError); assert.ok(err); });
test('generator', () => { function* g() { yield add(1, 0); } assert.deepEqual([...g()], [1]); });
test('template', () => { const n = add(1, 1); assert.equal(`n=${n}`, `n=${2}`); });
test('ifError', () => { assert.ifError(null); assert.equal(add(1, 1), 2); });
test('only if error', () => { assert.ifError(null); });
test('nested', async (t) => { for (const n of [1, 2]) { await t.test(`n ${n}`, () => { assert.equal(add(n, n), 2 * n); }); } });
test('not', () => { assert.notDeepStrictEqual([add(1, 1)], [3]); assert.doesNotThrow(() => add(1, 1)); assert.doesNotMatch('a', /b/); });
test('promise chain', () => Promise.resolve(1).then((n) => { assert.equal(add(n, 1), 2); }));
