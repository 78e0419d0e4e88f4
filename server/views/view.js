'use strict';
// The view's side of MCP Apps 2026-01-26: JSON-RPC with the host by postMessage. A view only
// displays: it calls no tool, opens no link and loads nothing. What comes from the model or from a
// file becomes text, never HTML.
const maxLines = 2000; // lines shown; the text of the result has them all
const [title, state, main] = ['h1', 'p', 'main'].map((name) => document.querySelector(name));
const call = { arguments: {}, result: null };

// Characters that are invisible or reorder a line, such as of Unicode bidi controls and ANSI
// sequences, are shown as escapes.
const safe = (text) =>
  String(text).replace(/[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu, (c) =>
    c === '\t' || c === '\n' ? c : `\\u{${c.codePointAt(0).toString(16)}}`);

function element(name, kind, text) {
  const e = document.createElement(name);
  e.className = kind;
  e.textContent = safe(text);
  return e;
}

function row(kind, ...cells) {
  const e = element('div', kind, '');
  e.append(...cells);
  return e;
}

function show(heading, status, bad, rows) {
  title.textContent = safe(heading);
  state.textContent = safe(status);
  state.className = bad ? 'bad' : '';
  const left = rows.length - maxLines;
  const list = rows.slice(0, maxLines).map((make) => make());
  if (left > 0) list.push(row('note', element('span', '', `${left} more lines are in the text of the result`)));
  main.replaceChildren(...list);
}

const meta = (name) => call.result?._meta?.[`mcp-toolset/${name}`];
const text = () => (call.result?.content ?? []).map((c) => (c.type === 'text' ? c.text : `[${c.type}]`)).join('\n');
const lines = (all) => all.split('\n').map((line) => () => row('', element('span', 'text', line)));

// Messages with the host.
let ended = false;
let size = '';
const send = (message) => ended || parent.postMessage({ jsonrpc: '2.0', ...message }, '*');

function context({ theme, safeAreaInsets: i }) {
  if (theme) document.documentElement.dataset.theme = theme === 'dark' ? 'dark' : 'light';
  if (i) document.body.style.padding = `${i.top | 0}px ${i.right | 0}px ${i.bottom | 0}px ${i.left | 0}px`;
}

function measure() {
  const { width, height } = document.body.getBoundingClientRect();
  const params = { width: Math.ceil(width), height: Math.ceil(height) };
  if (size === (size = JSON.stringify(params))) return;
  send({ method: 'ui/notifications/size-changed', params });
}
const observer = new ResizeObserver(measure);

const handlers = {
  'ui/notifications/tool-input': (p) => { call.arguments = p.arguments ?? {}; draw(call); },
  'ui/notifications/tool-result': (p) => { call.result = p; draw(call); },
  'ui/notifications/tool-cancelled': (p) => show(title.textContent, `Cancelled${p.reason ? `: ${p.reason}` : ''}`, true, []),
  'ui/notifications/host-context-changed': context,
};

addEventListener('message', ({ source, data }) => {
  if (source !== parent || data?.jsonrpc !== '2.0' || ended) return;
  if (data.method === undefined) {
    if (data.id !== 1 || !data.result) return;
    context(data.result.hostContext ?? {});
    send({ method: 'ui/notifications/initialized' });
    observer.observe(document.body);
  } else if (data.id === undefined) {
    if (Object.hasOwn(handlers, data.method)) handlers[data.method](data.params ?? {});
  } else if (data.method === 'ping' || data.method === 'ui/resource-teardown') {
    send({ id: data.id, result: {} });
    ended = data.method !== 'ping';
    if (ended) observer.disconnect();
  } else {
    send({ id: data.id, error: { code: -32601, message: 'The view only displays.' } });
  }
});
