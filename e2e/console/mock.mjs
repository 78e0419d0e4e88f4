// A server with the console's page and a made-up API, for states that a real server cannot
// show at will: many events, hostile names, failures.
import { createServer } from 'node:http';
import { readFileSync } from 'node:fs';
import { dirname, extname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const folder = join(dirname(fileURLToPath(import.meta.url)), '../../console/page');
const types = { '.html': 'text/html; charset=utf-8', '.js': 'text/javascript; charset=utf-8', '.css': 'text/css; charset=utf-8', '.svg': 'image/svg+xml' };
export const CSP = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; form-action 'self'; base-uri 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'";

// A page of a made-up server finds its token as after a login.
export const storage = (url) => ({ storageState: { cookies: [], origins: [{ origin: new URL(url).origin, localStorage: [{ name: 'mcp-toolset-console', value: 'the-token' }] }] } });

// mock starts a server. Its world is {servers, approval(n), ...}: a test may change it, and
// has to call send for events. mark ends the events so far with a mark in all streams, also later
// ones, and returns it. posts lists the bodies of POST requests; delay, in ms, lets their events
// arrive before their answers. Answers to the GET request that held names wait for release.
// While late is set, streams begin without a snapshot.
export async function mock(world) {
  const streams = new Set();
  const m = { world, posts: [], sent: 0, bytes: 0, requests: [], refuse: 0, delay: 0, held: '' };
  const answer = (res, status, body) => {
    res.writeHead(status, { 'Content-Type': 'application/json', 'Cache-Control': 'no-store' });
    res.end(JSON.stringify(body));
  };
  const snapshot = () => `id: ${++m.sent}\nevent: snapshot\ndata: ${JSON.stringify({ servers: m.world.servers })}\n\n`;
  let waiting = [];
  let marks = 0;
  const marked = () => `event: mark\ndata: ${marks}\n\n`;
  const server = createServer((req, res) => {
    const url = new URL(req.url, 'http://x');
    res.setHeader('Content-Security-Policy', CSP);
    const name = url.pathname.replace(/^\/console\//, '');
    m.requests.push(url.pathname);
    if (m.refuse && name.startsWith('api/')) return answer(res, m.refuse, { error: m.refuse === 401 ? 'Not logged in' : 'There are 20 streams', next: 'Log in.' });
    if (name === 'api/stream') {
      res.writeHead(200, { 'Content-Type': 'text/event-stream', 'Cache-Control': 'no-store' });
      streams.add(res);
      res.on('close', () => streams.delete(res));
      if (!m.late) res.write(snapshot());
      res.write(marked());
      return;
    }
    if (name.startsWith('api/')) {
      const query = Object.fromEntries(url.searchParams);
      let text = '';
      req.on('data', (d) => (text += d));
      req.on('end', () => {
        const body = req.method === 'POST' ? JSON.parse(text) : undefined;
        if (body) m.posts.push({ name: name.slice(4), token: req.headers['x-console'], ...body });
        const route = m.world[`${req.method} ${name.slice(4)}`];
        try {
          const got = route?.(body ?? query, m);
          if (got === undefined) answer(res, 404, { error: 'There is nothing of that name', next: 'Reload the page.' });
          else if (got.status) answer(res, got.status, got.body);
          else if (body) setTimeout(() => answer(res, 200, got), m.delay);
          else if (m.held === name) waiting.push(() => answer(res, 200, got));
          else answer(res, 200, got);
        } catch (err) {
          answer(res, 500, { error: String(err), next: 'Mend the test.' });
        }
      });
      return;
    }
    try {
      const data = readFileSync(join(folder, name || 'index.html'));
      m.bytes += data.length;
      res.writeHead(200, { 'Content-Type': types[extname(name || 'index.html')] });
      res.end(data);
    } catch {
      answer(res, 404, { error: 'No such file', next: 'Reload.' });
    }
  });
  await new Promise((r) => server.listen(0, '127.0.0.1', r));
  m.url = `http://127.0.0.1:${server.address().port}/console/`;
  m.send = (event, data) => {
    for (const s of streams) s.write(`id: ${++m.sent}\nevent: ${event}\ndata: ${JSON.stringify(data)}\n\n`);
  };
  m.mark = () => {
    marks++;
    for (const s of streams) s.write(marked());
    return marks;
  };
  m.release = () => {
    m.held = '';
    waiting.forEach((reply) => reply());
    waiting = [];
  };
  m.streams = () => streams.size;
  m.drop = () => {
    for (const s of streams) s.destroy();
  };
  m.close = () => {
    m.drop();
    server.closeAllConnections();
    server.close();
  };
  return m;
}
