#!/usr/bin/env node
// Starts the binary of the package of this platform and ends as it does.
'use strict';
const { spawn } = require('node:child_process');
const { mcpToolset } = require('../package.json');

const platform = `${process.platform}-${process.arch}`;
const name = `${mcpToolset.scope}/mcp-toolset-${platform}`;
let binary;
try {
  binary = require.resolve(`${name}/bin/mcp-toolset${process.platform === 'win32' ? '.exe' : ''}`);
} catch {
  console.error(`mcp-toolset: the package ${name} is not installed; install mcp-toolset again without --omit=optional, on a platform that it has`);
  process.exit(1);
}

const child = spawn(binary, process.argv.slice(2), { stdio: 'inherit' });
child.on('error', (err) => {
  console.error(`mcp-toolset: ${err.message}`);
  process.exit(1);
});
// A terminal sends its signals to both; a client that ends the server sends them only to this
// process.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => child.kill(signal));
child.on('exit', (code, signal) => {
  if (!signal) process.exit(code);
  for (const s of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.removeAllListeners(s);
  process.kill(process.pid, signal);
});
