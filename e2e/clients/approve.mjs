#!/usr/bin/env node
// Checks that the built binary asks a host's user for approval, with the protocol's
// TypeScript client, over both transports and in both protocol eras. In the older era
// the server asks in the middle of a call, in the newer one the client sends it twice.
// usage: approve.mjs BINARY
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { binary } from './pinned.mjs';
import { Client, StdioClientTransport, StreamableHTTPClientTransport, assert, checksWithin, finish } from './checks.mjs';

const MODERN = '2026-07-28';
const LIMIT = 240_000; // of one check, in ms
const TOKEN = 'a-token-for-tests-only';

// The server may change nothing outside of its root without asking. A hook records
// that it ran.
const work = realpathSync(mkdtempSync(join(tmpdir(), 'mcp-toolset-approve-')));
const [root, outside, home] = ['root', 'outside', 'home'].map((name) => join(work, name));
for (const dir of [root, outside, home]) mkdirSync(dir);
const runs = join(work, 'runs');
const settings = join(work, 'settings.json');
const hook = { type: 'command', command: 'echo run >>"$CLAUDE_PROJECT_DIR/../runs"' };
writeFileSync(settings, JSON.stringify({ editGuard: 'off', hooks: { PreToolUse: [{ matcher: 'Write', hooks: [hook] }] } }), { mode: 0o600 });
const env = { PATH: process.env.PATH, HOME: home, MCP_TOOLSET_TOKEN: TOKEN };
const args = ['--settings', settings, '--log-level', 'error', root];

const check = checksWithin(LIMIT);

const text = (result) => (result.content ?? []).map((c) => c.text ?? '').join('\n');
const content = (path) => (existsSync(path) ? readFileSync(path, 'utf8') : undefined);

// connected runs fn with a client whose user gives this answer. asked counts the
// questions that the client showed, hooked the runs of the hook.
async function connected(transport, mode, answer, fn) {
  const shown = [];
  const client = new Client(
    { name: 'approve-check', version: '1' },
    { versionNegotiation: { mode }, capabilities: answer ? { elicitation: { form: {} } } : {} },
  );
  if (answer) {
    client.setRequestHandler('elicitation/create', async (request) => {
      shown.push(request.params);
      // Who declines or cancels within 300 ms is taken for a client that has not asked its user.
      if (answer.action !== 'accept') await new Promise((r) => setTimeout(r, 400));
      return answer;
    });
  }
  await client.connect(transport());
  writeFileSync(runs, '');
  try {
    await fn({
      client,
      shown,
      // write makes a call. After it, the client must have been asked `asked` times and
      // the hook must have run `hooked` times since the connection began.
      write: async (path, words, asked, hooked) => {
        const result = await client.callTool({ name: 'Write', arguments: { file_path: path, content: words } });
        const ran = content(runs).split('\n').length - 1;
        assert(shown.length === asked, `asked ${shown.length} times, want ${asked}: ${text(result)}`);
        assert(ran === hooked, `the hook ran ${ran} times, want ${hooked}`);
        return result;
      },
    });
  } finally {
    await client.close();
  }
}

