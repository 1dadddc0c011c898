// The client, driven by wirecert: JSON lines come on stdin, JSON lines go to stdout. See docs/clients.md of wirecert.
//
//     shim.mjs [--timeout SECONDS] [--wrong NAME]

import { createInterface } from "node:readline";
import { parseArgs } from "node:util";

import { AmpClient } from "./client.mjs";
import { WRONG } from "./wrong.mjs";

const { values } = parseArgs({ options: { timeout: { type: "string", default: "2" }, wrong: { type: "string" } } });
if (values.wrong && !Object.hasOwn(WRONG, values.wrong)) {
  console.error(`--wrong is one of ${Object.keys(WRONG).sort().join(", ")}`);
  process.exit(2);
}

const say = (line) => process.stdout.write(JSON.stringify(line) + "\n");

const Client = values.wrong ? WRONG[values.wrong] : AmpClient;

// One life of the client: from one scenario to the next nothing of it is left.
function begin() {
  let over = false;
  const tell = (line) => over || say(line);
  const client = new Client(process.env.WIRECERT_EDITION === "guide" ? "guide" : "cli", {
    timeout: Number(values.timeout),
    onNotification: (name, data) => tell({ event: name, data }),
    onState: (state) => tell({ state }),
  });
  client.start();
  return {
    // Performs one call, and says what came of it.
    async answer({ id, call, params = {} }) {
      if (!Object.hasOwn(client.edition.methods, call)) return tell({ id, unsupported: true });
      try {
        tell({ id, result: await client.request(call, params) });
      } catch (error) {
        tell({ id, error: { code: error.code, message: error.message } });
      }
    },
    async end() {
      await client.close();
      over = true;
    },
  };
}

let life = begin();
for await (const line of createInterface({ input: process.stdin })) {
  const order = JSON.parse(line);
  if (order.close) break;
  if (order.reset) {
    await life.end();
    life = undefined;
    say({ reset: true });
  } else if (order.begin) {
    life = begin();
  } else {
    life?.answer(order); // Without `await`: the next call must not wait for this one's answer.
  }
}
await life?.end();
process.stdin.destroy(); // Nothing is left to be read, and nothing holds the process.
