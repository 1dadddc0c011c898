// Everything about one event, and what is seen before one is picked: the findings.

import { $, make, button, copyButton, counted, title, facts, eventFacts, findingCard, findingList, body, traceLine } from "./shared.js";
import { ofTrace } from "./client.js";

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
      whole = await ofTrace(`/api/events/${i}`);
    } catch (error) {
      if (this.picked === i) pane.replaceChildren(make("p", "problem", error.message));
      return;
    }
    if (this.picked !== i) return;
    const { event } = whole;
    const parts = [make("h2", "", `Event ${event.i}: ${event.kind}`), eventFacts(event, this.session?.start), this.tools(whole)];
    const requirements = this.findings.requirements;
    parts.push(...whole.findings.map((finding) => findingCard(finding, requirements[finding.requirement])));
    parts.push(...body(event, whole.findings.find((finding) => finding.path)?.path), ...traceLine(event));
    pane.replaceChildren(...parts);
    pane.scrollTop = 0;
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
    parts.push(findingList(findings.slice(-500).reverse(), (i) => this.goTo(i), requirements));
    if (uncounted) parts.push(make("p", "dim", `And ${uncounted} more of the same requirements, which are not marked.`));
    const place = this.session?.place;
    if (place && Object.keys(place).length) {
      const text = (value) => (typeof value === "string" ? value : JSON.stringify(value));
      parts.push(title("where it is"), facts(Object.entries(place).map(([name, value]) => [name, text(value)])));
    }
    $("detail").replaceChildren(...parts);
  },
};
