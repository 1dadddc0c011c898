// Rows of events: a list of which only the rows that are seen are in the document, and the lanes beside it.

/** Browsers stop at some height: beyond this one the scroll bar counts in parts of the whole. */
const HIGHEST = 12_000_000;

/** The height of a row in pixels. */
const ROW = 26;

/** The width of a lane in pixels, and how many there are at most. */
const LANE = 12;
const LANES = 10;

/** A list of rows in a box that scrolls. */
class VirtualList {
  /** `count()`: how many rows there are. `fill(element, place)`: makes a row. `drawn(first, count, offset, height)`: all are made. */
  constructor(box, holder, { count, fill, drawn }) {
    Object.assign(this, { box, holder, count, fill, drawn, pool: [] });
  }

  get height() {
    return this.count() * ROW;
  }

  /** Takes in that there are more rows, or fewer. */
  resize() {
    this.holder.style.height = `${Math.min(this.height, HIGHEST)}px`;
  }

  /** How many pixels of rows are above what is seen. */
  offset() {
    const view = this.box.clientHeight;
    return this.height <= HIGHEST ? this.box.scrollTop : (this.box.scrollTop / (HIGHEST - view)) * (this.height - view);
  }

  /** Scrolls to so many pixels of rows; gives whether that moves anything. */
  scrollTo(offset) {
    const { height } = this;
    const view = this.box.clientHeight;
    const within = Math.max(0, Math.min(offset, height - view));
    const top = height <= HIGHEST ? within : (within / (height - view)) * (HIGHEST - view);
    const moves = Math.abs(this.box.scrollTop - top) > 0.5;
    if (moves) this.box.scrollTop = top;
    this.soon();
    return moves;
  }

  /** Scrolls as little as it takes to see a row, and so many pixels around it. */
  reveal(place, around = 0) {
    const y = place * ROW;
    const offset = this.offset();
    const view = this.box.clientHeight;
    if (y < offset) return this.scrollTo(y - around);
    if (y + ROW > offset + view) return this.scrollTo(y - view + ROW + around);
    return false;
  }

  /** How many rows are a page. */
  page() {
    return Math.max(1, Math.floor(this.box.clientHeight / ROW) - 2);
  }

  /** Draws with the next frame of the screen, once. */
  soon() {
    if (this.waiting) return;
    this.waiting = true;
    requestAnimationFrame(() => {
      this.waiting = false;
      this.draw();
    });
  }

  draw() {
    const view = this.box.clientHeight;
    const offset = this.offset();
    const first = Math.max(0, Math.floor(offset / ROW));
    const count = Math.max(0, Math.min(this.count() - first, Math.ceil(view / ROW) + 1));
    const top = this.box.scrollTop - (offset - first * ROW);
    while (this.pool.length < count) {
      this.pool.push(make("div", "row"));
      this.holder.append(this.pool.at(-1));
    }
    this.pool.forEach((element, n) => {
      element.hidden = n >= count;
      if (n >= count) return;
      element.style.top = `${top + n * ROW}px`;
      this.fill(element, first + n);
    });
    this.drawn(first, count, first * ROW - offset, view);
  }
}

/** What a row says to those who hear it. */
function describeRow(element, { place, of, picked, label }) {
  element.setAttribute("role", "option");
  element.setAttribute("aria-selected", picked);
  element.setAttribute("aria-posinset", place + 1);
  element.setAttribute("aria-setsize", of);
  element.setAttribute("aria-label", label);
}

/** The words of a row with the arrow they stand on; `way`: `c2s`, `s2c` or nothing. */
function chart({ what, purpose, text, after, way }) {
  const box = make("span", "chart");
  const words = [make("b", "", what)];
  if (purpose) words.push(make("span", "why", `on purpose: ${purpose}`));
  if (text) words.push(make("q", "", text));
  if (after !== undefined) words.push(make("span", "after", span(after)));
  if (way === "c2s") box.append(make("span", "wire stub"), ...words, make("span", "wire"), make("span", "tip right", "▶"));
  else if (way === "s2c") box.append(make("span", "tip left", "◀"), make("span", "wire"), ...words, make("span", "wire stub"));
  else box.append(...words);
  return box;
}

/** A row in words; `connection` is left out where there is none. */
function spokenRow({ i, t, connection, way, what, text, level, more = "" }) {
  const to = { c2s: ", to the server", s2c: ", to the client" }[way] ?? "";
  const bad = level ? `, breaks a ${level}` : "";
  return `event ${i}, ${clock(t)} seconds${connection ? `, ${shown(connection)}` : ""}${to}: ${what} ${text ?? ""}${bad}${more}`;
}

/** The mark of a row that breaks a requirement of a level. */
const levelMark = (level) => make("span", `m-${level}`, level === "must" ? "✗" : "!", make("span", "word", ` ${level}`));

/** Colours are looked up once for each theme. */
const colours = {
  kept: new Map(),
  get(name) {
    if (!this.kept.has(name)) {
      this.kept.set(name, getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim());
    }
    return this.kept.get(name);
  },
  forget() {
    this.kept.clear();
  },
};

/** The name of the colour of a connection, by its number. */
const laneColour = (connection) => `lane${connection % 8}`;

/** The width in pixels of so many lanes. */
const lanesWidth = (lanes) => Math.max(lanes, 1) * LANE + 8;

/** A clean canvas of so many pixels of the page, and what draws on it. */
function penOf(canvas, width, height) {
  const scale = devicePixelRatio || 1;
  canvas.width = width * scale;
  canvas.height = height * scale;
  const pen = canvas.getContext("2d");
  pen.scale(scale, scale);
  pen.clearRect(0, 0, width, height);
  return pen;
}

/** The canvas of the lanes, which takes no room in the list. */
function lanesPen(canvas, width, height) {
  canvas.style.width = `${width}px`;
  canvas.style.height = `${height}px`;
  canvas.style.marginBottom = `${-height}px`;
  return penOf(canvas, width, height);
}

/** The piece of a connection's lane beside a row: whether it begins or ends there, and whether the row is its own. */
function drawLane(pen, { lane, connection, top, begins, ends, own }) {
  const x = 4 + lane * LANE + LANE / 2;
  pen.strokeStyle = colours.get(laneColour(connection));
  pen.lineWidth = 2;
  pen.beginPath();
  pen.moveTo(x, begins ? top + ROW / 2 : top);
  pen.lineTo(x, ends ? top + ROW / 2 : top + ROW);
  pen.stroke();
  if (!own) return;
  pen.fillStyle = pen.strokeStyle;
  pen.beginPath();
  pen.arc(x, top + ROW / 2, 4, 0, 7);
  pen.fill();
}
