// What can be done: acts as forms, with examples, and as free JSON.

import { $, make, button, copyButton, shown } from "./shared.js";
import { post, curl } from "./client.js";
import { formOfAct, labelled } from "./form.js";

export const acts = {
  all: [],

  begin(session) {
    this.all = session.acts;
    const pane = $("act");
    if (!this.all.length) {
      pane.replaceChildren(make("h2", "", "Nothing can be done here"), make("p", "dim", "Both ends are real programs: wirecert passes on what they send and looks at it."));
      return;
    }
    this.select = make("select");
    this.select.id = "act-name";
    this.select.append(...this.all.map((act) => make("option", "", act.name)));
    this.select.addEventListener("change", () => this.choose(this.select.selectedIndex));
    this.examples = make("select");
    this.examples.id = "act-example";
    this.examples.addEventListener("change", () => this.take(Number(this.examples.value)));
    this.about = make("p", "dim");
    this.form = make("div", "form");
    this.free = make("textarea", "json free");
    this.free.rows = 12;
    this.free.spellcheck = false;
    this.free.setAttribute("aria-label", "Parameters as JSON");
    this.asJson = make("input");
    this.asJson.type = "checkbox";
    this.asJson.addEventListener("change", () => this.turn());
    const go = button("do it", "Do it (Ctrl+Enter)", () => this.go());
    go.id = "act-go";
    go.className = "main";
    this.result = make("div", "result");
    this.result.id = "act-result";
    this.result.setAttribute("role", "status");
    const copy = copyButton("curl", () => curl("/api/act", this.request()));
    pane.replaceChildren(
      make("h2", "", "Do something"), labelled("what", this.select), this.about, labelled("example", this.examples),
      make("label", "check", this.asJson, " as JSON, with nothing checked here"), this.form, make("div", "bar", go, copy), this.result,
    );
    pane.addEventListener("keydown", (event) => {
      if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) this.go();
    });
    this.choose(0);
  },

  choose(at) {
    this.act = this.all[at];
    this.select.selectedIndex = at;
    this.about.textContent = this.act.about;
    const option = (example, n) => {
      const element = make("option", "", example.name);
      element.value = n;
      return element;
    };
    const group = (name, wrong) => {
      const element = make("optgroup");
      element.label = name;
      element.append(...this.act.examples.flatMap((example, n) => (Boolean(example.wrong) === wrong ? [option(example, n)] : [])));
      return element.childElementCount ? [element] : [];
    };
    const none = make("option", "", "—");
    none.value = -1;
    this.examples.replaceChildren(none, ...group("as it should be", false), ...group("wrong on purpose", true));
    this.examples.closest("label").hidden = this.act.examples.length === 0;
    this.fields = formOfAct(this.act);
    this.write(undefined);
    this.turn();
  },

  take(n) {
    this.write(n >= 0 ? this.act.examples[n].params : undefined);
  },

  /** Puts an act with its parameters there, to be changed. */
  put({ act, params }) {
    const at = this.all.findIndex((one) => one.name === act);
    if (at < 0) return;
    this.choose(at);
    this.write(params);
  },

  write(params) {
    this.fields.write(params);
    this.free.value = JSON.stringify(params ?? {}, null, 2);
  },

  /** Shows the form or the JSON, with the same value as far as it can be read. */
  turn() {
    try {
      if (this.asJson.checked) this.free.value = JSON.stringify(this.fields.read() ?? {}, null, 2);
      else this.fields.write(JSON.parse(this.free.value || "{}"));
    } catch { /* what cannot be read stays where it is */ }
    this.form.replaceChildren(this.asJson.checked ? this.free : this.fields.element);
  },

  request() {
    const params = this.asJson.checked ? JSON.parse(this.free.value || "{}") : this.fields.read() ?? {};
    return { act: this.act.name, params };
  },

  async go() {
    this.result.replaceChildren("…");
    try {
      const request = this.request();
      const { ok } = await post("/api/act", request);
      const text = JSON.stringify(ok, null, 2);
      this.result.replaceChildren(make("strong", "fine", `${request.act}: done`), ...(text === "{}" || text === "null" ? [] : [make("div", "code", shown(text))]));
    } catch (error) {
      this.result.replaceChildren(make("strong", "problem", shown(error.message)));
    }
  },
};
