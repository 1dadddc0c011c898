"use strict";
// Shows a report: the subject that is picked, filtered by words, levels and statuses. Everything foreign is put in as text.

const $ = (id) => document.getElementById(id);
const { report, requirements, causes } = JSON.parse($("data").textContent);

const LEVELS = ["must", "should", "may"];
const STATUSES = { violated: "violated", not_assessed: "not assessed", excused: "excused", met: "met" };
const PLAYED = { failed: "failed", error: "not judged", blocked: "blocked", skipped: "skipped", passed: "passed" };
/** So many rows are made at a time. */
const ROWS = 300;

const words = (verdict) => verdict.replaceAll("_", " ");
const counted = (n, one) => `${n.toLocaleString("en")} ${one}${n === 1 ? "" : "s"}`;
const area = (id) => id.split("/").slice(-2, -1)[0] ?? "";
const slug = (id) => id.split("/").slice(2).join("/") || id;

/** An element with these attributes and children; texts become text. */
function el(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (value !== undefined && value !== false) element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.flat().filter((child) => child !== undefined && child !== null && child !== false));
  return element;
}

const shown = { subject: 0, text: "", levels: new Set(LEVELS), statuses: new Set(Object.keys(STATUSES)) };
const subject = () => report.subjects[shown.subject];

/** Whether each word of the filter is in one of these texts. */
function fits(...texts) {
  if (!shown.text) return true;
  const all = texts.filter(Boolean).join("\n").toLowerCase();
  return shown.text.split(/\s+/).every((word) => all.includes(word));
}

// The top.

function bar(counts) {
  const total = counts.reduce((sum, [, n]) => sum + n, 0) || 1;
  const pieces = counts.filter(([, n]) => n > 0).map(([kind, n]) => {
    const piece = el("i", { class: kind, title: `${n} ${words(kind)}` });
    piece.style.width = `${(100 * n) / total}%`;
    return piece;
  });
  return el("div", { class: "bar", role: "img", "aria-label": counts.map(([kind, n]) => `${n} ${words(kind)}`).join(", ") }, pieces);
}

function statusCounts(subject, level) {
  const of = subject.requirements.filter((requirement) => requirement.level === level);
  return Object.keys(STATUSES).reverse().map((status) => [status, of.filter((r) => r.status === status).length]);
}

function card(subject, n) {
  const { counts } = subject;
  const played = [["passed", counts.passed], ["failed", counts.failed + counts.expected_failures], ["blocked", counts.blocked ?? 0],
    ["skipped", counts.skipped], ["error", counts.error]];
  const said = (all) => all.filter(([, n]) => n > 0).map(([kind, n]) => `${n} ${STATUSES[kind] ?? PLAYED[kind]}`).join(" · ") || "none";
  const figures = LEVELS.filter((level) => subject.requirements.some((r) => r.level === level)).flatMap((level) => {
    const all = statusCounts(subject, level);
    return [el("dt", {}, level), el("dd", {}, bar(all), said(all))];
  });
  return el("button", { class: "card", type: "button", "aria-current": String(n === shown.subject), onclick: () => pick(n) },
    el("div", { class: "title" }, el("b", {}, subject.name), el("span", { class: `verdict ${subject.verdict}` }, words(subject.verdict))),
    el("div", { class: "soft small" }, `${subject.role}, edition ${subject.edition}`),
    el("dl", { class: "figures" }, figures, el("dt", {}, "scenarios"), el("dd", {}, bar(played), said(played))));
}

function banner() {
  $("verdict").textContent = words(report.verdict);
  $("verdict").className = `verdict ${report.verdict}`;
  document.title = `${words(report.verdict)} · wirecert`;
  const { suite } = report;
  $("run").textContent = `${counted(report.subjects.length, "subject")}, judged by wirecert ${suite.version}`;
  $("about").textContent = `wirecert ${suite.version}, suite ${suite.digest}`;
  const unjudged = (report.unjudged ?? []).map((one) => el("div", { class: "card" },
    el("div", { class: "title" }, el("b", {}, one.name), el("span", { class: "verdict not_judged" }, "not judged")),
    el("div", { class: "soft small" }, `${one.role}, edition ${one.edition}`), el("div", { class: "small" }, one.reason)));
  $("subjects").replaceChildren(...report.subjects.map(card), ...unjudged);
}

