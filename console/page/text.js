// Texts of models and programs: hidden characters become boxes with their names, long
// texts are folded, and their lines are made when they come into view.
import { add, button, el } from './dom.js';

// Characters that show no mark, or move others: controls, format characters, spaces other than
// the plain one, characters that fonts may ignore, the empty Braille cell, single surrogates.
const hidden = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Zs}\p{DI}\p{Cs}\u2800]/u;
const run = /([\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Zs}\p{DI}\p{Cs}\u2800])\1*/gu;

const names = {
  0: 'NUL', 7: 'BEL', 8: 'BS', 13: 'CR', 27: 'ESC', 127: 'DEL', 0xa0: 'NBSP', 0xad: 'SHY', 0x61c: 'ALM', 0x200b: 'ZWSP', 0x200c: 'ZWNJ', 0x200d: 'ZWJ',
  0x200e: 'LRM', 0x200f: 'RLM', 0x2028: 'LINE SEP', 0x2029: 'PARA SEP', 0x202a: 'LRE', 0x202b: 'RLE', 0x202c: 'PDF', 0x202d: 'LRO', 0x202e: 'RLO', 0x202f: 'NNBSP',
  0x2060: 'WJ', 0x2066: 'LRI', 0x2067: 'RLI', 0x2068: 'FSI', 0x2069: 'PDI', 0x3000: 'WIDE SPACE', 0xfeff: 'BOM',
};

const plainSpace = (c) => c === ' ' || c === '\n' || c === '\t';

function label(c, count) {
  const code = c.codePointAt(0);
  const number = `U+${code.toString(16).toUpperCase().padStart(4, '0')}`;
  return { number, text: (names[code] ?? number) + (count > 1 ? `×${count}` : '') };
}

// isHidden reports whether a text has characters that show would put in boxes.
export function isHidden(text) {
  run.lastIndex = 0;
  for (const m of text.matchAll(run)) if (!plainSpace(m[1])) return true;
  return false;
}

// holdsHidden reports whether a text in a JSON value, or a name in it, has such characters.
export function holdsHidden(v) {
  if (typeof v === 'string') return isHidden(v);
  return typeof v === 'object' && v !== null && Object.entries(v).some(([k, x]) => isHidden(k) || holdsHidden(x));
}

