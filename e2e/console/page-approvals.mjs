// Approvals and questions: decisions, their moment, other tabs, notifications.
import { assert, check, clean, equal, open, tab, until } from './lib.mjs';
import { mock, storage } from './mock.mjs';
import { go, posts, quiet, settle, shown, started } from './mocked.mjs';
import { NOW, world } from './world.mjs';

await check('approve, always and deny by keyboard, not before a second', (cs) => started(cs, {}, async (page, m) => {
  await shown(page, '.detail h2', 'Edit server/http.go');
  await page.keyboard.press('a');
  await page.keyboard.press('Shift+A');
  await settle(page, 500);
  await page.keyboard.press('a');
  await page.keyboard.press('d');
  await settle(page);
  equal(m.posts, [], 'answers within the first second');
  await settle(page, 1_000);
  await page.keyboard.press('a');
  await until(() => posts(m, 'approval').length === 1, 'the approval');
  equal(m.posts[0], { name: 'approval', token: 'the-token', server: 's1', number: 1, key: 'key-1', do: 'once' }, 'answer');
  // The next call appears; the same key does not count at once.
  await shown(page, '.detail h2', 'make test && git push');
  await page.keyboard.press('a');
  await page.keyboard.press('a');
  await quiet(page);
  equal(m.posts.length, 1, 'answers to the next call within a second');
  assert((await page.locator('.parts li.needs').innerText()).includes('git push origin main'), 'the part that needs approval is not marked');
  equal(await page.locator('.parts li').count(), 2, 'parts');
  assert((await page.locator('.covers').innerText()).includes('exactly this command in /home/ada/shop'), 'the extent of always is not shown');
  await settle(page, 1_100);
  await page.keyboard.press('Shift+A');
  await until(() => posts(m, 'approval').length === 2, 'the always');
  equal([m.posts[1].do, m.posts[1].number], ['always', 2], 'answer');
  await shown(page, '.detail legend', 'Which database');
  await page.keyboard.press('j');
  await shown(page, '.detail h2', 'Fetch example.com');
  await settle(page, 1_100);
  await page.keyboard.press('Shift+A'); // is not offered
  await settle(page);
  assert((await page.locator('#toast').innerText()).includes('was never visited before'), 'no reason why always is not offered');
  await page.keyboard.press('d');
  await page.keyboard.type('not now <b>a</b>');
  await page.keyboard.press('Enter');
  await until(() => posts(m, 'approval').length === 3, 'the denial');
  equal([m.posts[2].do, m.posts[2].server, m.posts[2].reason], ['deny', 's2', 'not now <b>a</b>'], 'answer');
}));

await check('questions', (cs) => started(cs, {}, async (page, m) => {
  await page.locator('[role=option]', { hasText: 'Which database' }).click();
  await shown(page, '.detail legend', 'Which database');
  await page.keyboard.press('a');
  await settle(page, 1_100);
  await page.keyboard.press('a');
  await page.getByRole('button', { name: 'Send answer' }).click();
  assert((await page.locator('#toast').innerText()).includes('Choose or write an answer'), 'an empty answer was sent');
  await page.getByRole('radio', { name: 'PostgreSQL' }).check();
  await page.getByRole('checkbox', { name: 'Metrics' }).check();
  await page.getByRole('checkbox', { name: 'Backups' }).check();
  const other = page.getByRole('textbox', { name: 'Other answer' }).nth(1);
  await other.fill('Alerts');
  // A draft stays when other things happen.
  m.send('approvals', { id: 's1', approvals: m.world.servers[0].approvals.map((a) => (a.number === 1 ? { ...a, reason: 'other' } : a)) });
  await settle(page, 200);
  equal(await other.inputValue(), 'Alerts', 'draft');
  await page.getByRole('button', { name: 'Send answer' }).click();
  await until(() => m.posts.length === 1, 'the reply');
  equal(m.posts[0], { name: 'reply', token: 'the-token', server: 's1', number: 3, key: 'key-3', answers: [{ choices: ['PostgreSQL'], other: '' }, { choices: ['Backups', 'Metrics'], other: 'Alerts' }] }, 'reply');
}));

