#!/usr/bin/env node
// Tests the stories of the console with the built binary: real servers, whose calls wait,
// and Chromium. page.mjs tests the page alone.
// usage: real.mjs BINARY
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { assert, axe, check, clean, equal, finish, open, tab, until } from './lib.mjs';
import { Place } from './server.mjs';

const binary = process.argv[2];
const content = (path) => (existsSync(path) ? readFileSync(path, 'utf8') : undefined);

// placed runs fn with a place, a server in it, its console and a page that is logged in.
async function placed(contexts, fn, settings) {
  const place = new Place(binary, settings);
  try {
    const server = await place.server();
    const console = await place.console();
    const page = await open(contexts, console.first);
    await fn({ place, server, console, page });
    clean(page);
  } finally {
    await place.end();
  }
}

// ready waits until the decision on the shown call counts.
const ready = (page, text) => page.waitForFunction((t) => document.querySelector('.detail h2')?.innerText.includes(t) && document.querySelector('.actions button.main:not([aria-disabled])'), text, { polling: 50 });
const waits = (page, n) => page.waitForFunction((c) => (document.querySelector('#nav .count').innerText || '0') === String(c), n, { polling: 50 });
const go = (page, view) => page.evaluate((v) => new Promise((done) => {
  addEventListener('hashchange', done, { once: true }); // after the page's own
  location.hash = `#/${v}`;
}), view);

await check('login: the link works once, nothing stays in the address', async (cs) => {
  const place = new Place(binary);
  try {
    const c = await place.console();
    const page = await open(cs, c.first);
    equal([await page.evaluate(() => location.pathname + location.search), await page.evaluate(() => document.referrer)], ['/console/', ''], 'address');
    const [cookie] = await cs[0].cookies(c.base);
    equal([cookie.httpOnly, cookie.sameSite, cookie.path], [true, 'Strict', '/console/'], 'cookie');
    equal(await page.evaluate(() => document.cookie), '', 'cookies that scripts see');
    await page.waitForFunction(() => document.querySelector('main').innerText.includes('No server runs.'));
    clean(page);
    // The used link, and a wrong one, in a browser without the cookie.
    for (const url of [c.first, c.first.replace(/.....$/, 'AAAAA'), c.base]) {
      const other = await open(cs, null);
      const answer = await other.goto(url);
      equal(answer.status() >= 401 && answer.status() <= 403, true, `status ${answer.status()} of ${url}`);
      assert((await other.innerText('body')).includes('Press Enter in the terminal'), `no next step: ${await other.innerText('body')}`);
      equal((await cs.at(-1).cookies()).length, 0, 'cookies');
      await axe(other, 'refused');
      clean(other);
    }
    // A new link logs in another browser.
    const next = await open(cs, await c.link());
    clean(next);
  } finally {
    await place.end();
  }
});

await check('approve: the call runs exactly once', (cs) => placed(cs, async ({ place, server, page }) => {
  const file = join(place.outside, 'a.txt');
  const write = () => server.call('Write', { file_path: file, content: 'one\n' });
  assert((await write()).includes('is pending'), 'the call was not asked about');
  await ready(page, 'a.txt');
  assert((await page.innerText('.diff .add')).includes('+one'), 'no diff');
  await page.keyboard.press('a');
  await page.waitForFunction(() => document.querySelector('#toast').innerText !== '');
  equal(content(file), undefined, 'file before the call was sent again');
  const done = await write();
  assert(!done.startsWith('!') && content(file) === 'one\n', `not run: ${done}`);
  await waits(page, 0);
  assert((await write()).includes('is pending'), 'the second call was not asked about');
  await waits(page, 1);
}));

