// The client, driven by wirecert: JSON lines come on stdin, JSON lines go to stdout. See docs/clients.md of wirecert. The
// server is at the URL in WIRECERT_URL.
//
//     shim.mjs [--wrong NAME]

import { createInterface } from "node:readline";
import { parseArgs } from "node:util";

import { AmplifierClient } from "./client.mjs";
import { WRONG } from "./wrong.mjs";

const CALLS = [
  "createSession", "submitPrompt", "submitApproval", "getSession", "deleteSession", "listSessions", "listProfiles",
  "getProfile", "listCollections", "listAgents", "health", "info", "subscribe", "control", "unsubscribe",
];

const { values } = parseArgs({ options: { wrong: { type: "string" } } });
if (values.wrong && !Object.hasOwn(WRONG, values.wrong)) {
  console.error(`--wrong is one of ${Object.keys(WRONG).sort().join(", ")}`);
  process.exit(2);
}

const say = (line) => process.stdout.write(JSON.stringify(line) + "\n");

const Client = values.wrong ? WRONG[values.wrong] : AmplifierClient;

// One life of the client, with the server at a URL: from one scenario to the next nothing of it is left.
function begin(url) {
  let over = false;
  const tell = (line) => over || say(line);
  const client = new Client(url, {
    onEvent: (event, data, subscription) => tell({ event, data, subscription }),
    onState: (state) => tell({ state }),
  });
  return {
    // Performs one call, and says what came of it.
    async answer({ id, call, params = {} }) {
      if (!CALLS.includes(call)) return tell({ id, unsupported: true });
      try {
        // An answer can be nested too deep to be said again.
        tell({ id, result: await client[call](params) });
      } catch ({ code, status, message }) {
        tell({ id, error: { code, status, message } });
      }
    },
    end() {
      client.close();
      over = true;
    },
  };
}

let life = begin(process.env.WIRECERT_URL);
for await (const line of createInterface({ input: process.stdin })) {
  const order = JSON.parse(line);
  if (order.close) break;
  if (order.reset) {
    life.end();
    say({ reset: true });
  } else if (order.begin) {
    life = begin(order.begin.url);
  } else {
    life.answer(order); // Without `await`: the next call must not wait for this one's answer.
  }
}
life.end();
// What is closed says goodbye, and what is open holds the process no longer than that.
setTimeout(() => process.exit(0), 200).unref();
process.stdin.destroy();
