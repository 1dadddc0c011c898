// The list of the rows that fit the filter.

/** How rows stand in a comparison. */
const STATUS = [["the same", ""], ["changed", " ≠"], ["missing", " −"], ["extra", " +"], ["moved", " ⇅"]];

const list = {
  rows: [],
  picked: -1,

  begin() {
    this.box = $("list");
    const holder = $("rows");
    this.view = new VirtualList(this.box, holder, {
      count: () => this.rows.length,
      fill: (element, place) => this.fill(element, place),
      drawn: (first, count, offset, height) => lanes.draw($("lanes"), this.rows.slice(first, first + count), offset, height),
    });
    this.box.addEventListener("scroll", () => this.view.soon(), { passive: true });
    new ResizeObserver(() => this.view.soon()).observe(this.box);
    holder.addEventListener("mousedown", (event) => {
      const element = event.target.closest(".row");
      if (element) this.pick(Number(element.dataset.row));
    });
  },

  /** Shows these rows; what was picked stays where it was, if it is still there. */
  show(rows) {
    const before = this.place(this.picked);
    const seen = before >= 0 ? before * ROW - this.view.offset() : null;
    this.rows = rows;
    this.view.resize();
    $("none").hidden = rows.length > 0 || trace.size === 0;
    const place = this.place(this.picked);
    if (place >= 0 && seen !== null && seen > -ROW && seen < this.box.clientHeight) this.view.scrollTo(place * ROW - seen);
    this.view.soon();
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

  fill(element, place) {
    const row = this.rows[place];
    const tone = trace.meta.tones[trace.s[row]];
    const level = levelOf(row);
    const picked = row === this.picked;
    const status = trace.g.length ? STATUS[trace.g[row]] : null;
    element.className = `row t-${tone}${level ? ` bad-${level}` : ""}${picked ? " picked" : ""}${status ? ` g${trace.g[row]}` : ""}`;
    const connection = trace.c[row];
    const name = connection >= 0 ? trace.meta.connections[connection][0] : "";
    const [i, t, what, text, way] = [trace.i[row], trace.t[row], trace.w[row], trace.x[row], [undefined, "c2s", "s2c"][trace.d[row]]];
    const label = spokenRow({ i, t, connection: name, way, what, text, level, more: status ? `, ${status[0]}` : "" });
    describeRow(element, { place, of: this.rows.length, picked, label });
    if (Number(element.dataset.row) === row && element.firstChild) return;
    element.dataset.row = row;
    element.id = `row-${row}`;
    const tag = make("span", "conn");
    if (connection >= 0) tag.append(make("i", laneColour(connection)), make("span", "", shown(name)));
    const other = trace.other.get(row);
    const number = status && other !== undefined && other !== i ? `${i}·${other}` : `${i}`;
    const marks = make("span", "marks");
    if (level) marks.append(levelMark(level));
    if (status) marks.append(make("span", "", status[1]));
    const shownWay = connection >= 0 || status ? way : undefined;
    element.replaceChildren(
      make("span", "time", clock(t)), make("span", "num", number), make("span", "lane"), tag,
      chart({ what, purpose: trace.purpose.get(row), text, after: trace.after.get(row), way: shownWay }), marks,
    );
  },

  /** Picks a row and makes sure that it is seen. */
  pick(row, quietly) {
    if (row < 0 || row >= trace.size) return;
    this.picked = row;
    const place = this.place(row);
    if (place >= 0) this.view.reveal(place, quietly ? this.box.clientHeight / 3 : 0);
    this.box.setAttribute("aria-activedescendant", `row-${row}`);
    this.view.draw();
    showDetail(row);
  },

  /** Picks the row so many places on. */
  step(by) {
    if (!this.rows.length) return;
    let place = this.place(this.picked);
    if (place < 0) place = by > 0 ? -place - 2 : -place - 1;
    this.pick(this.rows[Math.max(0, Math.min(this.rows.length - 1, place + by))]);
  },
};