await check('a call that changes or goes while it is read is not approved', (cs) => started(cs, {}, async (page, m) => {
  const shop = m.world.servers[0];
  await settle(page, 1_100);
  shop.approvals = shop.approvals.map((a) => (a.number === 1 ? { ...a, key: 'key-1b' } : a));
  m.world.details[1] = { ...m.world.details[1], preview: '@@ -1 +1 @@\n-a\n+another\n' };
  // The stream is late: the page still has the old key.
  await page.keyboard.press('a');
  await until(() => m.posts.length === 1, 'the answer');
  await shown(page, '#toast', 'has changed');
  m.send('approvals', { id: 's1', approvals: shop.approvals });
  await shown(page, '.diff', 'another');
  await page.keyboard.press('a');
  await quiet(page);
  equal(m.posts.length, 1, 'answers within a second of the change');
  // Now it is answered elsewhere.
  await settle(page, 1_100);
  shop.approvals = shop.approvals.filter((a) => a.number !== 1);
  m.send('approvals', { id: 's1', approvals: shop.approvals });
  await shown(page, '.detail .note', 'no longer waits');
  await page.keyboard.press('a');
  await settle(page, 1_100);
  await page.keyboard.press('a');
  await quiet(page);
  equal(m.posts.length, 1, 'answers to a call that is gone');
  await page.getByRole('button', { name: 'Show the next' }).click();
  await shown(page, '.detail h2', 'make test');
}));

await check('Caps Lock does not turn once into always', (cs) => started(cs, {}, async (page, m) => {
  await settle(page, 1_100);
  await page.evaluate(() => document.body.dispatchEvent(new KeyboardEvent('keydown', { key: 'A', bubbles: true })));
  await until(() => m.posts.length === 1, 'the answer');
  equal(m.posts[0].do, 'once', 'answer');
}));

await check('typing into a field that is replaced decides nothing', (cs) => started(cs, {}, async (page, m) => {
  const shop = m.world.servers[0];
  await settle(page, 1_100);
  await page.keyboard.press('d');
  await page.keyboard.type('no');
  // The call changes under the hands of the user, who does not look.
  shop.approvals = shop.approvals.map((a) => (a.number === 1 ? { ...a, key: 'key-1b' } : a));
  m.send('approvals', { id: 's1', approvals: shop.approvals });
  await shown(page, '.detail .note', 'has changed');
  for (let i = 0; i < 20; i++) {
    await page.keyboard.press(i % 2 ? 'a' : 'x');
    await settle(page, 150);
  }
  equal(m.posts, [], 'answers');
  await settle(page, 1_000);
  await page.keyboard.press('a');
  await until(() => m.posts.length === 1, 'the answer');
}));

await check('text is in the order in which it runs, and the input in full', (cs) => {
  const w = world(NOW);
  const command = 'rm /\u05d0/1/\u05d1/2';
  w.details[1] = { ...w.details[1], preview: '/a.c, its new content:\n+++ x;\n+--- y;\n' };
  w.details[2] = { ...w.details[2], input: JSON.stringify({ command }), command: [{ text: command, needsApproval: true, why: '' }] };
  w.details[4] = { ...w.details[4], input: '{"id": 9007199254740993, "to": "a", "to": "b\\""}' };
  return started(cs, {}, async (page) => {
    await shown(page, '.diff', 'its new content');
    equal(await page.locator('.diff').first().locator('.ln.add').allInnerTexts(), ['+++ x;', '+--- y;'], 'added lines');
    await page.locator('[role=option]', { hasText: 'make test' }).click();
    await shown(page, '.parts li', 'rm ');
    for (const selector of ['pre.code .chunk', '.parts code']) {
      const left = await page.locator(selector).first().evaluate((e) => {
        const node = document.createTreeWalker(e, NodeFilter.SHOW_TEXT).nextNode();
        return [...node.data.trimEnd()].map((_, i) => {
          const r = document.createRange();
          r.setStart(node, i);
          r.setEnd(node, i + 1);
          return Math.round(r.getBoundingClientRect().left);
        });
      });
      equal(left, left.toSorted((a, b) => a - b), `places of the characters in ${selector}`);
    }
    equal(await page.locator('details[open]').count(), 0, 'the exact input of a plain call');
    await page.locator('[role=option]', { hasText: 'example.com' }).click();
    await shown(page, '.detail .note', 'differ from the input');
    await shown(page, 'details[open] .code', '9007199254740993');
  }, w);
});

