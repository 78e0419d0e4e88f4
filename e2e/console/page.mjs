#!/usr/bin/env node
// Tests the console's page in Chromium, with a made-up server, for states that a real one cannot
// show at will. real.mjs has the stories with the built binary.
import { finish } from './lib.mjs';

for (const part of ['load', 'approvals', 'views', 'form']) await import(`./page-${part}.mjs`);
if (process.env.UPDATE_SCREENSHOTS) await import('./page-shots.mjs');
await finish();
