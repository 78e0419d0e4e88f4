// The view of calls that wait for approval, and of questions.
import { announce, button, chip, el, empty, failed, fill, oops, toast } from './dom.js';
import { List } from './list.js';
import { detail, facts, keepFocus, noServer, serverName, short, split, untooled } from './parts.js';
import { approvals, get, post } from './store.js';
import { ago, block, clock, holdsHidden, input, isExact, line, plain, show, span } from './text.js';

// An answer counts only this long after its call appeared, so that a key or click that was
// meant for something else decides nothing.
const arming = 1_000;

export function approvalsView() {
  const answered = new Map(); // id -> key of calls answered here, until the server reports it
  let current = null; // {id, item, data, phase, armed, busy, timer, stop}

  const list = new List({
    label: 'Calls and questions that wait',
    key: (a) => a.id,
    className: (a) => (a.approved ? 'done' : a.questions ? 'question' : ''),
    render: (a) => [
      el('span', { className: 'top' }, chip(a.questions ? 'Question' : line(a.tool, 40), 'tool'), el('span', { className: 'title' }, line(a.questions ? a.questions[0]?.question || a.title : untooled(a.tool, a.title) || a.reason))),
      el('span', { className: 'sub' }, el('span', null, `#${a.number} · `, line(a.client, 60), ' · ', line(short(a.root || a.dir || serverName(a.server)), 60)), el('span', { className: 'when' }, a.approved ? `${a.questions ? 'answered' : 'approved'}, not sent again yet` : ago(a.since))),
    ],
    pick: (a, user) => {
      if (user) history.replaceState(null, '', `#/approvals/${encodeURIComponent(a.id)}`);
      open(a);
    },
    open: () => pane.focus(),
    none: () => noServer() ?? empty('Nothing waits for you.', 'Calls that need approval appear here at once. Leave this page open; the button Notify me adds a notification of your desktop.'),
  });
  const pane = detail('Approval');

  function arm() {
    if (!current || current.phase !== 'ready') return;
    current.armed = performance.now() + arming;
    const own = current;
    mark(true);
    clearTimeout(own.timer);
    own.timer = setTimeout(() => own === current && own.phase === 'ready' && mark(false), arming);
  }

  function mark(waits) {
    for (const b of pane.querySelectorAll('[data-arm]')) {
      b.classList.toggle('arming', waits);
      if (waits || b.dataset.arm === 'never') b.setAttribute('aria-disabled', 'true');
      else b.removeAttribute('aria-disabled');
    }
  }

  const ready = () => {
    if (!current || current.phase !== 'ready' || current.busy) return false;
    if (performance.now() >= current.armed) return true;
    announce('Not counted: the call has just appeared. Press again in a second');
    return false;
  };

  async function open(item) {
    if (current?.id === item.id && current.item.key === item.key && Boolean(current.item.approved) === Boolean(item.approved) && (current.phase === 'ready' || current.phase === 'loading')) return;
    const note = current?.id === item.id && ['ready', 'stale'].includes(current.phase) ? 'The call has changed. Look at it again.' : '';
    clearTimeout(current?.timer);
    current?.stop.abort(); // a server that hangs must not use up the browser's connections
    const own = (current = { id: item.id, item, phase: 'loading', armed: Infinity, stop: new AbortController() });
    const focus = keepFocus(pane);
    fill(pane, el('p', { className: 'empty' }, 'Loading'));
    focus(pane);
    let data;
    try {
      data = await get('approval', { server: item.server, number: item.number }, own.stop.signal);
    } catch (err) {
      if (own !== current) return;
      own.phase = err.status === 404 || err.status === 409 ? 'gone' : 'error';
      const again = keepFocus(pane);
      if (own.phase === 'gone') gone();
      else fill(pane, failed(err, () => open(item)));
      again(pane);
      return;
    }
    if (own !== current) return;
    own.data = { ...item, ...data };
    own.item = { ...item, key: own.data.key };
    own.phase = 'ready';
    const again = keepFocus(pane);
    fill(pane, note && el('p', { className: 'note', role: 'alert' }, note), contents(own.data));
    again(pane.querySelector('h2'));
    pane.scrollTop = 0;
    arm();
  }

  function contents(d) {
    const asks = Array.isArray(d.questions) && d.questions.length > 0;
    return [
      el('h2', { tabIndex: -1 }, chip(asks ? 'Question' : line(d.tool, 80), 'tool'), ' ', line(untooled(d.tool, d.title), 200)),
      facts([
        ['Asked because', asks ? '' : d.reason],
        ['Asked by', d.client && (d.client.startsWith('process ') ? d.client : `${d.client}, as it calls itself`)],
        ['Folder', d.dir],
        ['Opens', d.opens],
        ['Also allows', d.further],
        ['Workspace', d.root !== d.dir && d.root],
        ['User', d.principal !== 'stdio' && d.principal],
        ['Since', `${clock(d.since)} (${ago(d.since)})`],
        ['Expires', d.ends > Date.now() ? `in ${span(d.ends - Date.now())}` : ''],
      ]),
      d.approved ? [call(d), el('p', { className: 'note' }, asks ? 'You answered. The model gets it when it asks again.' : 'You approved this call. It runs when the model sends it again.')] : asks ? form(d) : [call(d), actions(d)],
    ];
  }


  // call returns the call as it would run.
  function call(d) {
    const out = [];
    const json = String(d.input ?? '');
    let fields;
    try {
      fields = JSON.parse(json);
    } catch {
      fields = json;
    }
    // The preview spells them out, which is how a text that spells them out looks too.
    const hides = holdsHidden(fields);
    const inexact = !isExact(json, fields);
    if (hides) out.push(el('p', { className: 'note' }, 'This call contains characters that do not show. In the fields of the input they are in boxes ', el('span', { className: 'hid' }, 'like this'), '.'));
    if (inexact) out.push(el('p', { className: 'note' }, 'The fields below differ from the input, such as in a number with more digits or a name that is there twice. Read the exact input.'));
    const parts = Array.isArray(d.command) ? d.command : null;
    let skip = [];
    if (parts) {
      const text = fields?.command;
      if (typeof text === 'string') {
        skip = ['command'];
        out.push(el('h3', null, 'Command'), block(text, { name: 'Command' }));
      }
      if (parts.length > 0) {
        out.push(el('h3', null, 'Parts'), el('ol', { className: 'parts' }, parts.map((p) =>
          el('li', { className: p.needsApproval ? 'needs' : '' }, el('code', null, line(p.text, 2_000)), p.needsApproval && chip('needs approval', 'warn'), p.why && el('span', { className: 'dim' }, ' ', show(p.why))))));
      }
    } else if (d.preview) {
      out.push(el('h3', null, d.kind === 'diff' ? 'Change' : 'Preview'), block(d.preview, { diff: d.kind === 'diff', name: 'Change' }));
      if (d.partial) out.push(el('p', { className: 'note' }, 'The preview leaves out a part of the change. Read the input below too.'));
    }
    out.push(el('h3', null, 'Input'), input(json, { skip, folded: Boolean(d.preview) && !parts && !d.partial && !hides, exact: inexact }));
    return out;
  }

  const act = (text, key, kind, run, never) => {
    const b = button(text, run, { className: kind, data: { arm: never ? 'never' : '' }, 'aria-keyshortcuts': key });
    b.append(' ', el('kbd', { 'aria-hidden': 'true' }, key.replace('Shift+', '⇧')));
    return b;
  };

  function actions(d) {
    // The texts of the server also name flags of its commands.
    const why = typeof d.always === 'string' ? d.always.replace(/; approve it without --always$/, '') : '';
    const reason = el('input', { type: 'text', name: 'reason', maxLength: 500, autocomplete: 'off', placeholder: 'optional; the model gets it' });
    const deny = el('form', { className: 'reason', hidden: true }, el('label', { className: 'field' }, el('span', null, 'Reason'), reason), el('button', { type: 'submit', className: 'danger', data: { arm: '' } }, 'Deny'), button('Back', () => closeDeny()));
    deny.onsubmit = (e) => {
      e.preventDefault();
      decide('deny', reason.value.trim());
    };
    deny.onkeydown = (e) => {
      if (e.key === 'Escape') closeDeny();
    };
    const closeDeny = () => {
      deny.hidden = true;
      bar.querySelector('button').focus();
    };
    const bar = el('div', { className: 'row' },
      act('Allow once', 'a', 'main', () => decide('once')),
      act('Always allow', 'Shift+a', '', () => decide('always'), why !== ''),
      act('Deny', 'd', 'danger', () => startDeny()));
    return el('div', { className: 'actions', role: 'group', 'aria-label': 'Decide' }, bar, deny,
      el('p', { className: 'covers' }, why !== '' ? ['Always is not offered: ', show(why)] : d.covers ? ['Always covers: ', show(d.covers)] : 'Always covers exactly this call in this workspace.'));
  }

  function startDeny() {
    if (!ready()) return;
    const f = pane.querySelector('form.reason');
    if (!f) return;
    f.hidden = false;
    f.querySelector('input').focus();
  }

  async function decide(what, reason) {
    if (!ready()) return;
    const { data } = current;
    if (data.approved || data.questions?.length > 0) return;
    if (what === 'always' && data.always) return toast(`Always is not offered: ${plain(data.always)}`, true);
    await send('approval', { do: what, reason: reason || undefined }, { once: 'Allowed once.', always: 'Always allowed.', deny: 'Denied.' }[what]);
  }

  async function send(name, body, text) {
    const own = current;
    own.busy = true;
    try {
      const answer = await post(name, { server: own.item.server, number: own.item.number, key: own.data.key, ...body });
      toast(plain(answer.text || text, 400));
      answered.set(own.id, own.item.key);
      if (own !== current) return;
      own.phase = 'done';
      const at = list.index();
      update();
      next(at);
    } catch (err) {
      own.busy = false;
      oops(err);
      update();
      if (err.status === 409 && own === current) {
        own.phase = 'stale';
        const item = list.item(own.id);
        if (item) open({ ...item });
      }
    }
  }

  // next shows the call after the one that was decided.
  function next(at) {
    const focus = keepFocus(pane);
    const rest = list.items.slice(at).concat(list.items.slice(0, at)).find((a) => !a.approved) ?? list.items[0];
    if (rest) list.pick(rest.id, true);
    else {
      current = null;
      list.active = null;
      history.replaceState(null, '', '#/approvals');
      fill(pane, empty('Nothing selected.'));
    }
    focus(rest ? pane : list.box);
  }

  function form(d) {
    const f = el('form', { className: 'questions' }, d.questions.map((q, i) => {
      const type = q.multiSelect ? 'checkbox' : 'radio';
      const other = el('textarea', { rows: 2, name: `other${i}`, 'aria-label': 'Other answer' });
      return el('fieldset', null, el('legend', null, q.header && chip(line(q.header, 40)), ' ', show(q.question)),
        q.body && block(q.body, { name: 'Text of the question' }),
        (q.options ?? []).map((o) => el('label', { className: 'option' }, el('input', { type, name: `choice${i}`, value: o.label }), el('span', null, el('b', null, show(o.label)), o.description && el('span', { className: 'dim' }, ' ', show(o.description)), o.preview && el('pre', null, show(o.preview))))),
        el('label', { className: 'option other' }, el('span', null, q.options?.length > 0 ? 'Or in your words' : 'Your answer'), other));
    }), el('div', { className: 'row actions' }, el('button', { type: 'submit', className: 'main', data: { arm: '' } }, 'Send answer'), button('Decline to answer', () => ready() && send('reply', { declined: true }, 'Declined.'), { data: { arm: '' } })));
    f.onsubmit = (e) => {
      e.preventDefault();
      if (!ready()) return;
      const data = new FormData(f);
      const answers = d.questions.map((_, i) => ({ choices: data.getAll(`choice${i}`), other: String(data.get(`other${i}`) ?? '').trim() }));
      if (answers.every((a) => a.choices.length === 0 && a.other === '')) return toast('Choose or write an answer first, or decline.', true);
      send('reply', { answers }, 'Answered.');
    };
    return f;
  }

  function gone() {
    const focus = keepFocus(pane);
    const own = current;
    own.phase = 'gone';
    const note = el('p', { className: 'note', role: 'alert' }, 'This call no longer waits: it was answered elsewhere, was cancelled, or has expired. ', button('Show the next', () => next(0)));
    pane.querySelector('.actions')?.remove();
    if (pane.querySelector('h2')) pane.prepend(note);
    else fill(pane, note);
    focus(note.querySelector('button'));
    list.active = null;
  }

  function update() {
    const all = approvals();
    for (const [id, key] of answered) {
      const a = all.find((x) => x.id === id);
      if (!a || a.approved || a.key !== key) answered.delete(id);
    }
    const items = all.filter((a) => !answered.has(a.id)).sort((a, b) => Boolean(a.approved) - Boolean(b.approved) || a.since - b.since || a.number - b.number);
    list.set(items);
    // While an answer is on its way, the list may already show it.
    if (current && !current.busy && ['ready', 'loading', 'error'].includes(current.phase)) {
      const item = list.item(current.id);
      if (!item) gone();
      else if (item.key !== current.item.key || Boolean(item.approved) !== Boolean(current.item.approved)) open(item);
    }
    if (!current && items.length > 0 && element.isConnected) list.pick(items[0].id);
    if (!current && !pane.firstChild) fill(pane, empty('Nothing selected.'));
  }

  const element = split(list.element, pane);
  addEventListener('focus', arm);
  // A user who still types, such as into a field that was just replaced, decides nothing.
  addEventListener('keydown', () => performance.now() < current?.armed && arm(), true);
  document.addEventListener('visibilitychange', arm);

  return {
    name: 'approvals',
    title: 'Approvals',
    topics: ['approvals', 'servers'],
    element,
    list,
    update,
    count: () => approvals().filter((a) => !a.approved && !answered.has(a.id)).length,
    enter([id]) {
      update();
      if (id && list.item(id)) list.pick(id);
      arm();
    },
    tick: () => list.draw(true),
    key(e) {
      if (e.key === 'a' || e.key === 'A') decide(e.shiftKey ? 'always' : 'once'); // not by Caps Lock
      else if (e.key === 'd' && current?.data?.questions == null) startDeny();
      else return false;
      return true;
    },
    keys: [['a', 'allow once'], ['Shift a', 'always allow'], ['d', 'deny, with a reason']],
  };
}
