// Clients on node's own HTTP stack, its fetch, and `eventsource`. Prints what each got from the server at argv[2], as
// one JSON object.
import http from "node:http";
import { createRequire } from "node:module";

const { EventSource } = createRequire(process.env.INTEROP + "/http/")("eventsource");
const base = process.argv[2];
const agent = new http.Agent({ keepAlive: true, maxSockets: 1 });

function request(path, options, send) {
  return new Promise((resolve, reject) => {
    const sent = http.request(base + path, { agent, ...options }, (response) => {
      let body = "";
      response.setEncoding("utf8");
      response.on("data", (text) => (body += text));
      response.on("end", () =>
        resolve({ status: response.statusCode, body, trailers: response.trailers, reused: sent.reusedSocket }));
      response.on("error", (error) => resolve({ status: response.statusCode, broken: error.code }));
    });
    sent.on("error", (error) => resolve({ failed: error.code }));
    send(sent);
  });
}

const result = {};
result.length = await request("/echo", { method: "POST" }, (sent) => sent.end("[1]"));
result.chunked = await request("/echo", { method: "POST" }, (sent) => {
  sent.write("[");
  sent.write("2");
  sent.end("]");
});
result.expect = await request("/echo", { method: "POST", headers: { Expect: "100-continue", "Content-Length": 3 } }, (sent) => {
  sent.flushHeaders();
  sent.on("continue", () => sent.end("[3]"));
});
result.trailers = await request("/chunked", {}, (sent) => sent.end());
result.head = await request("/chunked", { method: "HEAD" }, (sent) => sent.end());
result.short = await request("/too-short", {}, (sent) => sent.end());
result.reset = await request("/reset", {}, (sent) => sent.end());
result.chunk = await request("/bad-chunk", {}, (sent) => sent.end());
const fetched = await fetch(base + "/echo", { method: "POST", body: JSON.stringify({ ü: "𝄞" }) });
result.fetch = { status: fetched.status, json: await fetched.json() };
result.gzip = await (await fetch(base + "/gzip")).json();
result.events = await new Promise((resolve) => {
  const got = [];
  const source = new EventSource(base + "/events");
  const take = (event) => {
    got.push([event.type, event.data, event.lastEventId]);
    if (event.data === "the end") {
      source.close();
      resolve(got);
    }
  };
  source.addEventListener("message", take);
  source.addEventListener("other", take);
});
console.log(JSON.stringify(result));
agent.destroy();
process.exit();
