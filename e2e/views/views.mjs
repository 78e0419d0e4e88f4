#!/usr/bin/env node
// Shows the views of the built binary in Chromium, with the host's side of the published package
// and results of real calls.
// usage: views.mjs BINARY, with VIEWS_DIR (packages) and CHROMIUM (program)
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

const binary = resolve(process.argv[2]);
const packages = join(resolve(process.env.VIEWS_DIR), 'node_modules');
const require = createRequire(join(packages, 'x.js'));
const { Client } = require('@modelcontextprotocol/client');
const { StdioClientTransport } = require('@modelcontextprotocol/client/stdio');
const { chromium } = require('playwright-core');
const Ajv = require('ajv/dist/2020').default;
const here = dirname(fileURLToPath(import.meta.url));

const LIMIT = 240_000; // of one check, in ms
let failed = 0;
async function check(name, fn) {
  let timer;
  try {
    await Promise.race([fn(), new Promise((_, no) => { timer = setTimeout(() => no(new Error(`no end within ${LIMIT} ms`)), LIMIT); })]);
    console.log(`ok ${name}`);
  } catch (err) {
    failed++;
    console.log(`FAIL ${name}: ${err?.stack ?? err}`);
  } finally {
    clearTimeout(timer);
  }
}
function same(got, want, what) {
  if (JSON.stringify(got) !== JSON.stringify(want)) throw new Error(`${what}: ${JSON.stringify(got)}, not ${JSON.stringify(want)}`);
}
function assert(ok, what) {
  if (!ok) throw new Error(what);
}

const ajv = new Ajv({ strict: false, validateFormats: false });
ajv.addSchema(JSON.parse(readFileSync(join(packages, '@modelcontextprotocol/ext-apps/dist/src/generated/schema.json'))), 'apps');
function valid(type, value) {
  const validate = ajv.compile({ $ref: `apps#/$defs/${type}` });
  assert(validate(value), `${type}: ${JSON.stringify(validate.errors)} in ${JSON.stringify(value)}`);
}

const work = mkdtempSync(join(tmpdir(), 'mcp-toolset-views-'));
const root = join(work, 'root');
const hostile = '<img src=x onerror="window.hacked=1"><script>window.hacked=1</script>\u202eabc\u001b[31mred';
const escaped = hostile.replace('\u202e', '\\u{202e}').replace('\u001b', '\\u{1b}');

async function connect(capabilities, deferral = 'off') {
  const client = new Client({ name: 'views', version: '1' }, { capabilities });
  await client.connect(new StdioClientTransport({
    command: binary, args: ['stdio', '--mode', 'bypassPermissions', '--log-level', 'error', '--deferral', deferral, root], stderr: 'inherit',
    env: { PATH: process.env.PATH, HOME: join(work, 'home') },
  }));
  return client;
}

