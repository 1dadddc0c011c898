// A provider of OpenCtx that misbehaves as the environment variable ABUSE_KIND says: see `kinds/module.py`.

import { spawn } from "node:child_process";
import fs from "node:fs";
import http from "node:http";
import net from "node:net";

const kind = (process.env.ABUSE_KIND ?? "").replace(/^module-/, "");
const never = () => new Promise(() => setInterval(() => {}, 1000));
const circle = () => {
  for (;;);
};
const nested = (depth) => {
  let value = 1;
  for (let n = 0; n < depth; n += 1) value = [value];
  return value;
};
const DAEMON = "import os,time,signal\nos.fork() and os._exit(0)\nos.setsid()\nos.fork() and os._exit(0)\n" +
  "[signal.signal(s,signal.SIG_IGN) for s in (1,2,15)];time.sleep(120)";

// What happens when the module is loaded.
const load = {
  "throws-at-load": () => { throw new Error("\u001b[2Jno\u0000"); },
  "hangs-at-load": circle,
  "waits-at-load": never,
  "exits-at-load": () => process.exit(0),
  "children": () => {
    for (let n = 0; n < 3; n += 1) spawn("python3", ["-c", DAEMON], { detached: true, stdio: "ignore", env: {} });
  },
  "stdout": () => setInterval(() => process.stdout.write('{"port":1}\n'.repeat(5000)), 1),
  "stderr": () => setInterval(() => process.stderr.write("la \u001b[2J".repeat(5000)), 1),
  "overrides": () => {
    JSON.stringify = () => "{{{";
    JSON.parse = () => { throw null; };
    Object.prototype.polluted = 1;
    http.ServerResponse.prototype.end = () => {};
  },
  "port-thief": () => setInterval(() => {
    for (let n = 0; n < 50; n += 1) net.connect(Number(process.env.WIRECERT_PORT || 9), "127.0.0.1").on("error", () => {});
  }, 5),
  "removes-harness": () => fs.rmSync(process.env.WIRECERT_RUN_DIR, { recursive: true, force: true }),
  "closes-servers": () => setTimeout(() => {
    for (const handle of process._getActiveHandles()) handle.close?.();
  }, 300),
};
await load[kind]?.();

// What a call gives.
const call = {
  "hangs": circle,
  "waits": never,
  "exits": () => process.exit(0),
  "crashes": () => { process.kill(process.pid, "SIGSEGV"); return never(); },
  "eats-heap": () => { const all = []; for (;;) all.push(new Array(1000).fill({})); },
  "eats-buffers": () => { const all = []; for (;;) all.push(Buffer.alloc(1 << 24, 1)); },
  "throws-odd": () => { throw { get message() { throw undefined; }, get code() { throw null; }, toString: null }; },
  "rejects-later": () => { setTimeout(() => Promise.reject(Symbol("x")), 1); Promise.reject(null); return { name: "abuse" }; },
  "bigint": () => ({ name: 1n }),
  "circular": () => { const value = { name: "abuse" }; value.value = value; return value; },
  "proxy": () => new Proxy({}, { get() { throw new Error("no"); }, ownKeys() { throw 1; } }),
  "to-json": () => ({ toJSON() { throw { toString() { throw 1; } }; } }),
  "deep": () => ({ name: "abuse", value: nested(100_000) }),
  "long": () => ({ name: "x".repeat(100 << 20) }),
  "surrogates": () => ({ name: "\ud800\u0000\u001b[2J\u202e" }),
};
const meta = () => call[kind]?.() ?? { name: "abuse" };

const provider = {
  meta,
  mentions: () => [],
  items: () => [],
  annotations: () => [],
  dispose: () => { if (kind === "dispose-hangs") circle(); },
};
export default kind === "no-export" ? undefined : provider;