await check('deny with a reason that the model gets', (cs) => placed(cs, async ({ place, server, page }) => {
  const file = join(place.outside, 'a.txt');
  const write = () => server.call('Write', { file_path: file, content: 'one\n' });
  await write();
  await ready(page, 'a.txt');
  await page.keyboard.press('d');
  await page.keyboard.type('put it into <root> "please"');
  await page.keyboard.press('Enter');
  await waits(page, 0);
  const answer = await write();
  assert(answer.startsWith('!') && answer.includes(JSON.stringify('put it into <root> "please"')), `the model does not get the reason: ${answer}`);
  equal(content(file), undefined, 'file');
}));

await check('always: the page names its extent, which holds', (cs) => placed(cs, async ({ place, server, page }) => {
  const file = join(place.outside, 'a.txt');
  await server.call('Write', { file_path: file, content: 'one\n' });
  await ready(page, 'a.txt');
  assert((await page.innerText('.covers')).includes(`changes to "${file}"`), await page.innerText('.covers'));
  await page.keyboard.press('Shift+A');
  await waits(page, 0);
  for (const text of ['one\n', 'two\n']) {
    const answer = await server.call('Write', { file_path: file, content: text });
    assert(!answer.startsWith('!') && content(file) === text, answer);
  }
  assert((await server.call('Write', { file_path: join(place.outside, 'b.txt'), content: 'x' })).includes('is pending'), 'always covers another file');
  await go(page, 'policy');
  await page.waitForFunction((f) => document.querySelector('main').innerText.includes(f) && document.querySelector('main').innerText.includes('--forget'), file);
}));

await check('a command with its parts, a question', (cs) => placed(cs, async ({ place, server, page }) => {
  const command = `echo one && echo two > ${join(place.outside, 'x')}`;
  await server.call('Bash', { command });
  await ready(page, 'echo one');
  equal((await page.innerText('.detail .code')).trim(), command, 'command');
  assert((await page.locator('.parts li').count()) >= 2, 'parts');
  const ask = () => server.call('AskUserQuestion', { questions: [{ question: 'Which database?', header: 'Data', options: [{ label: 'SQLite', description: 'a file' }, { label: 'Postgres', description: 'a server' }] }] });
  await ask();
  await page.locator('[role=option]', { hasText: 'Which database?' }).click();
  await page.getByRole('radio', { name: 'Postgres' }).check();
  await page.waitForSelector('.actions button.main:not([aria-disabled])');
  await page.getByRole('button', { name: 'Send answer' }).click();
  await waits(page, 1);
  const answer = await ask();
  assert(!answer.startsWith('!') && answer.includes('Postgres'), `the model does not get the answer: ${answer}`);
}));

await check('two tabs, two servers, and a server that starts again', (cs) => placed(cs, async ({ place, server, page }) => {
  const two = await tab(cs[0], page.url());
  const other = await place.server(join(place.dir, 'other'), 'other-client');
  await server.call('Write', { file_path: join(place.outside, 'a.txt'), content: '1' });
  await other.call('Write', { file_path: join(place.outside, 'b.txt'), content: '2' });
  await waits(page, 2);
  await waits(two, 2);
  await page.bringToFront();
  // The page that comes to the front counts a second again. It answers once: then it shows the other call.
  await page.waitForFunction(() => {
    const title = document.querySelector('.detail h2')?.innerText;
    globalThis.first ??= title;
    if (title === globalThis.first) document.querySelector('.actions button.main')?.click();
    return title && title !== globalThis.first;
  }, null, { polling: 50 });
  await waits(two, 1);
  await waits(page, 1);
  await two.bringToFront();
  await two.waitForFunction(() => [...document.querySelectorAll('[role=option]')].some((o) => o.innerText.includes('not sent again yet')), null, { polling: 50 });
  // One server is killed, with its waiting calls, and starts again.
  other.process.kill('SIGKILL');
  await waits(two, 0);
  const again = await place.server(join(place.dir, 'other'), 'other-client');
  await again.call('Write', { file_path: join(place.outside, 'c.txt'), content: '3' });
  await waits(two, 1);
  await two.waitForFunction(() => document.querySelector('.list').innerText.includes('c.txt'), null, { polling: 50 });
  clean(two);
}));

