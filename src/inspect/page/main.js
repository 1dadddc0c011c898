// Puts the parts together: what the page does with clicks, keys and what is told of the trace.

import { $, make, button, counted, shown, describeKeys, jsonPart, splits, switchTheme, systemTheme, LEVELS } from "./shared.js";
import { get, ofTrace, follow, choose } from "./client.js";
import { list } from "./list.js";
import { details } from "./details.js";
import { acts } from "./acts.js";
import { switches } from "./switches.js";
import { keep } from "./keep.js";
import { suite } from "./suite.js";
import { compare } from "./compare.js";
import { traces } from "./traces.js";

const TONES = ["request", "response", "failure", "notification", "control", "piece", "around", "mark"];
const TABS = ["detail", "act", "switches", "model", "keep", "suite", "compare"];

/** What the keys do: names, meaning, and what is done. */
const KEYS = [
  [["ArrowDown", "j"], "next event", () => list.step(1)],
  [["ArrowUp", "k"], "previous event", () => list.step(-1)],
  [["PageDown", " "], "a page down", () => list.step(list.view.page())],
  [["PageUp"], "a page up", () => list.step(-list.view.page())],
  [["Home", "g"], "first event", () => list.pickPlace(0)],
  [["End", "G"], "last event", () => list.pickPlace(Infinity)],
  [["n"], "next finding", () => nextFinding(1)],
  [["p"], "previous finding", () => nextFinding(-1)],
  [["Enter"], "to the details", () => { tab("detail"); $("detail").focus(); }],
  [["/"], "search", () => $("text").focus()],
  [["."], "pause or go on", () => list.pause(!list.paused)],
  [["f"], "follow the newest event", () => list.follow(!list.following)],
  [["1"], "details", () => tab("detail", true)],
  [["2"], "act", () => tab("act", true)],
  [["3"], "flaws and freedoms", () => tab("switches", true)],
  [["4"], "state", () => tab("model", true)],
  [["5"], "keep", () => tab("keep", true)],
  [["6"], "scenarios of the suite", () => tab("suite", true)],
  [["7"], "compare", () => tab("compare", true)],
  [["Escape"], "back to the list, or to the findings", () => leave()],
  [["t"], "light or dark", () => otherTheme()],
  [["?"], "these keys", () => $("help").showModal()],
];

let session = null;
let found = -1;
/** Ends the following of the trace that is shown. */
let following = new AbortController();

function tab(name, focus = false) {
  for (const one of TABS) {
    const on = one === name;
    $(one).hidden = !on;
    const button = $(`tab-${one}`);
    button.setAttribute("aria-selected", on);
    button.tabIndex = on ? 0 : -1;
  }
  if (focus) ($(name).querySelector("input, select, textarea, button") ?? $(`tab-${name}`)).focus();
  if (name === "model") showModel();
  if (name === "suite") suite.show();
  if (name === "compare") compare.show();
}

function leave() {
  if (document.activeElement === $("list") && list.picked !== null) {
    list.unpick();
    details.showSummary();
  }
  $("list").focus();
}

async function goTo(i) {
  if (!(await list.goTo(i))) {
    $("filter").reset();
    await list.ask(query());
    if (!(await list.goTo(i))) {
      $("pieces").checked = $("runs").checked = true;
      await list.ask(query());
      await list.goTo(i);
    }
  }
  $("list").focus();
}

function nextFinding(by) {
  const places = [...new Set(details.findings.findings.map((finding) => finding.i))].sort((a, b) => a - b);
  if (!places.length) return;
  const at = list.picked ?? (by > 0 ? -1 : Infinity);
  const next = by > 0 ? places.find((i) => i > at) : places.findLast((i) => i < at);
  if (next !== undefined) goTo(next);
}

function otherTheme() {
  switchTheme();
  list.view.soon();
}

function query() {
  return {
    q: $("text").value, conn: $("conn").value.trim(), tone: $("tone").value, findings: $("only-findings").checked,
    pieces: $("pieces").checked, runs: $("runs").checked,
  };
}

function showCount() {
  const looked = list.scanned < list.events ? `, looked at ${Math.floor((100 * list.scanned) / list.events)} %` : "";
  $("count").textContent = `${list.total.toLocaleString("en")} of ${counted(list.events, "event")}${looked}`;
  $("pause").setAttribute("aria-pressed", list.paused);
  $("pause").textContent = list.paused ? "go on" : "pause";
  $("follow").setAttribute("aria-pressed", list.following);
}

function showVerdict() {
  const all = details.findings.findings;
  const pill = (kind, text, about, n) => {
    if (!n) return [];
    const element = button(`${n} ${text}`, `${counted(n, "finding")} ${about}: to the next one`, () => { tab("detail"); nextFinding(1); });
    element.className = `pill ${kind}`;
    return [element];
  };
  const pills = LEVELS.flatMap((level) => pill(level, level, `of the level ${level}`,
    all.filter((finding) => finding.level === level && finding.deliberate === undefined).length));
  pills.push(...pill("purpose", "on purpose", "of flaws that are on", all.filter((finding) => finding.deliberate !== undefined).length));
  $("verdict").replaceChildren(...(pills.length ? pills : [make("span", "pill fine", "no findings")]));
}

