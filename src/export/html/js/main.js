// Puts the parts together: what the page does with clicks and keys.

/** What the keys do: names, meaning, and what is done. */
const KEYS = [
  [["ArrowDown", "j"], "next event", () => list.step(1)],
  [["ArrowUp", "k"], "previous event", () => list.step(-1)],
  [["PageDown", " "], "a page down", () => list.step(list.view.page())],
  [["PageUp"], "a page up", () => list.step(-list.view.page())],
  [["Home", "g"], "first event", () => list.step(-Infinity)],
  [["End", "G"], "last event", () => list.step(Infinity)],
  [["n"], "next finding or difference", () => nextMark(1)],
  [["p"], "previous finding or difference", () => nextMark(-1)],
  [["Enter"], "to the details", () => $("detail").focus()],
  [["/"], "search", () => $("text").focus()],
  [["Escape"], "back to the list, or to what was found", () => leave()],
  [["+", "="], "zoom in", () => overview.scale(0.5, around())],
  [["-"], "zoom out", () => overview.scale(2, around())],
  [["["], "earlier", () => overview.pan(-0.5)],
  [["]"], "later", () => overview.pan(0.5)],
  [["0"], "the whole time", () => overview.zoom(...overview.whole)],
  [["t"], "light or dark", () => otherTheme()],
  [["?"], "these keys", () => $("help").showModal()],
];

const around = () => (list.picked >= 0 ? trace.t[list.picked] : undefined);

let soonRefresh = 0;

/** Shows what fits the filter now. */
function refresh() {
  const rows = filter.rows();
  list.show(rows);
  $("count").textContent = `${rows.length.toLocaleString("en")} of ${counted(trace.size, "event")}`;
}

function leave() {
  if (document.activeElement === $("list") && list.picked >= 0) {
    list.picked = -1;
    list.view.draw();
    overview.mark();
    showSummary();
  }
  $("list").focus();
}

/** Shows a row, whatever the filter says. */
function goTo(row) {
  if (row === undefined) return;
  if (list.place(row) < 0) {
    $("filter").reset();
  }
  list.pick(row, true);
  overview.mark();
  $("list").focus();
}

function jumpToTime(t) {
  const rows = list.rows;
  let low = 0;
  let high = rows.length - 1;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (trace.t[rows[middle]] < t) low = middle + 1;
    else high = middle;
  }
  if (rows.length) list.pick(rows[low], true);
  overview.mark();
}

function nextMark(by) {
  const marked = (row) => findingsOf(row).length > 0 || (trace.g.length > 0 && trace.g[row] !== 0);
  const from = list.picked < 0 ? (by > 0 ? -1 : trace.size) : list.picked;
  for (let row = from + by; row >= 0 && row < trace.size; row += by) {
    if (marked(row) && (list.place(row) >= 0 || findingsOf(row).length)) return goTo(row);
  }
}

function otherTheme() {
  switchTheme();
  overview.draw();
  list.view.soon();
}

function describe() {
  const { meta } = trace;
  document.title = `${meta.name} · wirecert`;
  $("name").textContent = meta.comparison ? `${meta.name} → ${meta.comparison.name}` : meta.name;
  $("about").replaceChildren(make("b", "", meta.protocol), ` edition ${meta.edition} · client: `, make("b", "", meta.client), " · server: ",
    make("b", "", meta.server), ` · ${meta.start}`, meta.cut ? " · cut" : "");
  $("client").textContent = `client: ${meta.client}`;
  $("server").textContent = `server: ${meta.server}`;
  const pills = [];
  const pill = (kind, text, act) => {
    const element = make(act ? "button" : "span", `pill ${kind}`, text);
    if (act) element.addEventListener("click", act);
    pills.push(element);
  };
  if (meta.comparison) {
    for (const key of ["changed", "missing", "extra", "moved", "same"]) {
      if (meta.comparison[key]) pill(key, `${meta.comparison[key].toLocaleString("en")} ${key}`);
    }
    $("differences-label").hidden = false;
    filter.differences = meta.comparison.changed + meta.comparison.missing + meta.comparison.extra + meta.comparison.moved > 0;
    $("differences").checked = filter.differences;
  }
  for (const level of LEVELS) {
    const n = meta.findings.filter((finding) => finding.level === level).length;
    if (n) pill(level, `${n} ${level}`, () => { list.picked = -1; nextMark(1); });
  }
  if (meta.judged && !meta.findings.length) pill("fine", "no findings");
  $("verdict").replaceChildren(...pills);
  $("none").textContent = "Nothing in this trace fits the filter.";
  describeKeys(KEYS);
}

function offerTones() {
  const counts = trace.meta.tones.map(() => 0);
  for (let row = 0; row < trace.size; row++) counts[trace.f[row] & 1 ? trace.meta.tones.indexOf("piece") : trace.s[row]]++;
  const chips = trace.meta.tones.map((name, n) => {
    const chip = make("button", "tone", name === "piece" ? "frames & pieces" : name, make("small", "", counts[n].toLocaleString("en")));
    chip.type = "button";
    chip.style.setProperty("--of", `var(--${name})`);
    chip.hidden = !counts[n];
    chip.setAttribute("aria-pressed", filter.tones.has(n));
    chip.addEventListener("click", () => {
      if (!filter.tones.delete(n)) filter.tones.add(n);
      chip.setAttribute("aria-pressed", filter.tones.has(n));
      refresh();
    });
    return chip;
  });
  $("tones").replaceChildren(...chips);
}

