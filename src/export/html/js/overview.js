// The strip: how much went each way over time, where connections stood, where something was found.

const overview = {
  /** Microseconds, from and to. */
  view: [0, 1],

  begin() {
    this.whole = [0, Math.max(1, trace.meta.last)];
    this.view = [...this.whole];
    const canvas = $("density");
    let from = null;
    canvas.addEventListener("pointerdown", (event) => {
      canvas.setPointerCapture(event.pointerId);
      from = event.offsetX;
    });
    canvas.addEventListener("pointermove", (event) => {
      if (from === null) return;
      const brush = $("brush");
      brush.hidden = Math.abs(event.offsetX - from) < 4;
      brush.style.left = `${Math.min(from, event.offsetX)}px`;
      brush.style.width = `${Math.abs(event.offsetX - from)}px`;
    });
    canvas.addEventListener("pointerup", (event) => {
      if (from === null) return;
      const [a, b] = [this.at(from), this.at(event.offsetX)].sort((x, y) => x - y);
      const dragged = Math.abs(event.offsetX - from) >= 4;
      from = null;
      $("brush").hidden = true;
      if (dragged) this.zoom(a, b);
      else jumpToTime(this.at(event.offsetX));
    });
    canvas.addEventListener("pointercancel", () => { from = null; $("brush").hidden = true; });
    canvas.addEventListener("wheel", (event) => {
      event.preventDefault();
      this.scale(event.deltaY > 0 ? 1.4 : 1 / 1.4, this.at(event.offsetX));
    }, { passive: false });
    canvas.addEventListener("dblclick", () => this.zoom(...this.whole));
    new ResizeObserver(() => this.draw()).observe(canvas);
  },

  at(x) {
    const width = $("density").clientWidth || 1;
    return this.view[0] + (x / width) * (this.view[1] - this.view[0]);
  },

  x(t) {
    return ((t - this.view[0]) / (this.view[1] - this.view[0])) * $("density").clientWidth;
  },

  /** Looks at a part of the time; the list shows the same part. */
  zoom(from, to) {
    const least = Math.min(50, this.whole[1]);
    let [a, b] = [Math.max(0, from), Math.min(this.whole[1], to)];
    if (b - a < least) [a, b] = [Math.max(0, (a + b) / 2 - least / 2), Math.min(this.whole[1], (a + b) / 2 + least / 2)];
    this.view = [a, b];
    filter.range = a <= 0 && b >= this.whole[1] ? null : [a, b];
    this.draw();
    refresh();
  },

  scale(factor, around = (this.view[0] + this.view[1]) / 2) {
    this.zoom(around - (around - this.view[0]) * factor, around + (this.view[1] - around) * factor);
  },

  pan(part) {
    const size = this.view[1] - this.view[0];
    const from = Math.max(0, Math.min(this.whole[1] - size, this.view[0] + part * size));
    this.zoom(from, from + size);
  },

  draw() {
    const canvas = $("density");
    const [width, height] = [canvas.clientWidth, canvas.clientHeight];
    if (!width || !trace.meta) return;
    const pen = penOf(canvas, width, height);
    const step = 3;
    const columns = Math.ceil(width / step);
    const up = new Float64Array(columns);
    const down = new Float64Array(columns);
    const around = new Float64Array(columns);
    const perMicro = columns / (this.view[1] - this.view[0]);
    const laneHeight = Math.min(3, 18 / Math.max(1, lanes.in.length));
    const lanesTop = height - lanes.in.length * laneHeight - 2;
    const middle = (lanesTop - 2) / 2;
    const stood = lanes.in.map(() => new Int32Array(columns).fill(-1));
    for (let row = 0; row < trace.size; row++) {
      const column = Math.floor((trace.t[row] - this.view[0]) * perMicro);
      if (column < 0 || column > columns) continue;
      const at = Math.min(column, columns - 1);
      const conn = trace.c[row];
      if (conn >= 0) stood[lanes.of[conn]][at] = conn;
      if (trace.f[row] & 1) continue;
      if (trace.d[row] === 1) up[at]++;
      else if (trace.d[row] === 2) down[at]++;
      else around[at]++;
    }
    let most = 1;
    for (let n = 0; n < columns; n++) most = Math.max(most, up[n], down[n]);
    const tall = (n) => (n ? Math.max(2, (Math.sqrt(n) / Math.sqrt(most)) * (middle - 4)) : 0);
    pen.fillStyle = colours.get("line");
    pen.fillRect(0, middle, width, 1);
    for (let n = 0; n < columns; n++) {
      pen.fillStyle = colours.get("request");
      pen.fillRect(n * step, middle - tall(up[n]), step - 1, tall(up[n]));
      pen.fillStyle = colours.get("response");
      pen.fillRect(n * step, middle + 1, step - 1, tall(down[n]));
      if (around[n] && !up[n] && !down[n]) {
        pen.fillStyle = colours.get("faint");
        pen.fillRect(n * step, middle - 1, step - 1, 3);
      }
    }
    stood.forEach((line, lane) => {
      line.forEach((conn, n) => {
        if (conn < 0) return;
        pen.fillStyle = colours.get(laneColour(conn));
        pen.fillRect(n * step, lanesTop + lane * laneHeight, step, Math.max(1, laneHeight - 1));
      });
    });
    for (const [i, found] of trace.findings) {
      const row = trace.rowOf.get(i);
      if (row === undefined) continue;
      const x = this.x(trace.t[row]);
      const level = LEVELS.find((name) => found.some((finding) => finding.level === name));
      pen.fillStyle = colours.get(level);
      pen.fillRect(x - 0.5, 0, 1.5, lanesTop);
      pen.beginPath();
      pen.moveTo(x - 4, 0);
      pen.lineTo(x + 4, 0);
      pen.lineTo(x, 6);
      pen.fill();
    }
    const part = filter.range ? `${clock(this.view[0])} s – ${clock(this.view[1])} s · ${span(this.view[1] - this.view[0])}` : `0 – ${clock(this.whole[1])} s`;
    $("range").textContent = part;
    this.mark();
  },

  /** Shows where what was picked is. */
  mark() {
    const spot = $("spot");
    const x = list.picked >= 0 ? this.x(trace.t[list.picked]) : -1;
    spot.hidden = x < 0 || x > $("density").clientWidth;
    spot.style.left = `${x}px`;
  },
};
