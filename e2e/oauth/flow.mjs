#!/usr/bin/env node
// The whole way of a client that knows only the address of the server: it finds the identity
// provider, registers there, signs in with PKCE, calls tools, asks for a further scope when a call
// needs it, and renews its token without losing its session. All on loopback.
// usage: flow.mjs BINARY
import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import { Client, StreamableHTTPClientTransport, assert, checksWithin, finish } from '../clients/checks.mjs';

const binary = resolve(process.argv[2]);
const require = createRequire(join(resolve(process.env.CLIENTS_DIR), 'package.json'));
const { Provider } = await import(pathToFileURL(require.resolve('oidc-provider')));
const check = checksWithin(150_000);
const work = mkdtempSync(join(tmpdir(), 'mcp-toolset-oauth-'));
const root = join(work, 'root');
mkdirSync(root);
writeFileSync(join(root, 'a.txt'), 'first line\n');

// The provider. What it grants changes with the steps below.
let granted = 'toolset:read';
let life = 300; // of an access token, in seconds
const tokens = new Set(); // all that it has issued
const seen = []; // paths of requests
const listener = createServer();
await once(listener.listen(0, '127.0.0.1'), 'listening');
const issuer = `http://127.0.0.1:${listener.address().port}`;
const provider = new Provider(issuer, {
  scopes: ['openid', 'offline_access', 'toolset:read', 'toolset:write'],
  findAccount: (_, sub) => ({ accountId: sub, claims: () => ({ sub }) }),
  issueRefreshToken: () => true,
  cookies: { keys: ['flow'] },
  features: {
    registration: { enabled: true },
    devInteractions: { enabled: true },
    resourceIndicators: {
      enabled: true,
      getResourceServerInfo: (_, resource) => ({ audience: resource, scope: granted, accessTokenFormat: 'jwt', accessTokenTTL: life, jwt: { sign: { alg: 'RS256' } } }),
      useGrantedResource: () => true,
    },
  },
});
const answer = provider.callback();
listener.on('request', (req, res) => {
  seen.push(`${req.method} ${req.url.split('?')[0]}`);
  answer(req, res);
});

// signIn is the browser: it follows redirects with cookies and fills in both forms.
async function signIn(url, login) {
  const jar = new Map();
  let next = { url: String(url) };
  for (let n = 0; n < 20; n++) {
    const response = await fetch(next.url, {
      method: next.body ? 'POST' : 'GET',
      body: next.body,
      redirect: 'manual',
      headers: { cookie: [...jar].map(([k, v]) => `${k}=${v}`).join('; '), ...(next.body && { 'content-type': 'application/x-www-form-urlencoded' }) },
    });
    for (const cookie of response.headers.getSetCookie()) {
      const [, name, value] = cookie.match(/^([^=]+)=([^;]*)/);
      jar.set(name, value);
    }
    const text = await response.text();
    const to = response.headers.get('location');
    if (to) {
      const target = new URL(to, next.url);
      if (target.href.startsWith('http://127.0.0.1:9/')) return target.searchParams;
      next = { url: target.href };
      continue;
    }
    const action = text.match(/action="([^"]+)"/)?.[1];
    const prompt = text.match(/name="prompt" value="([^"]+)"/)?.[1];
    assert(action && prompt, `${response.status} without a form: ${text.slice(0, 300)}`);
    next = { url: new URL(action, next.url).href, body: `prompt=${prompt}&login=${login}&password=x` };
  }
  throw new Error('too many redirects');
}

// newUser returns what a client stores of a user.
function newUser() {
  return {
    redirectUrl: 'http://127.0.0.1:9/callback',
    clientMetadata: { client_name: 'flow', redirect_uris: ['http://127.0.0.1:9/callback'], grant_types: ['authorization_code', 'refresh_token'], response_types: ['code'], token_endpoint_auth_method: 'none' },
    clientInformation() { return this.client; },
    saveClientInformation(client) { this.client = client; },
    tokens() { return this.held; },
    saveTokens(held) {
      this.held = held;
      tokens.add(held.access_token);
      if (held.refresh_token) tokens.add(held.refresh_token);
    },
    redirectToAuthorization(url) { this.asked = url; },
    saveCodeVerifier(verifier) { this.verifier = verifier; },
    codeVerifier() { return this.verifier; },
  };
}

// The server. All that it can write ends up below work.
const log = join(work, 'log');
const child = spawn(binary, ['http', '--addr', '127.0.0.1:0', '--oauth-issuer', issuer, '--log-level', 'debug', '--log-file', log, '--audit', join(work, 'audit'), '--trace', join(work, 'trace'), '--mode', 'bypassPermissions', root], {
  env: { PATH: process.env.PATH, HOME: work, XDG_STATE_HOME: join(work, 'state') },
  stdio: ['ignore', 'ignore', 'pipe'],
});
let printed = '';
child.stderr.on('data', (chunk) => (printed += chunk));
const cleanUp = () => {
  child.kill('SIGKILL');
  rmSync(work, { recursive: true, force: true });
};
for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => { cleanUp(); process.exit(1); });
const url = await (async () => {
  for (let n = 0; n < 600 && child.exitCode === null; n++, await sleep(100)) {
    const found = printed.match(/listening on (http:\/\/\S+)/)?.[1];
    if (found) return new URL(found);
  }
  cleanUp();
  throw new Error(`no address: ${printed}`);
})();

