// A stretch of the trace, saved as a scenario, fixtures or a trace.

import { $, make, button, copyButton, shown } from "./shared.js";
import { post, curl, trace } from "./client.js";
import { labelled } from "./form.js";

export const keep = {
  onsaved: () => {},

  begin(session) {
    this.from = make("input");
    this.to = make("input");
    for (const input of [this.from, this.to]) {
      input.type = "number";
      input.min = 0;
    }
    this.from.placeholder = "the first";
    this.to.placeholder = "the last";
    this.from.id = "keep-from";
    this.to.id = "keep-to";
    this.form = options({ scenario: "a scenario that plays it again", fixture: "fixtures for tests", trace: "a trace" });
    this.form.id = "keep-as";
    this.side = options({ client: "the client; the subject is a server", server: "the server; the subject is a client" });
    this.side.id = "keep-side";
    if (session.role && session.command === "inspect") this.side.value = session.role.endsWith("client") ? "server" : "client";
    const side = labelled("in it wirecert plays", this.side);
    this.form.addEventListener("change", () => { side.hidden = this.form.value !== "scenario"; });
    const save = button("save", "Save", () => this.save());
    save.id = "keep-save";
    save.className = "main";
    this.result = make("div", "result");
    this.result.id = "keep-result";
    this.result.setAttribute("role", "status");
    $("keep").replaceChildren(
      make("h2", "", "Keep a stretch"), make("p", "dim", `It is saved in ${session.keep}. “from here” and “to here” beside an event set its ends.`),
      make("div", "two", labelled("from event", this.from), labelled("to event", this.to)), labelled("as", this.form), side,
      make("div", "bar", save, copyButton("curl", () => curl("/api/keep", this.request()))), this.result,
    );
  },

  mark(end, i) {
    this[end].value = i;
  },

  request() {
    const number = (input) => (input.value === "" ? undefined : Number(input.value));
    return { trace, from: number(this.from) ?? 0, to: number(this.to) ?? null, as: this.form.value, side: this.side.value };
  },

  async save() {
    this.result.replaceChildren("…");
    try {
      const kept = await post("/api/keep", this.request());
      this.onsaved();
      const parts = [make("strong", "fine", `saved: ${shown(kept.path)}`), make("div", "bar", make("code", "", shown(kept.command)), copyButton("copy", () => kept.command))];
      if (kept.text) parts.push(make("div", "code", shown(kept.text)));
      this.result.replaceChildren(...parts);
    } catch (error) {
      this.result.replaceChildren(make("strong", "problem", shown(error.message)));
    }
  },
};

function options(all) {
  const select = make("select");
  for (const [value, text] of Object.entries(all)) {
    const option = make("option", "", text);
    option.value = value;
    select.append(option);
  }
  return select;
}