async function stories(label, transport, mode) {
  const at = (name) => join(outside, `${label.replaceAll(' ', '-')}-${name}.txt`);

  await check(`${label}: accepted once, a call runs once`, async () => {
    await connected(transport, mode, { action: 'accept', content: { remember: 'once' } }, async ({ write, shown }) => {
      const path = at('once');
      const result = await write(path, 'one', 1, 1);
      assert(!result.isError && content(path) === 'one', `the answer is ${text(result)}, the file ${content(path)}`);
      for (const part of [path, 'outside the workspace roots']) {
        assert(shown[0].message.includes(part), `the question lacks ${part}: ${shown[0].message}`);
      }
      const again = await write(path, 'two', 2, 2);
      assert(!again.isError && content(path) === 'two', `then ${text(again)}`);
    });
  });

  await check(`${label}: of a long command, the first lines have the part that asks, the reason and the effect`, async () => {
    await connected(transport, mode, { action: 'decline' }, async ({ client, shown }) => {
      const target = at('never');
      await client.callTool({ name: 'Bash', arguments: { command: `echo ${'x'.repeat(200)}; touch ${target}`, description: 'List the files' } });
      const lines = shown[0].message.split('\n').slice(0, 3);
      assert(lines.every((line) => [...line].length <= 110), `a line is too long: ${lines.join('\n')}`);
      assert(lines[0].startsWith('Bash: … touch ') && / … in \d+ characters: echo /.test(lines[0]), `the first line: ${lines[0]}`);
      assert(lines[1].startsWith('asks because: ') && lines[2].startsWith('accepting: opens the sandbox for '), `then: ${lines.slice(1).join('\n')}`);
    });
  });

  await check(`${label}: accepted for always, a path is not asked about again`, async () => {
    const path = at('always');
    await connected(transport, mode, { action: 'accept', content: { remember: 'always' } }, async ({ write }) => {
      assert(!(await write(path, 'one', 1, 1)).isError, 'the first call failed');
      assert(!(await write(path, 'two', 1, 2)).isError && content(path) === 'two', `the second wrote ${content(path)}`);
      await write(at('always-other'), 'x', 2, 3);
    });
    await connected(transport, mode, { action: 'decline' }, async ({ write }) => {
      const result = await write(path, 'three', 0, 1);
      assert(!result.isError && content(path) === 'three', `another client: ${text(result)}`);
    });
  });

  await check(`${label}: declined, it is not done`, async () => {
    await connected(transport, mode, { action: 'decline' }, async ({ write }) => {
      const result = await write(at('declined'), 'x', 1, 1);
      assert(result.isError && text(result).includes('the user declined'), `got ${text(result)}`);
      // A request without a session is asked again.
      const forgets = mode !== 'legacy' && label.startsWith('http');
      const again = await write(at('declined'), 'y', forgets ? 2 : 1, 2);
      assert(again.isError && (forgets || text(again).includes('the user declined')), `then ${text(again)}`);
      assert(content(at('declined')) === undefined, 'it was written');
    });
  });

  await check(`${label}: put aside, it is not done, and may be asked about again`, async () => {
    await connected(transport, mode, { action: 'cancel' }, async ({ write }) => {
      const result = await write(at('aside'), 'x', 1, 1);
      assert(result.isError && /approval \d+ is pending/.test(text(result)), `got ${text(result)}`);
      await write(at('aside'), 'x', 2, 2);
      assert(content(at('aside')) === undefined, 'it was written');
    });
  });

  await check(`${label}: a question of the model is answered`, async () => {
    const questions = [
      { question: 'Which library?', header: 'Library', options: [{ label: 'A', description: 'small' }, { label: 'B', description: 'large' }] },
      { question: 'Which systems?', header: 'Systems', multiSelect: true, options: [{ label: 'Linux', description: '' }, { label: 'macOS', description: '' }] },
    ];
    const call = { name: 'AskUserQuestion', arguments: { questions } };
    await connected(transport, mode, { action: 'accept', content: { q1: 'B', q2_option1: true, q2_other: 'and BSD' } }, async ({ client, shown }) => {
      const result = await client.callTool(call);
      assert(text(result) === 'Library: B\nSystems: Linux, and BSD', `got ${text(result)}`);
      assert(shown.length === 1 && shown[0].message.includes('Which library?'), `shown: ${JSON.stringify(shown)}`);
    });
    await connected(transport, mode, undefined, async ({ client }) => {
      const number = text(await client.callTool(call)).match(/question (\d+) waits for the user/)?.[1];
      assert(number, 'there is no number');
      execFileSync(binary, ['answer', number, '1', 'macos'], { env });
      const again = await client.callTool(call);
      assert(text(again) === 'Library: A\nSystems: macOS', `answered: ${text(again)}`);
    });
  });

  await check(`${label}: without a user to ask there is a number`, async () => {
    await connected(transport, mode, undefined, async ({ write }) => {
      const result = await write(at('number'), 'x', 0, 1);
      const number = text(result).match(/approval (\d+) is pending/)?.[1];
      assert(result.isError && number, `got ${text(result)}`);
      execFileSync(binary, ['approve', number], { env });
      const again = await write(at('number'), 'x', 0, 2);
      assert(!again.isError && content(at('number')) === 'x', `approved: ${text(again)}`);
    });
  });
}

const modes = [
  ['legacy', 'legacy'], // a pin is for 2026-07-28 and later
  [MODERN, { pin: MODERN }],
];
let server;
const overall = setTimeout(() => {
  console.log('FAIL no end within 20 minutes');
  server?.kill('SIGKILL');
  process.exit(1);
}, 1_200_000);

try {
  for (const [name, mode] of modes) {
    await stories(`stdio ${name}`, () => new StdioClientTransport({ command: binary, args: ['stdio', ...args], env, stderr: 'inherit' }), mode);
  }
  server = spawn(binary, ['http', '--addr', '127.0.0.1:0', ...args], { env, stdio: ['ignore', 'ignore', 'pipe'] });
  const exit = once(server, 'exit');
  let url;
  for await (const line of createInterface({ input: server.stderr })) {
    url = line.match(/listening on (http:\/\/\S+)/)?.[1];
    if (url) break;
  }
  assert(url, 'the server over HTTP does not start');
  const requestInit = { headers: { Authorization: `Bearer ${TOKEN}` } };
  for (const [name, mode] of modes) {
    await stories(`http ${name}`, () => new StreamableHTTPClientTransport(new URL(url), { requestInit }), mode);
  }
  server.kill('SIGTERM');
  await exit;
} finally {
  server?.kill('SIGKILL');
  rmSync(work, { recursive: true, force: true });
}

clearTimeout(overall);
finish();