await check('the console ends and starts again', async (cs) => {
  const place = new Place(binary);
  try {
    await place.server();
    let c = await place.console();
    const port = new URL(c.base).port;
    const page = await open(cs, c.first);
    await c.end();
    await page.waitForSelector('[data-state=waiting]');
    c = await place.console('--addr', `127.0.0.1:${port}`);
    // The login was of the earlier run.
    await page.waitForSelector('[data-state=out]');
    const next = await tab(cs[0], await c.link());
    clean(next);
  } finally {
    await place.end();
  }
});

await check('the console of an HTTP server: the link once, or the token', async (cs) => {
  const place = new Place(binary);
  try {
    const s = await place.http();
    const first = await open(cs, s.link);
    await first.waitForFunction(() => document.querySelector('main').innerText.includes('Nothing waits for you.'));
    clean(first);
    const page = await open(cs, null);
    equal((await page.goto(s.link)).status() >= 400, true, 'the used link');
    await page.goto(s.base);
    await axe(page, 'login');
    await page.getByLabel('Token').fill('wrong');
    await page.getByRole('button', { name: 'Log in' }).click();
    await page.waitForFunction(() => document.querySelector('input[type=password]')?.value === '');
    await page.getByLabel('Token').fill(s.token);
    await page.getByRole('button', { name: 'Log in' }).click();
    await page.waitForSelector('[data-state=live]');
    assert(!page.url().includes(s.token), 'the token is in the address');
    await go(page, 'policy');
    await page.getByRole('button', { name: 'Explain' }).click();
    await page.waitForSelector('[role=status] .code');
    clean(page);
  } finally {
    await place.end();
  }
});

await check('hostile names, commands and output stay text', (cs) => placed(cs, async ({ place, server, page }) => {
  const evil = '<img src=x onerror="window.pwned=1"><script>window.pwned=1</script>\u202ecod.exe\u200b';
  const inert = async (where) => {
    const got = await page.evaluate(() => [globalThis.pwned ?? null, document.querySelectorAll('img, body script, [onerror]').length]);
    equal(got, [null, 0], where);
  };
  await server.call('Write', { file_path: join(place.outside, '<img src=x onerror=window.pwned=1>\u202e.txt'), content: `${evil}\n\x1b[31mred\x1b[0m\n${'y'.repeat(1 << 20)}END` });
  await server.call('Bash', { command: `echo '${evil}' > ${join(place.outside, 'y')}` });
  await server.call(evil, {});
  await server.call('Read', { file_path: evil });
  await server.call('Bash', { command: `printf '%s\\n' '${evil}'` });
  await server.call('AskUserQuestion', { questions: [{ question: `Which ${evil}?`, header: 'H', options: [{ label: '<img src=x onerror=window.pwned=1>', description: evil }, { label: 'B', description: 'b' }] }] });
  await waits(page, 4);
  for (const text of ['onerror', 'echo', 'Which']) {
    await page.locator('[role=option]', { hasText: text }).first().click();
    await page.waitForFunction((t) => document.querySelector('.detail').innerText.includes(t) && document.querySelector('.detail h2'), text);
    for (const s of await page.locator('.detail summary').all()) await s.click();
    await page.waitForSelector('.detail .hid');
    await inert(text);
  }
  for (const v of ['live', 'sessions', 'policy', 'audit']) {
    await go(page, v);
    await page.waitForFunction(() => document.querySelector('main .item, main .columns .empty'));
    if (v !== 'policy') await page.locator('main [role=option]').first().click();
    await inert(v);
  }
}));

await check('live and stop of a call', (cs) => placed(cs, async ({ server, page }) => {
  await go(page, 'live');
  const answer = server.call('Bash', { command: 'echo begun; sleep 600' });
  await page.locator('.item.running', { hasText: 'sleep 600' }).click();
  await page.getByRole('button', { name: 'Stop this call' }).click();
  const text = await answer;
  assert(text.startsWith('!') && /user/i.test(text) && /stop/i.test(text), `the answer does not name the user: ${text}`);
  await page.waitForFunction(() => document.querySelector('.totals').innerText.startsWith('0 running'));
}));

