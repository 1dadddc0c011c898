// Everything about one event and about one finding.

/** The longest text that is shown at once. */
const LONGEST = 200_000;

const title = (text, ...buttons) => make("h3", "", text, ...buttons);

/** Names with their values; those without a value are left out. */
function facts(pairs) {
  const dl = make("dl", "facts");
  for (const [name, value] of pairs) {
    if (value !== undefined && value !== null) dl.append(make("dt", "", shown(name)), make("dd", "", shown(String(value))));
  }
  return dl;
}

/** What an event is and when it was; `start`: when the trace began; `after`: how long after what it responds to. */
function eventFacts(event, start, after) {
  const wall = new Date(Date.parse(start) + event.t / 1000);
  const utc = Number.isNaN(wall.getTime()) ? "" : ` · ${wall.toISOString()}`;
  const keys = ["address", "tcp", "opcode", "fin", "masked", "rsv", "length", "length_bits", "frames", "last", "how", "stream", "pid",
    "code", "signal", "asked", "name", "outcome", "path", "change", "mark", "event", "id", "retry", "comment", "state"];
  const plain = keys.filter((key) => typeof event[key] !== "object").map((key) => [key, event[key]]);
  return facts([
    ["event", `#${event.i}, ${event.kind}`],
    ["time", `${clock(event.t)} s${utc}`],
    ["after", after === undefined ? undefined : span(after)],
    ["connection", event.conn],
    ["from", { c2s: "client to server", s2c: "server to client" }[event.dir]],
    ["on purpose", event.deliberate],
    ...plain,
  ]);
}

/** The requirement that a finding is about; an expectation may prove none. */
const named = (finding) => finding.requirement ?? "an expectation that proves no requirement";

/** A finding, with the requirement it is about. */
function findingCard(finding, requirement) {
  const { deliberate } = finding;
  const card = make("div", `finding l-${finding.level}${deliberate === undefined ? "" : " purpose"}`);
  const verb = finding.requirement === null && deliberate === undefined ? "failed" : "broken";
  const who = `${verb} by the ${finding.blame}${deliberate === undefined ? "" : ` on purpose: ${deliberate}`}`;
  card.append(make("strong", "", `${finding.level}, ${who}`), make("div", "", make("code", "", shown(named(finding)))));
  card.append(make("p", "", shown(finding.message)));
  if (requirement) {
    card.append(make("p", "dim", requirement.statement));
    if (requirement.why) card.append(make("p", "dim", `Why: ${requirement.why}`));
    card.append(make("p", "dim", requirement.source));
  }
  const value = (key) => (finding[key] === null ? undefined : JSON.stringify(finding[key])?.slice(0, 2000));
  card.append(facts([["step", finding.step], ["at", finding.path || undefined], ["expected", value("expected")], ["actual", value("actual")]]));
  return card;
}

/** A list of findings, each with a way to its event. */
function findingList(findings, goTo, requirements) {
  const items = findings.map((finding) => {
    const jump = button("", `Go to event ${finding.i}`, () => goTo(finding.i));
    jump.className = `l-${finding.level}`;
    const purpose = finding.deliberate === undefined ? "" : `, on purpose: ${finding.deliberate}`;
    const about = `#${finding.i} · ${finding.level} · ${finding.blame}${purpose} · ${named(finding)}`;
    jump.replaceChildren(shown(finding.message), make("small", "", about));
    const statement = requirements[finding.requirement]?.statement;
    if (statement) jump.title = statement;
    return make("li", "", jump);
  });
  const ul = make("ul", "", ...items);
  ul.id = "findings-list";
  return ul;
}

/** What an event carried; `hit`: the JSON pointer that is marked. */
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

/** The head of an HTTP message. */
function headers(event, name = "head") {
  const parts = [title(name)];
  if (event.start) parts.push(make("div", "code", shown(event.start)));
  parts.push(facts(event.headers ?? []));
  return parts;
}

function jsonPart(name, json, hit) {
  const box = make("div", "code tree", tree(json, 3, hit));
  const bytes = make("div");
  const hex = button("bytes", "Show the bytes", () => {
    bytes.replaceChildren(...(bytes.childElementCount ? [] : [hexDump(new TextEncoder().encode(JSON.stringify(json)))]));
  });
  return [
    title(name, button("unfold", "Unfold everything", () => foldAll(box, true)), button("fold", "Fold everything", () => foldAll(box, false)),
      hex, copyButton("copy", () => JSON.stringify(json, null, 2))),
    box, bytes,
  ];
}

function textPart(name, text) {
  try {
    return jsonPart(name, JSON.parse(text));
  } catch {
    return [title(name, copyButton("copy", () => text)), make("div", "code", shown(text.slice(0, LONGEST)))];
  }
}

function payloadPart(name, payload) {
  const bytes = payload.text !== undefined ? new TextEncoder().encode(payload.text) : bytesOf(payload.base64 ?? "");
  const box = make("div");
  const views = { text: () => make("div", "code", shown((payload.text ?? "").slice(0, LONGEST))), hex: () => hexDump(bytes) };
  const show = (view) => box.replaceChildren(views[view]());
  const buttons = [button("hex", "Show as hexadecimal digits", () => show("hex"))];
  if (payload.text !== undefined) buttons.unshift(button("text", "Show as text", () => show("text")));
  show(payload.text !== undefined ? "text" : "hex");
  return [title(`${name} · ${counted(bytes.length, "byte")}`, ...buttons), box];
}

/** The line of the trace, folded. */
function traceLine(event) {
  const text = JSON.stringify(event);
  const box = make("details", "", make("summary", "", "line of the trace"));
  box.addEventListener("toggle", () => {
    if (box.open && box.childElementCount === 1) box.append(make("div", "raw", shown(text.slice(0, LONGEST))));
  });
  return [title("raw", copyButton("copy", () => text)), box];
}
