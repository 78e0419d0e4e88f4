// Real servers and consoles, driven as a client and a user would.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { assert, until } from './lib.mjs';

// Place is a home with settings, in a folder of its own, and its processes.
export class Place {
  running = [];

  constructor(binary, settings = {}) {
    this.binary = binary;
    this.dir = realpathSync(mkdtempSync(join(tmpdir(), 'mcp-toolset-console-')));
    for (const d of ['home', 'root', 'outside', 'other']) mkdirSync(join(this.dir, d));
    this.home = join(this.dir, 'home');
    this.root = join(this.dir, 'root');
    this.outside = join(this.dir, 'outside');
    this.audit = join(this.dir, 'audit.jsonl');
    this.settings = join(this.dir, 'settings.json');
    writeFileSync(this.settings, JSON.stringify({ editGuard: 'off', ...settings }), { mode: 0o600 });
    this.env = { PATH: process.env.PATH, HOME: this.home };
  }

  start(args) {
    const p = spawn(this.binary, args, { env: this.env, cwd: this.root, stdio: ['pipe', 'pipe', 'pipe'] });
    p.errors = '';
    p.stderr.on('data', (d) => (p.errors += d));
    this.running.push(p);
    return p;
  }

  // server starts a server over stdio and returns its client. A client sends calls as a
  // model without elicitation does.
  async server(root = this.root, name = 'console-check') {
    const p = this.start(['stdio', '--settings', this.settings, '--log-level', 'error', '--audit', this.audit, root]);
    const waiting = new Map();
    let id = 0;
    createInterface({ input: p.stdout }).on('line', (line) => {
      const m = JSON.parse(line);
      waiting.get(m.id)?.(m);
      waiting.delete(m.id);
    });
    const send = (m) => p.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', ...m })}\n`);
    const request = (method, params) => {
      const own = ++id;
      const answer = new Promise((resolve) => waiting.set(own, resolve));
      send({ id: own, method, params });
      return answer;
    };
    await request('initialize', { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name, version: '1' } });
    send({ method: 'notifications/initialized' });
    return {
      process: p,
      // call returns the text of the answer; failed answers begin with "! ".
      call: async (tool, args) => {
        const m = await request('tools/call', { name: tool, arguments: args });
        const text = m.error ? m.error.message : (m.result.content ?? []).map((c) => c.text ?? '').join('\n');
        return (m.error || m.result.isError ? '! ' : '') + text;
      },
      end: async () => {
        p.stdin.end();
        if (p.exitCode === null) await once(p, 'exit');
      },
    };
  }

  // console starts a console; link returns the next address that it prints.
  async console(...args) {
    const p = this.start(['console', '--no-open', ...args]);
    const lines = createInterface({ input: p.stdout })[Symbol.asyncIterator]();
    const next = async () => {
      const { value, done } = await lines.next();
      assert(!done, `the console ended: ${p.errors}`);
      return value;
    };
    const first = await next();
    return {
      process: p,
      first,
      base: new URL('/console/', first).href,
      link: () => {
        p.stdin.write('\n');
        return next();
      },
      end: async () => {
        p.kill('SIGINT');
        if (p.exitCode === null) await once(p, 'exit');
      },
    };
  }

  // http starts a server over HTTP. It returns the base of its console and the link.
  async http(...args) {
    this.env.MCP_TOOLSET_TOKEN = 'a-token-for-tests-only';
    const p = this.start(['http', '--settings', this.settings, '--addr', '127.0.0.1:0', ...args, this.root]);
    const find = () => /http:\S+\/console\/login\?key=\w+(?=\s)/.exec(p.errors)?.[0];
    const link = await until(() => find() ?? (p.exitCode !== null && 'none'), 'the link');
    assert(link !== 'none', `the server ended: ${p.errors}`);
    return { process: p, link, base: new URL('/console/', link).href, token: this.env.MCP_TOOLSET_TOKEN };
  }

  async end() {
    for (const p of this.running) {
      if (p.exitCode !== null || p.signalCode !== null) continue;
      const exit = once(p, 'exit');
      p.kill('SIGTERM');
      const kill = setTimeout(() => p.kill('SIGKILL'), 30_000);
      await exit;
      clearTimeout(kill);
    }
    rmSync(this.dir, { recursive: true, force: true });
  }
}
