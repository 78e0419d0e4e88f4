#!/usr/bin/env node
// Serves the packed npm packages of a folder as a registry on 127.0.0.1, and prints its address.
// It has just what `npm install` and `npx` ask for.
// usage: registry.mjs FOLDER
import { createHash } from 'node:crypto';
import { execFileSync } from 'node:child_process';
import { readFileSync, readdirSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';

const folder = process.argv[2];
const packages = new Map();
for (const file of readdirSync(folder).filter((f) => f.endsWith('.tgz'))) {
  const data = readFileSync(join(folder, file));
  const manifest = JSON.parse(execFileSync('tar', ['-xzOf', join(folder, file), 'package/package.json']));
  packages.set(manifest.name, { file, data, manifest });
}

const server = createServer((request, response) => {
  const path = decodeURIComponent(new URL(request.url, 'http://localhost').pathname).slice(1);
  const tarball = [...packages.values()].find((p) => `files/${p.file}` === path);
  if (tarball) {
    response.end(tarball.data);
    return;
  }
  const found = packages.get(path);
  if (!found) {
    response.writeHead(404).end('{}');
    return;
  }
  const { file, data, manifest } = found;
  const dist = {
    tarball: `http://127.0.0.1:${server.address().port}/files/${file}`,
    integrity: `sha512-${createHash('sha512').update(data).digest('base64')}`,
  };
  response.setHeader('Content-Type', 'application/json');
  response.end(JSON.stringify({
    name: manifest.name,
    'dist-tags': { latest: manifest.version },
    versions: { [manifest.version]: { ...manifest, dist } },
  }));
});
server.listen(0, '127.0.0.1', () => console.log(`http://127.0.0.1:${server.address().port}/`));
