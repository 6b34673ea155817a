// sums > small | sums > deep > large
import test, { describe, it, before, after, beforeEach } from 'node:test';
import assert from 'node:assert/strict';
import { add } from '../add.mjs';
describe('sums', () => {
  let one;
  before(() => { one = 1; });
  beforeEach(() => { one += 0; });
  it('small', () => { assert.equal(add(one, 1), 2); });
  describe('deep', () => { it('large', async () => { assert.equal(await add(one, 999), 1000); }); });
  after(() => { one = 0; });
});
