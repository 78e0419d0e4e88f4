// Elements, dialogs and messages. Text reaches the page only as text nodes.
import { plain, show } from './text.js';

// el returns an element. Props are properties (className, onclick), attributes where the
// name has a dash or is role, for or list, and data as an object. Children are nodes, texts
// or lists of them; false, null and undefined are left out.
export function el(tag, props, ...children) {
  const e = document.createElement(tag);
  for (const [name, value] of Object.entries(props ?? {})) {
    if (value === undefined || value === null) continue;
    if (name === 'data') Object.assign(e.dataset, value);
    else if (name.includes('-') || name === 'role' || name === 'for' || name === 'list') e.setAttribute(name, value);
    else e[name] = value;
  }
  add(e, children);
  return e;
}

export function add(parent, ...children) {
  for (const c of children.flat(Infinity)) {
    if (c !== false && c !== null && c !== undefined) parent.append(c);
  }
}

// fill replaces the children of an element.
export function fill(parent, ...children) {
  parent.replaceChildren();
  add(parent, children);
}

export const $ = (id) => document.getElementById(id);
export const button = (text, onclick, props) => el('button', { type: 'button', onclick, ...props }, text);
export const chip = (text, kind) => el('span', { className: `chip ${kind ?? ''}` }, text);

// empty returns the text of a place without content: a fact, and a next step.
export const empty = (fact, ...next) => el('div', { className: 'empty' }, el('p', null, fact), next.length > 0 && el('p', { className: 'dim' }, next));

// failed returns the text of an error of the API.
export const failed = (err, retry) =>
  el('div', { className: 'empty bad', role: 'alert' }, el('p', null, show(String(err.message).slice(0, 1_000))), el('p', { className: 'dim' }, show(String(err.next ?? 'Try again.').slice(0, 1_000))), retry && button('Try again', retry));

let toastTimer;

// toast shows a message for some seconds, which screen readers read out.
export function toast(text, bad) {
  const t = $('toast');
  fill(t, el('p', { className: bad ? 'bad' : '' }, plain(text, 600)));
  clearTimeout(toastTimer);
  toastTimer = setTimeout(() => fill(t), bad ? 12_000 : 6_000);
}

// oops shows an error as a toast.
export const oops = (err) => toast(`${plain(err.message, 300)}${err.next ? `. ${plain(err.next, 300)}` : ''}`.replace('.. ', '. '), true);

// announce has screen readers read out a text.
export function announce(text) {
  const log = $('announced');
  log.append(el('span', null, `${text}. `));
  while (log.childNodes.length > 5) log.firstChild.remove();
}

// ask shows a dialog with a title, a body and, if yes is not empty, the button yes beside
// Cancel. It returns the data of its form, or null without agreement.
export function ask(title, body, yes, danger) {
  return new Promise((resolve) => {
    const form = el('form', { method: 'dialog' }, el('h2', null, title), el('div', { className: 'body' }, body),
      el('div', { className: 'row end' }, yes && button('Cancel', () => d.close()), el('button', { value: 'yes', className: danger ? 'danger' : 'main' }, yes || 'Close')));
    const d = el('dialog', { 'aria-label': title }, form);
    const back = document.activeElement;
    d.onclose = () => {
      const data = d.returnValue === 'yes' ? new FormData(form) : null;
      d.remove();
      if (back?.isConnected) back.focus();
      resolve(data);
    };
    document.body.append(d);
    d.showModal();
  });
}

// copyButton returns a button that copies a text.
export const copyButton = (text, label) =>
  button('Copy', async (event) => {
    try {
      await navigator.clipboard.writeText(text);
      toast('Copied.');
    } catch {
      const range = document.createRange();
      range.selectNodeContents(event.target.closest('.copied')?.querySelector('pre') ?? event.target);
      getSelection().removeAllRanges();
      getSelection().addRange(range);
      toast('The browser does not allow copying. The text is selected: press Ctrl+C.', true);
    }
  }, { 'aria-label': label });

// select returns a labelled choice. Options are [value, text].
export const select = (label, options, value, onchange) =>
  el('label', { className: 'field' }, el('span', null, label),
    el('select', { onchange: (e) => onchange(e.target.value) }, options.map(([v, t]) => el('option', { value: v, selected: v === value }, t))));
