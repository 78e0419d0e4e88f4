// Keys, axe, widths, empty states, failures of the connection.
import { assert, axe as axeOnce, check, clean, equal, open, tab, until } from './lib.mjs';
import { mock, storage } from './mock.mjs';
import { axe, focused, go, settle, shown, started, views } from './mocked.mjs';
import { NOW, world } from './world.mjs';

await check('disconnected, restarted, logged out, too many pages', async (cs) => {
  const m = await mock(world());
  const page = await open(cs, m.url, storage(m.url));
  await page.locator('.list').first().focus();
  // The stream breaks and comes back, with other servers than before.
  m.world.servers[1].id = 's3';
  m.world.servers[0].approvals = m.world.servers[0].approvals.slice(0, 1);
  m.refuse = 503;
  m.drop();
  await page.waitForSelector('[data-state=waiting]');
  assert((await page.locator('#banner').innerText()).includes('tries again by itself'), 'no next step');
  m.refuse = 0;
  await page.waitForSelector('[data-state=live]');
  equal(await page.locator('#banner').innerText(), '', 'banner');
  equal(await page.locator('#nav .count').first().innerText(), '2', 'count');
  equal(await focused(page), 'Calls and questions that wait', 'focus');
  // One server ends and a new one starts.
  m.send('gone', { id: 's1' });
  await page.waitForFunction(() => document.querySelector('#nav .count').innerText === '1');
  m.send('server', { server: { ...m.world.servers[0], id: 's9' } });
  await page.waitForFunction(() => document.querySelector('#nav .count').innerText === '2');
  m.refuse = 429;
  m.drop();
  await page.waitForSelector('[data-state=full]');
  m.refuse = 401;
  await page.evaluate(() => (location.hash = '#/audit'));
  await page.waitForSelector('[data-state=out]');
  assert((await page.locator('#banner').innerText()).includes('Press Enter in the terminal'), 'no next step');
  await axeOnce(page, 'logged out');
  // Another page has logged in; this one notices when it comes into view.
  m.refuse = 0;
  const other = await tab(cs[0], m.url);
  await other.evaluate(() => navigator.locks.query()).then(({ held }) => equal(held.length, 1, 'leaders'));
  await page.evaluate(() => document.dispatchEvent(new Event('visibilitychange')));
  await page.waitForSelector('[data-state=live]');
  clean(page);
  m.close();
});

await check('keys: help, turned off, typing', (cs) => started(cs, {}, async (page, m) => {
  await settle(page, 1_100);
  await page.keyboard.press('?');
  await shown(page, 'dialog h2', 'Keys');
  await axe(page, 'keys');
  await page.keyboard.press('a');
  await page.getByRole('checkbox', { name: 'Use single keys' }).uncheck();
  await page.getByRole('button', { name: 'Close' }).click();
  await page.keyboard.press('a');
  await page.keyboard.press('2');
  await settle(page, 200);
  equal([m.posts.length, await page.evaluate(() => location.hash)], [0, ''], 'keys that are off');
  // Everything is reachable with Tab.
  await page.locator('.skip').focus();
  const seen = [];
  for (let i = 0; i < 18; i++) {
    await page.keyboard.press('Tab');
    seen.push(await page.evaluate(() => document.activeElement?.innerText?.trim().split('\n')[0] || document.activeElement?.getAttribute('aria-label')));
  }
  for (const want of ['Live', 'Audit', 'Notify me', 'Allow once', 'Always allow', 'Deny', 'Exact input']) assert(seen.some((s) => s?.includes(want)), `${want} is not reachable: ${seen.join(' | ')}`);
}));

await check('reduced motion', (cs) => started(cs, { reducedMotion: 'reduce' }, async (page) => {
  await shown(page, 'button.arming');
  equal(await page.evaluate(() => getComputedStyle(document.querySelector('button.arming')).animationName), 'none', 'animation');
}));

for (const scheme of ['light', 'dark']) {
  await check(`axe and width, ${scheme}`, (cs) => started(cs, { colorScheme: scheme, reducedMotion: 'reduce' }, async (page, m) => {
    for (const v of views) {
      await go(page, v);
      await settle(page, 1_200);
      if (v === 'live') await page.locator('.tasks [role=option]').first().click();
      if (v === 'sessions') await page.locator('details.change summary').first().click();
      if (v === 'policy') await page.getByRole('button', { name: 'Explain' }).click();
      if (v === 'audit') await page.locator('.list [role=option]').nth(8).click();
      await settle(page, 100);
      await axe(page, `${v}, ${scheme}`);
      for (const width of [360, 600, 820, 2000]) {
        await page.setViewportSize({ width, height: 800 });
        await settle(page, 100);
        const wide = await page.evaluate(() => document.scrollingElement.scrollWidth - innerWidth);
        assert(wide <= 0, `${v} at ${width}: ${wide} pixels too wide`);
        if (width === 360 && scheme === 'light') await axe(page, `${v}, 360 pixels`);
      }
      await page.setViewportSize({ width: 1280, height: 800 });
    }
    void m;
  }));
}

await check('before the first snapshot the page does not report that no server runs', async (cs) => {
  const m = await mock(world(NOW));
  m.late = true;
  const page = await open(cs, null, storage(m.url));
  await page.goto(m.url);
  await until(() => m.streams() === 1, 'the stream');
  for (const v of views.slice(0, 4)) {
    await page.evaluate((name) => (location.hash = `#/${name}`), v);
    await page.waitForFunction((name) => document.querySelector('nav [aria-current]').hash === `#/${name}` && document.querySelector('main').innerText.includes('Loading'), v);
    equal((await page.innerText('main')).includes('No server runs.'), false, v);
  }
  m.send('snapshot', { servers: [] });
  await page.waitForFunction(() => document.querySelector('main').innerText.includes('No server runs.'));
  m.send('snapshot', { servers: m.world.servers });
  await page.waitForSelector('table');
  clean(page);
  m.close();
});

await check('empty states name a next step', async (cs) => {
  const w = world(NOW);
  const answers = { 'GET audit': { entries: [], counts: {}, next: '' }, 'GET policy': {}, 'GET suggest': {}, 'GET session': {} };
  for (const [k, v] of Object.entries(answers)) w[k] = () => v;
  w.servers = [{ id: 's1' }];
  await started(cs, {}, async (page, m) => {
    const texts = ['Nothing waits for you', 'No calls yet', 'No sessions yet', 'No rules hold', 'No entries'];
    for (const [i, v] of views.entries()) {
      await go(page, v);
      await shown(page, 'main', texts[i]);
      await axe(page, `${v}, empty`);
    }
    m.send('gone', { id: 's1' });
    for (const v of views.slice(0, 4)) {
      await go(page, v);
      await shown(page, 'main', 'No server runs.');
    }
    // A server with nothing but an id, then errors of the API.
    m.send('server', { server: { id: 's2', name: '/x', problem: 'It does not answer.', sessions: [{ id: 'a' }], approvals: [{ number: 1, key: 'k' }], calls: [{ number: 1, stage: 'running' }], tasks: [{ id: 't' }] } });
    m.refuse = 500;
    for (const v of views) {
      await go(page, v);
      await settle(page, 100);
    }
    await shown(page, '[role=alert]', 'There are 20 streams');
    await axe(page, 'error');
  }, w);
});
