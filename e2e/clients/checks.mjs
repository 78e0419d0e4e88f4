// Shared by the scripts with the TypeScript client: the client, from the folder
// CLIENTS_DIR, and counted checks.
import { once } from 'node:events';
import { createRequire } from 'node:module';
import { join, resolve } from 'node:path';

if (!process.env.CLIENTS_DIR) {
  console.error('CLIENTS_DIR is not set; it has to name the folder of the packages');
  process.exit(2);
}

// The packages are not beside this file, where an import would look.
const require = createRequire(join(resolve(process.env.CLIENTS_DIR), 'package.json'));
export const { Client, StreamableHTTPClientTransport } = require('@modelcontextprotocol/client');
const stdio = require('@modelcontextprotocol/client/stdio');

// StdioClientTransport ends the input of its server and waits for the server's end, however long
// that takes. The client's own sends signals after 2 s, and does not wait after the last one.
export class StdioClientTransport extends stdio.StdioClientTransport {
  async close() {
    const server = this._process;
    if (server?.exitCode === null && server.signalCode === null) {
      const ended = once(server, 'close');
      server.stdin.end();
      await ended;
    }
    await super.close();
  }
}

let passed = 0;
let failed = 0;

// checksWithin returns the function that runs a check, with this timeout in ms.
export const checksWithin = (ms) => async (name, fn) => {
  let timer;
  const limit = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Error(`no end within ${ms} ms`)), ms);
  });
  try {
    await Promise.race([fn(), limit]);
    passed++;
    console.log(`ok ${name}`);
  } catch (err) {
    failed++;
    console.log(`FAIL ${name}: ${err?.message ?? err}`);
  } finally {
    clearTimeout(timer);
  }
};

export function assert(ok, message) {
  if (!ok) throw new Error(message);
}

// finish ends the script. It succeeds if there were checks and all passed.
export function finish() {
  console.log(`${passed} passed, ${failed} failed`);
  process.exit(failed === 0 && passed > 0 ? 0 : 1);
}
