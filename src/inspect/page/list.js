// The list of events: only the rows that are seen are in the document, and only the pages around them in memory.

import { $, make, shown, clock, span } from "./base.js";
import { get } from "./client.js";

const PAGE = 200;
const MAX_PAGES = 40;

/** Browsers stop at some height: beyond this one the scroll bar counts in parts of the whole. */
const HIGHEST = 12_000_000;

const ROW = 26;
const LANE = 12;
const MAX_LANES = 10;

export const list = {
  total: 0,
  events: 0,
  settled: 0,
  /** The pages that are known, the one used last being the last. */
  pages: new Map(),
  loading: new Set(),
  query: {},
  /** Counts the changes of the query: what was asked for an older one is dropped. */
  turn: 0,
  picked: null,
  following: true,
  paused: false,
  pool: [],
  laneOf: new Map(),
  onpick: () => {},
  onchange: () => {},

  begin() {
    this.box = $("list");
    this.holder = $("rows");
    this.box.addEventListener("scroll", () => {
      if (!this.moving && this.following && !this.atEnd()) this.follow(false);
      this.moving = false;
      this.soon();
    }, { passive: true });
    new ResizeObserver(() => { if (this.following) this.toEnd(); this.soon(); }).observe(this.box);
    this.holder.addEventListener("mousedown", (event) => {
      const element = event.target.closest(".row");
      if (element?.dataset.place) this.pickPlace(Number(element.dataset.place));
    });
  },

  /** Shows the events that fit another query. */
  async ask(query) {
    this.query = query;
    this.turn++;
    this.pages.clear();
    this.loading.clear();
    this.total = 0;
    this.resize();
    await this.refresh();
    if (this.picked !== null && !this.following) await this.goTo(this.picked, true);
  },

  /** Takes in that the trace has gone on. */
  async told(live) {
    this.newest = live;
    if (this.paused || this.refreshing) return;
    this.refreshing = true;
    try {
      while (this.newest && !this.paused) {
        this.newest = null;
        await this.refresh();
      }
    } finally {
      this.refreshing = false;
    }
  },

  /** Loads what is new. */
  async refresh() {
    const turn = this.turn;
    const settled = this.settled;
    for (const [n, page] of this.pages) {
      const last = page.rows.at(-1);
      if (page.rows.length < PAGE || !last || last.i >= settled) page.stale = true;
    }
    for (;;) {
      const page = await this.load(Math.floor(Math.max(this.total - 1, 0) / PAGE), true);
      if (turn !== this.turn || !page) return;
      if (page.scanned >= page.events) break;
    }
    const last = Math.floor(Math.max(this.total - 1, 0) / PAGE);
    if (this.following && (!this.pages.has(last) || this.pages.get(last).stale)) await this.load(last, true);
    if (turn !== this.turn) return;
    this.resize();
    if (this.following) this.toEnd();
    this.soon();
  },

  async load(n, again = false) {
    if (this.loading.has(n) && !again) return null;
    this.loading.add(n);
    const turn = this.turn;
    try {
      const page = await get("/api/events", { ...this.query, from: n * PAGE, limit: PAGE });
      if (turn !== this.turn) return null;
      this.keep(n, page);
      return page;
    } finally {
      if (turn === this.turn) this.loading.delete(n);
    }
  },

  keep(n, page) {
    this.pages.delete(n);
    this.pages.set(n, page);
    while (this.pages.size > MAX_PAGES) this.pages.delete(this.pages.keys().next().value);
    this.total = page.total;
    this.events = page.events;
    this.scanned = page.scanned;
    this.settled = page.settled;
    this.resize();
    this.onchange();
  },

  resize() {
    this.holder.style.height = `${Math.min(this.total * ROW, HIGHEST)}px`;
    $("none").hidden = this.total > 0;
    $("none").textContent = this.events ? "Nothing fits the filter." : "Nothing has happened yet.";
  },

  row(place) {
    return this.pages.get(Math.floor(place / PAGE))?.rows[place % PAGE];
  },

  /** How many pixels of rows are above what is seen. */
  offset() {
    const height = this.total * ROW;
    if (height <= HIGHEST) return this.box.scrollTop;
    const view = this.box.clientHeight;
    return (this.box.scrollTop / (HIGHEST - view)) * (height - view);
  },

  scrollTo(offset) {
    const height = this.total * ROW;
    const view = this.box.clientHeight;
    const within = Math.max(0, Math.min(offset, height - view));
    const top = height <= HIGHEST ? within : (within / (height - view)) * (HIGHEST - view);
    if (Math.abs(this.box.scrollTop - top) > 0.5) {
      this.moving = true;
      this.box.scrollTop = top;
    }
    this.soon();
  },

  atEnd() {
    return this.offset() + this.box.clientHeight >= this.total * ROW - ROW / 2;
  },

  toEnd() {
    this.scrollTo(Infinity);
  },

  follow(on) {
    this.following = on;
    if (on) {
      this.pause(false);
      this.toEnd();
    }
    this.onchange();
  },

  pause(on) {
    this.paused = on;
    if (on) this.following = false;
    else if (this.newest) this.told(this.newest);
    this.onchange();
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
    const first = Math.max(0, Math.floor(offset / ROW));
    const count = Math.max(0, Math.min(this.total - first, Math.ceil(view / ROW) + 1));
    const top = this.box.scrollTop - (offset - first * ROW);
    for (let n = Math.floor(first / PAGE); count && n <= Math.floor((first + count - 1) / PAGE); n++) {
      const page = this.pages.get(n);
      if (page && !page.stale) {
        // Used last.
        this.pages.delete(n);
        this.pages.set(n, page);
      } else if (!this.loading.has(n)) {
        this.load(n).then(() => this.soon(), () => {});
      }
    }
    while (this.pool.length < count) {
      this.pool.push(make("div", "row"));
      this.holder.append(this.pool.at(-1));
    }
    const seen = [];
    this.pool.forEach((element, n) => {
      element.hidden = n >= count;
      if (n >= count) return;
      element.style.top = `${top + n * ROW}px`;
      const row = this.row(first + n);
      seen.push(row);
      this.fill(element, first + n, row);
    });
    this.drawLanes(seen, first * ROW - offset, view);
  },

  fill(element, place, row) {
    element.dataset.place = place;
    if (!row) {
      element.className = "row waits";
      element.dataset.shown = "";
      element.replaceChildren(make("span", "time", "…"));
      return;
    }
    const picked = row.i === this.picked;
    element.className = `row t-${row.tone}${row.level ? ` bad-${row.level}` : ""}${picked ? " picked" : ""}`;
    element.id = `row-${row.i}`;
    element.setAttribute("role", "option");
    element.setAttribute("aria-selected", picked);
    element.setAttribute("aria-posinset", place + 1);
    element.setAttribute("aria-setsize", this.total);
    const key = `${row.i} ${row.level ?? ""} ${this.turn}`;
    if (element.dataset.shown === key) return;
    element.dataset.shown = key;
    const tag = make("span", "conn");
    if (row.place !== undefined) tag.append(make("i", `lane-${row.place % 8}`), make("span", "", shown(row.conn)));
    const marks = make("span", "marks");
    if (row.level) marks.append(make("span", `m-${row.level}`, row.level === "must" ? "✗" : "!", make("span", "word", ` ${row.level}`)));
    element.replaceChildren(
      make("span", "time", clock(row.t)), make("span", "num", String(row.i)), make("span", "lane"), tag, this.chart(row), marks,
    );
    const way = { c2s: ", to the server", s2c: ", to the client" }[row.dir] ?? "";
    const bad = row.level ? `, breaks a ${row.level}` : "";
    element.setAttribute("aria-label", `event ${row.i}, ${clock(row.t)} seconds${row.conn ? `, ${shown(row.conn)}` : ""}${way}: ${row.what} ${row.text ?? ""}${bad}`);
  },

  /** The words of a row with the arrow they stand on. */
  chart(row) {
    const chart = make("span", "chart");
    const words = [make("b", "", row.what)];
    if (row.deliberate) words.push(make("span", "why", `on purpose: ${row.deliberate}`));
    if (row.text) words.push(make("q", "", row.text));
    if (row.after !== undefined) words.push(make("span", "after", span(row.after)));
    const dir = row.place === undefined ? undefined : row.dir;
    if (dir === "c2s") chart.append(make("span", "wire stub"), ...words, make("span", "wire"), make("span", "tip right", "▶"));
    else if (dir === "s2c") chart.append(make("span", "tip left", "◀"), make("span", "wire"), ...words, make("span", "wire stub"));
    else chart.append(...words);
    return chart;
  },

  /** Draws a lane for each connection that stands beside the rows that are seen. */
  drawLanes(rows, offset, height) {
    const known = rows.filter((row) => row);
    const from = known[0]?.i ?? 0;
    const to = known.at(-1)?.i ?? 0;
    const standing = new Map();
    for (const page of this.pages.values()) {
      for (const connection of page.connections) {
        if (connection.first <= to && connection.last >= from) {
          const before = standing.get(connection.place);
          if (!before || before.last < connection.last) standing.set(connection.place, connection);
        }
      }
    }
    for (const place of this.laneOf.keys()) if (!standing.has(place)) this.laneOf.delete(place);
    const taken = new Set(this.laneOf.values());
    for (const place of [...standing.keys()].sort((a, b) => a - b)) {
      if (this.laneOf.has(place)) continue;
      let lane = 0;
      while (taken.has(lane) && lane < MAX_LANES - 1) lane++;
      taken.add(lane);
      this.laneOf.set(place, lane);
    }
    const width = Math.max(1, ...[...this.laneOf.values()].map((lane) => lane + 1)) * LANE + 8;
    document.documentElement.style.setProperty("--lanes", `${width}px`);
    const canvas = $("lanes");
    const scale = devicePixelRatio || 1;
    canvas.width = width * scale;
    canvas.height = height * scale;
    canvas.style.width = `${width}px`;
    canvas.style.height = `${height}px`;
    canvas.style.marginBottom = `${-height}px`;
    const pen = canvas.getContext("2d");
    const style = getComputedStyle(document.documentElement);
    pen.scale(scale, scale);
    pen.clearRect(0, 0, width, height);
    pen.lineWidth = 2;
    rows.forEach((row, n) => {
      if (!row) return;
      const top = offset + n * ROW;
      for (const [place, connection] of standing) {
        if (connection.first > row.i || (connection.last < row.i)) continue;
        const x = 4 + this.laneOf.get(place) * LANE + LANE / 2;
        pen.strokeStyle = style.getPropertyValue(`--lane${place % 8}`);
        pen.beginPath();
        pen.moveTo(x, connection.first === row.i ? top + ROW / 2 : top);
        pen.lineTo(x, connection.last === row.i ? top + ROW / 2 : top + ROW);
        pen.stroke();
        if (row.place === place) {
          pen.fillStyle = pen.strokeStyle;
          pen.beginPath();
          pen.arc(x, top + ROW / 2, 4, 0, 7);
          pen.fill();
        }
      }
    });
  },

  placeOf(i) {
    for (const [n, page] of this.pages) {
      const at = page.rows.findIndex((row) => row.i === i);
      if (at >= 0) return n * PAGE + at;
    }
    return -1;
  },

  async pickPlace(place) {
    if (!this.total) return;
    place = Math.max(0, Math.min(this.total - 1, place));
    const n = Math.floor(place / PAGE);
    if (!this.row(place)) await this.load(n, true);
    const row = this.row(place);
    if (row) this.pick(row.i, place);
  },

  pick(i, place) {
    this.picked = i;
    if (place < this.total - 1) this.following = false;
    const y = place * ROW;
    const offset = this.offset();
    const view = this.box.clientHeight;
    if (y < offset) this.scrollTo(y);
    else if (y + ROW > offset + view) this.scrollTo(y - view + ROW);
    this.box.setAttribute("aria-activedescendant", `row-${i}`);
    this.soon();
    this.onchange();
    this.onpick(i);
  },

  unpick() {
    this.picked = null;
    this.box.removeAttribute("aria-activedescendant");
    this.soon();
  },

  step(by) {
    const place = this.picked === null ? -1 : this.placeOf(this.picked);
    if (place < 0) return this.pickPlace(by > 0 ? Math.floor(this.offset() / ROW) : this.total - 1);
    return this.pickPlace(place + by);
  },

  /** Shows an event, if it fits the filter; gives whether it does. */
  async goTo(i, quietly = false) {
    const page = await get("/api/events", { ...this.query, around: i, limit: 1 });
    if (page.rows[0]?.i !== i) return false;
    this.following = false;
    this.total = page.total;
    this.resize();
    const n = Math.floor(page.from / PAGE);
    if (!this.pages.has(n)) await this.load(n, true);
    this.scrollTo(page.from * ROW - this.box.clientHeight / 3);
    if (!quietly) this.pick(i, page.from);
    return true;
  },

  get pageLength() {
    return Math.max(1, Math.floor(this.box.clientHeight / ROW) - 2);
  },
};
