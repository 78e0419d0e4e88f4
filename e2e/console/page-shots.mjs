// The pictures of docs/console.
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { assert, check, until } from './lib.mjs';
import { go, settle, started, views } from './mocked.mjs';

const shots = join(dirname(fileURLToPath(import.meta.url)), '../../docs/console');

mkdirSync(shots, { recursive: true });
await check('screenshots', async (cs) => {
  for (const [name, options] of [['', {}], ['-360', { viewport: { width: 360, height: 640 } }]]) {
    await started(cs, { colorScheme: 'light', reducedMotion: 'reduce', ...options }, async (page) => {
      for (const v of views) {
        if (name && v !== 'approvals') continue;
        await go(page, v);
        await settle(page, 1_200);
        if (v === 'live') await page.locator('.tasks [role=option]').nth(1).click();
        if (v === 'sessions') {
          await page.locator('[role=option]', { hasText: 'claude-code' }).click();
          await settle(page);
          await page.locator('details.change summary').nth(1).click();
        }
        if (v === 'policy') await page.getByRole('button', { name: 'Explain' }).click();
        await until(async () => {
          await settle(page);
          return !(await page.innerText('main')).includes('Loading');
        }, `${v} without "Loading"`);
        await settle(page, 1_200);
        await page.evaluate(() => document.activeElement.blur());
        const png = await page.screenshot({ scale: 'css' });
        assert(png.length < 150_000, `${v}: ${png.length} bytes`);
        writeFileSync(join(shots, `${v}${name}.png`), png);
      }
    });
  }
});
