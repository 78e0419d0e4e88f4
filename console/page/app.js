// The console: views, navigation, keys, notifications and the state of the connection.
import { approvalsView } from './approvals.js';
import { auditView } from './audit.js';
import { $, announce, ask, el, fill, toast } from './dom.js';
import { liveView } from './live.js';
import { policyView } from './policy.js';
import { sessionsView } from './sessions.js';
import { serverName } from './parts.js';
import { connect, onApprovals, onChange, sorted, state } from './store.js';
import { plain } from './text.js';

const views = [approvalsView(), liveView(), sessionsView(), policyView(), auditView()];
let view = null;

const links = views.map((v, i) => {
  const count = el('span', { className: 'count' });
  const link = el('a', { href: `#/${v.name}`, 'aria-keyshortcuts': String(i + 1) }, v.title, ' ', count);
  $('nav').append(el('li', null, link));
  return { v, link, count };
});

function route() {
  const [name, ...args] = location.hash.replace(/^#\/?/, '').split('/').map((part) => {
    try {
      return decodeURIComponent(part);
    } catch {
      return '';
    }
  });
  const to = views.find((v) => v.name === name) ?? views[0];
  const same = to === view;
  if (!same) {
    view?.leave?.();
    view = to;
    fill($('main'), el('h2', { className: 'sr' }, to.title), to.element);
    for (const { v, link } of links) {
      if (v === to) link.setAttribute('aria-current', 'page');
      else link.removeAttribute('aria-current');
    }
  }
  view.enter(args);
  counts();
  if (!same && !document.activeElement?.closest('nav')) (view.list?.box ?? $('main')).focus({ preventScroll: true });
}

function counts() {
  for (const { v, count } of links) {
    const n = v.count?.() ?? 0;
    const text = n > 0 ? (n > 999 ? '999+' : String(n)) : '';
    if (count.textContent !== text) count.textContent = text;
    count.classList.toggle('hot', v.name === 'approvals');
  }
}

const states = {
  connecting: 'Connecting',
  live: 'Connected',
  waiting: 'Disconnected',
  out: 'Logged out',
  full: 'Too many pages',
  keyless: 'View only',
  paused: 'Paused',
};
const banners = {
  keyless: ['This page can show, but not decide or stop anything. ', 'Press Enter in the terminal of `mcp-toolset console` and open the link that it prints in this browser.'],
  waiting: ['The console does not answer. ', 'This page tries again by itself; it may show an old state. See whether `mcp-toolset console`, or the HTTP server, still runs.'],
  out: ['This page is no longer logged in. ', 'Press Enter in the terminal of `mcp-toolset console`, or start it again, and open the link that it prints. At an HTTP server, reload this page and log in.'],
  full: ['Too many pages of the console are open. ', 'Close one; this page connects by itself.'],
};

let shownState = '';

function showState() {
  $('state').textContent = states[state];
  document.body.dataset.state = state;
  const b = banners[state];
  const problems = sorted().filter((s) => s.problem).map((s) => `${plain(serverName(s.id), 100)}: ${plain(s.problem, 300)}`);
  const text = JSON.stringify([b, problems]);
  if (text === shownState) return;
  shownState = text;
  fill($('banner'), b && el('p', null, el('b', null, b[0]), b[1]), problems.map((p) => el('p', null, p)));
}

onChange((topics) => {
  if (topics.has('state') || topics.has('servers')) showState();
  counts();
  if (view.topics.some((t) => topics.has(t))) view.update(topics);
});

// Times in lists go on, except in hidden pages.
setInterval(() => !document.hidden && view?.tick?.(), 1_000);

let titled = 0;

onApprovals((all, fresh, first) => {
  const n = all.filter((a) => !a.approved).length;
  if (n !== titled) document.title = n > 0 ? `(${n}) mcp-toolset` : 'mcp-toolset';
  titled = n;
  if (fresh.length === 0) return;
  const text = (a) => plain(a.client, 60) + ': ' + (a.questions ? `Question: ${plain(a.questions[0]?.question || a.title, 120)}` : `${plain(a.tool, 40)}: ${plain(a.title || a.reason, 120)}`);
  if (first) return announce(`${fresh.length} ${fresh.length === 1 ? 'call waits' : 'calls wait'} for approval`);
  announce(fresh.length > 3 ? `${fresh.length} new approvals` : `New approval: ${fresh.map(text).join('; ')}`);
  if (document.hasFocus() || globalThis.Notification?.permission !== 'granted') return;
  const note = new Notification(fresh.length > 1 ? `${fresh.length} calls wait for approval` : 'A call waits for approval', { body: text(fresh[0]), tag: 'mcp-toolset', icon: 'icon.svg' });
  note.onclick = () => {
    focus();
    location.hash = `#/approvals/${encodeURIComponent(fresh[0].id)}`;
    note.close();
  };
});

const notify = $('notify');
notify.hidden = globalThis.Notification?.permission !== 'default';
notify.onclick = async () => {
  const answer = await Notification.requestPermission();
  notify.hidden = answer !== 'default';
  toast(answer === 'granted' ? 'You get a notification when a call waits and this page is not in front.' : 'The browser shows no notifications for this page.', answer !== 'granted');
  if (notify.hidden) $('help').focus();
};

// Single keys can be turned off: they get in the way of speech input.
let keysOn = true;
try {
  keysOn = localStorage.getItem('keys') !== 'off';
} catch {
  // Without storage they are on.
}

function help() {
  const keys = [['1 to 5', 'change the view'], ['j, k or arrows', 'move in the list'], ['Enter', 'show the active item'], ['Esc', 'back to the list'], ...(view.keys ?? []), ['?', 'this list']];
  const box = el('input', { type: 'checkbox', checked: keysOn, onchange: () => {
    keysOn = box.checked;
    try {
      localStorage.setItem('keys', keysOn ? 'on' : 'off');
    } catch {
      // It holds until the page is closed.
    }
  } });
  ask('Keys', [el('dl', { className: 'facts' }, keys.map(([k, t]) => [el('dt', null, el('kbd', null, k)), el('dd', null, t)])), el('p', { className: 'dim' }, 'A decision counts from one second after its call appeared and the last key before it.'), el('label', { className: 'inline' }, box, ' Use single keys')], '');
}
$('help').onclick = help;

addEventListener('keydown', (e) => {
  if (e.defaultPrevented || e.ctrlKey || e.metaKey || e.altKey || e.isComposing || document.querySelector('dialog[open]')) return;
  const typing = e.target.closest?.('input:not([type=checkbox], [type=radio]), textarea, select');
  if (typing) {
    if (e.key === 'Escape') typing.blur();
    return;
  }
  const list = view.list;
  if (e.key === 'Escape' && list) list.focus();
  else if (e.key === '?') help();
  else if (!keysOn || e.repeat && !['j', 'k'].includes(e.key)) return;
  else if (e.key >= '1' && e.key <= String(views.length)) location.hash = `#/${views[e.key - 1].name}`;
  else if (list && (e.key === 'j' || e.key === 'k')) {
    list.move(e.key === 'j' ? 1 : -1);
    if (document.activeElement === document.body) list.focus();
  } else if (e.key === '/' && view.search) view.search.focus();
  else if (!view.key?.(e)) return;
  e.preventDefault();
});

addEventListener('hashchange', route);
showState();
route();
connect();
// Nothing of the login stays in the address.
if (location.search) history.replaceState(null, '', location.pathname + location.hash);
