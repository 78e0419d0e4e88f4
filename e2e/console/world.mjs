// The made-up servers that the tests of the page show.

export const NOW = Date.UTC(2026, 10, 26, 10, 0, 0);

const call = (number, c) => ({ number, lane: 'claude-code', laneNumber: 1, tool: 'Read', title: 'Read server/http.go', safe: true, stage: 'done', arrived: 0, turn: 0, started: 0, left: 0, waits: '', cancelled: false, shared: false, outcome: 'ok', ...c });

export const DIFF = `--- a/server/http.go
+++ b/server/http.go
@@ -41,6 +41,7 @@ func (s *Server) Serve(ctx context.Context) error {
 	mux := http.NewServeMux()
 	mux.Handle("/mcp", s.handler())
-	srv := &http.Server{Handler: mux}
+	srv := &http.Server{Handler: mux, ReadHeaderTimeout: headerWait}
+	defer srv.Close()
 	return srv.Serve(s.listener)
 }
 
@@ -60,3 +61,3 @@ const (
 const (
-	idle = time.Minute
+	idle = 2 * time.Minute
 )
`;

// details has the fields that api/approval adds to an approval, by number.
const details = {
  1: { kind: 'diff', preview: DIFF, partial: false, command: null, input: JSON.stringify({ file_path: '/home/ada/shop/server/http.go', old_string: 'idle = time.Minute', new_string: 'idle = 2 * time.Minute' }) },
  2: {
    kind: 'command', preview: '', partial: false, input: JSON.stringify({ command: 'make test && git push origin main', description: 'Test and push' }),
    command: [{ text: 'make test', needsApproval: false, why: 'allowed by the rule Bash(make *)' }, { text: 'git push origin main', needsApproval: true, why: 'no rule allows it, and it uses the network' }],
  },
  3: { kind: 'questions', preview: '', partial: false, command: null, input: '{}' },
  4: { kind: 'input', preview: '', partial: false, command: null, input: JSON.stringify({ url: 'https://example.com/report?id=7', prompt: 'Summarize the figures' }) },
};

