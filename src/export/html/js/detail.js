// Everything about one event.

/** The longest text that is shown at once. */
const LONGEST = 200_000;

async function showDetail(row) {
  const pane = $("detail");
  const line = await details.line(row);
  if (list.picked !== row) return;
  const whole = JSON.parse(line);
  const event = whole.a ?? whole;
  const parts = [make("h2", `t-${trace.meta.tones[trace.s[row]]}`, trace.w[row] || "event"), facts(row, event)];
  parts.push(...findingsOf(row).map(findingCard));
  if (whole.z?.length) parts.push(...changes(whole.z));
  const headAt = trace.head.get(row);
  if (headAt !== undefined && trace.rowOf.has(headAt)) {
    const head = JSON.parse(await details.line(trace.rowOf.get(headAt)));
    if (list.picked !== row) return;
    parts.push(...headers(head));
  }
  const hit = findingsOf(row).find((finding) => finding.path !== null)?.path;
  parts.push(...body(event, hit));
  if (whole.b) parts.push(title("in the other trace"), facts(row, whole.b), ...body(whole.b));
  parts.push(...foldable("line of the trace", event));
  pane.replaceChildren(...parts);
  pane.scrollTop = 0;
}

function title(text, ...buttons) {
  return make("h3", "", text, ...buttons);
}

function button(text, label, act) {
  const element = make("button", "", text);
  element.type = "button";
  element.setAttribute("aria-label", label);
  element.addEventListener("click", act);
  return element;
}

function facts(row, event) {
  const dl = make("dl", "facts");
  const add = (name, value) => value !== undefined && dl.append(make("dt", "", name), make("dd", "", shown(String(value))));
  add("event", `#${event.i}, ${event.kind}`);
  const wall = new Date(Date.parse(trace.meta.start) + event.t / 1000);
  add("time", `${clock(event.t)} s${Number.isNaN(wall.getTime()) ? "" : ` · ${wall.toISOString()}`}`);
  if (event.i === trace.i[row] && trace.after.has(row)) add("after", span(trace.after.get(row)));
  if (event.conn !== undefined) add("connection", event.conn);
  if (event.dir) add("from", event.dir === "c2s" ? "client to server" : "server to client");
  add("on purpose", event.deliberate);
  for (const key of ["address", "tcp", "opcode", "fin", "masked", "rsv", "length", "length_bits", "frames", "last", "how", "stream",
    "pid", "code", "signal", "asked", "name", "outcome", "path", "change", "mark", "event", "id", "retry", "comment", "state"]) {
    if (event[key] !== undefined && typeof event[key] !== "object") add(key, event[key]);
  }
  return dl;
}

/** The requirement that a finding is about; an expectation may prove none. */
const named = (finding) => finding.requirement ?? "an expectation that proves no requirement";

function findingCard(finding) {
  const card = make("div", `finding l-${finding.level}`);
  const who = finding.requirement === null ? `failed by the ${finding.blame}` : `broken by the ${finding.blame}`;
  card.append(make("strong", "", `${finding.level}, ${who}`), make("div", "", make("code", "", shown(named(finding)))));
  card.append(make("p", "", shown(finding.message)));
  const requirement = trace.meta.requirements[finding.requirement];
  if (requirement) {
    card.append(make("p", "dim", requirement.statement));
    if (requirement.why) card.append(make("p", "dim", `Why: ${requirement.why}`));
    card.append(make("p", "dim", requirement.source));
  }
  const dl = make("dl", "facts");
  if (finding.step) dl.append(make("dt", "", "step"), make("dd", "", shown(finding.step)));
  if (finding.path) dl.append(make("dt", "", "at"), make("dd", "", shown(finding.path)));
  for (const key of ["expected", "actual"]) {
    if (finding[key] !== null) dl.append(make("dt", "", key), make("dd", "", shown(JSON.stringify(finding[key])).slice(0, 2000)));
  }
  card.append(dl);
  return card;
}

function changes(list) {
  const rows = list.map(([path, was, is]) => {
    const cell = (value, name) => make("td", name, value === null ? "—" : shown(value).slice(0, 4000));
    return make("tr", "", make("td", "", shown(path) || "(all of it)"), cell(was, "was"), cell(is, "is"));
  });
  const head = make("tr", "", make("th", "", "where"), make("th", "", "first"), make("th", "", "second"));
  return [title("differences"), make("table", "", head, ...rows)];
}

