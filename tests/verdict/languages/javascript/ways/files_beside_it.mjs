// data | url
import test, { describe, it, before, after, beforeEach } from 'node:test';
import assert from 'node:assert/strict';
import { add } from '../add.mjs';
import fs from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
const here = path.dirname(fileURLToPath(import.meta.url));
test('data', () => { assert.equal(fs.readFileSync(path.join(here, 'data.txt'), 'utf8').length, add(2, 3)); });
test('url', () => { assert.ok(fs.existsSync(new URL('./data.txt', import.meta.url))); });
