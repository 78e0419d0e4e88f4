// Live, sessions, policy and audit, as their user works with them.
import { assert, check, equal, open, until } from './lib.mjs';
import { axe, focused, go, quiet, settle, shown, started } from './mocked.mjs';

await check('live: stages, stop of a call and a task, output', (cs) => started(cs, {}, async (page, m) => {
  await page.keyboard.press('2');
  await shown(page, '.totals', '2 running, 2 waiting');
  assert((await page.locator('.item.call', { hasText: 'README.md' }).innerText()).includes('waits for call 20 (Bash)'), 'the reason of a wait is not shown');
  await page.keyboard.press('j');
  await page.keyboard.press('j');
  await page.keyboard.press('Enter');
  await shown(page, '.detail h2', 'go test ./...');
  await page.getByRole('button', { name: 'Stop this call' }).click();
  await until(() => m.posts.length === 1, 'the stop');
  equal(m.posts[0], { name: 'stop', token: 'the-token', server: 's1', call: 20 }, 'stop');
  m.world.output = { a1b2c3: 'first\nsecond' };
  await page.locator('.tasks [role=option]', { hasText: 'npm run dev' }).click();
  await shown(page, '.tail', 'second');
  m.world.output.a1b2c3 += ' half\nthird\n';
  await settle(page, 1_100);
  await shown(page, '.tail', 'second half\nthird');
  await page.getByRole('button', { name: 'Stop this task' }).click();
  await settle(page);
  await page.getByRole('button', { name: 'Cancel' }).click();
  await page.locator('dialog').waitFor({ state: 'detached' });
  await quiet(page);
  equal(m.posts.length, 1, 'stops without confirmation');
  await page.getByRole('button', { name: 'Stop this task' }).click();
  await page.getByRole('button', { name: 'Stop', exact: true }).click();
  await until(() => m.posts.length === 2, 'the stop');
  equal(m.posts[1], { name: 'stop', token: 'the-token', server: 's1', task: 'a1b2c3' }, 'stop');
}));

await check('live: an output is there once after the view was left and entered again', (cs) => started(cs, {}, async (page, m) => {
  await page.keyboard.press('2');
  m.world.output = { a1b2c3: 'first\n' };
  await shown(page, 'h2', 'Tasks and agents');
  m.held = 'api/task';
  await page.locator('.tasks [role=option]', { hasText: 'npm run dev' }).click();
  await until(() => m.requests.some((r) => r.endsWith('api/task')), 'the request');
  for (const [key, view] of [['1', 'Approvals'], ['2', 'Live']]) {
    await page.keyboard.press(key);
    await page.locator('nav [aria-current]', { hasText: view }).waitFor();
  }
  m.release();
  await shown(page, '.tail', 'first');
  equal((await page.locator('.tail').innerText()).match(/first/g), ['first'], 'output');
}));

await check('a click counts when the page is updated between its press and its release', (cs) => started(cs, {}, async (page, m) => {
  const [shop] = m.world.servers;
  const click = async (target, update) => {
    await target.hover({ force: true }); // the target may be a part of what takes the click
    await page.mouse.down();
    await update?.();
    await settle(page, 2_100);
    await page.mouse.up();
  };
  await go(page, 'live');
  await click(page.locator('.item.call', { hasText: 'go test' }).locator('b'));
  await shown(page, '.detail h2', 'go test ./...');
  await click(page.getByRole('button', { name: 'Stop this call' }), () => m.send('calls', { id: 's1', calls: shop.calls.filter((c) => c.number === 20).map((c) => ({ ...c, started: c.started + 1 })) }));
  await shown(page, '#toast', 'Call 20 was stopped.');
  await click(page.locator('.tasks .title', { hasText: 'npm run dev' }));
  await shown(page, '.tail', 'ready');
  await click(page.getByRole('button', { name: 'Stop this task' }), () => m.send('tasks', { id: 's1', tasks: shop.tasks.map((t) => ({ ...t, bytes: t.bytes + 1 })) }));
  await shown(page, 'dialog h2', 'Stop this task?');
  await page.getByRole('button', { name: 'Stop', exact: true }).click();
  await shown(page, '#toast', 'Task a1b2c3 was stopped.');
  await page.locator('.detail .row button').focus();
  m.send('tasks', { id: 's1', tasks: shop.tasks.map((t) => ({ ...t, state: 'exited', ended: 1 })) });
  await settle(page);
  equal(await page.getByRole('button', { name: 'Stop this task' }).count(), 0, 'buttons to stop a task that has ended');
  equal(await focused(page), 'Call or task', 'focus');
  await go(page, 'sessions');
  await page.locator('[role=option]', { hasText: 'claude-code 2.1' }).click();
  await shown(page, 'details.change');
  await click(page.locator('details.change .chip', { hasText: 'Edit' }), () => m.send('sessions', { id: 's1', sessions: [{ ...shop.sessions[0], calls: 129 }] }));
  await shown(page, '.path .ln.add', 'ReadHeaderTimeout');
}));

