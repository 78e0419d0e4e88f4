#!/usr/bin/env node
// Shows the views of the built binary in the web page of the MCP Inspector, the official test host.
// usage: inspector.mjs BINARY, with VIEWS_DIR and CLIENTS_DIR (packages) and CHROMIUM (program)
import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';

const require = createRequire(join(resolve(process.env.VIEWS_DIR), 'node_modules/x.js'));
const { chromium } = require('playwright-core');
const launcher = join(resolve(process.env.CLIENTS_DIR), 'node_modules/@modelcontextprotocol/inspector/clients/launcher/build/index.js');

const cases = [
  { tool: 'Run a command', input: { command: 'echo hello; seq 3' }, shows: [/exit code 0/, /hello\s+1\s+2\s+3/] },
  { tool: 'Write file', input: { file_path: 'new.txt', content: 'hello' }, shows: [/new\.txt/, /\+1/, /\+hello/] },
];
const work = mkdtempSync(join(tmpdir(), 'mcp-toolset-inspector-'));
const inspector = spawn('node', [launcher, '--web', resolve(process.argv[2]), 'stdio', '--mode', 'bypassPermissions', '--deferral', 'off', '--log-level', 'error', work], {
  env: { PATH: process.env.PATH, HOME: join(work, 'home'), MCP_AUTO_OPEN_ENABLED: 'false', CLIENT_PORT: String(20000 + process.pid % 20000) },
  stdio: ['ignore', 'pipe', 'inherit'], detached: true,
});
let browser;
const limit = setTimeout(() => end(new Error('no end within 2 minutes')), 120_000);
function end(err) {
  clearTimeout(limit);
  try { process.kill(-inspector.pid); } catch { /* it has ended */ }
  rmSync(work, { recursive: true, force: true });
  if (err) console.log(`FAIL ${err.stack}`);
  process.exit(err ? 1 : 0);
}

try {
  const url = await new Promise((found, failed) => {
    let out = '';
    inspector.stdout.on('data', (data) => {
      const m = /http:\/\/\S*TOKEN=\w+/.exec(out += data);
      if (m) found(m[0]);
    });
    inspector.on('exit', () => failed(new Error(`the inspector ended: ${out}`)));
  });
  browser = await chromium.launch({ executablePath: process.env.CHROMIUM, args: ['--no-sandbox'] });
  const page = await browser.newPage({ viewport: { width: 1400, height: 900 } });
  await page.goto(url);
  await page.getByRole('switch').first().click({ force: true });
  await page.getByText('Connected', { exact: true }).waitFor();
  await page.getByText('Apps', { exact: true }).first().click();
  for (const c of cases) {
    await page.getByText(c.tool, { exact: true }).first().click();
    for (const [name, text] of Object.entries(c.input)) {
      await page.getByLabel(name).first().fill(text);
    }
    await page.getByRole('button', { name: /open app/i }).click();
    let text = '';
    for (const until = Date.now() + 20_000; Date.now() < until;) {
      const views = page.frames().filter((f) => f.url() === 'about:srcdoc');
      text = views.length ? await views.at(-1).locator('body').innerText().catch(() => '') : '';
      if (c.shows.every((want) => want.test(text))) break;
      await page.waitForTimeout(100);
    }
    if (!c.shows.every((want) => want.test(text))) throw new Error(`${c.tool} shows ${JSON.stringify(text)}`);
    console.log(`ok ${c.tool}`);
  }
  await browser.close();
  end();
} catch (err) {
  await browser?.close();
  end(err);
}
