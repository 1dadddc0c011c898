// Flaws and freedoms as switches.

import { $, make } from "./shared.js";
import { post } from "./client.js";

/** The area of the requirement that a flaw breaks. */
const area = (flaw) => (flaw.breaks ?? "").split("/").at(-2) ?? "";

function grouped(flaws) {
  const groups = new Map();
  for (const flaw of flaws) groups.set(area(flaw), [...(groups.get(area(flaw)) ?? []), flaw]);
  return groups;
}

export const switches = {
  all: [],
  text: "",

  begin(session) {
    this.all = session.deviations;
    const pane = $("switches");
    if (!this.all.length) {
      pane.replaceChildren(make("h2", "", "Nothing can be switched"), make("p", "dim", "Only a mock of wirecert has flaws and freedoms."));
      return;
    }
    const search = make("input");
    search.type = "search";
    search.placeholder = "Search flaws and freedoms";
    search.setAttribute("aria-label", "Search flaws and freedoms");
    search.addEventListener("input", () => { this.text = search.value.toLowerCase(); this.draw(); });
    this.problem = make("p", "problem");
    this.problem.setAttribute("role", "alert");
    this.lists = make("div");
    pane.replaceChildren(make("h2", "", "Flaws and freedoms"),
      make("p", "dim", "A flaw makes the mock wrong in one way. A freedom makes it different in a way that the documents allow. Those of the lockfile and the port have an effect only at the start."),
      search, this.problem, this.lists);
    this.draw();
  },

  draw() {
    const fits = (one) => !this.text || `${one.name} ${one.about} ${one.breaks ?? ""}`.toLowerCase().includes(this.text);
    const seen = this.all.filter(fits);
    const open = new Set([...this.lists.querySelectorAll("details[open]")].map((one) => one.dataset.area));
    const group = (name, members) => {
      if (!members.length) return [];
      const box = make("details", "group", make("summary", "", name, make("small", "", ` ${members.length}`)), ...members.map((one) => this.line(one)));
      box.dataset.area = name;
      box.open = this.text !== "" || open.has(name);
      return [box];
    };
    const on = seen.filter((one) => one.on);
    const areas = grouped(seen.filter((one) => one.flaw && !one.on));
    this.lists.replaceChildren(
      ...(on.length ? [make("h3", "", "on"), ...on.map((one) => this.line(one))] : []),
      make("h3", "", "flaws, by what they break"), ...[...areas].flatMap(([name, members]) => group(name, members)),
      make("h3", "", "freedoms"), ...group("differences that are allowed", seen.filter((one) => !one.flaw && !one.on)),
    );
    $("tab-switches").textContent = this.all.some((one) => one.on) ? `flaws (${this.all.filter((one) => one.on).length} on)` : "flaws";
  },

  line(one) {
    const box = make("input");
    box.type = "checkbox";
    box.checked = one.on;
    box.setAttribute("role", "switch");
    box.dataset.name = one.name;
    box.addEventListener("change", () => this.set(one.name, box.checked));
    const about = make("small", "", one.about, ...(one.breaks ? [make("br"), make("code", "", one.breaks)] : []));
    return make("label", "switch", box, make("span", "", make("b", "", one.name), about));
  },

  async set(name, on) {
    this.problem.textContent = "";
    try {
      this.all = (await post("/api/deviations", { name, on })).deviations;
    } catch (error) {
      this.problem.textContent = error.message;
    }
    const focused = document.activeElement?.dataset?.name;
    this.draw();
    if (focused) this.lists.querySelector(`input[data-name="${focused}"]`)?.focus();
  },
};
