// The view of calls as they run, and of tasks with their output.
import { ask, button, chip, el, empty, failed, fill, oops, select, toast } from './dom.js';
import { List } from './list.js';
import { detail, facts, keepFocus, noServer, serverName, split, untooled } from './parts.js';
import { get, post, servers, sorted } from './store.js';
import { Tail, ago, clock, line, plain, show, size, span } from './text.js';

const lastBytes = 500_000; // of an output, that are shown first
const shown = 10; // finished calls of a client, unless unfolded
const stages = { waiting: 'waiting', deciding: 'being decided', settled: 'ready', running: 'running', done: 'finished' };
const over = (t) => t.ended > 0;

export function liveView() {
  let window = 300_000; // of the bars, in ms
  let current = null; // {type, id, timer}
  const unfolded = new Set();

  const calls = new List({
    label: 'Calls by client',
    key: (r) => r.key,
    className: (r) => (r.type === 'call' ? `call ${r.call.stage}` : r.type),
    render: (r) => (r.type === 'lane' ? laneRow(r) : r.type === 'fold' ? [el('span', { className: 'dim' }, r.text)] : callRow(r.call)),
    pick: (r, user) => {
      if (r.type === 'call' && user) pickCall(r);
    },
    open: (r) => {
      if (r.type === 'fold') {
        unfolded.has(r.lane) ? unfolded.delete(r.lane) : unfolded.add(r.lane);
        update();
      } else if (r.type === 'call') {
        pickCall(r);
        pane.focus();
      }
    },
    none: () => noServer() ?? empty('No calls yet.', 'Ask your model for something that uses a tool.'),
  });
  // A click unfolds; Enter does it through open.
  calls.box.addEventListener('click', (e) => {
    const r = e.target.closest('[role=option]') && calls.item(e.target.closest('[role=option]').dataset.key);
    if (r?.type === 'fold') calls.open();
  });

  const tasks = new List({
    label: 'Tasks and agents',
    key: (t) => t.key,
    className: (t) => (over(t) ? 'done' : 'running'),
    render: (t) => [
      el('span', { className: 'top' }, chip(line(t.kind, 20), 'tool'), el('span', { className: 'title' }, line(t.title || t.id))),
      el('span', { className: 'sub' }, el('span', null, line(t.state, 40), ' · ', line(t.owner, 40)), el('span', { className: 'when' }, over(t) ? `ended ${ago(t.ended)}` : `for ${span(Date.now() - t.started)}`)),
    ],
    pick: (t, user) => {
      if (user) history.replaceState(null, '', `#/live/${encodeURIComponent(t.key)}`);
      pickTask(t);
    },
    open: () => pane.focus(),
    none: () => empty('No tasks.', 'Commands in the background, monitors and agents appear here.'),
  });

  const pane = detail('Call or task');
  const total = el('p', { className: 'dim totals' });

  function laneRow(r) {
    return [el('b', null, line(r.name, 60)), el('span', { className: 'dim' }, ' ', line(r.server, 60)), el('span', { className: 'when' }, [r.running && `${r.running} running`, r.waiting && `${r.waiting} waiting`, `${r.done} finished`].filter(Boolean).join(', '))];
  }

  function bar(c) {
    const now = Date.now();
    const from = now - window;
    const at = (t) => Math.max(0, Math.min(100, ((t - from) / window) * 100));
    const track = el('span', { className: 'bar', 'aria-hidden': 'true' });
    const segment = (kind, a, b) => {
      const [x, y] = [at(a), at(b)];
      if (b < from) return;
      const s = el('span', { className: kind });
      s.style.left = `${x}%`;
      s.style.width = `max(2px, ${y - x}%)`;
      track.append(s);
    };
    const end = c.left || (c.stage === 'done' ? c.started || c.arrived : now);
    if (c.arrived) segment('wait', c.arrived, c.started || end);
    if (c.started) segment(c.cancelled || /fail|refus|invalid/.test(c.outcome ?? '') ? 'ran bad' : c.left ? 'ran' : 'runs', c.started, end);
    return track;
  }

  function callRow(c) {
    const done = c.stage === 'done';
    const info = done ? (c.cancelled ? 'cancelled' : c.outcome || 'finished') : c.waits ? `waits for ${c.waits}` : (stages[c.stage] ?? c.stage);
    return [
      el('span', { className: 'top' }, el('span', { className: `stage ${c.stage}`, 'aria-hidden': 'true' }), el('span', { className: 'title' }, el('b', null, line(c.tool || 'refused call', 40)), ' ', line(untooled(c.tool, c.title)))),
      el('span', { className: 'sub' }, el('span', null, line(info, 160)), el('span', { className: 'when' }, span((c.left || Date.now()) - (c.started || c.arrived)))),
      bar(c),
    ];
  }

  function rows() {
    const out = [];
    let [running, waiting, done] = [0, 0, 0];
    for (const s of sorted()) {
      const lanes = new Map();
      for (const c of s.calls.values()) {
        const id = `${s.id}/${c.laneNumber ?? c.lane}`;
        let l = lanes.get(id);
        if (!l) lanes.set(id, (l = { id, name: c.lane || 'client', active: [], done: [], running: 0 }));
        if (c.stage === 'done') l.done.push(c);
        else {
          l.active.push(c);
          if (c.stage === 'running') l.running++;
        }
      }
      for (const l of lanes.values()) {
        const waits = l.active.length - l.running;
        running += l.running;
        waiting += waits;
        done += l.done.length;
        out.push({ type: 'lane', key: l.id, name: l.name, server: servers.size > 1 ? serverName(s.id) : '', running: l.running, waiting: waits, done: l.done.length });
        const row = (c) => out.push({ type: 'call', key: `${s.id}:${c.number}`, server: s.id, call: c });
        l.active.sort((a, b) => a.arrived - b.arrived || a.number - b.number).forEach(row);
        const all = unfolded.has(l.id);
        for (let i = l.done.length - 1, n = 0; i >= 0 && (all || n < shown); i--, n++) row(l.done[i]);
        if (l.done.length > shown) out.push({ type: 'fold', key: `${l.id}/fold`, lane: l.id, text: all ? `Show only the last ${shown} finished calls (Enter)` : `Show all ${l.done.length.toLocaleString('en')} finished calls (Enter)` });
      }
    }
    total.textContent = `${running} running, ${waiting} waiting, ${done.toLocaleString('en')} finished`;
    return out;
  }

  function pickCall(r) {
    leaveTask();
    current = { type: 'call', key: r.key, head: el('div') };
    const stop = button('Stop this call', async () => {
      stop.disabled = true;
      try {
        toast(plain((await post('stop', { server: r.server, call: r.call.number })).text || 'Stopped.'));
      } catch (err) {
        oops(err);
        stop.disabled = false;
      }
    }, { className: 'danger' });
    current.stop = el('div', { className: 'row actions' }, stop);
    const focus = keepFocus(pane);
    fill(pane, current.head, current.stop);
    focus(pane);
    drawCall(r);
  }

  // redraw replaces the head of the pane. The button to stop stays, since a browser drops the
  // click on an element that is replaced between the press and the release.
  function redraw(ended, ...head) {
    const focus = [keepFocus(current.head), keepFocus(current.stop)];
    fill(current.head, head);
    current.stop.hidden = ended;
    focus[0](pane);
    if (ended) focus[1](pane);
  }

  function drawCall(r) {
    const c = (current.call = r.call);
    redraw(c.stage === 'done', el('h2', { tabIndex: -1 }, chip(line(c.tool || 'refused call', 80), 'tool'), ' ', show(untooled(c.tool, c.title).slice(0, 500))),
      facts([
        ['State', stages[c.stage] ?? c.stage], ['Waits for', c.waits], ['Result', c.stage === 'done' && (c.cancelled ? 'cancelled' : c.outcome)], ['Client', c.lane], ['Server', serverName(r.server)],
        ['Annotation', c.safe ? 'may run beside others' : 'runs alone in its lane'], ['Deduplicated', c.shared && 'shares the run of an identical call'],
        ['Arrived', clock(c.arrived)], ['Waited', c.arrived && span((c.started || c.left || Date.now()) - c.arrived)], ['Ran', c.started && span((c.left || Date.now()) - c.started)],
      ]));
  }

  function leaveTask() {
    clearTimeout(current?.timer);
    if (current) current.left = true;
  }

  function pickTask(t) {
    if (current?.key === t.key) return;
    leaveTask();
    const tail = new Tail();
    // The beginning of a long output is left out, as the tail would drop it.
    const own = (current = { type: 'task', key: t.key, next: t.bytes > lastBytes ? -lastBytes : 0, tail });
    tail.cut.hidden = own.next === 0;
    const follow = el('input', { type: 'checkbox', checked: true });
    own.head = el('div');
    own.stop = el('div', { className: 'row' }, button('Stop this task', () => stopTask(tasks.item(t.key) ?? t), { className: 'danger' }));
    own.state = el('p', { className: 'dim' }, 'Loading the output');
    const focus = keepFocus(pane);
    fill(pane, own.head, own.stop, el('label', { className: 'inline' }, follow, ' Follow the output'), tail.element, own.state);
    focus(pane);
    drawTask(t);
    const poll = async () => {
      if (own.left || own.reading || !element.isConnected) return;
      own.reading = true;
      try {
        const part = await get('task', { server: t.server, id: t.id, from: own.next });
        if (own.left) return;
        own.next = part.next ?? own.next;
        own.state.textContent = part.binary ? 'The output is binary and is not shown.' : part.done ? (own.next > 0 ? 'The output is complete.' : 'The task wrote nothing.') : own.next > 0 ? '' : 'No output yet.';
        if (!part.binary) tail.append(String(part.text ?? ''), part.done);
        if (follow.checked && part.text) tail.element.scrollTop = tail.element.scrollHeight;
        if (part.missing > 0) tail.cut.hidden = false;
        if (!part.done) own.timer = setTimeout(poll, part.more ? 50 : 1_000);
      } catch (err) {
        if (own.left) return;
        fill(own.state, failed(err, poll));
      } finally {
        own.reading = false;
      }
    };
    own.poll = poll;
    poll();
  }

  function drawTask(t) {
    redraw(over(t), el('h2', { tabIndex: -1 }, chip(line(t.kind, 20), 'tool'), ' ', show(plain(t.title || t.id, 500))),
      facts([['State', t.state], ['Detail', t.detail !== t.state && t.detail], ['Id', t.id], ['Owner', t.owner], ['Server', serverName(t.server)], ['Started', clock(t.started)], ['Ended', clock(t.ended)], ['Output', t.bytes >= 0 ? size(t.bytes) : '']]));
  }

  async function stopTask(t) {
    const yes = await ask('Stop this task?', [el('p', null, chip(line(t.kind, 20), 'tool'), ' ', show(plain(t.title || t.id, 500))), el('p', { className: 'dim' }, 'Its processes end. The model is informed with the next answer.')], 'Stop', true);
    if (!yes) return;
    try {
      toast(plain((await post('stop', { server: t.server, task: t.id })).text || 'Stopped.'));
    } catch (err) {
      oops(err);
    }
  }

  function update(topics) {
    if (!topics || topics.has('calls') || topics.has('servers')) {
      calls.set(rows());
      if (current?.type === 'call') {
        const r = calls.item(current.key);
        if (r && r.call !== current.call) drawCall(r);
      }
    }
    if (!topics || topics.has('tasks') || topics.has('servers')) {
      tasks.set(sorted().flatMap((s) => s.tasks.map((t) => ({ ...t, server: s.id, key: `${s.id}:${t.id}` }))).sort((a, b) => over(a) - over(b) || b.started - a.started));
      if (current?.type === 'task') {
        const t = tasks.item(current.key);
        if (t) {
          const text = JSON.stringify(t);
          if (current.text !== text) drawTask(t);
          current.text = text;
        }
      }
    }
    if (!current && !pane.firstChild) fill(pane, empty('Nothing selected.', 'Choose a call or a task to see more of it.'));
  }

  tasks.element.classList.add('fit');
  const element = split([
    el('div', { className: 'head' }, el('h2', null, 'Calls'), total, select('Bars show', [['60000', '1 minute'], ['300000', '5 minutes'], ['3600000', '1 hour']], '300000', (v) => {
      window = Number(v);
      calls.draw(true);
    })),
    calls.element,
  ], el('div', { className: 'right' }, el('div', { className: 'tasks' }, el('h2', null, 'Tasks and agents'), tasks.element), pane));
  element.classList.add('live');

  return {
    name: 'live',
    title: 'Live',
    topics: ['calls', 'tasks', 'servers'],
    element,
    get list() {
      return tasks.element.contains(document.activeElement) ? tasks : calls;
    },
    update,
    count: () => {
      let n = 0;
      for (const s of servers.values()) for (const c of s.calls.values()) n += c.stage !== 'done';
      return n;
    },
    enter([key]) {
      update();
      if (key && tasks.item(key)) tasks.pick(key);
      current?.poll?.();
    },
    leave() {
      clearTimeout(current?.timer);
    },
    tick() {
      calls.draw(true);
      tasks.draw(true);
    },
    keys: [['Enter', 'on “Show all”: unfold the finished calls']],
  };
}
