#!/usr/bin/env node
// Uses the protocol's reference servers through the built binary, with the protocol's
// TypeScript client, over both transports and in both protocol eras. Each of their tools
// is found by a search and called by its own name and by CallTool. One of the servers is
// killed in the middle of a call.
// usage: upstream.mjs BINARY
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { binary, clients, node } from './pinned.mjs';
import { Client, StdioClientTransport, StreamableHTTPClientTransport, assert, checksWithin, finish } from './checks.mjs';

const MODERN = '2026-07-28';
const LIMIT = 240_000; // of one check, in ms
const TOKEN = 'a-token-for-tests-only';

// The servers record their process ids, so that one of them can be killed.
const work = realpathSync(mkdtempSync(join(tmpdir(), 'mcp-toolset-upstream-')));
const [root, files, home] = ['root', 'files', 'home'].map((name) => join(work, name));
for (const dir of [root, files, home]) mkdirSync(dir);
const script = (name) => join(clients, 'node_modules/@modelcontextprotocol', name, 'dist/index.js');
const started = (pids, name, ...args) => ({
  command: '/bin/sh',
  args: ['-c', 'echo $$ >>"$0"; exec "$@"', pids, node, script(name), ...args],
});
const env = { PATH: process.env.PATH, HOME: home, MCP_TOOLSET_TOKEN: TOKEN, GIVEN: 'a gift' };

// place returns the arguments of our server, and the file with the others' process ids.
function place(label) {
  const base = join(work, label.replaceAll(' ', '-'));
  const pids = { everything: `${base}-everything`, filesystem: `${base}-filesystem` };
  const settings = `${base}.json`;
  const mcpServers = {
    everything: { ...started(pids.everything, 'server-everything', 'stdio'), env: { NAMED: '${GIVEN}' } },
    filesystem: started(pids.filesystem, 'server-filesystem', files),
  };
  writeFileSync(settings, JSON.stringify({ permissions: { allow: ['mcp__everything', 'mcp__filesystem'] }, mcpServers }), { mode: 0o600 });
  return { pids, args: ['--settings', settings, '--deferral', 'dispatch', '--log-level', 'error', root] };
}

const text = (result) => (result.content ?? []).map((c) => c.text ?? c.resource?.text ?? '').join('\n');
const has = (type) => (r) => !r.isError && r.content.some((c) => c.type === type);
const says = (...words) => (r) => !r.isError && words.every((w) => text(r).includes(w));
const anything = JSON.stringify;

// calls holds the arguments for each tool, and a check of its answer. The first calls
// create files that later ones need; at is their folder.
const calls = {
  everything: {
    echo: [{ message: 'hello ä' }, says('Echo: hello ä')],
    'get-sum': [{ a: 2, b: 3 }, says('The sum of 2 and 3 is 5')],
    'get-annotated-message': [{ messageType: 'success', includeImage: true }, (r) => has('image')(r) && says('Operation completed')(r)],
    'get-env': [{}, (r) => says('"NAMED": "a gift"')(r) && !text(r).includes(TOKEN) && !text(r).includes('"GIVEN"')],
    'get-resource-links': [{ count: 2 }, (r) => !r.isError && anything(r).includes('demo://resource/dynamic/text/2')],
    'get-resource-reference': [{ resourceType: 'Text', resourceId: 1 }, has('resource')],
    'get-structured-content': [{ location: 'Chicago' }, says('"temperature"')],
    'get-tiny-image': [{}, has('image')],
    'gzip-file-as-resource': [{ name: 'a.gz', data: 'data:text/plain;base64,aGVsbG8=', outputType: 'resource' }, (r) => !r.isError && anything(r).includes('application/gzip')],
    'toggle-simulated-logging': [{}, says('simulated')],
    'toggle-subscriber-updates': [{}, says('simulated')],
    'trigger-long-running-operation': [{ duration: 0.2, steps: 2 }, says('Long running operation completed')],
    'trigger-elicitation-request': [{}, says('User provided the requested information', 'Name: Ann')],
    // It can only be called as a task, which clients need not support.
    'simulate-research-query': [{ topic: 'tea' }, (r) => r.isError && /task/.test(text(r))],
  },
  filesystem: {
    create_directory: [(at) => ({ path: at }), says('Successfully created')],
    write_file: [(at) => ({ path: `${at}/a.txt`, content: 'one\ntwo\n' }), says('Successfully wrote')],
    edit_file: [(at) => ({ path: `${at}/a.txt`, edits: [{ oldText: 'two', newText: 'three' }] }), says('+three')],
    read_file: [(at) => ({ path: `${at}/a.txt` }), says('one\nthree')],
    read_text_file: [(at) => ({ path: `${at}/a.txt`, head: 1 }), says('one')],
    read_multiple_files: [(at) => ({ paths: [`${at}/a.txt`, `${at}/none`] }), says('three', 'Error')],
    read_media_file: [(at) => ({ path: `${at}/a.txt` }), (r) => !r.isError && r.content.length > 0],
    list_directory: [(at) => ({ path: at }), says('[FILE] a.txt')],
    list_directory_with_sizes: [(at) => ({ path: at }), says('a.txt', 'Total')],
    directory_tree: [(at) => ({ path: at }), says('"a.txt"')],
    search_files: [(at) => ({ path: at, pattern: '*.txt' }), says('a.txt')],
    get_file_info: [(at) => ({ path: `${at}/a.txt` }), says('size: 10')],
    move_file: [(at) => ({ source: `${at}/a.txt`, destination: `${at}/b.txt` }), says('Successfully moved')],
    list_allowed_directories: [() => ({}), says(files)],
  },
};