let browser, client;
try {
  const { mkdirSync } = await import('node:fs');
  mkdirSync(root);
  mkdirSync(join(work, 'home'));
  const { build } = require('esbuild');
  const [bundle] = (await build({
    entryPoints: [join(here, 'host.js')], bundle: true, write: false, format: 'iife', platform: 'browser', nodePaths: [packages], logLevel: 'error',
  })).outputFiles;
  const showing = { extensions: { 'io.modelcontextprotocol/ui': { mimeTypes: ['text/html;profile=mcp-app'] } } };
  client = await connect(showing);
  browser = await chromium.launch({ executablePath: process.env.CHROMIUM, args: ['--no-sandbox'] });
  const page = await browser.newPage();
  const noise = [];
  page.on('request', (r) => r.url().startsWith('about:') || noise.push(`request ${r.url()}`));
  page.on('console', (m) => ['error', 'warning'].includes(m.type()) && noise.push(`console ${m.text()}`));
  page.on('pageerror', (e) => noise.push(`error ${e}`));
  page.on('dialog', (d) => { noise.push(`dialog ${d.message()}`); d.dismiss(); });
  await page.setContent('<!doctype html><title>host</title>');
  await page.addScriptTag({ content: bundle.text });
  await page.evaluate('0');

  const pages = {};
  const frame = () => page.frames()[1];
  const call = (name, args) => client.callTool({ name, arguments: args });
  const open = async (view, context = { theme: 'light' }) => {
    await page.evaluate(([html, c]) => window.open(html, c), [pages[view], context]);
  };
  const put = (input, result) => page.evaluate(async ([i, r]) => {
    if (i) await window.host.bridge.sendToolInput({ arguments: i });
    if (r) await window.host.bridge.sendToolResult(r);
  }, [input, result]);
  const shown = async () => (await page.evaluate(() => window.host.settled()), frame().evaluate(() => ({
    heading: document.querySelector('h1').textContent, state: document.querySelector('p').textContent,
    bad: document.querySelector('p').className, rows: [...document.querySelectorAll('main > div')].map((e) => [e.className, e.textContent]),
    elements: document.querySelectorAll('img, main script, a').length, hacked: window.hacked,
  })));
  // frames returns once the view has drawn what it has received.
  const frames = () => frame().evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
  const until = async (what, fn) => {
    for (const end = Date.now() + 60_000; Date.now() < end; await new Promise((r) => setTimeout(r, 20))) if (await fn()) return;
    throw new Error(`never: ${what}`);
  };

  await check('tools name their views, and the views need nothing', async () => {
    const { tools } = await client.listTools();
    const uris = Object.fromEntries(tools.filter((t) => t._meta?.ui).map((t) => [t.name, t._meta.ui.resourceUri]));
    for (const [tool, view] of [['Edit', 'diff'], ['Write', 'diff'], ['Bash', 'output'], ['BashReadOnly', 'output'], ['NotebookEdit', 'diff'], ['TaskOutput', 'output'], ['Read', undefined]]) same(uris[tool], view && `ui://mcp-toolset/${view}`, tool);
    tools.filter((t) => t._meta?.ui).forEach((t) => valid('McpUiToolMeta', t._meta.ui));
    for (const view of ['diff', 'output', 'call']) {
      const { contents: [c] } = await client.readResource({ uri: `ui://mcp-toolset/${view}` });
      same(c.mimeType, 'text/html;profile=mcp-app', 'MIME type');
      valid('McpUiResourceMeta', c._meta.ui);
      assert(c.text.length < 30 * 1024, `${view} has ${c.text.length} bytes`);
      pages[view] = c.text;
    }
  });

  await check('initialize, size and teardown, with valid messages', async () => {
    await open('diff');
    await until('a size', () => page.evaluate(() => window.host.sizes.length > 0));
    const before = await page.evaluate(() => window.host.sizes.at(-1));
    await put({ file_path: 'a.txt' }, { content: [{ type: 'text', text: 'one\ntwo\nthree' }] });
    await until('a larger size', () => page.evaluate((h) => window.host.sizes.at(-1).height > h + 30, before.height));
    same(await page.evaluate(() => window.host.bridge.getAppVersion()), { name: 'mcp-toolset-diff', version: '1' }, 'appInfo');
    await page.evaluate(() => window.host.bridge.teardownResource({}));
    const sent = await page.evaluate(() => window.host.sent);
    await put(null, { content: [{ type: 'text', text: 'late' }] });
    await frames();
    await frame().evaluate(() => parent.postMessage('the last', '*')); // of the test, after what the view has sent
    await until('the last message', () => page.evaluate(() => window.host.sent.at(-1) === 'the last'));
    same((await page.evaluate(() => window.host.sent)).length, sent.length + 1, 'messages after the teardown');
    const types = { 'ui/initialize': 'McpUiInitializeRequest', 'ui/notifications/initialized': 'McpUiInitializedNotification', 'ui/notifications/size-changed': 'McpUiSizeChangedNotification' };
    for (const { jsonrpc, id, ...m } of sent) {
      same(jsonrpc, '2.0', 'jsonrpc');
      if (m.method) valid(types[m.method] ?? `none for ${m.method}`, m);
      else valid('McpUiResourceTeardownResult', m.result);
    }
  });

  await check('the diff of an edit', async () => {
    writeFileSync(join(root, 'a.txt'), 'one\ntwo\nthree\n');
    await call('Read', { file_path: 'a.txt' });
    const input = { file_path: 'a.txt', old_string: 'two', new_string: `2\n${hostile}` };
    const result = await call('Edit', input);
    await open('diff');
    await put(input);
    same((await shown()).state, 'Waiting for the result', 'before the result');
    await put(null, result);
    const got = await shown();
    same([got.heading, got.state, got.bad], ['a.txt', '+2 \u22121', ''], 'heading');
    same(got.rows.slice(1), [['', '11 one'], ['cut', '2-two'], ['add', '2+2'], ['add', `3+${escaped}`], ['', '34 three']], 'rows');
    same([got.elements, got.hacked], [0, undefined], 'what the text did');
    const { _meta, ...bare } = result; // as a host that passes no _meta
    await open('diff');
    await put(input, bare);
    // The text of the answer has the changed lines with one line around.
    same((await shown()).rows.slice(1).map(([kind]) => kind), ['', '', '', ''], 'kinds of rows without _meta');
  });

  await check('a created file, and a failed edit', async () => {
    const input = { file_path: `${hostile.replaceAll('/', '')}.txt`, content: 'x\ny\n' };
    let result = await call('Write', input);
    await open('diff');
    await put(input, result);
    let got = await shown();
    same([got.state, got.rows], ['+2 \u22120', [['add', '1+x'], ['add', '2+y']]], 'created');
    assert(got.heading.includes('\\u{202e}') && got.elements === 0, got.heading);
    const missing = { file_path: 'missing.txt', old_string: hostile, new_string: 'x' };
    result = await call('Edit', missing);
    await open('diff');
    await put(missing, result);
    got = await shown();
    same([got.state, got.bad], ['Failed: missing.txt does not exist', 'bad'], 'failed');
  });

  await check('the output of a command and of a task', async () => {
    const input = { command: `printf '%s' '${hostile}'; exit 3` };
    const result = await call('Bash', input);
    assert(/^exit code 3 after \d/.test(result._meta['mcp-toolset/summary']), JSON.stringify(result._meta));
    await open('output');
    await put(input, result);
    let got = await shown();
    assert(got.state.startsWith('exit code 3 after ') && got.bad === 'bad', got.state);
    assert(got.rows.some(([, text]) => text.includes('<img src=x onerror="window.hacked=1">')), JSON.stringify(got.rows));
    assert(!got.rows.some(([, text]) => /[\u202e\u001b]/.test(text)) && !/[\u202e\u001b]/.test(got.heading), JSON.stringify(got));
    same([got.elements, got.hacked], [0, undefined], 'what the text did');
    const { _meta } = await call('Bash', { command: 'echo started', run_in_background: true });
    const task = { task_id: _meta['mcp-toolset/task_id'], block: true };
    await open('output');
    await put(task, await call('TaskOutput', task));
    got = await shown();
    same(got.heading, `Task ${task.task_id}`, 'heading');
    assert(got.rows.some(([, text]) => text.includes('started')), JSON.stringify(got));
    await page.evaluate(() => window.host.bridge.sendToolCancelled({ reason: 'the user' }));
    same((await shown()).state, 'Cancelled: the user', 'cancelled');
  });

  await check('the results of tools behind CallTool', async () => {
    const other = await connect(showing, 'dispatch');
    const { tools } = await other.listTools();
    for (const name of ['CallTool', 'CallReadOnlyTool']) same(tools.find((t) => t.name === name)?._meta?.ui?.resourceUri, 'ui://mcp-toolset/call', name);
    const see = async (name, args, given = args) => {
      const input = { name, arguments: given };
      const result = await other.callTool({ name: 'CallTool', arguments: input });
      await open('call');
      await put(input, result);
      return shown();
    };
    writeFileSync(join(root, 'n.ipynb'), JSON.stringify({ cells: [{ cell_type: 'code', id: 'a', metadata: {}, execution_count: null, outputs: [], source: ['1'] }], metadata: {}, nbformat: 4, nbformat_minor: 5 }));
    await other.callTool({ name: 'Read', arguments: { file_path: 'n.ipynb' } });
    const cell = { notebook_path: 'n.ipynb', cell_id: 'a', new_source: hostile };
    let got = await see('NotebookEdit', cell, JSON.stringify(cell)); // as models send objects
    same([got.heading, got.bad, got.elements, got.hacked], ['n.ipynb', '', 0, undefined], 'NotebookEdit');
    assert(got.rows.some(([kind]) => kind === 'add') && got.rows.some(([kind]) => kind === 'cut'), JSON.stringify(got));
    got = await see('Bash', { command: 'echo behind; exit 3' });
    assert(got.heading === 'echo behind; exit 3' && got.state.startsWith('exit code 3 after ') && got.rows.some(([, text]) => text.includes('behind')), JSON.stringify(got));
    got = await see('TaskList', {});
    same(got.heading, 'TaskList', 'a tool without a view');
    for (const args of [{}, { name: 'constructor' }, { name: { a: hostile }, arguments: 7 }, { name: 'Edit', arguments: '{' }, { name: 'Edit', arguments: null }]) {
      await open('call');
      await put(args, { isError: true, content: [{ type: 'text', text: hostile }] });
      got = await shown();
      same([got.bad, got.rows.length > 0, got.elements, got.hacked], ['bad', true, 0, undefined], JSON.stringify(args));
    }
    await other.close();
  });

  await check('hostile messages', async () => {
    await open('diff');
    for (const result of [
      { content: [] }, { content: [{ type: 'text', text: hostile }], _meta: { 'mcp-toolset/hunks': 7, 'mcp-toolset/summary': { a: 1 } } },
      { content: [{ type: 'text', text: 'x' }], _meta: { 'mcp-toolset/hunks': [{ lines: [hostile], oldStart: hostile, oldLines: hostile, newStart: 1, newLines: 1 }] } },
    ]) await put({ file_path: { a: hostile } }, result);
    const got = await shown();
    same([got.elements, got.hacked], [0, undefined], 'what the text did');
    // Another window than the host, and methods of Object, do nothing.
    await frame().evaluate((text) => {
      postMessage({ jsonrpc: '2.0', method: 'ui/notifications/tool-result', params: { content: [{ type: 'text', text }] } }, '*');
    }, 'from itself');
    await page.evaluate(() => {
      const w = document.querySelector('iframe').contentWindow;
      for (const data of [null, 7, 'x', { jsonrpc: '2.0', method: 'constructor' }, { jsonrpc: '2.0', method: '__proto__', params: null }]) w.postMessage(data, '*');
    });
    assert(!JSON.stringify(await shown()).includes('from itself'), 'a message of another window is shown');
  });

  await check('100,000 lines', async () => {
    await open('output');
    await frame().evaluate(() => {
      const create = document.createElement;
      window.made = 0;
      document.createElement = (...args) => (window.made++, create.apply(document, args));
    });
    await put({ command: 'x' }, { content: [{ type: 'text', text: 'line\n'.repeat(100_000) + 'z'.repeat(1 << 20) }] });
    const got = await shown();
    same([got.rows.length, got.rows.at(-1)[1]], [2001, '98001 more lines are in the text of the result'], 'rows');
    const made = await frame().evaluate(() => window.made);
    assert(made < 3 * 2001, `${made} elements were made`);
    await frames();
    const height = await frame().evaluate(() => Math.ceil(document.body.getBoundingClientRect().height));
    await until('the size', () => page.evaluate((h) => window.host.sizes.at(-1)?.height === h, height));
    assert(height < 600, `height ${height}`);
  });

  await check('light and dark, without violations of accessibility', async () => {
    const axe = readFileSync(join(packages, 'axe-core/axe.min.js'), 'utf8');
    const hunks = [{ oldStart: 1, oldLines: 1, newStart: 1, newLines: 1, lines: ['-a', '+b', ' c'] }];
    const colours = {};
    for (const theme of ['light', 'dark']) {
      await open('diff', { theme, safeAreaInsets: { top: 1, right: 2, bottom: 3, left: 4 } });
      await put({ file_path: 'a' }, { content: [{ type: 'text', text: 'x' }], _meta: { 'mcp-toolset/hunks': hunks } });
      await shown();
      colours[theme] = await frame().evaluate(() => getComputedStyle(document.body).color + getComputedStyle(document.body).padding);
      const found = await frame().evaluate(`(async () => { document.body.style.background = '${theme === 'dark' ? '#0d1117' : '#fff'}'; ${axe}; return (await axe.run()).violations.map((v) => v.id + ': ' + v.nodes[0].html); })()`);
      same(found, [], `violations, ${theme}`);
    }
    same(colours, { light: 'rgb(31, 35, 40)1px 2px 3px 4px', dark: 'rgb(230, 237, 243)1px 2px 3px 4px' }, 'colours');
    await page.evaluate(() => window.host.bridge.setHostContext({ theme: 'light' }));
    await until('the change of theme', () => frame().evaluate(() => document.documentElement.dataset.theme === 'light'));
  });

  await check('no requests, no dialogs, no errors', async () => same(noise, [], 'the browser'));

  await check('a client without the extension sees no views', async () => {
    const other = await connect({});
    const { tools } = await other.listTools();
    assert(!JSON.stringify(tools).includes('ui://'), 'the list names views');
    const { resources } = await other.listResources();
    assert(!JSON.stringify(resources).includes('ui://'), 'the resources have views');
    await other.close();
  });
} finally {
  await client?.close();
  await browser?.close();
  rmSync(work, { recursive: true, force: true });
}
console.log(failed ? `${failed} failed` : 'all passed');
process.exit(failed ? 1 : 0);