// isExact reports whether a value has all that is in its JSON: numbers with all their digits,
// and each name of an object.
export function isExact(json, v) {
  const bare = (text) => text.replace(/"[^"\\]*(?:\\.[^"\\]*)*"/g, '"').replace(/\s+/g, '');
  return bare(json) === bare(JSON.stringify(v));
}

// show returns the nodes of a text.
export function show(text) {
  text = String(text ?? '');
  const out = document.createDocumentFragment();
  let from = 0;
  if (hidden.test(text)) {
    for (const m of text.matchAll(run)) {
      if (plainSpace(m[1])) continue;
      const { number, text: name } = label(m[1], m[0].length / m[1].length);
      out.append(text.slice(from, m.index), el('span', { className: 'hid', title: `Hidden character ${number}` }, name));
      from = m.index + m[0].length;
    }
  }
  out.append(text.slice(from));
  return out;
}

// plain returns a text for attributes and announcements: one line, nothing hidden, short.
export function plain(text, most = 200) {
  text = String(text ?? '');
  const cut = text.length > most ? `${text.slice(0, most).replace(/[\uD800-\uDBFF]$/, '')}…` : text;
  return cut.replace(run, (all, c) => (plainSpace(c) ? ' ' : `[${label(c, all.length / c.length).text}]`));
}

// line returns a text as one line of a list, of bounded length.
export function line(text, most = 300) {
  text = String(text ?? '');
  const cut = text.length > most ? `${text.slice(0, most).replace(/[\uD800-\uDBFF]$/, '')}…` : text;
  return show(cut.replace(/\s*\n\s*/g, ' ⏎ '));
}

const piece = 4_000; // of a line, in characters
const chunkLines = 80;
const chunkSize = 8_000; // of a chunk, in characters
const foldLines = 60;
const foldSize = 12_000;

// pieces cuts lines longer than piece, so that no row is expensive to lay out. It does not
// separate surrogates.
function* pieces(text) {
  for (let at = 0; at <= text.length; ) {
    let end = text.indexOf('\n', at);
    if (end < 0) end = text.length;
    let start = at;
    for (; end - start > piece; ) {
      let cut = start + piece;
      if (/[\uD800-\uDBFF]/.test(text[cut - 1])) cut--;
      yield [text.slice(start, cut), true, start > at];
      start = cut;
    }
    yield [text.slice(start, end), false, start > at];
    at = end + 1;
  }
}

// chunks returns a text as lists of [text, continues, continued].
function chunks(text) {
  const out = [];
  let chunk = [];
  let size = 0;
  for (const p of pieces(text)) {
    chunk.push(p);
    size += p[0].length;
    if (chunk.length >= chunkLines || size >= chunkSize) {
      out.push(chunk);
      [chunk, size] = [[], 0];
    }
  }
  if (chunk.length > 0) out.push(chunk);
  return out;
}

// kinds sets the kind of each row of a unified diff as its third element. Inside of a hunk
// the first character decides: a removed line "-- x" is no header. Nor is one without a hunk.
function kinds(list) {
  let [before, after] = [0, 0];
  for (const rows of list) {
    for (const [i, row] of rows.entries()) {
      const [t, , continued] = row;
      const next = rows[i + 1]?.[0] ?? '';
      const hunk = /^@@ -\d+(?:,(\d+))? \+\d+(?:,(\d+))? @@/.exec(t);
      if (continued) row[2] = kinds.last;
      else if (hunk) {
        [before, after] = [Number(hunk[1] ?? 1), Number(hunk[2] ?? 1)];
        row[2] = 'hunk';
      } else if (before <= 0 && after <= 0 && (/^(diff|index) /.test(t) || t.startsWith('--- ') && next.startsWith('+++ ') || t.startsWith('+++ ') && next.startsWith('@@ '))) row[2] = 'meta';
      else {
        row[2] = t[0] === '+' ? 'add' : t[0] === '-' ? 'del' : '';
        if (t[0] !== '\\') {
          if (t[0] !== '+') before--;
          if (t[0] !== '-') after--;
        }
      }
      kinds.last = row[2];
    }
  }
  return list;
}

// changed returns the bounds of the difference of two lines, or null if it is nearly all.
function changed(a, b) {
  let from = 1;
  while (from < a.length && from < b.length && a[from] === b[from]) from++;
  let end = 0;
  while (end < a.length - from && end < b.length - from && a[a.length - 1 - end] === b[b.length - 1 - end]) end++;
  return from + end - 1 < Math.min(a.length, b.length) / 3 ? null : [from, end];
}

function diffRow(p, i, all) {
  const [t, continues, kind] = p;
  const row = el('div', { className: `ln ${kind}` });
  // In a single removed line followed by a single added one, the difference is marked.
  const at = (n) => all[n]?.[2];
  const pair = kind === 'del' && at(i + 1) === 'add' && at(i + 2) !== 'add' && at(i - 1) !== 'del' ? all[i + 1] : kind === 'add' && at(i - 1) === 'del' && at(i + 1) !== 'add' && at(i - 2) !== 'del' ? all[i - 1] : null;
  const bounds = pair && t.length < 2_000 && changed(t, pair[0]);
  if (bounds) add(row, show(t.slice(0, bounds[0])), el('b', null, show(t.slice(bounds[0], t.length - bounds[1]))), show(t.slice(t.length - bounds[1])));
  else add(row, show(t));
  if (continues) row.append(more());
  return row;
}

// more marks a place where a long line goes on below.
const more = () => el('span', { className: 'more', 'aria-hidden': 'true' }, '↩');

function fillChunk(box, rows, diff) {
  if (diff) add(box, rows.map(diffRow));
  else for (const [i, [t, continues]] of rows.entries()) add(box, show(t), continues && more(), i < rows.length - 1 && '\n');
}

let watcher;
const waiting = new WeakMap();

// later calls make when the element comes near the view.
function later(e, make) {
  watcher ??= new IntersectionObserver((entries) => {
    for (const entry of entries) {
      if (!entry.isIntersecting) continue;
      watcher.unobserve(entry.target);
      waiting.get(entry.target)?.();
      waiting.delete(entry.target);
    }
  }, { rootMargin: '1000px' });
  waiting.set(e, make);
  watcher.observe(e);
}

function addChunks(pre, list, diff) {
  for (const [i, rows] of (diff ? kinds(list) : list).entries()) {
    const box = el('div', { className: 'chunk' });
    // The height until then; the page measures the rest.
    if (i < 2) fillChunk(box, rows, diff);
    else {
      const lines = rows.reduce((n, [t]) => n + Math.max(1, Math.ceil(t.length / 100)), 0);
      box.style.minHeight = `${lines * 1.45}em`;
      later(box, () => {
        fillChunk(box, rows, diff);
        box.style.minHeight = '';
      });
    }
    pre.append(box);
  }
}

// size formats a number of bytes.
export const size = (n) => (n < 1024 ? `${n} B` : n < 1 << 20 ? `${(n / 1024).toFixed(n < 10240 ? 1 : 0)} KiB` : `${(n / (1 << 20)).toFixed(1)} MiB`);

// block returns a text of several lines in full. If it is long, a button unfolds it. With
// diff its lines are those of a unified diff. Name is for screen readers.
export function block(text, { diff, name, open } = {}) {
  text = String(text ?? '');
  if (diff) text = text.replace(/\n$/, '');
  const pre = el('pre', { className: diff ? 'code diff' : 'code', tabIndex: 0, role: 'region', 'aria-label': name ?? 'Text' });
  const box = el('div', { className: 'copied' }, pre);
  let end = -1;
  for (let n = 0; n < foldLines && (end = text.indexOf('\n', end + 1)) >= 0; ) n++;
  const cut = Math.min(end < 0 ? text.length : end, foldSize);
  if (open || text.length - cut < 200) {
    addChunks(pre, chunks(text), diff);
    return box;
  }
  addChunks(pre, chunks(text.slice(0, cut)), diff);
  const lines = text.split('\n').length;
  const unfold = button(`Show all: ${lines.toLocaleString('en')} ${lines === 1 ? 'line' : 'lines'}, ${size(text.length)}`, () => {
    pre.replaceChildren();
    addChunks(pre, chunks(text), diff);
    unfold.remove();
    pre.focus();
  }, { className: 'unfold' });
  box.append(unfold);
  return box;
}

// replacement returns two texts as a diff. Their common beginning and end are there once.
function replacement(before, after) {
  const [a, b] = [before.split('\n'), after.split('\n')];
  let from = 0;
  while (from < a.length && from < b.length && a[from] === b[from]) from++;
  let end = 0;
  while (end < a.length - from && end < b.length - from && a[a.length - 1 - end] === b[b.length - 1 - end]) end++;
  const part = (sign, lines, to) => lines.slice(from, to).map((l) => sign + l);
  return [...a.slice(0, from).map((l) => ` ${l}`), ...part('-', a, a.length - end), ...part('+', b, b.length - end), ...a.slice(a.length - end).map((l) => ` ${l}`)].join('\n');
}

// input returns the fields of a call's input, given as JSON, and below it the exact text.
export function input(json, { folded, exact: open, skip = [] } = {}) {
  let fields;
  try {
    fields = JSON.parse(json);
  } catch {
    fields = null;
  }
  const exact = el('details', null, el('summary', null, `Exact input (${size(json.length)})`));
  exact.ontoggle = () => exact.open && exact.childElementCount === 1 && exact.append(block(json, { name: 'Exact input' }));
  exact.open = Boolean(open);
  if (typeof fields !== 'object' || fields === null || Array.isArray(fields)) return [block(json, { name: 'Input' })];
  const list = el('dl', { className: 'fields' });
  if (typeof fields.old_string === 'string' && typeof fields.new_string === 'string') {
    add(list, el('dt', null, 'old_string, replaced by new_string'), el('dd', null, block(replacement(fields.old_string, fields.new_string), { diff: true, name: 'Replacement' })));
    skip = [...skip, 'old_string', 'new_string'];
  }
  for (const [name, value] of Object.entries(fields)) {
    if (skip.includes(name)) continue;
    const text = typeof value === 'string' ? value : JSON.stringify(value, null, 2);
    const short = text.length < 120 && !text.includes('\n');
    add(list, el('dt', null, show(name)), el('dd', null, short ? el('code', null, show(text)) : block(text, { name: `Field ${plain(name, 60)}` })));
  }
  if (folded) return [el('details', null, el('summary', null, 'Fields'), list), exact];
  return [list.childElementCount > 0 && list, exact];
}

const two = (n) => String(n).padStart(2, '0');

// clock formats a time of day, with the date if it is not today.
export function clock(ms) {
  if (!ms) return '';
  const d = new Date(ms);
  const time = `${two(d.getHours())}:${two(d.getMinutes())}:${two(d.getSeconds())}`;
  return d.toDateString() === new Date().toDateString() ? time : `${d.getFullYear()}-${two(d.getMonth() + 1)}-${two(d.getDate())} ${time}`;
}

// span formats a duration in milliseconds.
export function span(ms) {
  if (!(ms >= 0)) return '';
  if (ms < 1000) return `${Math.round(ms)} ms`;
  if (ms < 60_000) return `${(ms / 1000).toFixed(ms < 10_000 ? 1 : 0)} s`;
  if (ms < 3_600_000) return `${Math.floor(ms / 60_000)} min ${Math.floor((ms % 60_000) / 1000)} s`;
  if (ms < 172_800_000) return `${Math.floor(ms / 3_600_000)} h ${Math.floor((ms % 3_600_000) / 60_000)} min`;
  return `${Math.floor(ms / 86_400_000)} days`;
}

export const ago = (ms) => (ms ? `${span(Math.max(0, Date.now() - ms)).replace(/^\d+ ms$/, '0 s').replace(/(\d+)\.\d s/, '$1 s').replace(/ min \d+ s/, ' min')} ago` : '');

const mostTail = 2_000_000; // characters that a Tail holds

// Tail is a text that grows at its end. It drops the oldest part of long ones.
export class Tail {
  #rest = '';
  #size = 0;

  constructor() {
    this.last = el('div', { className: 'chunk' });
    this.cut = el('p', { className: 'dim', hidden: true }, 'The beginning is no longer shown here.');
    this.text = el('div', null, this.last);
    this.element = el('pre', { className: 'code tail', tabIndex: 0, role: 'region', 'aria-label': 'Output' }, this.cut, this.text);
  }

  append(text, done) {
    // Colours are of no use here; other controls stay visible.
    text = (this.#rest + text).replace(/\x1b\[[\d;]*m/g, '').replace(/\r\n/g, '\n');
    const end = done || text.length > 100_000 ? text.length : text.lastIndexOf('\n') + 1;
    this.#rest = text.slice(end);
    const whole = text.slice(0, end).replace(/\n$/, '');
    if (end > 0) {
      const before = this.text.childElementCount;
      this.last.remove();
      addChunks(this.text, chunks(whole));
      for (const c of [...this.text.children].slice(before - 1)) c.dataset.size = Math.round(whole.length / (this.text.childElementCount - before + 1));
      this.#size += whole.length;
      this.text.append(this.last);
    }
    while (this.#size > mostTail && this.text.childElementCount > 2) {
      this.#size -= Number(this.text.firstChild.dataset.size);
      this.text.firstChild.remove();
      this.cut.hidden = false;
    }
    this.last.replaceChildren(show(this.#rest));
  }
}