const doors = {
  direct: (name, args) => ({ name, arguments: args }),
  CallTool: (name, args) => ({ name: 'CallTool', arguments: { name, arguments: args } }),
};

const check = checksWithin(LIMIT);

// connected runs fn with one client, whose user fills in a name.
async function connected(transport, mode, fn) {
  const client = new Client({ name: 'upstream-check', version: '1' }, { versionNegotiation: { mode }, capabilities: { elicitation: { form: {} } } });
  const asked = [];
  client.setRequestHandler('elicitation/create', (request) => {
    asked.push(request.params);
    return { action: 'accept', content: { name: 'Ann' } };
  });
  await client.connect(transport());
  try {
    await fn(client, asked);
  } finally {
    await client.close();
  }
}

// hits returns the names of the tools that a search found, the best first.
async function hits(client, query) {
  const result = await client.callTool({ name: 'ToolSearch', arguments: { query } });
  assert(!result.isError, text(result));
  return [...text(result).matchAll(/^([A-Za-z][\w-]*)[:,] .*\nInput schema: /gm)].map((m) => m[1]);
}

// connectedTo waits until a server's tools are found. The first search finds them, unless
// the server takes longer to start than a search waits.
async function connectedTo(client, name) {
  while (!(await hits(client, `select:${name}`)).includes(name)) await new Promise((done) => setTimeout(done, 50));
}