export function world(now = Date.now()) {
  const s = 1000;
  const approval = (number, a) => ({ number, key: `key-${number}`, tool: 'Edit', title: '', dir: '/home/ada/shop', root: '/home/ada/shop', client: 'Cursor (process 4470)', principal: '', reason: 'no rule allows it', since: now - 40 * s, ends: now + 86_000 * s, approved: false, always: '', covers: '', questions: null, size: 300, ...a });
  const shop = {
    id: 's1', name: '/home/ada/shop', process: 4711, version: '0.2.0', transport: 'stdio', started: now - 3600 * s, mode: 'default', problem: '', lanes: 2,
    calls: [
      ...Array.from({ length: 14 }, (_, i) => call(i + 1, { title: `Read server/part${i}.go`, arrived: now - 280 * s + i * 9 * s, turn: now - 280 * s + i * 9 * s, started: now - 279 * s + i * 9 * s, left: now - 275 * s + i * 9 * s, outcome: i === 6 ? 'failed' : 'ok' })),
      call(15, { tool: 'Grep', title: 'Search for TODO in 4,213 files', lane: 'claude-code', arrived: now - 100 * s, turn: now - 100 * s, started: now - 90 * s, left: now - 62 * s }),
      call(20, { tool: 'Bash', title: 'go test ./...', stage: 'running', safe: false, arrived: now - 48 * s, turn: now - 48 * s, started: now - 44 * s, outcome: '' }),
      call(21, { tool: 'Edit', title: 'Edit server/http.go', stage: 'deciding', safe: false, arrived: now - 40 * s, turn: now - 40 * s, waits: 'the answer to approval 1', outcome: '' }),
      call(22, { tool: 'Read', title: 'Read README.md', stage: 'waiting', arrived: now - 30 * s, waits: 'call 20 (Bash), which may change files', outcome: '' }),
      call(23, { lane: 'reviewer (agent)', laneNumber: 2, tool: 'Glob', title: 'Find **/*_test.go', arrived: now - 20 * s, turn: now - 20 * s, started: now - 19 * s, left: now - 18 * s }),
      call(24, { lane: 'reviewer (agent)', laneNumber: 2, tool: 'Grep', title: 'Search for ErrClosed', stage: 'running', arrived: now - 6 * s, turn: now - 6 * s, started: now - 5 * s, outcome: '' }),
    ],
    tasks: [
      { id: 'a1b2c3', kind: 'command', title: 'npm run dev', owner: 'claude-code', state: 'running', started: now - 610 * s, ended: 0, bytes: 5200 },
      { id: 'd4e5f6', kind: 'agent', title: 'Review the HTTP server', owner: 'claude-code', state: 'running', started: now - 90 * s, ended: 0, bytes: 800 },
      { id: '778899', kind: 'monitor', title: 'tail -f app.log', owner: 'claude-code', state: 'exited', started: now - 2000 * s, ended: now - 900 * s, bytes: 90 },
    ],
    approvals: [
      approval(1, { title: 'Edit server/http.go', covers: 'all edits of /home/ada/shop/server/http.go, by every tool, in this workspace', reason: 'editing outside of the files that were agreed on' }),
      approval(2, { tool: 'Bash', title: 'make test && git push origin main', covers: 'exactly this command in /home/ada/shop', since: now - 20 * s }),
      approval(3, {
        tool: 'AskUserQuestion', title: 'Which database?', since: now - 10 * s, always: 'questions are asked each time',
        questions: [{ header: 'Storage', question: 'Which database should the shop use?', options: [{ label: 'SQLite', description: 'one file, no server' }, { label: 'PostgreSQL', description: 'many writers' }] }, { header: 'Extras', question: 'What else?', multiSelect: true, options: [{ label: 'Backups' }, { label: 'Metrics' }] }],
      }),
    ],
    sessions: [{ id: 'x1', client: 'claude-code 2.1', root: '/home/ada/shop', dir: '/home/ada/shop/server', mode: 'default', calls: 128, files: 3, since: now - 3500 * s }],
  };
  const site = {
    id: 's2', name: '/home/ada/site', process: 4712, version: '0.2.0', transport: 'stdio', started: now - 1200 * s, mode: 'plan', problem: '', lanes: 1, calls: [], tasks: [],
    approvals: [approval(4, { tool: 'WebFetch', title: 'Fetch example.com/report', root: '/home/ada/site', dir: '', always: 'the site was never visited before', since: now - 5 * s })],
    sessions: [{ id: 'x1', client: 'Claude Desktop', root: '/home/ada/site', dir: '/home/ada/site', mode: 'plan', calls: 4, files: 0, since: now - 1100 * s }],
  };
  const w = {
    servers: [shop, site],
    details: { ...details },
    find: (q) => w.servers.find((x) => x.id === q.server)?.approvals.find((a) => a.number === Number(q.number)),
    'GET approval': (q) => {
      const a = w.find(q);
      return a ? { ...a, ...w.details[a.number] } : { status: 404, body: { error: `No approval has the number ${q.number}`, next: 'Choose another.' } };
    },
    'POST approval': (b, m) => {
      const a = w.find(b);
      if (!a || a.key !== b.key) return { status: 409, body: { error: 'The call has changed since it was shown', next: 'Look at it again.' } };
      const of = w.servers.find((x) => x.id === b.server);
      of.approvals = b.do === 'deny' ? of.approvals.filter((x) => x !== a) : of.approvals.map((x) => (x === a ? { ...a, approved: true } : x));
      m.send('approvals', { id: b.server, approvals: of.approvals });
      return { text: { once: `Approved ${b.number}.`, always: `Always allowed: ${a.covers}.`, deny: `Denied ${b.number}.` }[b.do] };
    },
    'POST reply': (b, m) => {
      const of = w.servers.find((x) => x.id === b.server);
      of.approvals = of.approvals.filter((x) => x.number !== b.number);
      m.send('approvals', { id: b.server, approvals: of.approvals });
      return { text: 'Answered.' };
    },
    'POST stop': (b) => ({ text: b.task ? `Task ${b.task} was stopped.` : `Call ${b.call} was stopped.` }),
    'GET task': (q) => {
      const text = w.output?.[q.id] ?? '> shop@1.0.0 dev\n> vite\n\n\x1b[32m  ready\x1b[0m in 312 ms\n  Local: http://localhost:5173/\n';
      const from = Number(q.from) < 0 ? Math.max(0, text.length + Number(q.from)) : Number(q.from);
      return { text: text.slice(from), next: text.length, done: q.id === '778899', binary: false };
    },
    'GET session': () => ({
      calls: [
        { id: 'c1', time: now - 300 * s, tool: 'Read', title: 'Read server/http.go', path: 'server/http.go', readOnly: true, outcome: 'ok' },
        { id: 'c2', time: now - 200 * s, tool: 'Bash', title: 'go vet ./...', readOnly: false, outcome: 'ok', agreed: true },
        { id: 'c3', time: now - 100 * s, tool: 'Bash', title: 'rm -rf build', readOnly: false, outcome: 'refused', reason: 'the rule deny Bash(rm *)' },
      ],
      changes: [
        { n: 1, time: now - 400 * s, tool: 'Write', title: 'Write server/limits.go', summary: '24 lines', undone: false },
        { n: 2, time: now - 250 * s, tool: 'Edit', title: 'Edit server/http.go', summary: '+3 -2', undone: false },
        { n: 3, time: now - 150 * s, tool: 'Bash', title: 'gofmt -w .', summary: '2 files', undone: true },
      ],
      work: [{ id: '1', subject: 'Add a header timeout', status: 'completed', owner: '' }, { id: '2', subject: 'Test slow clients', status: 'in_progress', owner: 'reviewer' }, { id: '3', subject: 'Write the changelog', status: 'pending', owner: '' }],
      events: [{ time: now - 900 * s, source: 'task 778899', text: 'The monitor has ended with status 0.', data: true }],
    }),
    'GET change': (q) => ({ n: Number(q.n), paths: [{ path: '/home/ada/shop/server/http.go', what: 'changed', diff: DIFF }, { path: '/home/ada/shop/server/limits.go', what: 'created', diff: '@@ -0,0 +1,2 @@\n+package server\n+const idle = 2\n' }] }),
    'POST undo': (b) => ({ text: `Change ${b.n} was undone.`, conflicts: [] }),
    'GET policy': (q) => (q.server ? {
      mode: 'default',
      rules: [
        { effect: 'deny', rule: 'Bash(rm *)', origin: '/home/ada/.config/mcp-toolset/settings.json:12', layer: 'user' },
        { effect: 'allow', rule: 'Bash(make *)', origin: '.claude/settings.json:8', layer: 'project' },
        { effect: 'allow', rule: 'Read(/home/ada/shop/**)', origin: '.claude/settings.json:9', layer: 'project' },
        { effect: 'ask', rule: 'Bash(git push*)', origin: '.claude/settings.local.json:3', layer: 'local' },
      ],
      always: [{ number: 7, tool: 'Bash', text: 'go test ./...', roots: ['/home/ada/shop'], when: now - 86_400 * s }],
      declined: [],
    } : { status: 400, body: { error: 'No server is named', next: 'Name one.' } }),
    'POST explain': (b) => ({ decision: 'ask', text: `${b.tool} would ask.\n  1. deny rules: none matches\n  2. ask rule Bash(git push*), .claude/settings.local.json:3\n` }),
    'GET suggest': () => ({ rules: [{ rule: 'Bash(go test *)', count: 14, calls: ['go test ./...', 'go test ./server', 'go test -run TestHTTP ./server'], settings: '{\n  "permissions": {\n    "allow": ["Bash(go test *)"]\n  }\n}', file: '/home/ada/shop/.claude/settings.local.json' }] }),
    'GET audit': (q) => {
      const all = Array.from({ length: 450 }, (_, i) => ({ time: now - i * 7 * s, server: 's1', client: i % 5 === 4 ? 'Claude Desktop' : 'claude-code', tool: ['Read', 'Bash', 'Edit', 'Grep'][i % 4], title: ['Read server/http.go', 'go test ./...', 'Edit server/http.go', 'Search for TODO'][i % 4], decision: i % 9 === 8 ? 'deny' : 'allow', layer: 'rules', outcome: i % 9 === 8 ? 'refused' : i % 13 === 12 ? 'failed' : 'ok', ms: 3 + ((i * 37) % 900), reason: i % 9 === 8 ? 'the rule deny Bash(rm *)' : '', input: { file_path: `server/part${i}.go` } }))
        .filter((e) => (!q.tool || e.tool === q.tool) && (!q.outcome || e.outcome === q.outcome) && (!q.q || JSON.stringify(e).includes(q.q)));
      const from = Number(q.before || 0);
      const end = from + Number(q.limit || 100);
      const tools = [...new Set(all.map((e) => e.tool))].sort();
      return {
        entries: all.slice(from, end), next: end < all.length ? String(end) : '', file: '/home/ada/.local/state/mcp-toolset/audit.jsonl', problem: '',
        counts: { calls: all.length, denied: all.filter((e) => e.outcome === 'refused').length, failed: all.filter((e) => e.outcome === 'failed').length, byTool: tools.map((t) => ({ tool: t, calls: all.filter((e) => e.tool === t).length, denied: 12, failed: 4, median: 21, p95: 840 })) },
      };
    },
  };
  return w;
}
