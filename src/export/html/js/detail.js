// Everything about one event.

async function showDetail(row) {
  const pane = $("detail");
  const line = await details.line(row);
  if (list.picked !== row) return;
  const whole = JSON.parse(line);
  const event = whole.a ?? whole;
  const parts = [make("h2", `t-${trace.meta.tones[trace.s[row]]}`, trace.w[row] || "event"), rowFacts(row, event)];
  parts.push(...findingsOf(row).map((finding) => findingCard(finding, trace.meta.requirements[finding.requirement])));
  if (whole.z?.length) parts.push(...changes(whole.z));
  const headAt = trace.head.get(row);
  if (headAt !== undefined && trace.rowOf.has(headAt)) {
    const head = JSON.parse(await details.line(trace.rowOf.get(headAt)));
    if (list.picked !== row) return;
    parts.push(...headers(head));
  }
  const hit = findingsOf(row).find((finding) => finding.path !== null)?.path;
  parts.push(...body(event, hit));
  if (whole.b) parts.push(title("in the other trace"), rowFacts(row, whole.b), ...body(whole.b));
  parts.push(...traceLine(event));
  pane.replaceChildren(...parts);
  pane.scrollTop = 0;
}

function rowFacts(row, event) {
  return eventFacts(event, trace.meta.start, event.i === trace.i[row] ? trace.after.get(row) : undefined);
}

function changes(list) {
  const rows = list.map(([path, was, is]) => {
    const cell = (value, name) => make("td", name, value === null ? "—" : shown(value).slice(0, 4000));
    return make("tr", "", make("td", "", shown(path) || "(all of it)"), cell(was, "was"), cell(is, "is"));
  });
  const head = make("tr", "", make("th", "", "where"), make("th", "", "first"), make("th", "", "second"));
  return [title("differences"), make("table", "", head, ...rows)];
}

/** What is seen before anything is picked: what was found, each with a way there. */
function showSummary() {
  const { meta } = trace;
  const parts = [make("h2", "", meta.name), make("p", "", counted(meta.events, "event"), ` in ${span(meta.last)}, `,
    counted(meta.connections.length + meta.more_connections, "connection"), meta.cut ? ". The trace was cut: its end is missing." : ".")];
  if (meta.scenario) parts.push(make("p", "", `Scenario ${meta.scenario}`));
  if (!meta.judged) parts.push(make("p", "", "Nobody judged this trace."));
  else if (!meta.findings.length) parts.push(make("p", "", "Nothing was found wrong."));
  else {
    parts.push(title(counted(meta.findings.length, "finding")));
    parts.push(findingList(meta.findings, (i) => goTo(trace.rowOf.get(i)), meta.requirements));
    if (meta.uncounted) parts.push(make("p", "dim", `And ${meta.uncounted} more of the same requirements, which are not marked.`));
  }
  $("detail").replaceChildren(...parts);
}
