// Scenarios of the suite and saved ones, played at the subject, and the plays so far.

import { $, make, button, counted, shown } from "./shared.js";
import { get, post } from "./client.js";
import { labelled } from "./form.js";
import { traces } from "./traces.js";

/** How many scenarios and plays are listed at most. */
const LISTED = 60;

/** How often the plays are asked for while some are under way, in milliseconds. */
const PACE = 300;

const STATUS = { passed: "✓", failed: "✗", blocked: "⊘", skipped: "–", error: "!" };

export const suite = {
  scenarios: [],
  kept: [],
  plays: { plays: [], under_way: false },
  playable: false,

  begin(session, goTo) {
    this.goTo = goTo;
    const pane = $("suite");
    if (session.command !== "inspect") {
      pane.replaceChildren(make("h2", "", "No scenarios can be played here"), make("p", "dim", "Scenarios are played where wirecert stands opposite a subject: wirecert inspect."));
      return;
    }
    this.playable = true;
    this.search = make("input");
    this.search.type = "search";
    this.search.id = "suite-search";
    this.search.placeholder = "Search scenarios";
    this.search.setAttribute("aria-label", "Search scenarios");
    this.search.addEventListener("input", () => this.drawScenarios());
    this.area = make("select");
    this.area.id = "suite-area";
    this.area.addEventListener("change", () => this.drawScenarios());
    this.all = button("play them", "Play the scenarios that are listed", () => this.play({ filter: this.chosen().map(({ id }) => `id(${id})`).join(" | ") }));
    this.all.id = "suite-all";
    this.all.className = "main";
    this.stop = button("stop", "Stop the plays", () => this.ask("/api/stop", {}));
    this.stop.id = "suite-stop";
    this.live = make("input");
    this.live.type = "checkbox";
    this.live.id = "suite-live";
    this.live.checked = true;
    this.problem = make("p", "problem");
    this.problem.setAttribute("role", "alert");
    this.list = make("div", "scenarios");
    this.list.id = "suite-list";
    this.saved = make("div", "scenarios");
    this.saved.id = "suite-saved";
    this.done = make("div", "scenarios");
    this.done.id = "suite-plays";
    this.done.setAttribute("role", "status");
    pane.replaceChildren(
      make("h2", "", "Play scenarios"), make("p", "dim", "A subject that wirecert starts is started once more for them. Each play has a trace of its own."),
      make("div", "two", labelled("area", this.area), labelled("name or title", this.search)),
      make("div", "bar", this.all, this.stop, make("label", "check", this.live, " show each while it is played")),
      this.problem, make("h3", "", "plays"), this.done, make("h3", "", "saved"), this.saved, make("h3", "", "of the suite"), this.list,
    );
    this.drawPlays();
  },

  /** Called when it becomes visible: reads what there is at the first time. */
  async show() {
    if (!this.playable || this.scenarios.length) return;
    await this.look();
  },

  /** Reads what can be played. */
  async look() {
    if (!this.playable) return;
    try {
      const { scenarios, kept } = await get("/api/scenarios");
      [this.scenarios, this.kept] = [scenarios, kept];
      const areas = [...new Set(scenarios.map(({ area }) => area))];
      this.area.replaceChildren(make("option", "", "all"), ...areas.map((area) => make("option", "", area)));
      this.drawScenarios();
      this.drawSaved();
    } catch (error) {
      this.problem.textContent = error.message;
    }
  },

  chosen() {
    const text = this.search.value.toLowerCase();
    const area = this.area.selectedIndex > 0 ? this.area.value : null;
    return this.scenarios.filter((one) => (area === null || one.area === area) && (!text || `${one.id} ${one.title}`.toLowerCase().includes(text)));
  },

  drawScenarios() {
    const chosen = this.chosen();
    this.all.textContent = `play ${counted(chosen.length, "scenario")}`;
    this.all.disabled = chosen.length === 0;
    const rows = chosen.slice(0, LISTED).map(({ id, title }) => line(id.split("/").slice(2).join("/"), title, [
      button("play", `Play ${id}`, () => this.play({ filter: `id(${id})` })),
    ]));
    const more = chosen.length > LISTED ? [make("p", "dim", `and ${chosen.length - LISTED} more`)] : [];
    this.list.replaceChildren(...rows, ...more);
  },

  drawSaved() {
    const rows = this.kept.map((kept) => line(kept, "", [
      button("play", `Play ${kept}`, () => this.play({ kept })),
      button("shrink", `Find the least of ${kept} that still fails`, () => this.ask("/api/shrink", { kept })),
    ]));
    this.saved.replaceChildren(...(rows.length ? rows : [make("p", "dim", "Nothing is saved. “keep” saves a stretch as a scenario.")]));
  },

  drawPlays() {
    const { plays, under_way } = this.plays;
    this.stop.disabled = !under_way;
    const over = plays.filter((play) => play.status);
    const count = (status) => over.filter((play) => play.status === status).length;
    const counts = Object.keys(STATUS).filter(count).map((status) => `${count(status)} ${status}`);
    const waiting = plays.filter((play) => play.progress === "waiting").length;
    if (waiting) counts.push(`${waiting} to come`);
    // Those that wait come last.
    const listed = plays.filter((play) => play.progress !== "waiting").reverse().slice(0, LISTED);
    const rows = listed.map((play) => {
      const { name, title, progress, status, reason, violated = [], trace, kept } = play;
      const say = status ? `${STATUS[status]} ${status}` : progress;
      const tools = trace ? [button("show", `Show the trace of ${name}`, () => this.goTo(trace))] : [];
      const about = [reason, violated.length ? `violated: ${violated.join(", ")}` : "", kept ? `saved: ${kept.path}` : ""].filter((text) => text).join(" · ");
      const row = line(name.split("/").slice(2).join("/") || name, about || title, tools);
      row.prepend(make("b", `status ${status ?? progress}`, say));
      return row;
    });
    this.done.replaceChildren(...(counts.length ? [make("p", "", counts.join(", "))] : []), ...rows, ...(plays.length ? [] : [make("p", "dim", "none yet")]));
  },

  play(request) {
    return this.ask("/api/plays", request);
  },

  async ask(path, request) {
    this.problem.textContent = "";
    try {
      this.plays = await post(path, request);
      this.drawPlays();
      await this.follow();
    } catch (error) {
      this.problem.textContent = error.message;
    }
  },

  /** Looks again until nothing is under way. */
  async follow() {
    if (this.following) return;
    this.following = true;
    let [shownTrace, kept] = [null, this.plays.plays.filter((play) => play.kept).length];
    try {
      for (;;) {
        this.plays = await get("/api/plays");
        this.drawPlays();
        const now = this.plays.plays.findLast((play) => play.trace && (play.progress === "playing" || play.progress === "over"));
        if (now && now.trace !== shownTrace) {
          shownTrace = now.trace;
          await traces.look();
          if (this.live.checked) this.goTo(now.trace);
        }
        if (!this.plays.under_way) break;
        await new Promise((resolve) => setTimeout(resolve, PACE));
      }
      await traces.look();
      if (this.plays.plays.filter((play) => play.kept).length !== kept) await this.look();
    } finally {
      this.following = false;
    }
  },
};

function line(name, about, tools) {
  const text = make("span", "", make("code", "", shown(name)), ...(about ? [make("small", "", shown(about))] : []));
  return make("div", "scenario", text, make("span", "tools", ...tools));
}
