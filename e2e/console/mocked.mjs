// Pages of a made-up server, for the tests of the page.
import { assert, clean, open, until } from './lib.mjs';
import { mock, storage } from './mock.mjs';
import { NOW, world } from './world.mjs';

export const views = ['approvals', 'live', 'sessions', 'policy', 'audit'];
export const strict = process.env.CONSOLE_TIMES === 'strict';

// started runs fn with a mock and a page of it. The test moves the page's clock, which with
// paused stands still otherwise.
export async function started(contexts, options, fn, w = world(NOW)) {
  const m = await mock(w);
  try {
    const page = await open(contexts, null, { ...storage(m.url), ...options });
    // It can stop only in its future.
    await page.clock.install({ time: options.paused ? NOW - 3_600_000 : NOW });
    if (options.paused) await page.clock.pauseAt(NOW);
    await page.goto(m.url);
    await shown(page, '[data-state=live]');
    await fn(page, m);
    clean(page);
  } finally {
    m.close();
  }
}

// settle lets answers arrive and frames be drawn. It moves the page's clock by so many ms.
export async function settle(page, ms = 40) {
  for (let i = 0; i < 4; i++) {
    await page.evaluate(() => 0);
    await new Promise((r) => setImmediate(r));
  }
  await page.clock.runFor(ms);
}

// shown waits for a selector while the page's clock goes on.
export const shown = (page, selector, text) =>
  until(async () => {
    await settle(page);
    const found = page.locator(selector);
    return text === undefined ? (await found.count()) > 0 : (await found.allInnerTexts()).some((t) => t.includes(text));
  }, `${selector} ${text ?? ''}`);

export const posts = (m, name) => m.posts.filter((p) => p.name === name);
export const go = async (page, view) => {
  await page.evaluate((v) => (location.hash = `#/${v}`), view);
  await settle(page);
};
export const focused = (page) => page.evaluate(() => document.activeElement?.getAttribute('aria-label') || document.activeElement?.tagName);
