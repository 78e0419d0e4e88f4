// Runs the script that imports it, as its first import, with the pinned Node. The system's
// may have any version; the pinned one makes runs repeatable. The packages that the script
// needs are installed unless CLIENTS_DIR names their folder.
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
