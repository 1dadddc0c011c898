// Everything about one event, and what is seen before one is picked: the findings.

import { $, make, button, copyButton, shown, counted, clock, span, bytesOf } from "./base.js";
import { get } from "./client.js";
import { tree, foldAll, hexDump } from "./tree.js";

/** The longest text that is shown at once. */
const LONGEST = 200_000;

const title = (text, ...buttons) => make("h3", "", text, ...buttons);

const named = (finding) => finding.requirement ?? "an expectation that proves no requirement";

export const details = {
  session: null,
  findings: { findings: [], requirements: {}, uncounted: 0 },
  /** What the buttons of an event do: show another event, do it again, mark a stretch. */
  goTo: () => {},
  again: () => {},
  mark: () => {},

  async show(i) {
    this.picked = i;
    const pane = $("detail");
    let whole;
    try {
      whole = await get(`/api/events/${i}`);
    } catch (error) {
      if (this.picked === i) pane.replaceChildren(make("p", "problem", error.message));
      return;
    }
    if (this.picked !== i) return;
    const { event } = whole;
    const parts = [make("h2", "", `Event ${event.i}: ${event.kind}`), this.facts(event), this.tools(whole)];
    const requirements = this.findings.requirements;
    parts.push(...whole.findings.map((finding) => card(finding, requirements[finding.requirement])));
    parts.push(...body(event, whole.findings.find((finding) => finding.path)?.path), ...raw(event));
    pane.replaceChildren(...parts);
    pane.scrollTop = 0;
  },

  facts(event) {
    const dl = make("dl", "facts");
    const add = (name, value) => value !== undefined && dl.append(make("dt", "", name), make("dd", "", shown(String(value))));
    const wall = new Date(Date.parse(this.session?.start) + event.t / 1000);
    add("time", `${clock(event.t)} s${Number.isNaN(wall.getTime()) ? "" : ` · ${wall.toISOString()}`}`);
    add("connection", event.conn);
    if (event.dir) add("from", event.dir === "c2s" ? "client to server" : "server to client");
    add("on purpose", event.deliberate);
    for (const key of ["address", "tcp", "opcode", "fin", "masked", "rsv", "length", "length_bits", "frames", "last", "how", "stream",
      "pid", "code", "signal", "asked", "name", "outcome", "path", "change", "mark", "event", "id", "retry", "comment", "state"]) {
      if (event[key] !== undefined && typeof event[key] !== "object") add(key, event[key]);
    }
    return dl;
  },

  tools(whole) {
    const { event, copies, act } = whole;
    const bar = make("div", "bar");
    if (act) bar.append(button("again…", "Change it and do it again", () => this.again(act)));
    bar.append(button("from here", "Keep from this event on", () => this.mark("from", event.i)),
      button("to here", "Keep up to this event", () => this.mark("to", event.i)));
    for (const copy of copies) bar.append(copyButton(copy.name, () => copy.text));
    return bar;
  },

  /** What is seen before anything is picked. */
  showSummary() {
    this.picked = null;
    const { findings, requirements, uncounted } = this.findings;
    const parts = [make("h2", "", findings.length ? counted(findings.length, "finding") : "No findings")];
    if (!findings.length) parts.push(make("p", "dim", "The rules of the edition judge each event as it comes. What they find stands here and beside its event."));
    const items = findings.slice(-500).reverse().map((finding) => {
      const jump = button("", `Go to event ${finding.i}`, () => this.goTo(finding.i));
      jump.className = `l-${finding.level}`;
      const statement = requirements[finding.requirement]?.statement;
      jump.replaceChildren(shown(finding.message), make("small", "", `#${finding.i} · ${finding.level} · ${finding.blame}${finding.deliberate === undefined ? "" : `, on purpose: ${finding.deliberate}`} · ${named(finding)}`));
      if (statement) jump.title = statement;
      return make("li", "", jump);
    });
    const ul = make("ul", "", ...items);
    ul.id = "findings-list";
    parts.push(ul);
    if (uncounted) parts.push(make("p", "dim", `And ${uncounted} more of the same requirements, which are not marked.`));
    const place = this.session?.place;
    if (place && Object.keys(place).length) {
      const dl = make("dl", "facts");
      for (const [name, value] of Object.entries(place)) {
        dl.append(make("dt", "", name), make("dd", "", shown(typeof value === "string" ? value : JSON.stringify(value))));
      }
      parts.push(title("where it is"), dl);
    }
    $("detail").replaceChildren(...parts);
  },
};

