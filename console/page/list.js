// A virtual list: only the rows in view are elements. The list itself has the focus and
// names its active row, so that live updates never take the focus away.
import { el, fill } from './dom.js';

let ids = 0;

// List shows items in a list box. Options:
//   label             its name for screen readers
//   key(item)         identity of an item over updates
//   render(item)      the nodes of a row
//   className(item)   further classes of a row
//   pick(item, user)  an item became the active one; user reports that a person moved there
//   open(item)        Enter or a double click
//   none              the text shown without items
export class List {
  items = [];
  active = null; // key
  #at = new Map(); // key -> index
  #rows = new Map(); // key -> element
  #frame = 0;

  constructor(options) {
    this.options = options;
    this.id = `list${++ids}`;
    this.space = el('div', { className: 'space', role: 'presentation' });
    this.box = el('div', { className: 'list', id: this.id, role: 'listbox', tabIndex: 0, 'aria-label': options.label }, this.space);
    this.none = el('div', { className: 'none' });
    this.element = el('div', { className: 'listbox' }, this.box, this.none);
    this.box.onscroll = () => this.#soon();
    this.box.onkeydown = (e) => this.#key(e);
    this.box.onclick = (e) => {
      const row = e.target.closest('[role=option]');
      if (row) this.pick(row.dataset.key, true);
    };
    this.box.ondblclick = (e) => e.target.closest('[role=option]:not(.fold)') && this.open();
    new ResizeObserver(() => {
      this.height = 0;
      this.#soon();
    }).observe(this.box);
  }

  // set replaces the items. The active one stays, if it is still there.
  set(items) {
    this.items = items;
    this.#at.clear();
    for (let i = 0; i < items.length; i++) this.#at.set(this.options.key(items[i]), i);
    if (items.length === 0) fill(this.none, this.options.none?.());
    this.element.classList.toggle('without', items.length === 0);
    this.draw(true);
  }

  item(key = this.active) {
    return this.items[this.#at.get(key)];
  }

  index(key = this.active) {
    return this.#at.get(key) ?? -1;
  }

  pick(key, user) {
    if (!this.#at.has(key)) return;
    this.active = key;
    this.#reveal();
    this.draw();
    this.options.pick?.(this.item(), user);
  }

  // move makes the item that many rows away the active one.
  move(by) {
    if (this.items.length === 0) return;
    const at = this.index();
    const to = at < 0 && Math.abs(by) !== Infinity ? (by > 0 ? 0 : this.items.length - 1) : Math.max(0, Math.min(this.items.length - 1, at + by));
    if (to !== at) this.pick(this.options.key(this.items[to]), true);
  }

  open() {
    const item = this.item();
    if (item) this.options.open?.(item);
  }

  focus() {
    this.box.focus({ preventScroll: true });
  }

  #key(e) {
    if (e.ctrlKey || e.metaKey || e.altKey) return;
    const page = Math.max(1, Math.floor(this.box.clientHeight / this.#rowHeight()) - 1);
    const moves = { ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page, Home: -Infinity, End: Infinity };
    if (e.key in moves) this.move(moves[e.key]);
    else if (e.key === 'Enter') this.open();
    else return;
    e.preventDefault();
    e.stopPropagation();
  }

  #rowHeight() {
    // The style sheet decides; it may differ with the width.
    this.height ||= parseFloat(getComputedStyle(this.box).getPropertyValue('--row')) || 44;
    return this.height;
  }

  #reveal() {
    const h = this.#rowHeight();
    const top = this.index() * h;
    if (top < this.box.scrollTop) this.box.scrollTop = top;
    else if (top + h > this.box.scrollTop + this.box.clientHeight) this.box.scrollTop = top + h - this.box.clientHeight;
  }

  #soon() {
    this.#frame ||= requestAnimationFrame(() => {
      this.#frame = 0;
      this.draw();
    });
  }

  // draw makes the rows in view. With again, rows that are there already are made anew.
  draw(again) {
    if (!this.box.isConnected) return;
    const h = this.#rowHeight();
    this.box.style.setProperty('--n', this.items.length);
    this.space.style.height = `${this.items.length * h}px`;
    const from = Math.max(0, Math.floor(this.box.scrollTop / h) - 5);
    const to = Math.min(this.items.length, Math.ceil((this.box.scrollTop + this.box.clientHeight) / h) + 5);
    const wanted = new Map();
    for (let i = from; i < to; i++) wanted.set(this.options.key(this.items[i]), i);
    // The active row is always there, for the screen reader.
    if (this.index() >= 0) wanted.set(this.active, this.index());
    for (const [key, row] of this.#rows) {
      if (!wanted.has(key)) {
        row.remove();
        this.#rows.delete(key);
      }
    }
    for (const [key, i] of wanted) {
      let row = this.#rows.get(key);
      if (!row || again) {
        if (!row) {
          row = el('div', { role: 'option', id: `${this.id}-${++ids}`, data: { key } });
          this.#rows.set(key, row);
          this.space.append(row);
        }
        fill(row, this.options.render(this.items[i]));
      }
      row.className = `item ${this.options.className?.(this.items[i]) ?? ''} ${key === this.active ? 'on' : ''}`;
      row.setAttribute('aria-selected', key === this.active);
      row.setAttribute('aria-setsize', this.items.length);
      row.setAttribute('aria-posinset', i + 1);
      row.style.transform = `translateY(${i * h}px)`;
    }
    const on = this.#rows.get(this.active);
    if (on) this.box.setAttribute('aria-activedescendant', on.id);
    else this.box.removeAttribute('aria-activedescendant');
  }
}
