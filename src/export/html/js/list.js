// The list: only the rows that are seen are in the document.

/** Browsers stop at some height: beyond this one the scroll bar counts in parts of the whole. */
const HIGHEST = 12_000_000;

const list = {
  rows: [],
  picked: -1,
  pool: [],
  rowHeight: 26,

  begin() {
    this.box = $("list");
    this.holder = $("rows");
    this.box.addEventListener("scroll", () => this.soon(), { passive: true });
    new ResizeObserver(() => this.soon()).observe(this.box);
    this.holder.addEventListener("mousedown", (event) => {
      const element = event.target.closest(".row");
      if (element) this.pick(Number(element.dataset.row));
    });
  },

  /** Shows these rows; what was picked stays where it was, if it is still there. */
  show(rows) {
    const before = this.picked;
    const where = this.place(before);
    const seen = where >= 0 ? where * this.rowHeight - this.offset() : null;
    this.rows = rows;
    const height = rows.length * this.rowHeight;
    this.holder.style.height = `${Math.min(height, HIGHEST)}px`;
    $("none").hidden = rows.length > 0 || trace.size === 0;
    const place = this.place(before);
    if (place >= 0 && seen !== null && seen > -this.rowHeight && seen < this.box.clientHeight) {
      this.scrollTo(place * this.rowHeight - seen);
    }
    this.soon();
  },

  /** The place of a row among those shown, or where it would be, as a negative number. */
  place(row) {
    let low = 0;
    let high = this.rows.length - 1;
    while (low <= high) {
      const middle = (low + high) >> 1;
      if (this.rows[middle] === row) return middle;
      if (this.rows[middle] < row) low = middle + 1;
      else high = middle - 1;
    }
    return -low - 1;
  },

  /** How many pixels of rows are above what is seen. */
  offset() {
    const height = this.rows.length * this.rowHeight;
    if (height <= HIGHEST) return this.box.scrollTop;
    const view = this.box.clientHeight;
    return (this.box.scrollTop / (HIGHEST - view)) * (height - view);
  },

  scrollTo(offset) {
    const height = this.rows.length * this.rowHeight;
    const view = this.box.clientHeight;
    const within = Math.max(0, Math.min(offset, height - view));
    this.box.scrollTop = height <= HIGHEST ? within : (within / (height - view)) * (HIGHEST - view);
    this.soon();
  },

  soon() {
    if (this.waiting) return;
    this.waiting = true;
    requestAnimationFrame(() => {
      this.waiting = false;
      this.draw();
    });
  },

  draw() {
    const view = this.box.clientHeight;
    const offset = this.offset();
    const first = Math.max(0, Math.floor(offset / this.rowHeight));
    const count = Math.min(this.rows.length - first, Math.ceil(view / this.rowHeight) + 1);
    const top = this.box.scrollTop - (offset - first * this.rowHeight);
    while (this.pool.length < count) {
      this.pool.push(make("div", "row"));
      this.holder.append(this.pool.at(-1));
    }
    this.pool.forEach((element, n) => {
      element.hidden = n >= count;
      if (n < count) {
        element.style.top = `${top + n * this.rowHeight}px`;
        this.fill(element, first + n);
      }
    });
    const seen = this.rows.slice(first, first + count);
    lanes.draw($("lanes"), seen, first * this.rowHeight - offset, view, this.rowHeight);
  },

  fill(element, place) {
    const row = this.rows[place];
    const tone = trace.meta.tones[trace.s[row]];
    const level = levelOf(row);
    const picked = row === this.picked;
    element.className = `row t-${tone}${level ? ` bad-${level}` : ""}${picked ? " picked" : ""}${trace.g.length ? ` g${trace.g[row]}` : ""}`;
    element.setAttribute("aria-selected", picked);
    element.setAttribute("aria-posinset", place + 1);
    element.setAttribute("aria-setsize", this.rows.length);
    if (Number(element.dataset.row) === row && element.firstChild) return;
    element.dataset.row = row;
    element.id = `row-${row}`;
    element.setAttribute("role", "option");
    const conn = trace.c[row];
    const name = conn >= 0 ? trace.meta.connections[conn][0] : "";
    const tag = make("span", "conn");
    if (conn >= 0) {
      const dot = make("i");
      dot.style.background = `var(--lane${conn % 8})`;
      tag.append(dot, make("span", "", shown(name)));
    }
    const other = trace.other.get(row);
    const number = trace.g.length && other !== undefined && other !== trace.i[row] ? `${trace.i[row]}·${other}` : `${trace.i[row]}`;
    const marks = make("span", "marks");
    if (level) marks.append(make("span", `m-${level}`, `${level === "must" ? "✗" : "!"} ${level}`));
    if (trace.g.length) marks.append(make("span", "", ["", " ≠", " −", " +", " ⇅"][trace.g[row]]));
    element.replaceChildren(
      make("span", "time", clock(trace.t[row])), make("span", "num", number), make("span", "lane"), tag, this.chart(row), marks,
    );
    element.setAttribute("aria-label", this.spoken(row, name, level));
  },

  /** The words of a row with the arrow they stand on. */
  chart(row) {
    const chart = make("span", "chart");
    const words = [make("b", "", trace.w[row])];
    const purpose = trace.purpose.get(row);
    if (purpose) words.push(make("span", "why", `on purpose: ${purpose}`));
    if (trace.x[row]) words.push(make("q", "", trace.x[row]));
    const after = trace.after.get(row);
    if (after !== undefined) words.push(make("span", "after", span(after)));
    const direction = trace.c[row] >= 0 || trace.g.length ? trace.d[row] : 0;
    if (direction === 1) chart.append(make("span", "wire stub"), ...words, make("span", "wire"), make("span", "tip right", "▶"));
    else if (direction === 2) chart.append(make("span", "tip left", "◀"), make("span", "wire"), ...words, make("span", "wire stub"));
    else chart.append(...words);
    return chart;
  },

  spoken(row, name, level) {
    const way = ["", ", to the server", ", to the client"][trace.d[row]];
    const bad = level ? `, breaks a ${level}` : "";
    const stands = trace.g.length ? `, ${["the same", "changed", "missing", "extra", "moved"][trace.g[row]]}` : "";
    return `event ${trace.i[row]}, ${clock(trace.t[row])} seconds${name ? `, ${shown(name)}` : ""}${way}: ${trace.w[row]} ${trace.x[row]}${bad}${stands}`;
  },

  /** Picks a row and makes sure that it is seen. */
  pick(row, quietly) {
    if (row < 0 || row >= trace.size) return;
    this.picked = row;
    const place = this.place(row);
    if (place >= 0) {
      const offset = this.offset();
      const y = place * this.rowHeight;
      const view = this.box.clientHeight;
      if (y < offset) this.scrollTo(y - (quietly ? view / 3 : 0));
      else if (y + this.rowHeight > offset + view) this.scrollTo(y - view + this.rowHeight + (quietly ? view / 3 : 0));
    }
    this.box.setAttribute("aria-activedescendant", `row-${row}`);
    this.draw();
    showDetail(row);
  },

  /** Picks the row so many places on. */
  step(by) {
    if (!this.rows.length) return;
    let place = this.place(this.picked);
    if (place < 0) place = by > 0 ? -place - 2 : -place - 1;
    this.pick(this.rows[Math.max(0, Math.min(this.rows.length - 1, place + by))]);
  },

  page() {
    return Math.max(1, Math.floor(this.box.clientHeight / this.rowHeight) - 2);
  },
};
