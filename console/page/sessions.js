// The view of sessions: their changes, calls, work lists and events; and undo.
import { ask, button, chip, el, empty, failed, fill, oops, select, toast } from './dom.js';
import { List } from './list.js';
import { detail, facts, keepFocus, noServer, serverName, short, split, untooled } from './parts.js';
import { get, post, servers, sorted } from './store.js';
import { ago, block, clock, line, plain, show } from './text.js';

const commands = new Set(['Bash', 'PowerShell', 'Monitor', 'REPL']);
const shownChanges = 200; // at first

const many = (n, one) => `${(n ?? 0).toLocaleString('en')} ${one}${n === 1 ? '' : 's'}`;
const statuses = { completed: 'ok', in_progress: 'warn' };
const whats = { created: 'add', deleted: 'del' };

export function sessionsView() {
  let current = null; // {key, item, data, tab, ...}
  let filter = 'all';

  const list = new List({
    label: 'Sessions',
    key: (s) => s.key,
    render: (s) => [
      el('span', { className: 'top' }, el('span', { className: 'title' }, el('b', null, line(s.client || 'client', 60)), ' ', line(short(s.root || s.dir), 60)), s.mode && s.mode !== 'default' && chip(line(s.mode, 20))),
      el('span', { className: 'sub' }, el('span', null, `${many(s.calls, 'call')}, ${many(s.files, 'file')}`), el('span', { className: 'when' }, ago(s.since))),
    ],
    pick: (s, user) => {
      if (user) history.replaceState(null, '', `#/sessions/${encodeURIComponent(s.key)}`);
      open(s);
    },
    open: () => pane.focus(),
    none: () => noServer() ?? empty('No sessions yet.', 'A session begins when a client connects.'),
  });
  const pane = detail('Session');

  const calls = new List({
    label: 'Calls of the session',
    key: (c) => c.key,
    className: (c) => (/fail|refus|cancel|invalid/.test(c.outcome ?? '') ? 'bad' : ''),
    render: (c) => [
      el('span', { className: 'top' }, chip(line(c.tool, 40), 'tool'), el('span', { className: 'title' }, line(untooled(c.tool, c.title) || c.path))),
      el('span', { className: 'sub' }, el('span', null, [c.outcome || 'ok', c.reason, c.agreed && 'approved by the user'].filter(Boolean).map((t, i) => [i > 0 && ' · ', line(t, 120)])), el('span', { className: 'when' }, clock(c.time))),
    ],
    open: (c) => ask('Call', facts([['Tool', c.tool], ['Title', c.title], ['Path', c.path], ['Time', clock(c.time)], ['Outcome', c.outcome], ['Reason', c.reason], ['Changes', c.readOnly ? 'nothing: it is read-only' : '']]), ''),
    none: () => empty('No such calls.', filter === 'all' ? 'They appear when the session makes one.' : 'Choose All to see the others.'),
  });
  const events = new List({
    label: 'Events of the session',
    key: (e) => e.key,
    render: (e) => [
      el('span', { className: 'top' }, chip(line(e.source, 40), 'tool'), el('span', { className: 'title' }, line(e.text))),
      el('span', { className: 'sub' }, el('span', null, e.data ? 'data of a program or another session' : 'of the server'), el('span', { className: 'when' }, clock(e.time))),
    ],
    open: (e) => ask('Event', [el('p', { className: 'dim' }, line(e.source), ' ', clock(e.time)), block(e.text, { name: 'Event' })], ''),
    none: () => empty('No events.', 'Ends of tasks, messages and triggers appear here.'),
  });

  async function open(s, again) {
    if (!again && current?.key === s.key) return;
    if (!again) {
      const tab = current?.tab ?? 'changes';
      current = { key: s.key, item: s, tab, changes: new Map(), limit: shownChanges };
      const focus = keepFocus(pane);
      fill(pane, el('p', { className: 'empty' }, 'Loading'));
      focus(pane);
    }
    const own = current;
    own.item = s;
    try {
      own.data = await get('session', { server: s.server, id: s.id });
      if (own !== current) return;
      if (!own.body) layout(own);
      draw();
    } catch (err) {
      if (own !== current) return;
      if (own.body) oops(err);
      else fill(pane, failed(err, () => open(s, true)));
    }
  }

  const tabs = [['changes', 'Changes'], ['calls', 'Calls'], ['work', 'Work'], ['events', 'Events']];

  function layout(own) {
    own.body = el('div', { className: 'body' });
    own.head = el('div');
    own.tabs = new Map(tabs.map(([id, text]) => [id, button(text, () => {
      own.tab = id;
      draw();
    })]));
    const focus = keepFocus(pane);
    fill(pane, own.head, el('div', { className: 'tabs', role: 'group', 'aria-label': 'Show' }, [...own.tabs.values()]), own.body);
    focus(pane);
  }

  function draw() {
    const own = current;
    const { data, item } = own;
    const size = { changes: data.changes, calls: data.calls, work: data.work, events: data.events };
    fill(own.head, el('h2', { tabIndex: -1 }, show(item.client || 'Session')), facts([['Workspace', item.root], ['Folder', item.dir !== item.root && item.dir], ['Mode', item.mode], ['Server', servers.size > 1 && serverName(item.server)], ['Since', clock(item.since)]]), data.problem && el('p', { className: 'note' }, line(data.problem, 400)));
    for (const [id, b] of own.tabs) {
      b.setAttribute('aria-pressed', id === own.tab);
      b.textContent = `${tabs.find(([t]) => t === id)[1]} ${size[id]?.length ?? 0}`;
    }
    if (own.shown !== own.tab) {
      own.shown = own.tab;
      fill(own.body, { changes: () => (own.list = el('div', { className: 'changes' })), calls: () => [kinds, calls.element], events: () => events.element, work: () => (own.work = el('div')) }[own.tab]());
    }
    if (own.tab === 'changes') drawChanges(own);
    if (own.tab === 'calls') drawCalls();
    if (own.tab === 'events') events.set((data.events ?? []).map((e, i) => ({ ...e, key: `${e.time}/${i}` })).reverse());
    if (own.tab === 'work') {
      const items = data.work ?? [];
      fill(own.work, items.length === 0 ? empty('No work list.', 'The model makes one with the tool TaskCreate.') : el('ul', { className: 'work' }, items.map((w) => el('li', null, chip(line(w.status, 20), statuses[w.status]), ' ', show(plain(w.subject, 500)), w.owner && el('span', { className: 'dim' }, ' ', line(w.owner, 60))))));
    }
  }

  const drawCalls = () => calls.set((current.data.calls ?? []).filter((c) => (filter === 'commands' ? commands.has(c.tool) : filter === 'changes' ? !c.readOnly : filter === 'problems' ? c.outcome && c.outcome !== 'ok' : true)).map((c, i) => ({ ...c, key: `${c.id}/${i}` })).reverse());
  const kinds = select('Show', [['all', 'All'], ['commands', 'Commands'], ['changes', 'Calls that may change something'], ['problems', 'Calls that failed or were refused']], filter, (v) => {
    filter = v;
    drawCalls();
  });

  // drawChanges adds the new changes on top; those that are there, maybe unfolded, stay.
  function drawChanges(own) {
    const all = own.data.changes ?? [];
    if (all.length === 0) return fill(own.list, empty('No changes that can be undone.', 'Writes and edits of this session appear here, with their diffs.'));
    own.list.querySelector('.empty')?.remove();
    const newest = [...all].sort((a, b) => b.n - a.n).slice(0, own.limit);
    let before = null;
    for (const c of newest) {
      let e = own.changes.get(c.n);
      if (!e) own.changes.set(c.n, (e = changeRow(own, c)));
      e.update(c);
      if (e.element.parentNode !== own.list) own.list.insertBefore(e.element, before ? before.nextSibling : own.list.firstChild);
      before = e.element;
    }
    own.list.querySelector('.unfold')?.remove();
    if (all.length > own.limit) {
      own.list.append(button(`Show all ${all.length} changes`, () => {
        own.limit = Infinity;
        drawChanges(own);
        own.list.querySelector('summary')?.focus();
      }, { className: 'unfold' }));
    }
  }

  function changeRow(own, first) {
    const title = el('span', { className: 'title' });
    const state = el('span', { className: 'when' });
    const body = el('div', { className: 'body' });
    const element = el('details', { className: 'change' }, el('summary', null, title, state), body);
    let now = first;
    element.ontoggle = async () => {
      if (!element.open || body.firstChild) return;
      fill(body, el('p', { className: 'dim' }, 'Loading'));
      try {
        const change = await get('change', { server: own.item.server, session: own.item.id, n: now.n });
        fill(body, paths(change.paths), el('div', { className: 'row' }, button('Undo…', () => undo(own, now, change), { className: 'danger' })));
        element.update(now);
      } catch (err) {
        fill(body, failed(err));
        element.addEventListener('toggle', () => !element.open && fill(body), { once: true });
      }
    };
    let drawn = '';
    element.update = (c) => {
      now = c;
      const b = body.querySelector('.row button');
      if (b) b.hidden = Boolean(c.undone);
      // A browser drops the click on what is replaced between the press and the release.
      const text = JSON.stringify(c);
      if (text === drawn) return;
      drawn = text;
      fill(title, `${c.n} `, chip(line(c.tool, 40), 'tool'), ' ', line(untooled(c.tool, c.title) || c.summary), c.summary && c.title && el('span', { className: 'dim' }, ' ', line(c.summary, 120)));
      fill(state, c.undoes?.length > 0 && chip(`undo of ${c.undoes.slice(0, 5).join(', ')}`), c.undone && chip('undone'), ' ', clock(c.time));
    };
    return { element, update: element.update };
  }

  const paths = (all, box) =>
    (all ?? []).length === 0
      ? el('p', { className: 'dim' }, 'No files.')
      : all.map((p) => el('div', { className: 'path' }, el('h3', null, box?.(p), chip(line(p.what, 20), whats[p.what]), ' ', el('code', null, line(p.path, 500))), p.diff && block(p.diff, { diff: true, name: `Diff of ${plain(p.path, 100)}` }), (p.note || !p.diff) && el('p', { className: 'dim' }, line(p.note || 'No diff: not a text, or too large.', 300))));

  async function undo(own, c, change) {
    const all = (change.paths ?? []).map((p) => p.path);
    const answer = await ask('Undo this change?', [
      el('p', null, chip(line(c.tool, 40), 'tool'), ' ', line(c.title || c.summary), ' · ', clock(c.time)),
      el('p', { className: 'dim' }, 'The marked files get the contents they had before. Files that were changed since then are left alone and reported.'),
      paths(change.paths, (p) => el('input', { type: 'checkbox', name: 'path', value: String(all.indexOf(p.path)), checked: true, 'aria-label': `Undo ${plain(p.path, 100)}` })),
    ], 'Undo', true);
    if (!answer) return;
    const chosen = answer.getAll('path').map((i) => all[Number(i)]);
    if (chosen.length === 0) return toast('No file was marked. Nothing was undone.', true);
    try {
      const done = await post('undo', { server: own.item.server, session: own.item.id, n: c.n, paths: chosen.length < all.length ? chosen : undefined });
      if (done.conflicts?.length > 0) await ask('Not everything was undone', [block(done.text ?? '', { name: 'Result' }), el('ul', null, done.conflicts.map((x) => el('li', null, el('code', null, line(x.path, 500)), ' ', show(x.why))))], '');
      else toast(plain(done.text || 'Undone.', 400));
      open(list.item(own.key) ?? own.item, true);
    } catch (err) {
      oops(err);
    }
  }

  let later = 0;

  function update() {
    list.set(sorted().flatMap((s) => s.sessions.map((x) => ({ ...x, server: s.id, key: `${s.id}:${x.id}` }))).sort((a, b) => b.since - a.since));
    if (!current && !pane.firstChild) fill(pane, empty('Nothing selected.', 'Choose a session to see its changes, calls, work and events.'));
    const item = current && list.item(current.key);
    if (current && !item && current.item) {
      if (!current.gone) pane.prepend(el('p', { className: 'note', role: 'status' }, 'This session has ended. This is its last state.'));
      current.gone = true;
    } else if (item && JSON.stringify(item) !== JSON.stringify(current.item)) {
      current.item = item;
      later ||= setTimeout(() => {
        later = 0;
        const now = current && list.item(current.key);
        if (now && element.isConnected) open(now, true);
      }, 1_000);
    }
  }

  const element = split(list.element, pane);

  return {
    name: 'sessions',
    title: 'Sessions',
    topics: ['sessions', 'servers'],
    element,
    get list() {
      return calls.element.contains(document.activeElement) ? calls : events.element.contains(document.activeElement) ? events : list;
    },
    update,
    count: () => [...servers.values()].reduce((n, s) => n + s.sessions.length, 0),
    enter([key]) {
      update();
      if (key && list.item(key)) list.pick(key);
      else if (!current && list.items.length > 0) list.pick(list.items[0].key);
      else if (current && list.item(current.key)) open(list.item(current.key), true);
    },
    tick: () => list.draw(true),
    keys: [],
  };
}
