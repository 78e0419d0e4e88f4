// The view of the policy: rules with their origin, a box to try calls, suggestions.
import { button, chip, copyButton, el, empty, failed, fill } from './dom.js';
import { ServerChoice, facts, keepFocus, noServer } from './parts.js';
import { get, post, servers } from './store.js';
import { block, clock, line, plain, show } from './text.js';

const kind = (effect) => ({ allow: 'ok', ask: 'warn', deny: 'bad' })[effect];
const examples = { Bash: { command: 'git push' }, Read: { file_path: '/etc/hosts' }, Write: { file_path: 'notes.txt', content: '' }, WebFetch: { url: 'https://example.com/' } };

export function policyView() {
  const choice = new ServerChoice(() => load());
  const rules = el('div');
  const remembered = el('div');
  const suggested = el('div');
  let filter = '';
  let data = null;

  const search = el('input', { type: 'search', oninput: (e) => {
    filter = e.target.value.toLowerCase();
    drawRules();
  } });
  const tool = el('input', { type: 'text', name: 'tool', value: 'Bash', required: true, spellcheck: false, autocomplete: 'off', list: 'tools' });
  const args = el('textarea', { name: 'input', rows: 4, spellcheck: false, value: JSON.stringify(examples.Bash) });
  tool.onchange = () => {
    const known = Object.values(examples).map((e) => JSON.stringify(e));
    if (examples[tool.value] && known.includes(args.value)) args.value = JSON.stringify(examples[tool.value]);
  };
  const answer = el('div', { role: 'status' });
  const explain = el('form', null,
    el('label', { className: 'field' }, el('span', null, 'Tool'), tool), el('datalist', { id: 'tools' }, Object.keys(examples).map((t) => el('option', { value: t }))),
    el('label', { className: 'field wide' }, el('span', null, 'Input, as JSON'), args),
    el('button', { type: 'submit', className: 'main' }, 'Explain'));
  explain.onsubmit = async (e) => {
    e.preventDefault();
    let input;
    try {
      input = JSON.parse(args.value);
    } catch (err) {
      return fill(answer, failed({ message: `The input is not JSON: ${plain(err.message)}`, next: 'Write an object such as {"command": "git push"}.' }));
    }
    try {
      const got = await post('explain', { server: choice.value, tool: tool.value.trim(), input });
      fill(answer, el('p', null, 'Decision: ', chip(line(got.decision, 40), kind(got.decision))), block(got.text ?? '', { name: 'Explanation', open: true }));
    } catch (err) {
      fill(answer, failed(err));
    }
  };

  function drawRules() {
    const all = data?.rules ?? [];
    const match = all.filter((r) => !filter || `${r.effect} ${r.rule} ${r.origin} ${r.layer}`.toLowerCase().includes(filter));
    fill(rules, facts([['Mode', data?.mode]]), all.length === 0
      ? empty('No rules hold.', 'Calls that change something are asked about. Rules go into a settings file; docs/permissions.md has the form.')
      : match.length === 0
        ? empty('No rule contains this text.', 'Change the filter.')
        : el('div', { className: 'wide-table', tabIndex: 0, role: 'region', 'aria-label': 'Rules' }, el('table', null, el('thead', null, el('tr', null, ['Effect', 'Rule', 'Origin', 'Layer'].map((h) => el('th', { scope: 'col' }, h)))),
          el('tbody', null, match.map((r) => el('tr', null, el('td', null, chip(line(r.effect, 20), kind(r.effect))), el('td', null, el('code', null, line(r.rule, 500))), el('td', null, line(r.origin, 300)), el('td', null, line(r.layer, 60))))))));
  }

  function draw() {
    drawRules();
    const list = (title, items, row) => items?.length > 0 && [el('h3', null, title), el('ul', { className: 'plain' }, items.map((i) => el('li', null, row(i))))];
    fill(remembered, data.problem && el('p', { className: 'note' }, line(data.problem, 400)),
      list('Always allowed', data.always, (a) => [chip(line(a.tool, 40), 'tool'), ' ', el('code', null, line(a.text, 500)), el('span', { className: 'dim' }, ' in ', line((a.roots ?? []).join(', ') || 'no workspace', 300), a.when ? ` since ${clock(a.when)}` : '', '. Forget it with ', el('code', null, `mcp-toolset approvals --forget ${a.number}`))]) ||
        empty('Nothing is always allowed.', 'Always allow, at an approval, adds an entry.'),
      list('Declined, each for its conversation', data.declined, (d) => [chip(line(d.tool, 40), 'tool'), ' ', el('code', null, line(d.text, 500)), d.wrote && [' ', line(`“${d.wrote}”`, 300)], d.number > 0 && el('span', { className: 'dim' }, ' Lift it with ', el('code', null, `mcp-toolset approvals --lift ${d.number}`))]));
  }

  function drawSuggestions({ rules: list, problem }) {
    fill(suggested, (list ?? []).length === 0
      ? empty('No suggestions.', problem ? show(problem) : 'When you have approved the same kind of call often, a rule for it is suggested here.')
      : list.map((s) => el('article', { className: 'copied suggestion' }, el('h3', null, el('code', null, line(s.rule, 300))),
        el('p', { className: 'dim' }, `Approved ${s.count} times. It would allow, among others:`), el('ul', { className: 'plain' }, (s.calls ?? []).slice(0, 10).map((c) => el('li', null, el('code', null, line(c, 300))))),
        el('p', null, 'To add to ', s.file ? el('code', null, line(s.file, 300)) : 'your settings file', ':'), el('pre', { className: 'code', tabIndex: 0, role: 'region', 'aria-label': 'Settings' }, show(s.settings)), copyButton(String(s.settings ?? ''), `Copy the settings for ${plain(s.rule, 80)}`))));
  }

  let turn = 0;

  async function load() {
    const own = ++turn;
    const server = choice.value;
    fill(answer);
    if (!server) {
      data = null;
      shown.hidden = true;
      fill(nothing, noServer());
      return;
    }
    fill(nothing);
    shown.hidden = false;
    if (!data) fill(rules, el('p', { className: 'dim' }, 'Loading'));
    const focus = keepFocus(remembered);
    await Promise.all([
      get('policy', { server }).then((d) => {
        if (own !== turn) return;
        data = d;
        draw();
      }).catch((err) => own === turn && fill(rules, failed(err, load))),
      get('suggest', { server }).then((d) => own === turn && drawSuggestions(d)).catch((err) => own === turn && fill(suggested, failed(err, load))),
    ]);
    focus(search);
  }

  const nothing = el('div');
  const shown = el('div', { className: 'columns' },
    el('section', { className: 'card', 'aria-labelledby': 'rules-title' }, el('div', { className: 'head' }, el('h2', { id: 'rules-title' }, 'Rules that hold'), el('label', { className: 'field' }, el('span', null, 'Filter'), search)), rules, remembered),
    el('div', null,
      el('section', { className: 'card', 'aria-labelledby': 'explain-title' }, el('h2', { id: 'explain-title' }, 'Try a call'), el('p', { className: 'dim' }, 'Nothing runs. The answer names the rule that decides.'), explain, answer),
      el('section', { className: 'card', 'aria-labelledby': 'suggest-title' }, el('div', { className: 'head' }, el('h2', { id: 'suggest-title' }, 'Suggested rules'), button('Reload', () => load())), el('p', { className: 'dim' }, 'The console changes no settings. Copy what you want into the file.'), suggested)));
  const element = el('div', { className: 'page' }, choice.element, nothing, shown);

  return {
    name: 'policy',
    title: 'Policy',
    topics: ['servers'],
    element,
    update() {
      if (choice.update() || !choice.value) load();
    },
    enter([server]) {
      if (servers.has(server)) choice.value = server;
      choice.update();
      load();
    },
    search,
    keys: [['/', 'filter the rules']],
  };
}
