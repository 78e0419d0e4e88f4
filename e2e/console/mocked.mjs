// Pages of a made-up server, for the tests of the page.
import { axe as axeOnce, clean, open, until } from './lib.mjs';
import { mock, storage } from './mock.mjs';
import { NOW, world } from './world.mjs';

export const views = ['approvals', 'live', 'sessions', 'policy', 'audit'];
export const strict = process.env.CONSOLE_TIMES === 'strict';

// started runs fn with a mock and a page of it. The page's clock moves only by settle.
export async function started(contexts, options, fn, w = world(NOW)) {
  const m = await mock(w);
  try {
    const page = await open(contexts, null, { ...storage(m.url), ...options });
    page.mock = m;
    await page.addInitScript(watch);
    // It can stop only in its future.
    await page.clock.install({ time: NOW - 3_600_000 });
    await page.clock.pauseAt(NOW);
    await page.goto(m.url);
    await shown(page, '[data-state=live]');
    await fn(page, m);
    clean(page);
  } finally {
    m.close();
  }
}

// watch runs in the page before its scripts. It defines quiet, which returns a promise that is
// resolved once the page has handled the stream up to a mark and has no request in progress.
function watch() {
  let [running, mark] = [0, 0];
  let waiting = [];
  const { port1, port2 } = new MessageChannel();
  // In a task of its own: what the page does with an answer may be the next request.
  port1.onmessage = () => {
    const met = (w) => running === 0 && mark >= w.upTo;
    waiting.filter(met).forEach((w) => w.done());
    waiting = waiting.filter((w) => !met(w));
  };
  const look = () => port2.postMessage(null);
  const end = () => {
    running--;
    look();
  };
  const { fetch } = globalThis;
  const { json } = Response.prototype;
  globalThis.fetch = async (...args) => {
    running++;
    try {
      return await fetch(...args);
    } catch (err) {
      end();
      throw err;
    }
  };
  // The page reads each answer in this way.
  Response.prototype.json = function () {
    return json.call(this).finally(end);
  };
  globalThis.EventSource = class extends EventSource {
    constructor(url) {
      super(url);
      this.addEventListener('mark', (e) => {
        mark = Number(e.data);
        look();
      });
    }
  };
  globalThis.quiet = (upTo) => new Promise((done) => {
    waiting.push({ upTo, done });
    look();
  });
}

// quiet waits until the page has handled the events that the mock has sent, and the answers to
// its requests. Changes of the state are drawn when the page's clock moves.
export const quiet = (page) => page.evaluate((upTo) => globalThis.quiet(upTo), page.mock.mark());

const frame = 20; // ms of the page's clock, in which it draws

// settle moves the page's clock by so many ms, at least two frames. All events and answers, also
// those to requests that the page makes in this time, are handled and drawn after it.
export async function settle(page, ms = 2 * frame) {
  await quiet(page);
  for (const step of [frame, ms - 2 * frame, frame]) {
    if (step > 0) await page.clock.runFor(step);
    await quiet(page);
  }
}

// axe moves the page's clock until axe-core, which uses timers, has ended.
export async function axe(page, what) {
  let ended = false;
  const failure = axeOnce(page, what).catch((err) => err).finally(() => (ended = true));
  while (!ended) await page.clock.runFor(frame);
  if (await failure) throw await failure;
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
  await page.evaluate((v) => new Promise((done) => {
    if (location.hash === `#/${v}`) return done();
    addEventListener('hashchange', done, { once: true }); // after the page's own
    location.hash = `#/${v}`;
  }), view);
  await settle(page);
};
export const focused = (page) => page.evaluate(() => document.activeElement?.getAttribute('aria-label') || document.activeElement?.tagName);
