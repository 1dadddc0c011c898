// The trace that is in this page: rows in memory, details in blocks that are unpacked when they are looked at.

/** The text of a block. */
async function unpack(element) {
  const packed = new Blob([bytesOf(element.textContent)]);
  return new Response(packed.stream().pipeThrough(new DecompressionStream("deflate"))).text();
}

const trace = {
  meta: null, size: 0,
  i: [], t: [], c: [], d: [], k: [], s: [], f: [], w: [], x: [], g: [],
  after: new Map(), purpose: new Map(), head: new Map(), other: new Map(),
  /** Row of an event of the first trace. */
  rowOf: new Map(),
  /** Findings of an event. */
  findings: new Map(),
};

async function loadMeta() {
  trace.meta = JSON.parse(await unpack(document.querySelector("script.meta")));
  for (const finding of trace.meta.findings) {
    if (!trace.findings.has(finding.i)) trace.findings.set(finding.i, []);
    trace.findings.get(finding.i).push(finding);
  }
}

/** Reads all rows; calls back after each block. */
async function loadRows(progress) {
  for (const element of document.querySelectorAll("script.rows")) {
    const block = JSON.parse(await unpack(element));
    const from = trace.size;
    for (const key of ["i", "t", "c", "d", "k", "s", "f", "w", "x"]) {
      const into = trace[key];
      for (const value of block[key]) into.push(value);
    }
    for (const value of block.g ?? []) trace.g.push(value);
    const sparse = [["a", trace.after], ["p", trace.purpose], ["h", trace.head], ["o", trace.other]];
    for (const [key, into] of sparse) {
      for (const [n, value] of Object.entries(block[key])) into.set(from + Number(n), value);
    }
    trace.size = trace.i.length;
    for (let row = from; row < trace.size; row++) if (trace.g[row] !== 3) trace.rowOf.set(trace.i[row], row);
    element.remove();
    progress();
  }
  settleFindings();
}

/** In a comparison not every event has a row: what was found at one without is shown at the next that has one. */
function settleFindings() {
  for (const [i, found] of [...trace.findings]) {
    if (trace.rowOf.has(i)) continue;
    const row = trace.i.findIndex((n, at) => n > i && trace.g[at] !== 3);
    if (row < 0) continue;
    const there = trace.findings.get(trace.i[row]) ?? [];
    trace.findings.delete(i);
    trace.findings.set(trace.i[row], [...there, ...found]);
    trace.rowOf.set(i, row);
  }
}

const findingsOf = (row) => (trace.g[row] === 3 ? [] : trace.findings.get(trace.i[row]) ?? []);

/** The gravest level of what was found at a row. */
function levelOf(row) {
  const found = findingsOf(row);
  return LEVELS.find((level) => found.some((finding) => finding.level === level));
}

const details = {
  blocks: null,
  kept: new Map(),
  most: 24,

  /** The lines of a block, which are JSON. */
  async block(n) {
    this.blocks ??= [...document.querySelectorAll("script.detail")];
    if (!this.kept.has(n)) {
      this.kept.set(n, unpack(this.blocks[n]).then((text) => text.split("\n")));
      if (this.kept.size > this.most) this.kept.delete(this.kept.keys().next().value);
    }
    return this.kept.get(n);
  },

  from(n) {
    return Number(this.blocks[n].dataset.from);
  },

  count() {
    this.blocks ??= [...document.querySelectorAll("script.detail")];
    return this.blocks.length;
  },

  /** What the trace says of a row, as text. */
  async line(row) {
    let low = 0;
    let high = this.count() - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (this.from(middle) <= row) low = middle;
      else high = middle - 1;
    }
    return (await this.block(low))[row - this.from(low)];
  },
};