function card(finding, requirement) {
  const element = make("div", `finding l-${finding.level}${finding.deliberate === undefined ? "" : " purpose"}`);
  const who = finding.deliberate !== undefined ? `broken by the ${finding.blame} on purpose: ${finding.deliberate}` : finding.requirement === null ? `failed by the ${finding.blame}` : `broken by the ${finding.blame}`;
  element.append(make("strong", "", `${finding.level}, ${who}`), make("div", "", make("code", "", shown(named(finding)))));
  element.append(make("p", "", shown(finding.message)));
  if (requirement) {
    element.append(make("p", "dim", requirement.statement));
    if (requirement.why) element.append(make("p", "dim", `Why: ${requirement.why}`));
    element.append(make("p", "dim", requirement.source));
  }
  const dl = make("dl", "facts");
  if (finding.path) dl.append(make("dt", "", "at"), make("dd", "", shown(finding.path)));
  for (const key of ["expected", "actual"]) {
    if (finding[key] !== null) dl.append(make("dt", "", key), make("dd", "", shown(JSON.stringify(finding[key])).slice(0, 2000)));
  }
  element.append(dl);
  return element;
}

/** What an event carried. */
function body(event, hit) {
  const parts = [];
  if (event.start) parts.push(title("head"), make("div", "code", shown(event.start)));
  if (event.headers) parts.push(pairs(event.headers));
  const json = event.json ?? event.params ?? event.result ?? event.error ?? (event.kind === "told" ? event.data : undefined);
  if (json !== undefined) parts.push(...jsonPart("json", json, hit));
  if (event.kind === "stream_event" && event.data !== undefined) parts.push(...textPart("data", event.data));
  if (event.command) parts.push(title("command"), make("div", "code", shown(event.command.join(" "))));
  if (event.text !== undefined && typeof event.text === "string") parts.push(title("text"), make("div", "code", shown(event.text)));
  for (const key of ["payload", "bytes", "content", "body", "raw"]) {
    if (event[key] && typeof event[key] === "object") parts.push(...payloadPart(key, event[key]));
  }
  return parts;
}

function pairs(list) {
  const dl = make("dl", "facts");
  for (const [key, value] of list) dl.append(make("dt", "", shown(key)), make("dd", "", shown(value)));
  return dl;
}

export function jsonPart(name, json, hit) {
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
  const bytes = bytesOf(payload);
  const box = make("div");
  const views = { text: () => make("div", "code", shown((payload.text ?? "").slice(0, LONGEST))), hex: () => hexDump(bytes) };
  const show = (view) => box.replaceChildren(views[view]());
  const buttons = [button("hex", "Show as hexadecimal digits", () => show("hex"))];
  if (payload.text !== undefined) buttons.unshift(button("text", "Show as text", () => show("text")));
  show(payload.text !== undefined ? "text" : "hex");
  return [title(`${name} · ${counted(bytes.length, "byte")}`, ...buttons), box];
}

function raw(event) {
  const text = JSON.stringify(event);
  const box = make("details", "", make("summary", "", "line of the trace"));
  box.addEventListener("toggle", () => {
    if (box.open && box.childElementCount === 1) box.append(make("div", "raw", shown(text.slice(0, LONGEST))));
  });
  return [title("raw", copyButton("copy", () => text)), box];
}
