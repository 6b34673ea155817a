// serves
import test, { describe, it, before, after, beforeEach } from 'node:test';
import assert from 'node:assert/strict';
import { add } from '../add.mjs';
import http from 'node:http';
test('serves', async () => {
  const server = http.createServer((_, reply) => reply.end(String(add(1, 1))));
  await new Promise((ready) => server.listen(0, '127.0.0.1', ready));
  const reply = await fetch(`http://127.0.0.1:${server.address().port}/`);
  assert.equal(await reply.text(), '2');
  server.closeAllConnections();
  server.close();
});
