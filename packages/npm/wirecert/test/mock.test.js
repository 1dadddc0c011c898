// The example of the README, and what else the package promises.

import assert from "node:assert/strict";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";

import { mock, MockError } from "wirecert";

const credentials = { anthropic_api_key: "any" };
const post = (url, body) =>
  fetch(url, { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(body) });

test("a client creates a session", async () => {
  const server = await mock("amplifier-server");
  const session = await (await post(`${server.url}sessions`, { profile: "dev", credentials })).json();
  const { sessions } = await server.steer("state");
  assert.deepEqual(sessions.map((known) => known.session_id), [session.session_id]);
  await server.verify();
});

test("a server refuses on command", async () => {
  const server = await mock("amplifier-server");
  await server.steer("refuse", { code: "RATE_LIMITED", times: 1 });
  assert.equal((await post(`${server.url}sessions`, { profile: "dev", credentials })).status, 429);
  await server.verify();
});

test("a script is a file or its content", async () => {
  const server = await mock("amplifier-server", { script: { wirecert: 1, keys: { valid: ["only-this"] } } });
  assert.equal((await post(`${server.url}sessions`, { profile: "dev", credentials })).status, 401);
  await server.close();
});

test("an editor has a lockfile and a token", async () => {
  const editor = await mock("amp-server", { token: "a-secret" });
  assert.equal(JSON.parse(readFileSync(editor.lockfile, "utf8")).port, editor.port);
  assert.equal(editor.token, "a-secret");
  writeFileSync(join(editor.workspace, "a.txt"), "text\n");
  await editor.steer("open", { path: "a.txt" });
  await editor.close();
  assert.ok(!existsSync(editor.workspace));
});

test("a refused command says why", async () => {
  const server = await mock("amplifier-server");
  await assert.rejects(server.steer("swich", { name: "no-pong" }), (error) => {
    return error instanceof MockError && error.message.includes("swich");
  });
  await server.close();
});

test("a mock that cannot start says why", async () => {
  await assert.rejects(mock("amplifier-server", { flaws: ["no-such-flaw"] }), /no-such-flaw/);
});

test("a violation fails the test, and its traffic can be looked at", async () => {
  const server = await mock("amplifier-server");
  await fetch(`${server.url}sessions`, { method: "POST", body: '{"profile": 5}' });
  await assert.rejects(server.verify(), { name: "AssertionError", message: /create\/client-profile/ });
  const { findings } = await server.stop();
  const slugs = findings.filter(({ level }) => level === "must").map(({ requirement }) => requirement.split("/").slice(2).join("/"));
  assert.deepEqual(slugs.sort(), ["create/client-credentials", "create/client-profile", "http/client-content-type"]);
  assert.ok((await server.trace()).some(({ kind }) => kind === "message"));
  await server.close();
});
