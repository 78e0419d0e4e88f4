#!/usr/bin/env node
// Uses the built binary the way a host does, with the protocol's TypeScript
// client: every transport with every way to agree on a protocol version.
// usage: client.mjs BINARY
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { binary, clients } from './pinned.mjs';
import { Client, StdioClientTransport, StreamableHTTPClientTransport, assert, checksWithin, finish } from './checks.mjs';

const LEGACY = '2025-11-25';
const MODERN = '2026-07-28';
const LIMIT = 120_000; // of one check, in ms
const CUT = 2_048; // bytes of a description some hosts show the model
const GONE = 60_000; // timeout for a server to end, in ms

// The folder's name is in the server's command line, to find processes that are left.
const work = mkdtempSync(join(tmpdir(), 'mcp-toolset-client-'));
const root = join(work, 'root');
const home = join(work, 'home');
mkdirSync(root);
mkdirSync(home);
const file = join(root, 'a.txt');
const large = join(root, 'large.txt');
writeFileSync(file, 'first line\nsecond line\n');
writeFileSync(large, Array.from({ length: 200_000 }, (_, i) => `line ${i}\n`).join(''));
mkdirSync(join(home, '.claude/skills/greet'), { recursive: true });
writeFileSync(join(home, '.claude/skills/greet/SKILL.md'), '---\nname: greet\ndescription: Greets someone.\n---\nGreet $ARGUMENTS.\n');
const token = `client-check-${crypto.randomUUID()}`;
const tokenFile = join(work, 'token');
writeFileSync(tokenFile, token, { mode: 0o600 });
// No other process has this argument.
const FOREVER = `${600 + Math.random()}`;
// Nothing of the caller's environment or settings may reach the server.
const env = { PATH: process.env.PATH, HOME: home };

const check = checksWithin(LIMIT);

const show = (value) => JSON.stringify(value)?.slice(0, 500);
const text = (result) => (result.content ?? []).map((c) => c.text ?? '').join('\n');
const read = (client, args, options) => client.callTool({ name: 'Read', arguments: args }, options);

async function until(condition, limit) {
  const end = Date.now() + limit;
  while (Date.now() < end) {
    if (condition()) return true;
    await sleep(20);
  }
  return condition();
}

