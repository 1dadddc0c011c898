// Follows a session of the server at argv[2] in three ways at once: by `eventsource`, by node's own fetch, and by a
// WebSocket of `ws`. It posts the prompts in argv[3] one after the other, and decides about approvals by their first
// option, or the second for prompts that end in "no". Prints what each way reported, as one JSON object.
import { createRequire } from "node:module";

const installed = createRequire(process.env.INTEROP + "/amplifier-client/");
const { EventSource } = installed("eventsource");
const WebSocket = installed("ws");
// A bound that only a hang reaches.
setTimeout(() => process.exit(1), 60_000).unref();

const base = process.argv[2].replace(/\/$/, "");

async function ask(method, path, body) {
  const headers = body === undefined ? {} : { "Content-Type": "application/json" };
  const answer = await fetch(base + path, { method, headers, body: body && JSON.stringify(body) });
  if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${await answer.text()}`);
  return answer.json();
}

const created = await ask("POST", "/sessions", { profile: "dev", credentials: { anthropic_api_key: "sk-ant-0123456789" } });
const session = `/sessions/${created.session_id}`;
const reported = { eventsource: [], fetch: [], ws: [] };
const waiting = [];

// What was reported by one of the ways. Those that wait for it go on.
function take(way, text) {
  reported[way].push(JSON.parse(text));
  waiting.splice(0).forEach((look) => look());
}

// Waits until every way has reported something of this name `times` times.
async function all(name, times) {
  const have = (way) => reported[way].filter((message) => message.event === name).length;
  while (Object.keys(reported).some((way) => have(way) < times)) await new Promise((go) => waiting.push(go));
}

const source = new EventSource(base + session + "/events");
source.onmessage = (event) => take("eventsource", event.data);
const opened = new Promise((open, fail) => ((source.onopen = open), (source.onerror = fail)));

const stream = await fetch(base + session + "/events", { headers: { Accept: "text/event-stream" } });
async function read() {
  let rest = "";
  for await (const text of stream.body.pipeThrough(new TextDecoderStream())) {
    const blocks = (rest + text).split("\n\n");
    rest = blocks.pop();
    for (const block of blocks) {
      const data = block.split("\n").filter((line) => line.startsWith("data:"));
      if (data.length) take("fetch", data.map((line) => line.slice(5).trimStart()).join("\n"));
    }
  }
}
const reading = read();

const socket = new WebSocket(base.replace("http", "ws") + session + "/ws");
socket.on("message", (data) => take("ws", data.toString()));
await Promise.all([
  opened,
  new Promise((open, fail) => socket.on("open", open).on("error", fail)),
]);
source.onerror = null;
const closed = new Promise((close) => socket.on("close", close));

let decided = 0;
for (const [n, prompt] of JSON.parse(process.argv[3]).entries()) {
  await ask("POST", session + "/prompt", { prompt });
  const complete = all("prompt:complete", n + 1).then(() => true);
  while (!(await Promise.race([complete, all("approval:required", decided + 1)]))) {
    const { options } = reported.fetch.filter((message) => message.event === "approval:required")[decided].data;
    await ask("POST", session + "/approval", { decision: options[prompt.endsWith("no") ? 1 : 0] });
    decided += 1;
  }
}
await ask("DELETE", session);
await all("session:end", 1);
source.close();
await reading;
await closed;
process.stdout.write(JSON.stringify(reported), () => process.exit());
