// Shared by the tests of the console: the browser, counted checks, axe.
// CONSOLE_DIR names the folder of the packages, CHROMIUM the browser.
import { createRequire } from 'node:module';
import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';

if (!process.env.CONSOLE_DIR) {
  console.error('CONSOLE_DIR is not set; it has to name the folder of the packages (install.sh prints it)');
  process.exit(2);
}
const require = createRequire(join(resolve(process.env.CONSOLE_DIR), 'package.json'));
const { chromium } = require('playwright-core');
const axeSource = readFileSync(require.resolve('axe-core/axe.min.js'), 'utf8');

const LIMIT = 240_000; // of one check, in ms
let passed = 0;
let failed = 0;

export const browser = await chromium.launch({ executablePath: process.env.CHROMIUM || '/usr/bin/chromium', args: ['--no-sandbox', '--disable-gpu', '--host-resolver-rules=MAP rebound.test 127.0.0.1'] });

// only names the checks to run, for work on one of them.
const only = process.env.ONLY ? new RegExp(process.env.ONLY) : null;

export async function check(name, fn) {
  if (only && !only.test(name)) return;
  const began = Date.now();
  let timer;
  const limit = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Error(`no end within ${LIMIT} ms`)), LIMIT);
  });
  const contexts = [];
  try {
    await Promise.race([fn(contexts), limit]);
    passed++;
    console.log(`ok ${name} (${Date.now() - began} ms)`);
  } catch (err) {
    failed++;
    console.log(`FAIL ${name}: ${err?.stack ?? err}`);
  } finally {
    clearTimeout(timer);
    for (const c of contexts) await c.close().catch(() => {});
  }
}

export function assert(ok, message) {
  if (!ok) throw new Error(message);
}

export function equal(got, want, what) {
  assert(JSON.stringify(got) === JSON.stringify(want), `${what}: got ${JSON.stringify(got)}, want ${JSON.stringify(want)}`);
}

// open returns a page in a context of its own, which records violations of the content
// security policy, errors and dialogs, as page.bad. Options are those of the context.
export async function open(contexts, url, options = {}) {
  const context = await browser.newContext({ viewport: { width: 1280, height: 800 }, ...options });
  contexts.push(context);
  context.setDefaultTimeout(60_000);
  return tab(context, url);
}

export async function tab(context, url) {
  const page = await context.newPage();
  page.bad = [];
  page.on('pageerror', (err) => page.bad.push(`error: ${err.stack ?? err}`));
  page.on('dialog', (d) => {
    page.bad.push(`dialog: ${d.message()}`);
    d.dismiss().catch(() => {});
  });
  page.on('console', (m) => {
    if (/Content Security Policy|Trusted ?Type|TrustedHTML/i.test(m.text())) page.bad.push(`policy: ${m.text()}`);
  });
  await page.addInitScript(() => {
    addEventListener('securitypolicyviolation', (e) => console.error(`Content Security Policy: ${e.violatedDirective} ${e.blockedURI}`));
  });
  if (url) {
    await page.goto(url);
    await page.waitForSelector('[data-state=live]');
  }
  return page;
}

// clean fails if the page had errors or violated its policy.
export function clean(page) {
  equal(page.bad, [], 'errors of the page');
}

// axe fails if axe-core finds violations.
export async function axe(page, what) {
  await page.evaluate(axeSource);
  const found = await page.evaluate(async () =>
    (await globalThis.axe.run(document, { resultTypes: ['violations'] })).violations.map((v) => `${v.id}: ${v.nodes.map((n) => `${n.target.join(' ')} ${n.failureSummary}`).slice(0, 3).join(' | ')}`));
  equal(found, [], `axe: ${what}`);
}

// until waits until f returns something true, in the test's process.
export async function until(f, what, ms = 60_000) {
  const end = Date.now() + ms;
  for (;;) {
    const got = await f();
    if (got) return got;
    assert(Date.now() < end, `not within ${ms} ms: ${what}`);
    await new Promise((r) => setTimeout(r, 20));
  }
}

// finish ends the script. It succeeds if there were checks and all passed.
export async function finish() {
  await browser.close();
  console.log(`${passed} passed, ${failed} failed`);
  process.exit(failed === 0 && passed > 0 ? 0 : 1);
}
