// Two traces or connections side by side.

import { $, make, button, shown } from "./shared.js";
import { get, post } from "./client.js";
import { labelled } from "./form.js";
import { traces, fill } from "./traces.js";

const SIGNS = { same: "", changed: "≠", missing: "only left", extra: "only right", moved: "⇅ moved" };

export const compare = {
  begin(goTo) {
    this.goTo = goTo;
    this.sides = ["left", "right"].map((name) => {
      const side = { name, trace: make("select"), connection: make("select") };
      side.trace.id = `compare-${name}`;
      side.connection.id = `compare-${name}-connection`;
      side.trace.addEventListener("change", () => this.offer(side));
      return side;
    });
    this.path = make("input");
    this.path.id = "compare-path";
    this.path.placeholder = "before.trace";
    this.path.spellcheck = false;
    const open = button("open", "Open a trace file", () => this.open());
    open.id = "compare-open";
    const go = button("compare", "Compare", () => this.go());
    go.id = "compare-go";
    go.className = "main";
    this.all = make("input");
    this.all.type = "checkbox";
    this.all.id = "compare-all";
    this.all.addEventListener("change", () => this.draw());
    this.result = make("div", "result");
    this.result.id = "compare-result";
    this.result.setAttribute("role", "status");
    const side = ({ name, trace, connection }) => make("div", "", labelled(`${name} trace`, trace), labelled("connection", connection));
    $("compare").replaceChildren(
      make("h2", "", "Compare"), make("p", "dim", "What is new in every run, such as ids, ports and times, is no difference."),
      make("div", "two", ...this.sides.map(side)),
      make("div", "bar", labelled("path of a trace file", this.path), open),
      make("div", "bar", go, make("label", "check", this.all, " also what is the same")), this.result,
    );
  },

  async show() {
    await traces.look();
    for (const side of this.sides) {
      const before = side.trace.value;
      fill(side.trace, traces.all.map(({ name, title }) => [name, title]));
      if (!before && side.name === "right" && traces.all.length > 1) side.trace.value = traces.all[1].name;
      this.offer(side);
    }
  },

  /** Offers the connections of the trace of a side. */
  offer(side) {
    const known = traces.all.find(({ name }) => name === side.trace.value)?.connections ?? [];
    fill(side.connection, [["", "all"], ...known.map((name) => [name, name])]);
  },

  async open() {
    this.result.replaceChildren();
    try {
      const opened = await post("/api/traces", { path: this.path.value });
      await this.show();
      this.sides[1].trace.value = opened.name;
      this.offer(this.sides[1]);
    } catch (error) {
      this.result.replaceChildren(make("strong", "problem", shown(error.message)));
    }
  },

  async go() {
    this.result.replaceChildren("…");
    const [left, right] = this.sides;
    this.names = [left.trace.value, right.trace.value];
    try {
      this.found = await get("/api/compare", {
        left: left.trace.value, "left-conn": left.connection.value, right: right.trace.value, "right-conn": right.connection.value,
      });
      this.draw();
    } catch (error) {
      this.found = null;
      this.result.replaceChildren(make("strong", "problem", shown(error.message)));
    }
  },

  draw() {
    if (!this.found) return;
    const { same, counts, steps, more } = this.found;
    const told = [["changed", counts.changed], ["only left", counts.missing], ["only right", counts.extra], ["at another place", counts.moved], ["the same", counts.same]];
    const summary = told.filter(([, n]) => n).map(([name, n]) => `${n} ${name}`).join(", ");
    const verdict = make("strong", same ? "fine" : "problem", `${same ? "no difference" : "different"}${summary ? `: ${summary}` : ""}`);
    const rows = steps.filter((step) => this.all.checked || step.status !== "same").map((step) => this.row(step));
    const rest = more ? [make("p", "dim", `and ${more} more events`)] : [];
    this.result.replaceChildren(verdict, make("div", "pairs", ...rows), ...rest);
  },

  row({ status, left, right, changes = [] }) {
    const cell = (event, trace) => {
      if (!event) return make("span", "none", "—");
      const way = { server: "→", client: "←" }[event.to] ?? "·";
      const cell = button(`#${event.i} ${way} ${event.what}`, `Show event ${event.i}`, () => this.goTo(trace, event.i));
      return make("span", "", cell, make("q", "", shown(event.text)));
    };
    const value = (sign, one) => (one === undefined ? [] : [make("code", sign === "-" ? "gone" : "new", `${sign} ${shown(JSON.stringify(one))}`)]);
    const changed = changes.map(({ path, left: was, right: is }) => make("li", "", make("b", "", shown(path || "the whole of it")), ...value("-", was), ...value("+", is)));
    const parts = [make("small", "sign", SIGNS[status]), cell(left, this.names[0]), cell(right, this.names[1])];
    if (changed.length) parts.push(make("ul", "", ...changed));
    return make("div", `pair ${status}`, ...parts);
  },
};
