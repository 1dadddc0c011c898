// `@openctx/client`, driven by wirecert: JSON lines come on stdin, JSON lines go to stdout. See docs/clients.md of
// wirecert. The provider is at the URL in WIRECERT_URL.

import { createInterface } from "node:readline";

import { createClient } from "@openctx/client";

const CALLS = ["meta", "mentions", "items", "annotations"];
const provider = process.env.WIRECERT_URL;

const say = (line) => process.stdout.write(JSON.stringify(line) + "\n");

// The client asks for its configuration as a call begins, so that each call can have settings of its own. Settings
// that are not given are, by `true`, those of a provider that needs none.
let settings;
const client = createClient({
  configuration: async () => ({ enable: true, providers: { [provider]: settings ?? true } }),
  makeRange: (range) => range,
  logger: (message) => console.error(message),
});

// Performs one call, and says what came of it.
async function answer({ id, call, params = {}, settings: own }) {
  if (!CALLS.includes(call)) return say({ id, unsupported: true });
  let failure;
  settings = own;
  try {
    // A failed provider is left out of the result; only this hook tells of it.
    const result = await client[call](params, { errorHook: (_uri, error) => (failure = error) });
    say(failure === undefined ? { id, result } : { id, error: { message: String(failure?.message ?? failure) } });
  } catch (error) {
    say({ id, error: { message: error.message } });
  }
}

for await (const line of createInterface({ input: process.stdin })) {
  const order = JSON.parse(line);
  if (order.close) break;
  answer(order); // Without `await`: the next call must not wait for this one's answer.
}
client.dispose();
process.exit(0); // Requests that are open would hold the process.
