// The state that the event stream reports, and the requests of the API.

// token returns the token that POST requests carry. The page after a login link stores it. Cookies
// are shared by all ports of an address; this storage is not.
function token() {
  try {
    return localStorage.getItem('mcp-toolset-console') ?? '';
  } catch {
    return '';
  }
}

const mostFinished = 10_000; // calls of a server

export class ApiError extends Error {
  constructor(message, next, status) {
    super(message);
    this.next = next;
    this.status = status;
  }
}

async function request(path, init) {
  let answer;
  try {
    answer = await fetch(path, { ...init, credentials: 'same-origin', redirect: 'error' });
  } catch {
    throw new ApiError('The console does not answer', 'See whether `mcp-toolset console` still runs, then try again.', 0);
  }
  const body = await answer.json().catch(() => null);
  if (answer.status === 401) lost(401);
  if (answer.status === 403 && body?.code === 'token') set('keyless');
  if (!answer.ok || body === null) throw new ApiError(body?.error ?? `The console answered with status ${answer.status}`, body?.next ?? 'Try again.', answer.status);
  return body;
}

export function get(name, query = {}, signal) {
  const q = new URLSearchParams();
  for (const [k, v] of Object.entries(query)) if (v !== undefined && v !== null && v !== '') q.set(k, v);
  return request(`api/${name}?${q}`, { signal });
}

export const post = (name, body) =>
  request(`api/${name}`, { method: 'POST', headers: { 'Content-Type': 'application/json', 'X-Console': token() }, body: JSON.stringify(body) });

// servers maps ids to servers. The calls of a server are a Map by number. loaded reports
// whether a snapshot has arrived.
export const servers = new Map();
export let loaded = false;
// state is "connecting", "live", "waiting" (for the next attempt), "out" (not logged in),
// "full" (too many streams), "keyless" (may look, but not act) or "paused" (see leader).
export let state = 'connecting';
export const sorted = () => [...servers.values()].sort((a, b) => String(a.name).localeCompare(String(b.name)) || a.started - b.started);

let dirty = new Set();
let frame = 0;

// onChange sets the function that gets the set of topics that changed, at most once per frame
// and not in hidden pages.
let listener = () => {};
export const onChange = (f) => (listener = f);

// onApprovals sets the function that gets changed approvals immediately, also in hidden pages.
let urgent = () => {};
export const onApprovals = (f) => (urgent = f);

function changed(topic) {
  dirty.add(topic);
  frame ||= requestAnimationFrame(() => {
    frame = 0;
    const all = dirty;
    dirty = new Set();
    listener(all);
  });
}

const list = (v) => (Array.isArray(v) ? v : []);

function mergeCalls(server, calls) {
  for (const c of list(calls)) {
    // Finished calls are in the order of their ends.
    if (c.stage === 'done') server.calls.delete(c.number);
    server.calls.set(c.number, c);
  }
  let over = server.calls.size - mostFinished;
  if (over > 0) {
    for (const [n, c] of server.calls) {
      if (over <= 0) break;
      if (c.stage === 'done') {
        server.calls.delete(n);
        over--;
      }
    }
  }
}

function put(s) {
  const server = { ...s, calls: new Map(), tasks: list(s.tasks), approvals: list(s.approvals), sessions: list(s.sessions) };
  mergeCalls(server, [...list(s.calls)].sort((a, b) => (a.left || Infinity) - (b.left || Infinity)));
  servers.set(server.id, server);
}

export const approvals = () => sorted().flatMap((s) => s.approvals.map((a) => ({ ...a, server: s.id, id: `${s.id}:${a.number}` })));

const known = new Set(); // ids of the approvals seen, those that are still there

function seen(first) {
  const now = approvals();
  const fresh = now.filter((a) => !known.has(a.id) && !a.approved);
  known.clear();
  for (const a of now) known.add(a.id);
  urgent(now, fresh, first);
}

const topics = ['tasks', 'approvals', 'sessions'];
const changedAll = (first = false) => {
  seen(first);
  for (const t of ['servers', 'calls', ...topics]) changed(t);
};

const handlers = {
  snapshot(d) {
    const first = !loaded;
    loaded = true;
    servers.clear();
    for (const s of list(d.servers)) put(s);
    changedAll(first);
  },
  server(d) {
    if (d.server) put(d.server);
    changedAll();
  },
  gone(d) {
    servers.delete(d.id);
    changedAll();
  },
  calls(d) {
    const s = servers.get(d.id);
    if (!s) return;
    mergeCalls(s, d.calls);
    changed('calls');
  },
  beat() {
    beats = true;
  },
};
for (const topic of topics) {
  handlers[topic] = (d) => {
    const s = servers.get(d.id);
    if (!s) return;
    s[topic] = list(d[topic]);
    if (topic === 'approvals') seen(false);
    changed(topic);
  };
}

let source;
let beats = false;
let last = 0;
let retry;

function set(now) {
  if (state === now) return;
  state = now;
  changed('state');
}

function lost(status) {
  source?.close();
  clearTimeout(retry);
  if (status === 401) {
    set('out');
    yieldLead?.();
  } else {
    set(status === 429 ? 'full' : 'waiting');
    retry = setTimeout(connect, status === 429 ? 10_000 : 2_000);
  }
}

// connect opens the event stream. It opens a new one after any failure, until the login ends.
export function connect() {
  clearTimeout(retry);
  source?.close();
  source = new EventSource('api/stream');
  last = Date.now();
  const own = source;
  for (const [name, handle] of Object.entries(handlers)) {
    own.addEventListener(name, (e) => {
      last = Date.now();
      let data;
      try {
        data = JSON.parse(e.data);
      } catch {
        return;
      }
      handle(data);
      set(token() ? 'live' : 'keyless');
      lead();
    });
  }
  own.onerror = async () => {
    own.close();
    if (own !== source) return;
    set('waiting');
    // The event source does not show the status of a refusal.
    const stop = new AbortController();
    const status = await fetch('api/stream', { credentials: 'same-origin', signal: stop.signal }).then((r) => r.status, () => 0);
    stop.abort();
    if (own === source) lost(status);
  };
}

// A browser has at most six connections to a server without TLS, and each stream is one. So
// one page, the leader, has a stream always, for the notifications; others only in view.
let leader = !navigator.locks;
let asked = false; // whether this page leads or waits for it
let yieldLead = null;

// lead makes this page the leader when no other one is. A page without a login is none.
function lead() {
  if (asked || !navigator.locks) return;
  asked = true;
  navigator.locks.request('mcp-toolset-console', () => {
    if (state === 'out') {
      asked = false;
      return undefined;
    }
    leader = true;
    if (state === 'paused') connect();
    return new Promise((done) => {
      yieldLead = () => {
        leader = asked = false;
        yieldLead = null;
        done();
      };
    });
  });
}

document.addEventListener('visibilitychange', () => {
  if (document.hidden && !leader && source && state !== 'out') {
    source.close();
    source = null;
    clearTimeout(retry);
    set('paused');
  } else if (!document.hidden && (state === 'paused' || state === 'out')) connect(); // another page may have logged in
});
// A page from the cache of the browser has lost its stream.
addEventListener('pageshow', (e) => e.persisted && connect());

setInterval(() => {
  if (beats && (state === 'live' || state === 'keyless') && Date.now() - last > 45_000) lost(0);
}, 5_000);