function alive(pid) {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

const onLinux = existsSync('/proc/self/cmdline');

// processes returns those with this argument.
function processes(argument) {
  const found = [];
  if (!onLinux) return found;
  for (const pid of readdirSync('/proc')) {
    if (!/^\d+$/.test(pid) || Number(pid) === process.pid) continue;
    try {
      if (readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0').includes(argument)) found.push(Number(pid));
    } catch {
      // it has ended
    }
  }
  return found;
}

// servers returns the processes that serve this run's folder, including those that a client
// starts only to determine the protocol version.
const servers = () => processes(root);

function newClient(mode, options = {}) {
  return new Client({ name: 'client-check', version: '1' }, { versionNegotiation: { mode }, ...options });
}

// Keywords that some models' dialects of JSON Schema lack, above all Gemini's. The
// inspector knows only a few of them.
const UNPORTABLE = ['$ref', '$defs', 'definitions', 'anyOf', 'oneOf', 'allOf', 'not', 'if', 'then', 'else'];

function unportable(schema, path) {
  if (typeof schema !== 'object' || schema === null) return [`${path} is ${schema}`];
  const found = UNPORTABLE.filter((k) => k in schema).map((k) => `${path}.${k}`);
  if (Array.isArray(schema.type)) found.push(`${path}.type is a list`);
  for (const [name, property] of Object.entries(schema.properties ?? {})) {
    found.push(...unportable(property, `${path}.${name}`));
  }
  if (schema.items !== undefined) found.push(...unportable(schema.items, `${path}[]`));
  return found;
}

// The calls that every combination of transport and version must answer alike.
async function common(label, client, version) {
  await check(`${label}: speaks ${version}`, async () => {
    const got = client.getNegotiatedProtocolVersion();
    assert(got === version, `negotiated ${got}`);
  });

  await check(`${label}: lists Read, fully described`, async () => {
    const { tools } = await client.listTools();
    const tool = tools.find((t) => t.name === 'Read');
    assert(tool, `no Read among ${tools.map((t) => t.name)}`);
    for (const hint of ['readOnlyHint', 'destructiveHint', 'idempotentHint', 'openWorldHint']) {
      assert(typeof tool.annotations?.[hint] === 'boolean', `${hint} is ${tool.annotations?.[hint]}`);
    }
    assert(tool.annotations.readOnlyHint, 'Read is not marked read-only');
    assert(tool.title ?? tool.annotations.title, 'no title');
    assert(tool.description, 'no description');
  });

  await check(`${label}: every tool has all hints, a title and a description`, async () => {
    const { tools } = await client.listTools();
    const bad = tools.filter(
      (t) =>
        !t.description ||
        !(t.title ?? t.annotations?.title) ||
        ['readOnlyHint', 'destructiveHint', 'idempotentHint', 'openWorldHint'].some(
          (hint) => typeof t.annotations?.[hint] !== 'boolean',
        ),
    );
    assert(bad.length === 0, `lacking: ${bad.map((t) => t.name)}`);
  });

  await check(`${label}: every schema is portable`, async () => {
    const { tools } = await client.listTools();
    const found = tools.flatMap((t) => unportable(t.inputSchema, t.name));
    assert(found.length === 0, found.join(', '));
  });

  await check(`${label}: no description is cut`, async () => {
    const { tools } = await client.listTools();
    const texts = [['instructions', client.getInstructions() ?? ''], ...tools.map((t) => [t.name, t.description])];
    const long = texts.filter(([, text]) => Buffer.byteLength(text) > CUT).map(([name]) => name);
    assert(long.length === 0, `over ${CUT} bytes: ${long}`);
  });

  await check(`${label}: a skill is a prompt`, async () => {
    const { prompts } = await client.listPrompts();
    assert(prompts.map((p) => p.name).join() === 'greet', `prompts: ${show(prompts)}`);
    const { messages } = await client.getPrompt({ name: 'greet', arguments: { arguments: 'Ada' } });
    assert(messages[0].content.text.endsWith('Greet Ada.'), `got ${show(messages)}`);
  });

  await check(`${label}: reads a file`, async () => {
    const result = await read(client, { file_path: file });
    assert(!result.isError, `isError: ${text(result)}`);
    assert(text(result).includes('1\tfirst line'), `got ${show(text(result))}`);
    // A host may show the model this instead of the text.
    assert(result.structuredContent === undefined, 'has structuredContent');
  });

  await check(`${label}: a missing file is an error of the tool`, async () => {
    const result = await read(client, { file_path: join(root, 'missing.txt') });
    assert(result.isError === true, `isError is ${result.isError}: ${text(result)}`);
  });

  await check(`${label}: names an unknown argument`, async () => {
    const result = await read(client, { file_path: file, bogus_argument: 1 });
    assert(result.isError === true, `isError is ${result.isError}: ${text(result)}`);
    assert(text(result).includes('bogus_argument'), `got ${show(text(result))}`);
  });

  await check(`${label}: rejects an unknown tool and names the nearest`, async () => {
    let error;
    try {
      const result = await client.callTool({ name: 'Reed', arguments: { file_path: file } });
      throw new Error(`answered ${show(result)}`);
    } catch (err) {
      error = err;
    }
    assert(error.code === -32602, `code ${error.code}: ${error.message}`);
    // Quoted or not, but as a whole word.
    assert(/\bRead\b/.test(error.message), `message: ${error.message}`);
  });

  await check(`${label}: survives cancelled calls`, async () => {
    // At varied moments: before the call is sent, under way and, perhaps,
    // just after its answer.
    let rejected = 0;
    const calls = Array.from({ length: 20 }, async (_, i) => {
      const abort = new AbortController();
      const call = read(client, { file_path: large, limit: 2000 }, { signal: abort.signal });
      setTimeout(() => abort.abort(new Error('cancelled by the check')), i % 10);
      await call.catch(() => rejected++);
    });
    const early = new AbortController();
    const call = read(client, { file_path: large, limit: 2000 }, { signal: early.signal });
    early.abort(new Error('cancelled by the check'));
    const outcome = await call.then(show, () => undefined);
    assert(outcome === undefined, `the call cancelled at once was answered: ${outcome}`);
    await Promise.all(calls);
    for (let i = 0; i < 3; i++) {
      const result = await read(client, { file_path: file });
      assert(text(result).includes('1\tfirst line'), `afterwards: ${show(text(result))} (${rejected} cancelled)`);
    }
  });

  await check(`${label}: answers calls made at once`, async () => {
    const offsets = Array.from({ length: 30 }, (_, i) => i * 7 + 1);
    const results = await Promise.all(offsets.map((offset) => read(client, { file_path: large, offset, limit: 1 })));
    results.forEach((result, i) => {
      const want = `${offsets[i]}\tline ${offsets[i] - 1}`;
      assert(text(result).split('\n').includes(want), `offset ${offsets[i]}: ${show(text(result))}`);
    });
  });
}

async function overStdio(label, mode, version) {
  const transport = () => new StdioClientTransport({ command: binary, args: ['stdio', '--read-dedup=off', root], env, stderr: 'pipe' });
  const client = newClient(mode);
  const stdio = transport();
  let log = '';
  stdio.stderr.on('data', (chunk) => (log += chunk));
  let connected = false;
  await check(`${label}: connects`, async () => {
    await client.connect(stdio, { timeout: LIMIT / 2 });
    connected = true;
  });
  if (!connected) {
    console.log(log.replace(/^/gm, '    '));
    await stdio.close().catch(() => {});
    return;
  }
  await common(label, client, version);

  await check(`${label}: closing the client ends the server`, async () => {
    const { pid } = stdio;
    assert(alive(pid), 'the server is gone before the close');
    await client.close(); // without a signal
    assert(!alive(pid), `pid ${pid} lives`);
    assert(await until(() => servers().length === 0, GONE), `left over: ${servers()}`);
  });

  await check(`${label}: an interrupt ends the server while its input is open`, async () => {
    const other = transport();
    const second = newClient(mode);
    await second.connect(other, { timeout: LIMIT / 2 });
    const { pid } = other;
    process.kill(pid, 'SIGINT'); // stdin stays open
    const gone = await until(() => !alive(pid), GONE);
    if (!gone) process.kill(pid, 'SIGKILL');
    await second.close();
    assert(gone, `pid ${pid} lives after SIGINT`);
  });
}

async function startHTTP() {
  const child = spawn(binary, ['http', '--read-dedup=off', '--addr', '127.0.0.1:0', '--token-file', tokenFile, root], {
    env,
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  let log = '';
  child.stderr.on('data', (chunk) => (log += chunk));
  const address = () => log.match(/listening on (http:\/\/\S+)\s/)?.[1];
  await until(() => address() || child.exitCode !== null, LIMIT / 2);
  if (!address()) {
    child.kill('SIGKILL');
    throw new Error(`no address on stderr: ${log}`);
  }
  return { child, url: new URL(address()) };
}

const authorized = { requestInit: { headers: { Authorization: `Bearer ${token}` } } };

async function overHTTP(label, mode, version, server) {
  const client = newClient(mode);
  const http = new StreamableHTTPClientTransport(server.url, authorized);
  let connected = false;
  await check(`${label}: connects`, async () => {
    await client.connect(http, { timeout: LIMIT / 2 });
    connected = true;
  });
  if (!connected) return;
  await common(label, client, version);

  await check(`${label}: a cancelled call ends without an answer and without an error`, async () => {
    const { tools } = await client.listTools();
    if (!tools.some((t) => t.name === 'Bash')) return; // nothing here takes long
    const errors = [];
    client.onerror = (err) => errors.push(err.message);
    const bash = (command, signal) => client.callTool({ name: 'Bash', arguments: { command } }, { signal });
    for (const early of [false, true]) {
      const aborts = [new AbortController(), new AbortController()]; // of the running call, of the one after it
      const calls = aborts.map(({ signal }) => bash(`sleep ${FOREVER}`, signal).then(show, () => undefined));
      if (!early && onLinux) assert(await until(() => processes(FOREVER).length > 0, GONE), 'the command does not start');
      for (const abort of aborts.reverse()) abort.abort(new Error('cancelled by the check'));
      const outcomes = await Promise.all(calls);
      assert(outcomes.every((o) => o === undefined), `answered: ${outcomes}`);
    }
    // If they were still running, this call would wait for them.
    const next = await bash('echo next');
    assert(text(next).includes('next'), `afterwards: ${show(next)}`);
    client.onerror = undefined;
    assert(errors.length === 0, `errors: ${errors}`);
  });

  await check(`${label}: closing the client leaves the server up`, async () => {
    const session = http.sessionId;
    if (version === LEGACY) {
      assert(session, 'no session id');
      await http.terminateSession();
    } else {
      assert(!session, `session id ${session}`);
    }
    await client.close();
    const health = await fetch(new URL('/healthz', server.url));
    assert(health.ok, `/healthz answers ${health.status}`);
    if (session) {
      const status = await ping(server.url, session);
      assert(status === 404, `the ended session answers ${status}`);
    }
  });
}

async function ping(url, session, bearer = token) {
  const response = await fetch(url, {
    method: 'POST',
    headers: {
      'Content-Type': 'application/json',
      Accept: 'application/json, text/event-stream',
      'Mcp-Protocol-Version': LEGACY,
      'Mcp-Session-Id': session,
      ...(bearer && { Authorization: `Bearer ${bearer}` }),
    },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'ping' }),
  });
  await response.body?.cancel();
  return response.status;
}

const modes = [
  ['auto', 'auto', MODERN],
  [LEGACY, 'legacy', LEGACY], // a pin is for 2026-07-28 and later
  [MODERN, { pin: MODERN }, MODERN],
];

let server;
function cleanUp() {
  server?.child.kill('SIGKILL');
  for (const pid of servers()) process.kill(pid, 'SIGKILL');
  rmSync(work, { recursive: true, force: true });
}
function giveUp(why) {
  console.log(`FAIL ${why}`);
  cleanUp();
  process.exit(1);
}
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => giveUp(signal));
setTimeout(() => giveUp('no end within 20 minutes'), 1_200_000);

try {
  for (const [name, mode, version] of modes) await overStdio(`stdio ${name}`, mode, version);

  await check('http: starts', async () => {
    server = await startHTTP();
  });
  if (server) {
    await check('http: refuses a missing or wrong token', async () => {
      for (const bearer of ['', 'wrong']) {
        const status = await ping(server.url, 'none', bearer);
        assert(status === 401, `token ${show(bearer)}: ${status}`);
      }
    });
    await check('http: an unknown session is 404', async () => {
      const status = await ping(server.url, crypto.randomUUID());
      assert(status === 404, `status ${status}`);
    });
    for (const [name, mode, version] of modes) await overHTTP(`http ${name}`, mode, version, server);

    await check('http: SIGTERM ends the server with clients connected', async () => {
      // The handler makes the modern client hold a subscription stream open.
      const changed = { listChanged: { tools: { onChanged: () => {} } } };
      const open = [];
      for (const mode of ['legacy', { pin: MODERN }]) {
        const client = newClient(mode, changed);
        client.onerror = () => {}; // it loses its stream, as it should
        await client.connect(new StreamableHTTPClientTransport(server.url, authorized));
        await read(client, { file_path: file });
        open.push(client);
      }
      const exit = once(server.child, 'exit');
      server.child.kill('SIGTERM');
      const ended = await Promise.race([exit.then(() => true), sleep(GONE, false, { ref: false })]);
      for (const client of open) await client.close().catch(() => {});
      assert(ended, 'still runs after SIGTERM');
      assert(await until(() => servers().length === 0, GONE), `left over: ${servers()}`);
    });
  }
} finally {
  cleanUp();
}

finish();