/** What an event carried. */
function body(event, hit) {
  const parts = [];
  if (event.headers) parts.push(...headers(event));
  const json = event.json ?? event.params ?? event.result ?? event.error ?? (event.kind === "reported" ? event.data : undefined);
  if (json !== undefined) parts.push(...jsonPart(event.kind === "message" ? "json" : "content", json, hit));
  if (event.kind === "stream_event" && event.data !== undefined) parts.push(...textPart("data", event.data));
  if (event.command) parts.push(title("command"), make("div", "code", shown(event.command.join(" "))));
  if (event.text !== undefined && typeof event.text === "string") parts.push(title("text"), make("div", "code", shown(event.text)));
  for (const key of ["payload", "bytes", "content", "body", "raw"]) {
    if (event[key] && typeof event[key] === "object") parts.push(...payloadPart(key, event[key]));
  }
  if (event.trailers) parts.push(...headers({ headers: event.trailers }, "trailers"));
  return parts;
}

function headers(event, name = "head") {
  const dl = make("dl", "facts");
  for (const [key, value] of event.headers ?? []) dl.append(make("dt", "", shown(key)), make("dd", "", shown(value)));
  const parts = [title(name)];
  if (event.start) parts.push(make("div", "code", shown(event.start)));
  parts.push(dl);
  return parts;
}

function jsonPart(name, json, hit) {
  const box = make("div", "code tree", tree(json, 3, hit));
  return [
    title(name, button("unfold", "Unfold everything", () => foldAll(box, true)), button("fold", "Fold everything", () => foldAll(box, false)),
      copyButton(() => JSON.stringify(json, null, 2))),
    box,
  ];
}

function textPart(name, text) {
  try {
    return jsonPart(name, JSON.parse(text));
  } catch {
    return [title(name, copyButton(() => text)), make("div", "code", shown(text.slice(0, LONGEST)))];
  }
}

function payloadPart(name, payload) {
  const bytes = payload.text !== undefined ? new TextEncoder().encode(payload.text) : bytesOf(payload.base64);
  const box = make("div");
  const views = {
    text: () => make("div", "code", shown((payload.text ?? "").slice(0, LONGEST))),
    hex: () => hexDump(bytes),
  };
  const show = (view) => box.replaceChildren(views[view]());
  const buttons = [button("hex", "Show as hexadecimal digits", () => show("hex"))];
  if (payload.text !== undefined) buttons.unshift(button("text", "Show as text", () => show("text")));
  show(payload.text !== undefined ? "text" : "hex");
  return [title(`${name} · ${counted(bytes.length, "byte")}`, ...buttons), box];
}

function copyButton(text) {
  return button("copy", "Copy", async (event) => {
    const element = event.currentTarget;
    try {
      await navigator.clipboard.writeText(text());
      element.textContent = "copied";
    } catch {
      element.textContent = "not allowed here";
    }
  });
}

function foldable(name, event) {
  const text = JSON.stringify(event);
  const box = make("details", "", make("summary", "", name));
  box.addEventListener("toggle", () => {
    if (box.open && box.childElementCount === 1) box.append(make("div", "raw", shown(text.slice(0, LONGEST))));
  });
  return [title("raw", copyButton(() => text)), box];
}

/** What is seen before anything is picked: what was found, each with a way there. */
function showSummary() {
  const { meta } = trace;
  const parts = [make("h2", "", meta.name), make("p", "", counted(meta.events, "event"), ` in ${span(meta.last)}, `,
    counted(meta.connections.length + meta.more_connections, "connection"), meta.cut ? ". The trace was cut: its end is missing." : ".")];
  if (meta.scenario) parts.push(make("p", "", `Scenario ${meta.scenario}`));
  if (!meta.judged) parts.push(make("p", "", "Nobody judged this trace."));
  else if (!meta.findings.length) parts.push(make("p", "", "Nothing was found wrong."));
  else {
    parts.push(title(counted(meta.findings.length, "finding")));
    const items = meta.findings.map((finding) => {
      const jump = button("", `Go to event ${finding.i}`, () => goTo(trace.rowOf.get(finding.i)));
      jump.className = `l-${finding.level}`;
      jump.replaceChildren(shown(finding.message), make("small", "", `#${finding.i} · ${finding.level} · ${finding.blame} · ${named(finding)}`));
      return make("li", "", jump);
    });
    const ul = make("ul", "", ...items);
    ul.id = "findings-list";
    parts.push(ul);
    if (meta.uncounted) parts.push(make("p", "dim", `And ${meta.uncounted} more of the same requirements, which are not marked.`));
  }
  $("detail").replaceChildren(...parts);
}