async function showFindings() {
  details.findings = await ofTrace("/api/findings");
  showVerdict();
  if (list.picked === null) details.showSummary();
  list.view.soon();
}

async function showModel() {
  const pane = $("model");
  const fresh = await get("/api/session");
  session = fresh;
  switches.all = fresh.deviations;
  if (switches.lists) switches.draw();
  const again = button("look again", "Look again", () => showModel());
  const state = fresh.state === undefined ? [make("p", "dim", "Nothing here has a state that wirecert knows.")] : jsonPart("state", fresh.state);
  pane.replaceChildren(make("h2", "", "State"), make("div", "bar", again), ...state);
}

/** Shows a trace; an event of it, if one is named. */
async function showTrace(name, i) {
  if (traces.shown !== name) {
    traces.shown = name;
    traces.draw();
    choose(name);
    found = -1;
    details.findings = { findings: [], requirements: {}, uncounted: 0 };
    details.showSummary();
    followTrace(name);
    await list.restart(query());
  }
  if (i !== undefined) await goTo(i);
}

function followTrace(name) {
  following.abort();
  following = new AbortController();
  const over = name === "session" ? "The session has ended. What was recorded can still be looked at." : null;
  follow(name, following.signal, (live) => {
    list.told(live).catch((error) => alertOf(error.message));
    if (live.findings !== found) {
      found = live.findings;
      showFindings().catch(() => {});
    }
    alertOf(live.error ?? (live.ended ? over : null));
  }, (error) => error && alertOf(`The connection to wirecert is lost: ${error.message}`));
}

function alertOf(text) {
  $("alert").hidden = !text;
  $("alert").textContent = text ?? "";
}

function describe() {
  document.title = `${session.title} · wirecert inspector`;
  $("name").textContent = shown(session.title);
  $("about").replaceChildren(make("b", "", session.protocol), ` edition ${session.edition} · client: `, make("b", "", shown(session.client)), " · server: ",
    make("b", "", shown(session.server)), make("span", "start", ` · since ${session.start.slice(0, 19).replace("T", " ")} UTC`));
  $("client").textContent = `client: ${shown(session.client)}`;
  $("server").textContent = `server: ${shown(session.server)}`;
  $("tone").append(...TONES.map((tone) => {
    const option = make("option", "", { around: "processes & files", mark: "marks", piece: "pieces" }[tone] ?? `${tone}s`);
    option.value = tone;
    return option;
  }));
  describeKeys(KEYS);
}

function listen() {
  let soon = 0;
  const asked = () => {
    clearTimeout(soon);
    soon = setTimeout(() => list.ask(query()).catch((error) => alertOf(error.message)), 120);
  };
  for (const id of ["text", "conn", "tone", "only-findings", "pieces", "runs"]) $(id).addEventListener("input", asked);
  $("filter").addEventListener("submit", (event) => event.preventDefault());
  $("pause").addEventListener("click", () => list.pause(!list.paused));
  $("follow").addEventListener("click", () => list.follow(!list.following));
  $("theme").addEventListener("click", otherTheme);
  $("keys").addEventListener("click", () => $("help").showModal());
  for (const name of TABS) $(`tab-${name}`).addEventListener("click", () => tab(name));
  $("tabs").addEventListener("keydown", (event) => {
    const by = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!by) return;
    const at = TABS.findIndex((name) => document.activeElement.id === `tab-${name}`);
    const next = TABS[(at + by + TABS.length) % TABS.length];
    tab(next);
    $(`tab-${next}`).focus();
  });
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || $("help").open) return;
    const writes = event.target.closest("input, textarea, select");
    if (event.key === "Escape" && writes) return $("list").focus();
    if (writes || (event.target.closest("button, summary, [role=tab]") && ["Enter", " "].includes(event.key))) return;
    const key = KEYS.find(([names]) => names.includes(event.key));
    if (!key) return;
    event.preventDefault();
    key[2]();
  });
  splits($("side"), 260, 320);
}

async function begin() {
  systemTheme();
  list.begin();
  listen();
  list.onchange = showCount;
  list.onpick = (i) => { tab("detail"); details.show(i); };
  details.goTo = goTo;
  details.again = (act) => { acts.put(act); tab("act", true); };
  details.mark = (end, i) => { keep.mark(end, i); tab("keep"); };
  try {
    session = await get("/api/session");
  } catch (error) {
    alertOf(error.status === 401 ? "The token is missing from the address. Open the address that wirecert printed, with everything after the #." : error.message);
    return;
  }
  details.session = session;
  describe();
  acts.begin(session);
  switches.begin(session);
  keep.begin(session);
  keep.onsaved = () => suite.look();
  traces.begin((name) => showTrace(name).catch((error) => alertOf(error.message)));
  const goToEvent = (name, i) => showTrace(name, i).catch((error) => alertOf(error.message));
  suite.begin(session, goToEvent);
  compare.begin(goToEvent);
  details.showSummary();
  showVerdict();
  await list.ask(query());
  document.documentElement.dataset.ready = "";
  followTrace("session");
}

begin();
