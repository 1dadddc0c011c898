// Lanes: each connection has one from its first event to its last; connections that follow each other share one.

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
    return lanesWidth(this.in.length);
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
  draw(canvas, rows, offset, height) {
    const pen = lanesPen(canvas, this.width, height);
    if (trace.g.length) return;
    rows.forEach((row, n) => {
      for (let lane = 0; lane < this.in.length; lane++) {
        const connection = this.standing(lane, trace.i[row]);
        if (connection < 0) continue;
        const [, first, last] = trace.meta.connections[connection];
        const [begins, ends, own] = [trace.i[row] === first, trace.i[row] === last, trace.c[row] === connection];
        drawLane(pen, { lane, connection, top: offset + n * ROW, begins, ends, own });
      }
    });
  },
};