async function stories(label, pids, transport, mode) {
  await check(`${label}: only what is always loaded is listed`, () =>
    connected(transport, mode, async (client) => {
      const names = (await client.listTools()).tools.map((t) => t.name);
      assert(names.includes('CallTool') && names.includes('ToolSearch') && !names.some((n) => n.startsWith('mcp__')), names.join(' '));
    }));

  for (const server of Object.keys(calls)) {
    await check(`${label}: every tool of ${server} is found and called`, () =>
      connected(transport, mode, async (client, asked) => {
        for (const tool of Object.keys(calls[server])) {
          const name = `mcp__${server}__${tool}`;
          await connectedTo(client, name);
          const named = await hits(client, name);
          assert(named[0] === name, `the search for ${name} finds ${named}`);
          const words = await hits(client, tool.replaceAll(/[_-]/g, ' '));
          assert(words.includes(name), `the search for the words of ${tool} finds ${words}`);
        }
        for (const [door, through] of Object.entries(doors)) {
          const at = join(files, `${label}-${door}`.replaceAll(' ', '-'));
          for (const [tool, [input, ok]] of Object.entries(calls[server])) {
            const args = typeof input === 'function' ? input(at) : input;
            const result = await client.callTool(through(`mcp__${server}__${tool}`, args));
            assert(ok(result), `${tool} by ${door}: ${anything(result).slice(0, 1000)}`);
          }
        }
        if (server === 'everything') {
          assert(asked.length === 2 && asked[0].message.startsWith('The server everything asks'), `asked ${anything(asked).slice(0, 500)}`);
        }
      }));
  }

  await check(`${label}: one is killed in the middle of a call`, () =>
    connected(transport, mode, async (client) => {
      const ask = (tool, args, options) => client.callTool({ name: `mcp__${tool}`, arguments: args }, options);
      await ask('everything__echo', { message: 'there' });
      await ask('filesystem__list_allowed_directories', {});
      for (const [door, through] of Object.entries(doors)) {
        const others = readFileSync(pids.filesystem, 'utf8');
        let underWay;
        const progress = new Promise((done) => (underWay = done));
        const running = client.callTool(through('mcp__everything__trigger-long-running-operation', { duration: 50, steps: 500 }), {
          onprogress: (p) => p.progress > 0 && p.total === 500 && underWay(),
        });
        await Promise.race([progress, running.then((r) => assert(false, `it ended: ${text(r)}`))]);
        const pid = Number(readFileSync(pids.everything, 'utf8').trim().split('\n').at(-1));
        process.kill(pid, 'SIGKILL');
        const result = await running;
        assert(result.isError && text(result).includes('everything') && text(result).includes('not known'), `by ${door}: ${anything(result)}`);
        assert(says(files)(await ask('filesystem__list_allowed_directories', {})), 'the other server does not answer');
        assert(readFileSync(pids.filesystem, 'utf8') === others, 'the other server was started anew');
        const again = await client.callTool(through('mcp__everything__echo', { message: 'again' }));
        assert(says('Echo: again')(again), `the next call by ${door}: ${anything(again)}`);
      }
    }));
}

// complete fails if a server has a tool that is not called above.
async function complete(server, ...args) {
  const client = new Client({ name: 'upstream-check', version: '1' }, { versionNegotiation: { mode: 'legacy' }, capabilities: { elicitation: { form: {} } } });
  client.setRequestHandler('elicitation/create', () => ({ action: 'decline' }));
  await client.connect(new StdioClientTransport({ command: node, args: [script(`server-${server}`), ...args], env, stderr: 'ignore' }));
  const names = (await client.listTools()).tools.map((t) => t.name).sort();
  await client.close();
  const known = Object.keys(calls[server]).sort();
  assert(names.join() === known.join(), `it has ${names}, and ${known} are called here`);
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
  await check('everything: the table has all its tools', () => complete('everything', 'stdio'));
  await check('filesystem: the table has all its tools', () => complete('filesystem', files));
  for (const [name, mode] of modes) {
    const { pids, args } = place(`stdio ${name}`);
    await stories(`stdio ${name}`, pids, () => new StdioClientTransport({ command: binary, args: ['stdio', ...args], env, stderr: 'inherit' }), mode);
  }
  const { pids, args } = place('http');
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
    await stories(`http ${name}`, pids, () => new StreamableHTTPClientTransport(new URL(url), { requestInit }), mode);
  }
  server.kill('SIGTERM');
  await exit;
  await check('nothing of them is left', () => {
    const all = [pids.everything, pids.filesystem].filter(existsSync).flatMap((f) => readFileSync(f, 'utf8').trim().split('\n'));
    assert(all.length >= 2, 'no process was written down');
    for (const pid of all) assert(!alive(Number(pid)), `the process ${pid} is`);
  });
} finally {
  server?.kill('SIGKILL');
  rmSync(work, { recursive: true, force: true });
}

// alive reports whether a process exists and is no zombie.
function alive(pid) {
  const stat = `/proc/${pid}/stat`;
  if (existsSync(stat)) return !readFileSync(stat, 'utf8').split(') ')[1].startsWith('Z');
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

clearTimeout(overall);
finish();