await check('sessions: changes, undo of chosen files, calls', (cs) => started(cs, {}, async (page, m) => {
  await page.keyboard.press('3');
  await page.locator('[role=option]', { hasText: 'claude-code 2.1' }).click();
  await shown(page, 'details.change', 'Edit server/http.go');
  await page.locator('details.change summary', { hasText: 'Edit server/http.go' }).click();
  await shown(page, '.path .ln.add', 'ReadHeaderTimeout');
  await page.locator('details.change[open] button', { hasText: 'Undo…' }).press('Enter'); // it moves while the diff is drawn
  await shown(page, 'dialog h2', 'Undo this change?');
  await axe(page, 'undo dialog');
  await page.getByRole('checkbox', { name: /limits.go/ }).uncheck();
  await page.getByRole('button', { name: 'Undo', exact: true }).click();
  await until(() => m.posts.length === 1, 'the undo');
  equal(m.posts[0], { name: 'undo', token: 'the-token', server: 's1', session: 'x1', n: 2, paths: ['/home/ada/shop/server/http.go'] }, 'undo');
  await shown(page, '#toast', 'was undone');
  await page.locator('.tabs button', { hasText: 'Calls' }).click();
  await page.locator('.detail select').selectOption('commands');
  await settle(page);
  equal(await page.locator('.detail [role=option]').count(), 2, 'commands');
  await axe(page, 'calls of a session');
  for (const t of ['Work', 'Events']) {
    await page.locator('.tabs button', { hasText: t }).click();
    await settle(page);
    await axe(page, t);
  }
}));

await check('policy: rules, explain, copy', (cs) => started(cs, { permissions: ['clipboard-read', 'clipboard-write'] }, async (page, m) => {
  await page.keyboard.press('4');
  await shown(page, 'table', 'Bash(make *)');
  await page.keyboard.press('/');
  await page.keyboard.type('local.json');
  await settle(page);
  equal(await page.locator('tbody tr').count(), 1, 'filtered rules');
  await page.getByLabel('Input, as JSON').fill('{"command": ');
  await page.getByRole('button', { name: 'Explain' }).click();
  await shown(page, '[role=alert]', 'The input is not JSON');
  await page.getByLabel('Input, as JSON').fill('{"command": "git push"}');
  await page.getByRole('button', { name: 'Explain' }).click();
  await shown(page, '.card .code', 'Bash would ask.');
  equal(m.posts[0].input, { command: 'git push' }, 'input');
  await page.getByRole('button', { name: 'Copy the settings' }).click();
  equal(await page.evaluate(() => navigator.clipboard.readText()), m.world['GET suggest']().rules[0].settings, 'clipboard');
}));

await check('audit: search, filter, pages, figures', (cs) => started(cs, {}, async (page) => {
  await page.keyboard.press('5');
  await shown(page, '.totals', '200 newest entries');
  await page.locator('.split .list').press('End');
  await page.keyboard.press('Enter');
  await shown(page, '.totals', '400 newest entries');
  await page.keyboard.press('End');
  await page.keyboard.press('Enter');
  await shown(page, '.totals', '450 entries');
  await page.keyboard.press('Enter');
  await shown(page, '.detail .facts', 'claude-code');
  await page.getByLabel('Outcome').selectOption('refused');
  await shown(page, '.totals', '50 entries');
  await page.keyboard.press('Escape');
  await page.keyboard.press('/');
  await page.keyboard.type('part8.go');
  await settle(page, 300);
  await shown(page, '.totals', '1 entry');
  await shown(page, '.detail table', 'Median');
  await page.keyboard.type('nothing');
  await settle(page, 300);
  await shown(page, '.none', 'Change the search');
}));