await check('two tabs', async (cs) => {
  const m = await mock(world());
  const one = await open(cs, m.url, storage(m.url));
  const two = await tab(cs[0], m.url);
  for (const page of [one, two]) await page.waitForSelector('.detail button.main:not([aria-disabled])');
  await one.bringToFront();
  // The tab that comes to the front counts a second again.
  await until(async () => {
    await one.evaluate(() => document.querySelector('.detail button.main')?.click());
    return m.posts.length > 0;
  }, 'the answer');
  await one.waitForFunction(() => document.querySelector('.detail h2')?.innerText.includes('make test') && document.querySelector('#nav .count').innerText === '3', null, { polling: 50 });
  await until(async () => (await two.title()).startsWith('(3)'), 'the title of the second tab');
  await two.bringToFront();
  await two.waitForFunction(() => document.querySelector('.detail')?.innerText.includes('You approved this call') && document.querySelector('#nav .count').innerText === '3', null, { polling: 50 });
  equal(m.posts.length, 1, 'answers');
  clean(one);
  clean(two);
  m.close();
});

await check('hidden pages share one stream', async (cs) => {
  const m = await mock(world());
  const pages = [await open(cs, m.url, storage(m.url))];
  for (let i = 0; i < 3; i++) pages.push(await tab(cs[0], m.url));
  equal(m.streams(), 4, 'streams of pages in view');
  const view = (page, hidden) => page.evaluate((h) => {
    Object.defineProperty(document, 'hidden', { value: h, configurable: true });
    document.dispatchEvent(new Event('visibilitychange'));
  }, hidden);
  for (const page of pages) await view(page, true);
  await until(() => m.streams() === 1, 'one stream');
  // The page with the stream closes: another one takes it over.
  const opened = () => m.requests.filter((r) => r.endsWith('api/stream')).length;
  equal(opened(), 4, 'streams that were opened');
  await pages[0].close();
  await until(() => opened() === 5 && m.streams() === 1, 'the next stream');
  // Changes of the meantime are there when a page comes into view.
  m.world.servers[1].approvals = [];
  const last = pages.at(-1);
  await view(last, false);
  await last.bringToFront();
  await until(() => m.streams() === 2, 'the stream of the page in view');
  await last.waitForFunction(() => document.querySelector('#nav .count').innerText === '3', null, { polling: 50 });
  for (const page of pages.slice(1)) clean(page);
  m.close();
});

await check('50 waiting approvals, each answered once', async (cs) => {
  const w = world(NOW);
  const [first] = w.servers[0].approvals;
  w.servers.length = 1;
  w.servers[0].approvals = Array.from({ length: 50 }, (_, i) => ({ ...first, number: i + 1, key: `key-${i + 1}`, since: NOW - 100_000 + i, title: `Edit file${i + 1}` }));
  await started(cs, {}, async (page, m) => {
    equal(await page.locator('#nav .count').first().innerText(), '50', 'count');
    m.delay = 20;
    for (let i = 0; i < 50; i++) {
      await shown(page, '.detail h2', `Edit file${i + 1}`);
      await page.clock.runFor(1_001);
      await page.keyboard.press('a');
      await page.keyboard.press('a');
      await until(() => m.posts.length === i + 1, `answer ${i + 1}`);
    }
    await settle(page, 200);
    equal(m.posts.map((p) => p.number), Array.from({ length: 50 }, (_, i) => i + 1), 'numbers');
    equal(await page.title(), 'mcp-toolset', 'title');
  }, w);
});