function offerConnections() {
  const text = $("conn-text").value.toLowerCase();
  const fits = trace.meta.connections.map((one, n) => [n, one]).filter(([, [name]]) => name.toLowerCase().includes(text));
  const items = fits.slice(0, 300).map(([n, [name, , , events]]) => {
    const box = make("input");
    box.type = "checkbox";
    box.checked = !filter.without.has(n);
    box.addEventListener("change", () => {
      if (box.checked) filter.without.delete(n);
      else filter.without.add(n);
      refresh();
    });
    return make("label", "", box, make("i", laneColour(n)), shown(name), make("small", "", events.toLocaleString("en")));
  });
  if (fits.length > 300) items.push(make("small", "", `and ${fits.length - 300} more: type a part of the name`));
  $("conn-list").replaceChildren(...items);
  const set = (out) => {
    for (const [n] of fits) {
      if (out) filter.without.add(n);
      else filter.without.delete(n);
    }
    offerConnections();
    refresh();
  };
  $("conn-all").onclick = () => set(false);
  $("conn-none").onclick = () => set(true);
}

function defaults() {
  filter.text = "";
  filter.deep = false;
  filter.deepRows = null;
  filter.findings = false;
  filter.differences = false;
  filter.without.clear();
  filter.tones = new Set(trace.meta.tones.map((_, n) => n).filter((n) => trace.meta.tones[n] !== "piece"));
}

function listen() {
  const search = () => {
    clearTimeout(soonRefresh);
    soonRefresh = setTimeout(() => {
      filter.text = $("text").value;
      filter.deep = $("deep").checked;
      filter.lookDeep((part) => {
        refresh();
        if (part < 1) $("count").textContent += ` · searching, ${Math.round(part * 100)} %`;
      });
      refresh();
    }, 90);
  };
  $("text").addEventListener("input", search);
  $("deep").addEventListener("change", search);
  $("only-findings").addEventListener("change", (event) => { filter.findings = event.target.checked; refresh(); });
  $("differences").addEventListener("change", (event) => { filter.differences = event.target.checked; refresh(); });
  $("conn-text").addEventListener("input", offerConnections);
  $("filter").addEventListener("submit", (event) => event.preventDefault());
  $("filter").addEventListener("reset", () => {
    defaults();
    filter.search++;
    filter.range = null;
    overview.view = [...overview.whole];
    // The controls are as they were at first only after this.
    setTimeout(() => { $("differences").checked = false; }, 0);
    offerTones();
    offerConnections();
    overview.draw();
    refresh();
  });
  $("earlier").addEventListener("click", () => overview.pan(-0.5));
  $("later").addEventListener("click", () => overview.pan(0.5));
  $("closer").addEventListener("click", () => overview.scale(0.5, around()));
  $("wider").addEventListener("click", () => overview.scale(2, around()));
  $("whole").addEventListener("click", () => overview.zoom(...overview.whole));
  $("theme").addEventListener("click", otherTheme);
  $("keys").addEventListener("click", () => $("help").showModal());
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || $("help").open) return;
    const typing = event.target.matches("input, textarea");
    if (typing && event.key !== "Escape") {
      if (event.key === "Enter" && event.target === $("text")) $("list").focus();
      return;
    }
    // Buttons and folded things have keys of their own.
    if (event.target.closest("button, summary, #split") && ["Enter", " ", "ArrowLeft", "ArrowRight"].includes(event.key)) return;
    if (event.target.closest("#detail") && ["ArrowDown", "ArrowUp", "PageDown", "PageUp", "Home", "End", " "].includes(event.key)) return;
    const found = KEYS.find(([names]) => names.includes(event.key));
    if (!found) return;
    event.preventDefault();
    found[2]();
    overview.mark();
  });
  splits($("detail"), 240, 360);
}

async function begin() {
  systemTheme();
  if (!("DecompressionStream" in window)) {
    document.body.append(make("p", "alert", "This browser cannot unpack the trace: it lacks DecompressionStream. Any current one can."));
    return;
  }
  await loadMeta();
  const { meta } = trace;
  lanes.lay(meta.connections);
  const root = document.documentElement.style;
  root.setProperty("--lanes", meta.comparison ? "0px" : `${lanes.width}px`);
  const longest = Math.min(18, meta.connections.reduce((most, [name]) => Math.max(most, name.length), 0));
  root.setProperty("--conn", meta.connections.length > 1 ? `${longest * 7.5 + 24}px` : "0px");
  $("heads").querySelector(".conn").hidden = meta.connections.length < 2;
  defaults();
  describe();
  list.begin();
  overview.begin();
  listen();
  showSummary();
  let drawn = 0;
  await loadRows(() => {
    $("count").textContent = `reading, ${counted(trace.size, "event")}`;
    // The first rows are there to be read while the rest is unpacked.
    if (!drawn++) refresh();
  });
  offerTones();
  offerConnections();
  refresh();
  overview.draw();
  $("list").focus();
  document.documentElement.dataset.ready = trace.size;
}

begin();