const text = (result) => (result.content ?? []).map((c) => c.text ?? '').join('\n');
const claims = (token) => JSON.parse(Buffer.from(token.split('.')[1], 'base64url'));
const user = newUser();
let client;
let transport;
const call = (name, args) => client.callTool({ name, arguments: args });
const connect = async () => {
  client = new Client({ name: 'flow', version: '1' }, { versionNegotiation: { mode: 'legacy' } });
  transport = new StreamableHTTPClientTransport(url, { authProvider: user });
  await client.connect(transport);
};
// again lets the user sign in and repeats what failed for want of a token.
const again = async (what, login = 'anna') => {
  let error;
  await what().catch((err) => (error = err));
  assert(error?.name === 'UnauthorizedError' || /nauthorized/.test(String(error)), `no sign-in was asked for: ${error}`);
  await transport.finishAuth(await signIn(user.asked, login));
};

await check('readyz: is 200 once the keys are known', async () => {
  for (let n = 0; n < 300; n++, await sleep(100)) if ((await fetch(new URL('/readyz', url))).status === 200) return;
  throw new Error('never ready');
});
await check('discovery and registration from the address alone', async () => {
  await again(connect);
  assert(user.client?.client_id, 'the client is not registered');
  assert(seen.includes('POST /reg'), `no registration: ${seen}`);
});
await check('signing in used PKCE, the resource and the scopes of the server', async () => {
  const q = user.asked.searchParams;
  assert(q.get('code_challenge_method') === 'S256' && q.get('code_challenge') === createHash('sha256').update(user.verifier).digest('base64url'), `no PKCE: ${q}`);
  assert(q.get('resource') === url.href, `resource ${q.get('resource')}`);
  assert(q.get('scope').includes('toolset:read toolset:write'), `scope ${q.get('scope')}`);
});
await check('a call with the token', async () => {
  await connect();
  assert(claims(user.held.access_token).scope === 'toolset:read', `scope ${claims(user.held.access_token).scope}`);
  const result = await call('Read', { file_path: join(root, 'a.txt') });
  assert(text(result).includes('1\tfirst line'), text(result));
});
await check('a changing call asks for the further scope, in the same session', async () => {
  const session = transport.sessionId;
  const edit = () => call('Edit', { file_path: join(root, 'a.txt'), old_string: 'first', new_string: 'second' });
  granted = 'toolset:read toolset:write';
  await again(edit);
  assert(user.asked.searchParams.get('scope').includes('toolset:write'), `scope ${user.asked.searchParams.get('scope')}`);
  const result = await edit(); // it needs the record of the read
  assert(!result.isError && readFileSync(join(root, 'a.txt'), 'utf8') === 'second line\n', text(result));
  assert(transport.sessionId === session, 'another session');
});
await check('a token that is renewed keeps the session', async () => {
  const session = transport.sessionId;
  life = 1;
  user.held = { ...user.held, access_token: 'damaged' };
  await call('Bash', { command: 'mkdir -p sub && cd sub' });
  const first = user.held.access_token;
  assert(first !== 'damaged', 'not renewed');
  life = 300;
  await sleep((claims(first).exp + 62) * 1000 - Date.now()); // the server allows for clocks that differ by a minute
  const result = await call('Bash', { command: 'pwd' });
  assert(user.held.access_token !== first, 'not renewed');
  assert(text(result).includes('/root/sub\n'), `the folder is ${text(result)}`);
  assert(transport.sessionId === session, 'another session');
});
await check('the session of one user does not exist for another', async () => {
  const other = newUser();
  const first = user.held;
  const mine = transport.sessionId;
  const saved = { client, transport };
  transport = new StreamableHTTPClientTransport(url, { authProvider: other });
  client = new Client({ name: 'flow', version: '1' }, { versionNegotiation: { mode: 'legacy' } });
  await client.connect(transport).catch(() => {});
  await transport.finishAuth(await signIn(other.asked, 'bob'));
  assert(claims(other.held.access_token).sub === 'bob' && claims(first.access_token).sub === 'anna', 'not two users');
  const status = async (token) => (await fetch(url, { method: 'POST', headers: { 'Content-Type': 'application/json', Accept: 'application/json, text/event-stream', 'Mcp-Session-Id': mine, Authorization: `Bearer ${token}` }, body: '{"jsonrpc":"2.0","id":1,"method":"ping"}' })).status;
  assert((await status(other.held.access_token)) === 404, 'bob reaches the session of anna');
  assert((await status(first.access_token)) === 200, 'anna does not reach her session');
  ({ client, transport } = saved);
});
await check('no token is in a log, the audit log, a trace, a stored file or the environment of a command', async () => {
  const result = await call('Bash', { command: 'env; cat /proc/self/cmdline; tr "\\0" "\\n" </proc/$PPID/environ' });
  await client.close();
  const exit = once(child, 'exit');
  child.kill('SIGTERM');
  await exit;
  const all = [['the environment', text(result)], ['standard error', printed]];
  const walk = (dir) => {
    for (const name of readdirSync(dir)) {
      const path = join(dir, name);
      const info = statSync(path, { throwIfNoEntry: false });
      if (info?.isDirectory()) walk(path);
      else if (info?.isFile()) all.push([path, readFileSync(path, 'latin1')]);
    }
  };
  walk(work);
  assert(all.some(([path]) => path === log) && readFileSync(join(work, 'audit'), 'utf8').includes(`"principal":"${issuer}:anna"`), 'the audit log does not name the user');
  assert(tokens.size >= 8, `only ${tokens.size} tokens were issued`);
  for (const token of tokens) {
    const part = token.split('.').pop();
    for (const [path, content] of all) assert(!content.includes(part), `${path} has a token`);
  }
});
cleanUp();
listener.close();
finish();