await check('without the token of this address the page only shows', async (cs) => {
  const m = await mock(world());
  m.world['POST approval'] = () => ({ status: 403, body: { error: 'The request has no valid token', next: 'Open a new link.', code: 'token' } });
  const page = await open(cs, m.url, storage(m.url));
  await page.waitForSelector('.detail button.main:not([aria-disabled])');
  await page.locator('.detail button.main').click();
  await page.waitForSelector('[data-state=keyless]');
  assert((await page.locator('#banner').innerText()).includes('open the link that it prints'), 'no next step');
  clean(page);
  m.close();
});

await check('focus and drafts survive live updates', (cs) => started(cs, {}, async (page, m) => {
  const shop = m.world.servers[0];
  await settle(page, 1_100);
  await page.keyboard.press('d');
  await page.keyboard.type('because');
  for (let i = 0; i < 5; i++) {
    m.send('approvals', { id: 's1', approvals: (shop.approvals = [...shop.approvals, { ...shop.approvals[0], number: 100 + i, key: `k${i}`, since: NOW - 1e6 }]) });
    m.send('calls', { id: 's1', calls: [{ ...shop.calls[0], number: 500 + i, stage: 'running', left: 0 }] });
    await settle(page, 60);
  }
  equal(await page.evaluate(() => [document.activeElement.name, document.activeElement.value]), ['reason', 'because'], 'focus and draft');
  equal(await page.locator('.item.on').innerText().then((t) => t.includes('#1 ')), true, 'active row');
  assert((await page.locator('#announced').innerText()).includes('New approval'), 'new approvals are not announced');
  await page.keyboard.press('Escape');
  await go(page, 'sessions');
  await shown(page, 'details.change');
  await page.locator('details.change summary').nth(1).click();
  await shown(page, '.path');
  shop.sessions = [{ ...shop.sessions[0], calls: 129 }];
  m.send('sessions', { id: 's1', sessions: shop.sessions });
  await settle(page, 1_500);
  equal(await page.locator('details.change[open]').count(), 1, 'unfolded changes');
  equal(await page.evaluate(() => document.activeElement.tagName), 'SUMMARY', 'focus');
}));

// notes replaces the notifications of a page, which is not in front, with a list.
const notes = (page, permission) => page.addInitScript((p) => {
  globalThis.notes = [];
  globalThis.Notification = class {
    static permission = p;
    static requestPermission = async () => (Notification.permission = 'granted');
    constructor(title, options) {
      globalThis.notes.push([title, options.body]);
    }
  };
  document.hasFocus = () => false;
}, permission);

await check('approvals of the first snapshot are announced as a number, without notification', async (cs) => {
  const m = await mock(world());
  const page = await open(cs, null, storage(m.url));
  await notes(page, 'granted');
  await page.goto(m.url);
  await page.waitForFunction(() => document.querySelector('#announced').innerText.includes('4 calls wait for approval'));
  equal(await page.evaluate(() => globalThis.notes), [], 'notifications');
  clean(page);
  m.close();
});

await check('notifications are shown if the user agrees', async (cs) => {
  const m = await mock(world());
  const page = await open(cs, null, storage(m.url));
  await notes(page, 'default');
  await page.goto(m.url);
  await page.waitForSelector('[data-state=live]');
  const shop = m.world.servers[0];
  const more = (n) => {
    shop.approvals = [...shop.approvals, { ...shop.approvals[1], number: n, key: `key-${n}`, title: `echo ${n}\u202e` }];
    m.send('approvals', { id: 's1', approvals: shop.approvals });
    return page.waitForFunction((c) => document.title.startsWith(`(${c})`), 4 + n - 49);
  };
  await more(50);
  equal(await page.evaluate(() => globalThis.notes), [], 'notifications without consent');
  await page.getByRole('button', { name: 'Notify me' }).click();
  await more(51);
  equal(await page.evaluate(() => globalThis.notes), [['A call waits for approval', 'Cursor (process 4470): Bash: echo 51[RLO]']], 'notifications');
  assert(await page.locator('#notify').isHidden(), 'the button stays');
  clean(page);
  m.close();
});
