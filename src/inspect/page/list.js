// The list of events: only the rows that are seen are in the document, and only the pages around them in memory.

import {
  $, make, shown, clock, ROW, LANES, VirtualList, chart, describeRow, drawLane, lanesPen, lanesWidth, laneColour, levelMark, spokenRow,
} from "./shared.js";
import { ofTrace } from "./client.js";

const PAGE = 200;
const MAX_PAGES = 40;

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
  laneOf: new Map(),
  onpick: () => {},
  onchange: () => {},

  begin() {
    this.box = $("list");
    const holder = $("rows");
    this.view = new VirtualList(this.box, holder, {
      count: () => this.total,
      fill: (element, place) => this.fill(element, place, this.row(place)),
      drawn: (first, count, offset, height) => this.drawn(first, count, offset, height),
    });
    this.box.addEventListener("scroll", () => {
      if (!this.moving && this.following && !this.atEnd()) this.follow(false);
      this.moving = false;
      this.view.soon();
    }, { passive: true });
    new ResizeObserver(() => { if (this.following) this.toEnd(); this.view.soon(); }).observe(this.box);
    holder.addEventListener("mousedown", (event) => {
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

  /** Shows another trace from its beginning. */
  async restart(query) {
    this.unpick();
    this.laneOf.clear();
    this.newest = null;
    this.settled = this.events = 0;
    this.following = true;
    this.paused = false;
    this.onchange();
    await this.ask(query);
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
    this.view.soon();
  },

  async load(n, again = false) {
    if (this.loading.has(n) && !again) return null;
    this.loading.add(n);
    const turn = this.turn;
    try {
      const page = await ofTrace("/api/events", { ...this.query, from: n * PAGE, limit: PAGE });
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
    this.view.resize();
    $("none").hidden = this.total > 0;
    $("none").textContent = this.events ? "Nothing fits the filter." : "Nothing has happened yet.";
  },

  row(place) {
    return this.pages.get(Math.floor(place / PAGE))?.rows[place % PAGE];
  },

  scrollTo(offset) {
    if (this.view.scrollTo(offset)) this.moving = true;
  },

  atEnd() {
    return this.view.offset() + this.box.clientHeight >= this.view.height - ROW / 2;
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

  /** Loads what is missing of the rows that are seen, and draws the lanes beside them. */
  drawn(first, count, offset, height) {
    for (let n = Math.floor(first / PAGE); count && n <= Math.floor((first + count - 1) / PAGE); n++) {
      const page = this.pages.get(n);
      if (page && !page.stale) {
        // Used last.
        this.pages.delete(n);
        this.pages.set(n, page);
      } else if (!this.loading.has(n)) {
        this.load(n).then(() => this.view.soon(), () => {});
      }
    }
    this.drawLanes(Array.from({ length: count }, (_, n) => this.row(first + n)), offset, height);
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
    const { i, t, conn: connection, dir: way, what, text, level } = row;
    describeRow(element, { place, of: this.total, picked, label: spokenRow({ i, t, connection, way, what, text, level, more: row.more ? `, and ${row.more} more` : "" }) });
    const key = `${row.i} ${row.level ?? ""} ${row.more ?? ""} ${this.turn}`;
    if (element.dataset.shown === key) return;
    element.dataset.shown = key;
    const tag = make("span", "conn");
    if (row.place !== undefined) tag.append(make("i", laneColour(row.place)), make("span", "", shown(row.conn)));
    const marks = make("span", "marks");
    if (row.more) marks.append(make("span", "more", `+${row.more.toLocaleString("en")}`));
    if (level) marks.append(levelMark(level));
    const words = { what, purpose: row.deliberate, text, after: row.after, way: row.place === undefined ? undefined : way };
    element.replaceChildren(
      make("span", "time", clock(t)), make("span", "num", String(i)), make("span", "lane"), tag, chart(words), marks,
    );
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
      while (taken.has(lane) && lane < LANES - 1) lane++;
      taken.add(lane);
      this.laneOf.set(place, lane);
    }
    const width = lanesWidth(Math.max(0, ...[...this.laneOf.values()].map((lane) => lane + 1)));
    document.documentElement.style.setProperty("--lanes", `${width}px`);
    const pen = lanesPen($("lanes"), width, height);
    rows.forEach((row, n) => {
      if (!row) return;
      for (const [place, { first, last }] of standing) {
        if (first > row.i || last < row.i) continue;
        const [begins, ends, own] = [first === row.i, last === row.i, row.place === place];
        drawLane(pen, { lane: this.laneOf.get(place), connection: place, top: offset + n * ROW, begins, ends, own });
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
    if (this.view.reveal(place)) this.moving = true;
    this.box.setAttribute("aria-activedescendant", `row-${i}`);
    this.view.soon();
    this.onchange();
    this.onpick(i);
  },

  unpick() {
    this.picked = null;
    this.box.removeAttribute("aria-activedescendant");
    this.view.soon();
  },

  step(by) {
    const place = this.picked === null ? -1 : this.placeOf(this.picked);
    if (place < 0) return this.pickPlace(by > 0 ? Math.floor(this.view.offset() / ROW) : this.total - 1);
    return this.pickPlace(place + by);
  },

  /** Shows an event, if it fits the filter; gives whether it does. */
  async goTo(i, quietly = false) {
    const page = await ofTrace("/api/events", { ...this.query, around: i, limit: 1 });
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
};