await check('a task: output, stop', (cs) => placed(cs, async ({ server, page }) => {
  await go(page, 'live');
  await server.call('Bash', { command: 'echo "<b>first</b>"; sleep 600', run_in_background: true });
  await page.locator('.tasks [role=option]', { hasText: 'sleep 600' }).click();
  await page.waitForFunction(() => document.querySelector('.tail')?.innerText.includes('<b>first</b>'));
  await page.getByRole('button', { name: 'Stop this task' }).click();
  await page.getByRole('button', { name: 'Stop', exact: true }).click();
  await page.waitForFunction(() => document.querySelector('.tasks .item.done'));
}));

await check('sessions: changes, undo', (cs) => placed(cs, async ({ place, server, page }) => {
  const file = join(place.root, 'a.txt');
  writeFileSync(file, 'before\n');
  const wrote = await server.call('Write', { file_path: file, content: 'after\n' });
  assert(!wrote.startsWith('!'), wrote);
  await go(page, 'sessions');
  await page.locator('details.change summary', { hasText: 'a.txt' }).click();
  await page.waitForFunction(() => document.querySelector('.path .diff')?.innerText.includes('-before'));
  await page.locator('details.change[open] button', { hasText: 'Undo…' }).click();
  await page.waitForSelector('dialog .path');
  await page.getByRole('button', { name: 'Undo', exact: true }).click();
  await until(() => content(file) === 'before\n', 'the undo');
  await page.locator('details.change', { hasText: 'undone' }).waitFor();
}));

await check('policy and audit', (cs) => placed(cs, async ({ place, server, page }) => {
  await server.call('Read', { file_path: join(place.root, 'none.txt') });
  await server.call('Bash', { command: 'git push origin main' });
  await go(page, 'policy');
  await page.waitForFunction(() => document.querySelector('table')?.innerText.includes('Bash(git push *)'));
  await page.getByLabel('Input, as JSON').fill('{"command": "git push origin main"}');
  await page.getByRole('button', { name: 'Explain' }).click();
  await page.waitForFunction(() => document.querySelector('[role=status] .code')?.innerText.includes('git push'));
  assert((await page.innerText('[role=status] .chip')).includes('deny'), 'decision');
  await go(page, 'audit');
  await page.waitForFunction(() => document.querySelector('.list')?.innerText.includes('none.txt'));
  await page.getByLabel('Outcome').selectOption('refused');
  await page.waitForFunction(() => document.querySelectorAll('.list [role=option]').length === 1 && document.querySelector('.list').innerText.includes('git push'));
  await page.waitForFunction(() => document.querySelector('.detail table')?.innerText.includes('Bash'));
}, { permissions: { deny: ['Bash(git push *)'] } }));

