// Runs the script that imports it, first of all, with the pinned Node: the
// system's may be any, and the pinned one makes a run repeatable. What the script
// needs is installed unless CLIENTS_DIR says where it is.
import { execFileSync, spawnSync } from 'node:child_process';
import { basename, dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

const [, script, program] = process.argv;
if (!program) {
  console.error(`usage: ${basename(script)} BINARY`);
  process.exit(2);
}
const here = dirname(fileURLToPath(import.meta.url));

export const binary = resolve(program);
export const clients = resolve(
  process.env.CLIENTS_DIR ||
    execFileSync(join(here, 'install.sh'), { encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit'] }).trim(),
);
process.env.CLIENTS_DIR = clients;

export const node = join(clients, 'node_modules/node/bin/node');
if (process.version !== execFileSync(node, ['--version'], { encoding: 'utf8' }).trim()) {
  const { status } = spawnSync(node, process.argv.slice(1), { stdio: 'inherit' });
  process.exit(status ?? 1);
}
