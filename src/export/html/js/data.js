"use strict";

// The trace that is in this page: rows in memory, details in blocks that are unpacked when they are looked at.

const $ = (id) => document.getElementById(id);

/** An element with a class, a text and children. Texts never become markup. */
function make(name, className, ...children) {
  const element = document.createElement(name);
  if (className) element.className = className;
  element.append(...children);
  return element;
}

function bytesOf(text) {
  if (Uint8Array.fromBase64) return Uint8Array.fromBase64(text);
  const plain = atob(text);
  const bytes = new Uint8Array(plain.length);
  for (let n = 0; n < plain.length; n++) bytes[n] = plain.charCodeAt(n);
  return bytes;
}

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

const LEVELS = ["must", "should", "may"];

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

/** A span of microseconds as people say it. */
function span(micros) {
  const n = Math.abs(micros);
  if (n < 1e3) return `${Math.round(micros)} µs`;
  if (n < 1e6) return `${(micros / 1e3).toFixed(n < 1e4 ? 2 : 1)} ms`;
  if (n < 6e7) return `${(micros / 1e6).toFixed(2)} s`;
  return `${Math.floor(micros / 6e7)} min ${Math.floor((micros / 1e6) % 60)} s`;
}

const clock = (micros) => (micros / 1e6).toFixed(6);

const counted = (n, one) => `${n.toLocaleString("en")} ${one}${n === 1 ? "" : "s"}`;

/** What would steer a reader's eye, shown instead. */
const STEERS = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]/g;
const shown = (text) => text.replace(STEERS, (c) => `\\u{${c.codePointAt(0).toString(16)}}`);
