// Parts that several views use.
import { el, empty, fill, select } from './dom.js';
import { loaded, servers, sorted } from './store.js';
import { plain, show } from './text.js';

// noServer returns the text of a view without servers, or null if there are some.
export const noServer = () => (servers.size > 0 ? null : loaded ? empty('No server runs.', 'Start a client that uses mcp-toolset; its server appears here by itself.') : empty('Loading'));

// serverName returns the name of a server; with several of the same name, also its process.
export function serverName(id) {
  const s = servers.get(id);
  if (!s) return 'a server that has ended';
  const twin = [...servers.values()].some((o) => o !== s && o.name === s.name);
  return `${s.name || 'no workspace'}${twin ? ` (process ${s.process})` : ''}`;
}

// short returns the last two names of a path.
export const short = (path) => String(path ?? '').split(/[\\/]/).filter(Boolean).slice(-2).join('/') || String(path ?? '');

// untooled returns a title without the name of its tool, which is shown beside it.
export const untooled = (tool, title) => (String(title ?? '').startsWith(`${tool} `) ? title.slice(String(tool).length + 1) : String(title ?? ''));

// facts returns a list of names and values without the empty ones.
export const facts = (pairs) =>
  el('dl', { className: 'facts' }, pairs.filter(([, v]) => v !== '' && v !== undefined && v !== null && v !== false).map(([k, v]) => [el('dt', null, k), el('dd', null, v instanceof Node ? v : show(v))]));

// split returns a layout of a list and the details of its active item.
export const split = (left, right) => el('div', { className: 'split' }, el('div', { className: 'left' }, left), right);

export const detail = (label) => el('section', { className: 'detail', 'aria-label': label, tabIndex: -1 });

// ServerChoice is a choice of one server, for views that show one. It shows nothing while
// there is only one.
export class ServerChoice {
  constructor(change, all) {
    this.element = el('div', { className: 'choice' });
    this.change = change;
    this.all = all; // text of the choice of all servers
    this.value = all ? '' : undefined;
  }

  // update offers the servers that run now, and reports whether the value changed.
  update() {
    const list = sorted();
    const before = this.value;
    if (!servers.has(this.value) && !(this.all && this.value === '')) this.value = this.all ? '' : list[0]?.id;
    const shape = JSON.stringify([list.map((s) => [s.id, s.name]), this.value]);
    if (shape !== this.shape) {
      this.shape = shape;
      const had = this.element.contains(document.activeElement);
      const options = list.map((s) => [s.id, plain(serverName(s.id), 80)]);
      if (this.all) options.unshift(['', this.all]);
      fill(this.element, options.length > 1 && select('Server', options, this.value, (v) => {
        this.value = v;
        this.change();
      }));
      if (had) this.element.querySelector('select')?.focus();
    }
    return before !== this.value;
  }
}

// keepFocus returns a function that gives the focus to another element if it is in this one now.
export function keepFocus(element) {
  const had = element.contains(document.activeElement) && document.activeElement !== document.body;
  return (to) => had && to?.focus({ preventScroll: true });
}
