// The traces that can be looked at: that of the session, those of plays, and files.

import { $, make, shown } from "./shared.js";
import { get } from "./client.js";

export const traces = {
  all: [{ name: "session", title: "this session", connections: [] }],
  shown: "session",

  begin(onchoose) {
    $("trace").addEventListener("change", () => onchoose($("trace").value));
    this.draw();
  },

  async look() {
    this.all = (await get("/api/traces")).traces;
    this.draw();
    return this.all;
  },

  draw() {
    $("trace-choice").hidden = this.all.length < 2;
    fill($("trace"), this.all.map(({ name, title }) => [name, title]), this.shown);
  },
};

/** Gives a choice these values with their texts, and leaves it as it is where that is the same. */
export function fill(select, options, value = select.value) {
  const key = JSON.stringify(options);
  if (select.dataset.options !== key) {
    select.dataset.options = key;
    select.replaceChildren(...options.map(([name, text]) => {
      const option = make("option", "", shown(text));
      option.value = name;
      return option;
    }));
  }
  if (options.some(([name]) => name === value)) select.value = value;
}