// The findings.

function explained(id) {
  const about = requirements[id];
  if (!about) return [];
  return [el("p", {}, about.statement), about.why && el("p", { class: "soft" }, about.why),
    el("p", { class: "soft small" }, `source: ${about.source}`)];
}

const text = (value) => (typeof value === "string" ? value : JSON.stringify(value, null, 1));

function events(finding) {
  const lines = finding.last_events ?? [];
  if (lines.length === 0) return undefined;
  return el("div", { class: "events", tabindex: "0" }, lines.map((line) => {
    const [, number, time, rest] = line.match(/^(#\d+) +([\d.]+s) +([^]*)$/) ?? [null, "", "", line];
    return el("div", { class: number === `#${finding.index}` ? "of" : "" }, el("span", {}, number), el("span", {}, time), el("span", {}, rest));
  }));
}

function repro(command) {
  const button = el("button", { type: "button", onclick: async () => {
    await navigator.clipboard?.writeText(command);
    button.textContent = "copied";
  } }, "copy");
  return el("div", { class: "repro" }, el("pre", {}, command), button);
}

function evidence(finding) {
  const has = (value) => value !== undefined && value !== null;
  return [
    finding.path ? el("p", { class: "small" }, "at ", el("code", {}, finding.path)) : undefined,
    has(finding.expected) || has(finding.actual) ? el("div", { class: "evidence" },
      el("div", { class: "expected" }, el("b", {}, "expected"), el("pre", {}, has(finding.expected) ? text(finding.expected) : "–")),
      el("div", { class: "actual" }, el("b", {}, "actual"), el("pre", {}, has(finding.actual) ? text(finding.actual) : "–"))) : undefined,
    events(finding),
    finding.depends ? el("p", { class: "small" }, `depends on ${finding.depends}`) : undefined,
  ];
}

const linked = (scenario) => (subject().scenarios.some(({ id }) => id === scenario)
  ? el("a", { href: `#scenario=${encodeURIComponent(scenario)}` }, scenario) : scenario);

function places(findings) {
  const scenarios = [...new Set(findings.map((finding) => finding.scenario).filter(Boolean))];
  const items = scenarios.slice(0, 50).map((scenario) => el("li", { class: "mono" }, linked(scenario)));
  if (scenarios.length > 50) items.push(el("li", {}, `and ${scenarios.length - 50} more`));
  return [el("h3", {}, `Shows in ${counted(scenarios.length, "scenario")}`), el("ul", { class: "plain" }, items)];
}

function cause({ requirement, level, known, findings: indices }) {
  const findings = indices.map((n) => subject().findings[n]);
  const first = findings[0];
  const blocks = first.blocks ?? [];
  const seen = findings.reduce((sum, finding) => sum + (finding.occurrences ?? 1), 0);
  const details = el("details", { class: `cause ${known ? "known" : level}`, id: `finding=${requirement}` },
    el("summary", {}, el("span", { class: "level" }, known ? `known ${level}` : level), el("code", {}, requirement ? slug(requirement) : "expectation"),
      el("span", { class: "what" }, first.message), el("span", { class: "soft small" }, `${seen}×`)));
  details.addEventListener("toggle", () => {
    if (!details.open || details.children.length > 1) return;
    details.append(el("div", { class: "body" }, explained(requirement), known && el("p", {}, `known: ${first.baseline}`), evidence(first),
      repro(first.repro), places(findings),
      blocks.length > 0 && [el("h3", {}, `Keeps ${counted(blocks.length, "requirement")} from being judged`),
        el("ul", { class: "plain" }, blocks.map((id) => el("li", { class: "mono" }, link(id))))]));
  });
  return details;
}

const link = (id) => el("a", { href: `#requirement=${encodeURIComponent(id)}` }, slug(id));

function findings() {
  const all = causes[shown.subject] ?? [];
  const fitting = all.filter(({ requirement, level, findings }) => shown.levels.has(level) && shown.statuses.has("violated")
    && fits(requirement, requirements[requirement]?.statement, ...findings.map((n) => subject().findings[n].message),
      ...findings.map((n) => subject().findings[n].scenario)));
  $("findings-title").textContent = all.length === 0 ? "No findings" : `Findings: ${fitting.length} of ${all.length}`;
  $("findings").replaceChildren(...fitting.map(cause));
}

// The requirements.

function showRequirement(id) {
  const requirement = subject()?.requirements.find((one) => one.id === id);
  $("requirement").hidden = !requirement;
  for (const cell of document.querySelectorAll(".cell[aria-current]")) cell.removeAttribute("aria-current");
  if (!requirement) return;
  document.querySelector(`.cell[data-id="${CSS.escape(id)}"]`)?.setAttribute("aria-current", "true");
  const because = requirement.because ?? [];
  const violated = (causes[shown.subject] ?? []).some((one) => one.requirement === id);
  const by = requirement.by ?? [];
  $("requirement").replaceChildren(...[
    el("div", {}, el("span", { class: `dot ${requirement.status}` }), ` ${requirement.level} `, el("code", {}, id), `: ${STATUSES[requirement.status]}`),
    ...explained(id),
    requirement.reason ? el("p", {}, requirement.reason) : undefined,
    violated ? el("p", {}, el("a", { href: `#finding=${encodeURIComponent(id)}` }, "the finding")) : undefined,
    because.length > 0 ? el("p", {}, "because of ", because.flatMap((other, n) => [n > 0 ? ", " : "", link(other)])) : undefined,
    by.length > 0 ? el("details", {}, el("summary", { class: "soft" }, `assessed by ${counted(by.length, "scenario")}`),
      el("ul", { class: "plain" }, by.slice(0, 100).map((scenario) => el("li", { class: "mono" }, linked(scenario))))) : undefined,
  ].filter(Boolean));
}

function matrix() {
  const areas = new Map();
  for (const requirement of subject()?.requirements ?? []) {
    const visible = shown.levels.has(requirement.level) && shown.statuses.has(requirement.status)
      && fits(requirement.id, requirements[requirement.id]?.statement, requirement.reason);
    if (!visible) continue;
    const name = area(requirement.id);
    if (!areas.has(name)) areas.set(name, []);
    areas.get(name).push(requirement);
  }
  $("areas").replaceChildren(...[...areas].map(([name, all]) => el("div", { class: "area" }, el("span", { class: "name" }, name),
    el("div", { class: "cells" }, all.map(({ id, level, status }) => el("button", {
      class: `cell ${level} ${status}`, type: "button", "data-id": id, title: `${level} ${slug(id)}: ${STATUSES[status]}`,
      "aria-label": `${level} ${slug(id)}: ${STATUSES[status]}`, onclick: () => { location.hash = `requirement=${encodeURIComponent(id)}`; },
    }))))));
  const legend = Object.entries(STATUSES).map(([status, word]) => el("span", {}, el("i", { class: `dot ${status}` }), word));
  $("legend").replaceChildren(...legend, el("span", {}, "square: must, round: should and may"));
}

// The scenarios.

function row(scenario) {
  const time = scenario.duration_ms >= 1000 ? `${(scenario.duration_ms / 1000).toFixed(1)} s` : `${Math.round(scenario.duration_ms)} ms`;
  return el("div", { class: "row", id: `scenario=${scenario.id}` }, el("span", { class: `dot ${scenario.status}`, title: PLAYED[scenario.status] }),
    el("div", {}, el("span", { class: "mono" }, scenario.id), scenario.flaky ? " (flaky)" : "",
      scenario.reason ? el("div", { class: "reason" }, scenario.reason) : "",
      scenario.trace ? el("div", { class: "reason mono" }, scenario.trace) : ""),
    el("span", { class: "time" }, time));
}

let more;

function scenarios() {
  more?.disconnect();
  const order = Object.keys(PLAYED);
  const all = subject()?.scenarios ?? [];
  const fitting = all.filter((scenario) => fits(scenario.id, scenario.reason, scenario.status))
    .sort((a, b) => order.indexOf(a.status) - order.indexOf(b.status));
  $("scenarios-title").textContent = `Scenarios: ${fitting.length.toLocaleString("en")} of ${all.length.toLocaleString("en")}`;
  $("scenarios").replaceChildren();
  let done = 0;
  const end = el("div", { class: "row" });
  /** Makes rows until this many are there. */
  const upTo = (count) => {
    end.before(...fitting.slice(done, count).map(row));
    done = Math.max(done, Math.min(count, fitting.length));
    if (done === fitting.length) end.remove();
  };
  $("scenarios").append(end);
  upTo(ROWS);
  more = new IntersectionObserver((entries) => {
    if (entries.some((entry) => entry.isIntersecting)) upTo(done + ROWS);
  }, { rootMargin: "800px" });
  if (done < fitting.length) more.observe(end);
  scenarios.reveal = (id) => upTo(fitting.findIndex((scenario) => scenario.id === id) + 1);
}

// The whole.

function notes() {
  const all = [...(subject()?.notes ?? []), ...report.notes];
  const snapshots = (subject()?.snapshots ?? []).filter(({ status }) => status !== "same");
  $("notes").replaceChildren(...(all.length > 0 ? [el("h2", {}, "Notes")] : []), ...all.map((note) => el("div", { class: "note" },
    note.requirement ? [el("code", {}, slug(note.requirement)), ": "] : "", note.text)),
  ...(snapshots.length > 0 ? [el("h2", {}, "Snapshots")] : []),
  ...snapshots.map(({ file, status }) => el("div", { class: "note" }, el("code", {}, file), `: ${status}`)));
}

function refresh() {
  findings();
  matrix();
  scenarios();
}

function pick(n) {
  shown.subject = n;
  $("requirement").hidden = true;
  banner();
  notes();
  refresh();
}

/** Goes to what the address names: `#finding=ID`, `#requirement=ID`, `#scenario=ID`. */
function follow() {
  const [, kind, encoded] = location.hash.match(/^#(finding|requirement|scenario)=(.*)$/) ?? [];
  if (!kind) return;
  const id = decodeURIComponent(encoded);
  const has = (subject) => ({
    finding: subject.findings.some((finding) => finding.requirement === id),
    requirement: subject.requirements.some((requirement) => requirement.id === id),
    scenario: subject.scenarios.some((scenario) => scenario.id === id),
  })[kind];
  const of = has(subject()) ? shown.subject : report.subjects.findIndex(has);
  if (of < 0) return;
  if (of !== shown.subject) pick(of);
  if (kind === "requirement") {
    showRequirement(id);
    $("requirement").scrollIntoView({ block: "start" });
    return;
  }
  if (kind === "scenario") scenarios.reveal(id);
  const target = document.getElementById(`${kind}=${id}`);
  if (kind === "finding" && target) target.open = true;
  for (const old of document.querySelectorAll(".target")) old.classList.remove("target");
  target?.classList.add("target");
  target?.scrollIntoView({ block: "start" });
}

function choices(id, all, set) {
  $(id).replaceChildren(...Object.entries(all).map(([key, word]) => el("button", {
    type: "button", "aria-pressed": "true", onclick: (event) => {
      const on = !set.has(key);
      if (on) set.add(key);
      else set.delete(key);
      event.target.setAttribute("aria-pressed", String(on));
      refresh();
    },
  }, word)));
}

let soon;
$("search").addEventListener("input", () => {
  clearTimeout(soon);
  soon = setTimeout(() => {
    shown.text = $("search").value.trim().toLowerCase();
    refresh();
  }, 80);
});
addEventListener("keydown", (event) => {
  if (event.key === "/" && document.activeElement !== $("search")) {
    event.preventDefault();
    $("search").focus();
  }
});

const dark = matchMedia("(prefers-color-scheme: dark)");
const theme = (name) => { document.documentElement.dataset.theme = name; };
theme(dark.matches ? "dark" : "light");
dark.addEventListener("change", () => theme(dark.matches ? "dark" : "light"));
$("theme").addEventListener("click", () => theme(document.documentElement.dataset.theme === "dark" ? "light" : "dark"));

choices("levels", Object.fromEntries(LEVELS.map((level) => [level, level])), shown.levels);
choices("statuses", STATUSES, shown.statuses);
// The subject with the gravest verdict comes first.
const gravity = ["nonconforming", "incomplete", "partial", "conforms_except", "conforms"];
const gravest = gravity.map((verdict) => report.subjects.findIndex((subject) => subject.verdict === verdict)).find((n) => n >= 0);
pick(gravest ?? 0);
addEventListener("hashchange", follow);
follow();
document.documentElement.dataset.ready = "";
