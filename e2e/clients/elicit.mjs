#!/usr/bin/env node
// Answers a server's questions as a host's user, with the protocol's TypeScript client,
// over both transports and in both protocol eras. The server is a test server whose tool
// Ask asks a question and answers with the reply.
// usage: CLIENTS_DIR=FOLDER elicit.mjs SERVER [ARGUMENT...]
// SERVER serves stdio with ASK_FIXTURE=stdio in its environment, and with
// ASK_FIXTURE=http prints "listening on URL" on stderr and accepts the token below.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { Client, StdioClientTransport, StreamableHTTPClientTransport, assert, checksWithin, finish } from './checks.mjs';

const [command, ...args] = process.argv.slice(2);
if (!command) {
  console.error('usage: CLIENTS_DIR=FOLDER elicit.mjs SERVER [ARGUMENT...]');
  process.exit(2);
}

const MODERN = '2026-07-28';
const LIMIT = 120_000; // of one check, in ms
const TOKEN = 'a-token-for-tests-only';

const check = checksWithin(LIMIT);

const text = (result) => (result.content ?? []).map((c) => c.text ?? '').join('\n');

// connected runs fn with a client that can be asked; answer acts as its user.
async function connected(transport, mode, answer, fn) {
  const capabilities = answer ? { elicitation: { form: {} } } : {};
  const client = new Client({ name: 'elicit-check', version: '1' }, { versionNegotiation: { mode }, capabilities });
  if (answer) client.setRequestHandler('elicitation/create', answer);
  await client.connect(transport());
  try {
    await fn(client);
  } finally {
    await client.close();
  }
}

// A client that declines or cancels within 300 ms is taken for one that has not asked its user.
const person = () => new Promise((r) => setTimeout(r, 400));

const ask = (client, input, options) => client.callTool({ name: 'Ask', arguments: input }, options);

async function stories(label, transport, mode) {
  const want = { text: 'it', always: 'rm -rf build' };
  for (const [answer, reply] of [
    [{ action: 'accept' }, 'accepted allow=true always=false decided'],
    [{ action: 'accept', content: {} }, 'accepted allow=true always=false decided'],
    [{ action: 'accept', content: { remember: 'once' } }, 'accepted allow=true always=false decided'],
    [{ action: 'accept', content: { remember: 'always' } }, 'accepted allow=true always=true decided'],
    [{ action: 'decline' }, 'declined allow=false always=false decided'],
    [{ action: 'cancel' }, 'cancelled allow=false always=false decided'],
  ]) {
    await check(`${label}: ${JSON.stringify(answer)}`, async () => {
      const shown = [];
      const user = async (request) => {
        shown.push(request.params);
        if (answer.action !== 'accept') await person();
        return answer;
      };
      await connected(transport, mode, user, async (client) => {
        const result = await ask(client, want);
        assert(text(result) === `${reply} ${mode === 'legacy' ? 'now' : 'before'}`, `got ${text(result)}`);
        assert(shown.length === 1, `asked ${shown.length} times`);
        for (const part of ['Ask: ', 'Do it', '"text": "it"', 'rm -rf build']) {
          assert(shown[0].message.includes(part), `the message lacks ${part}: ${shown[0].message}`);
        }
        const { properties, required } = shown[0].requestedSchema;
        assert(properties.remember.enum[0] === 'once' && !required, `the form is ${JSON.stringify(shown[0].requestedSchema)}`);
      });
    });
  }

  await check(`${label}: a client without elicitation is not asked`, async () => {
    await connected(transport, mode, undefined, async (client) => {
      const result = await ask(client, want);
      assert(text(result) === 'cannot be asked', `got ${text(result)}`);
    });
  });

  await check(`${label}: a user's tool that fails allows nothing`, async () => {
    const user = () => {
      throw new Error('no user');
    };
    await connected(transport, mode, user, async (client) => {
      // The modern client ends the call itself.
      const got = await ask(client, want).then(text, () => 'ended by the client');
      assert(mode === 'legacy' ? got.startsWith('no answer allow=false') : got === 'ended by the client', `got ${got}`);
    });
  });

  await check(`${label}: two questions at once`, async () => {
    const user = async (request) => {
      const first = request.params.message.includes('Do first');
      await new Promise((r) => setTimeout(r, first ? 800 : 400)); // answered in reverse order
      return { action: first ? 'accept' : 'decline' };
    };
    await connected(transport, mode, user, async (client) => {
      const [first, second] = await Promise.all(['first', 'second'].map((t) => ask(client, { text: t, aside: true })));
      assert(text(first).startsWith('accepted') && text(second).startsWith('declined'), `got ${text(first)}, ${text(second)}`);
    });
  });

  await check(`${label}: a call given up while the user is asked`, async () => {
    const gone = new AbortController();
    const user = async (request, { mcpReq } = {}) => {
      if (gone.signal.aborted) return { action: 'accept' };
      const ended = mcpReq?.signal && once(mcpReq.signal, 'abort');
      gone.abort(new Error('given up by the check'));
      await ended;
      return { action: 'cancel' };
    };
    await connected(transport, mode, user, async (client) => {
      const outcome = await ask(client, want, { signal: gone.signal }).then(text, () => undefined);
      assert(outcome === undefined, `answered: ${outcome}`);
      const result = await ask(client, want);
      assert(text(result).startsWith('accepted'), `afterwards: ${text(result)}`);
    });
  });
}

const modes = [
  ['legacy', 'legacy'], // a pin is for 2026-07-28 and later
  [MODERN, { pin: MODERN }],
];
const env = (fixture) => ({ ...process.env, ASK_FIXTURE: fixture });

for (const [name, mode] of modes) {
  await stories(`stdio ${name}`, () => new StdioClientTransport({ command, args, env: env('stdio'), stderr: 'inherit' }), mode);
}

const server = spawn(command, args, { env: env('http'), stdio: ['ignore', 'ignore', 'pipe'] });
const exit = once(server, 'exit');
try {
  let url;
  for await (const line of createInterface({ input: server.stderr })) {
    url = line.match(/listening on (http:\/\/\S+)/)?.[1];
    if (url) break;
  }
  assert(url, 'the server over HTTP does not start');
  for (const [name, mode] of modes) {
    const options = { requestInit: { headers: { Authorization: `Bearer ${TOKEN}` } } };
    await stories(`http ${name}`, () => new StreamableHTTPClientTransport(new URL(url), options), mode);
  }
} finally {
  server.kill('SIGTERM');
  await exit;
}

finish();
