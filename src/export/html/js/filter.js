// What is shown: which rows fit the filter.

const filter = {
  text: "",
  deep: false,
  /** Rows in whose details the text is; null while nobody asked. */
  deepRows: null,
  tones: new Set(),
  /** Connections that are left out. */
  without: new Set(),
  findings: false,
  differences: false,
  /** Microseconds, from and to; null for the whole time. */
  range: null,
  search: 0,

  /** The rows that fit. */
  rows() {
    const { tones, without, range } = this;
    const text = this.pattern();
    const piece = trace.meta.tones.indexOf("piece");
    const out = [];
    for (let row = 0; row < trace.size; row++) {
      const t = trace.t[row];
      if (range && (t < range[0] || t > range[1])) continue;
      const found = this.findings || trace.f[row] & 1 ? findingsOf(row).length > 0 : false;
      // What others tell is hidden with the pieces, unless something was found just there.
      if (trace.f[row] & 1 && !found && !tones.has(piece)) continue;
      if (!tones.has(trace.s[row]) && !found) continue;
      if (this.findings && !found) continue;
      if (this.differences && trace.g[row] === 0) continue;
      if (without.size && without.has(trace.c[row])) continue;
      if (text && !this.says(row, text)) continue;
      out.push(row);
    }
    return out;
  },

  pattern() {
    if (!this.text) return null;
    return new RegExp(this.text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"), "i");
  },

  says(row, text) {
    if (text.test(trace.w[row]) || text.test(trace.x[row])) return true;
    const purpose = trace.purpose.get(row);
    if (purpose && text.test(purpose)) return true;
    const conn = trace.c[row];
    if (conn >= 0 && text.test(trace.meta.connections[conn][0])) return true;
    return this.deepRows?.has(row) ?? false;
  },

  /** Looks for the text in everything there is; calls back as it gets on. */
  async lookDeep(progress) {
    const search = ++this.search;
    this.deepRows = null;
    const text = this.pattern();
    if (!text || !this.deep) return;
    const found = new Set();
    for (let n = 0; n < details.count(); n++) {
      const lines = await details.block(n);
      if (search !== this.search) return;
      const from = details.from(n);
      lines.forEach((line, k) => text.test(line) && found.add(from + k));
      this.deepRows = found;
      if (n % 8 === 7 || n + 1 === details.count()) progress((n + 1) / details.count());
    }
  },
};
