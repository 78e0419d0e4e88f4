// The view of the audit log.
import { button, chip, el, empty, failed, fill, select } from './dom.js';
import { List } from './list.js';
import { ServerChoice, detail, facts, serverName, split, untooled } from './parts.js';
import { get } from './store.js';
import { clock, input, line, show, span } from './text.js';

const pageSize = 200;
const kind = (o) => ({ ok: 'ok', failed: 'bad', refused: 'bad', invalid: 'warn', cancelled: 'warn', asked: 'warn' })[o];

export function auditView() {
  let entries = [];
  let next = '';
  let turn = 0;
  let timer = 0;
  const query = { q: '', tool: '', outcome: '' };
  const choice = new ServerChoice(() => load(), 'All servers');

  const list = new List({
    label: 'Entries of the audit log, newest first',
    key: (e) => e.key,
    className: (e) => (e.more ? 'fold' : ''),
    render: (e) => (e.more
      ? [el('span', { className: 'dim' }, 'Show older entries (Enter)')]
      : [
        el('span', { className: 'top' }, chip(line(e.outcome || 'ok', 20), kind(e.outcome)), el('span', { className: 'title' }, el('b', null, line(e.tool, 40)), ' ', line(untooled(e.tool, e.title) || e.reason))),
        el('span', { className: 'sub' }, el('span', null, line([e.client, e.decision, e.layer].filter(Boolean).join(' · '), 160)), el('span', { className: 'when' }, `${span(e.ms)} · ${clock(e.time)}`)),
      ]),
    pick: (e, user) => !e.more && user && open(e),
    open: (e) => (e.more ? older() : (open(e), pane.focus())),
    none: () => (turn > 0 && !loading ? empty('No entries.', Object.values(query).some(Boolean) ? 'Change the search or the filters.' : 'Calls appear here when they end.') : empty('Loading')),
  });
  list.box.addEventListener('click', () => list.item()?.more && older());
  let loading = false;
  const pane = detail('Entry and figures');
  const one = el('div');
  const figures = el('div');
  const info = el('p', { className: 'dim totals', role: 'status' });
  const problem = el('div');

  function open(e) {
    fill(one, el('h2', { tabIndex: -1 }, chip(line(e.tool, 80), 'tool'), ' ', show(untooled(e.tool, e.title).slice(0, 500))),
      facts([['Outcome', e.outcome], ['Decision', e.decision], ['Layer', e.layer], ['Rule', e.rule], ['Reason', e.reason], ['Error', e.error], ['Time', clock(e.time)], ['Duration', span(e.ms)], ['Client', e.client], ['Server', e.server && serverName(e.server)]]),
      e.input !== undefined && e.input !== null && e.input !== '' && [el('h3', null, 'Input'), input(typeof e.input === 'string' ? e.input : JSON.stringify(e.input))], el('hr'));
    pane.scrollTop = 0;
  }

  function drawFigures(c) {
    const rows = c?.byTool ?? [];
    fill(figures, el('h2', null, 'Figures'), c && facts([['Calls', (c.calls ?? 0).toLocaleString('en')], ['Denied', (c.denied ?? 0).toLocaleString('en')], ['Failed', (c.failed ?? 0).toLocaleString('en')]]),
      rows.length === 0 ? empty('No figures.', 'They count the entries that the filters match.')
        : el('div', { className: 'wide-table', tabIndex: 0, role: 'region', 'aria-label': 'Figures by tool' }, el('table', null,
          el('thead', null, el('tr', null, ['Tool', 'Calls', 'Denied', 'Failed', 'Median', '95 %'].map((h, i) => el('th', { scope: 'col', className: i > 0 ? 'num' : '' }, h)))),
          el('tbody', null, rows.map((t) => el('tr', null, el('th', { scope: 'row' }, line(t.tool, 60)), [t.calls, t.denied, t.failed].map((n) => el('td', { className: 'num' }, (n ?? 0).toLocaleString('en'))), [t.median, t.p95].map((n) => el('td', { className: 'num' }, span(n)))))))));
  }

  const drawList = () => list.set(next ? [...entries, { more: true, key: 'more' }] : entries);

  async function load() {
    const own = ++turn;
    loading = true;
    info.textContent = 'Loading';
    try {
      const d = await get('audit', { server: choice.value, ...query, limit: pageSize });
      if (own !== turn) return;
      loading = false;
      entries = (d.entries ?? []).map((e, i) => ({ ...e, key: `${own}/${i}` }));
      next = d.next || '';
      list.active = null;
      drawList();
      list.box.scrollTop = 0;
      drawFigures(d.counts);
      info.textContent = `${entries.length.toLocaleString('en')}${next ? ' newest' : ''} ${entries.length === 1 ? 'entry' : 'entries'}`;
      fill(problem, d.problem && el('p', { className: 'note' }, line(d.problem, 400)), d.file && el('p', { className: 'dim file' }, 'File: ', el('code', null, line(d.file, 300))));
    } catch (err) {
      if (own !== turn) return;
      loading = false;
      info.textContent = '';
      fill(problem, failed(err, load));
    }
  }

  async function older() {
    if (!next || loading) return;
    const own = turn;
    loading = true;
    try {
      const d = await get('audit', { server: choice.value, ...query, before: next, limit: pageSize });
      if (own !== turn) return;
      loading = false;
      const at = entries.length;
      entries = entries.concat((d.entries ?? []).map((e, i) => ({ ...e, key: `${own}/${at + i}` })));
      next = d.next && d.next !== next ? d.next : '';
      drawList();
      if (entries.length > at) list.pick(entries[at].key, true);
      info.textContent = `${entries.length.toLocaleString('en')}${next ? ' newest' : ''} entries`;
    } catch (err) {
      if (own !== turn) return;
      loading = false;
      fill(problem, failed(err, older));
    }
  }

  const soon = () => {
    clearTimeout(timer);
    timer = setTimeout(load, 250);
  };
  const search = el('input', { type: 'search', oninput: (e) => {
    query.q = e.target.value;
    soon();
  } });
  const tool = el('input', { type: 'text', spellcheck: false, autocomplete: 'off', placeholder: 'any', oninput: (e) => {
    query.tool = e.target.value.trim();
    soon();
  } });
  fill(pane, one, figures);
  const element = split([
    el('form', { className: 'filters', role: 'search', onsubmit: (e) => {
      e.preventDefault();
      load();
    } }, el('label', { className: 'field wide' }, el('span', null, 'Search'), search), el('label', { className: 'field' }, el('span', null, 'Tool'), tool),
    select('Outcome', ['', 'ok', 'failed', 'refused', 'cancelled', 'invalid', 'asked'].map((o) => [o, o || 'any']), '', (v) => {
      query.outcome = v;
      load();
    }), choice.element, button('Reload', load)),
    info, problem, list.element,
  ], pane);
  element.classList.add('audit');

  return {
    name: 'audit',
    title: 'Audit',
    topics: ['servers'],
    element,
    list,
    update: () => choice.update() && load(),
    enter() {
      choice.update();
      load();
    },
    search,
    keys: [['/', 'search']],
  };
}