await check('requests of other pages change nothing', (cs) => placed(cs, async ({ place, server, console: c, page }) => {
  const file = join(place.outside, 'a.txt');
  await server.call('Write', { file_path: file, content: 'one\n' });
  await waits(page, 1);
  const [id] = await page.locator('[role=option]').evaluateAll((rows) => rows.map((r) => r.dataset.key));
  const [serverID, number] = id.split(/:(?=\d+$)/);
  const { key } = await page.evaluate(([s, n]) => fetch(`api/approval?server=${encodeURIComponent(s)}&number=${n}`).then((r) => r.json()), [serverID, number]);
  const body = JSON.stringify({ server: serverID, number: Number(number), key, do: 'once' });
  // Another program of this machine serves a page; cookies are shared by ports.
  const evil = createServer((req, res) => {
    res.setHeader('Content-Type', 'text/html');
    res.end('<!doctype html><title>evil</title><iframe name="f"></iframe><form method="post" enctype="text/plain" target="f"></form>');
  });
  await new Promise((r) => evil.listen(0, '127.0.0.1', r));
  try {
    const other = await cs[0].newPage();
    await other.goto(`http://127.0.0.1:${evil.address().port}/`);
    const navigation = (path) => other.waitForResponse((r) => r.request().isNavigationRequest() && new URL(r.url()).pathname === path);
    const submitted = navigation('/console/api/approval');
    const tried = await other.evaluate(async ([base, text]) => {
      const out = [];
      for (const [mode, headers] of [['no-cors', { 'Content-Type': 'text/plain' }], ['cors', { 'Content-Type': 'application/json', 'X-Console': 'x' }], ['cors', { 'Content-Type': 'text/plain' }]]) {
        out.push(await fetch(`${base}api/approval`, { method: 'POST', mode, headers, body: text, credentials: 'include' }).then((r) => r.type === 'opaque' ? 'opaque' : r.status, () => 'blocked'));
      }
      out.push(await fetch(`${base}api/approval?server=x&number=1`, { credentials: 'include' }).then((r) => r.status, () => 'blocked'));
      const form = document.querySelector('form');
      form.action = `${base}api/approval`;
      const field = document.createElement('input');
      field.name = text.slice(0, -1) + ',"x":"';
      field.value = '"}';
      form.append(field);
      form.submit();
      return out;
    }, [c.base, body]);
    equal(tried, ['blocked', 'blocked', 'blocked', 'blocked'], 'requests of a foreign page');
    equal((await submitted).status(), 403, 'status for a foreign form');
    // Without the header, or by GET, also the own page cannot.
    const own = await page.evaluate(async ([text, query]) => [
      await fetch('api/approval', { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: text }).then((r) => r.status),
      await fetch('api/approval', { method: 'POST', headers: { 'Content-Type': 'application/json', 'X-Console': 'wrong' }, body: text }).then((r) => r.status),
      await fetch(`api/stop?${query}`).then((r) => r.status),
    ], [body, new URLSearchParams(JSON.parse(body)).toString()]);
    assert(own.every((s) => s >= 400 && s < 500), `own requests: ${own}`);
    // Clickjacking: a frame shows nothing of the console.
    const framed = navigation('/console/');
    await other.evaluate((base) => {
      const f = document.createElement('iframe');
      f.src = base;
      document.body.append(f);
    }, c.base);
    equal((await framed).status(), 403, 'status for a frame of a foreign page');
    for (const f of other.frames().slice(1)) await f.waitForLoadState();
    for (const f of other.frames().slice(1)) assert(!(await f.evaluate(() => document.body?.innerText ?? '').catch(() => '')).includes('Approvals'), 'a foreign page frames the console');
    // DNS rebinding: the foreign name leads to the console's port.
    const rebound = await cs[0].newPage();
    const answer = await rebound.goto(c.base.replace('127.0.0.1', 'rebound.test'));
    equal(answer.status(), 403, 'status for a foreign name');
    assert((await server.call('Write', { file_path: file, content: 'one\n' })).includes('pending'), 'the call was approved');
    equal(content(file), undefined, 'file');
    await waits(page, 1);
  } finally {
    evil.closeAllConnections();
    evil.close();
  }
}));

await check('50 waiting calls', (cs) => placed(cs, async ({ place, server, page }) => {
  for (let i = 0; i < 50; i++) await server.call('Write', { file_path: join(place.outside, `f${i}.txt`), content: `${i}\n` });
  await waits(page, 50);
  // Three of them are answered, each once and no other.
  for (const i of [0, 1, 2]) {
    await ready(page, `f${i}.txt`);
    await page.keyboard.press(i === 1 ? 'd' : 'a');
    if (i === 1) await page.keyboard.press('Enter');
    await waits(page, 49 - i);
  }
  for (const [i, want] of [[0, '0\n'], [1, undefined], [2, '2\n'], [3, undefined]]) {
    await server.call('Write', { file_path: join(place.outside, `f${i}.txt`), content: `${i}\n` });
    equal(content(join(place.outside, `f${i}.txt`)), want, `file ${i}`);
  }
}));

await finish();
