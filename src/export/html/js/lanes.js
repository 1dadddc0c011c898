// Lanes: each connection has one from its first event to its last; connections that follow each other share one.

const LANES = 10;
const LANE = 12;

const lanes = {
  /** Of each connection: its lane. */
  of: [],
  /** Of each lane: its connections, in order. */
  in: [],

  lay(connections) {
    const free = [];
    connections.forEach(([, first, last], n) => {
      let lane = free.findIndex((until) => until < first);
      if (lane < 0) lane = Math.min(free.length, LANES - 1);
      free[lane] = Math.max(free[lane] ?? 0, last);
      this.of[n] = lane;
      (this.in[lane] ??= []).push(n);
    });
  },

  get width() {
    return Math.max(this.in.length, 1) * LANE + 8;
  },

  /** The connection in a lane that stands at an event. */
  standing(lane, i) {
    const list = this.in[lane];
    let low = 0;
    let high = list.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (trace.meta.connections[list[middle]][1] <= i) low = middle;
      else high = middle - 1;
    }
    const [, first, last] = trace.meta.connections[list[low]];
    return first <= i && i <= last ? list[low] : -1;
  },

  /** Draws the lanes beside the rows that are seen. */
  draw(canvas, rows, offset, height, rowHeight) {
    const scale = devicePixelRatio || 1;
    const width = this.width;
    canvas.width = width * scale;
    canvas.height = height * scale;
    canvas.style.width = `${width}px`;
    canvas.style.height = `${height}px`;
    canvas.style.marginBottom = `${-height}px`;
    const pen = canvas.getContext("2d");
    pen.scale(scale, scale);
    pen.clearRect(0, 0, width, height);
    if (trace.g.length) return;
    rows.forEach((row, n) => {
      const top = offset + n * rowHeight;
      for (let lane = 0; lane < this.in.length; lane++) {
        const conn = this.standing(lane, trace.i[row]);
        if (conn < 0) continue;
        const x = 4 + lane * LANE + LANE / 2;
        const [, first, last] = trace.meta.connections[conn];
        const from = trace.i[row] === first ? top + rowHeight / 2 : top;
        const to = trace.i[row] === last ? top + rowHeight / 2 : top + rowHeight;
        pen.strokeStyle = colourOf(conn);
        pen.lineWidth = 2;
        pen.beginPath();
        pen.moveTo(x, from);
        pen.lineTo(x, to);
        pen.stroke();
        if (trace.c[row] === conn) {
          pen.fillStyle = colourOf(conn);
          pen.beginPath();
          pen.arc(x, top + rowHeight / 2, 4, 0, 7);
          pen.fill();
        }
      }
    });
  },
};

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

const colourOf = (conn) => colours.get(`lane${conn % 8}`);
