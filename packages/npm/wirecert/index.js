// wirecert's mocks for tests in node: start, steer, judge. The types and their documentation are in index.d.ts.

import { AssertionError } from "node:assert";
import { execFile, spawn } from "node:child_process";
import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { createInterface } from "node:readline";

import { findBinary } from "./binary.js";

export { findBinary };

const START_TIMEOUT = 30_000;
const COMMAND_TIMEOUT = 30_000;
const STOP_TIMEOUT = 10_000;
/** A report of any number of findings. */
const MAX_REPORT = 1 << 30;

export class MockError extends Error {
  name = "MockError";
}

export async function mock(role, options = {}) {
  if (role.endsWith("-client")) {
    throw new TypeError(`\`${role}\` is a client: \`wirecert certify\` plays it against a server`);
  }
  const binary = findBinary();
  const folder = await mkdtemp(join(tmpdir(), "wirecert-"));
  const trace = options.trace === undefined ? join(folder, "traffic.trace") : resolve(options.trace);
  const workspace = options.workspace ?? join(folder, "workspace");
  if (options.workspace === undefined) await mkdir(workspace);
  const args = ["mock", role, "--stdin", "--trace", trace, "--workspace", workspace, "--color", "never"];
  for (const name of ["script", "data"]) {
    let value = options[name];
    if (value === undefined) continue;
    if (typeof value === "object") {
      // JSON is YAML.
      const file = join(folder, `${name}.yaml`);
      await writeFile(file, JSON.stringify(value));
      value = file;
    }
    args.push(`--${name}`, value);
  }
  if (role.startsWith("amp-")) args.push("--data-home", options.dataHome ?? join(folder, "data"));
  for (const name of ["edition", "port", "token", "latency"]) {
    if (options[name] !== undefined) args.push(`--${name}`, String(options[name]));
  }
  for (const flaw of options.flaws ?? []) args.push("--flaw", flaw);
  for (const freedom of options.freedoms ?? []) args.push("--freedom", freedom);
  args.push(...(options.options ?? []));
  const started = new Mock(spawn(binary, args), { binary, folder, trace, workspace, keepTrace: options.trace !== undefined });
  try {
    await started.start();
  } catch (error) {
    await rm(folder, { recursive: true, force: true });
    throw error;
  }
  return started;
}

class Mock {
  #process;
  #place;
  #ready;
  #waiting = [];
  #errors = "";
  #ended;
  #verdict;

  constructor(process, place) {
    this.#process = process;
    this.#place = place;
    process.stdin.on("error", () => {}); // A mock that is gone fails the command below.
    process.stderr.setEncoding("utf8").on("data", (text) => (this.#errors += text));
    createInterface({ input: process.stdout }).on("line", (line) => this.#waiting.shift()?.fulfil(line));
    this.#ended = new Promise((fulfil) => {
      process.on("error", (error) => {
        this.#errors += error.message;
        fulfil(-1);
      });
      process.on("close", (code) => fulfil(code ?? -1));
    });
    this.#ended.then(() => {
      for (const { reject } of this.#waiting.splice(0)) reject(new MockError(this.#failure("the mock has ended")));
    });
  }

  async start() {
    this.#ready = JSON.parse(await this.#line(START_TIMEOUT, "the mock did not get ready"));
    if (this.#ready.lockfile) {
      this.token = JSON.parse(await readFile(this.#ready.lockfile, "utf8")).authToken;
    }
  }

  get url() {
    return this.#ready.url;
  }

  get port() {
    return this.#ready.port;
  }

  get lockfile() {
    return this.#ready.lockfile;
  }

  get workspace() {
    return this.#place.workspace;
  }

  get traceFile() {
    return this.#place.trace;
  }

  async steer(command, parameters = {}) {
    const line = this.#line(COMMAND_TIMEOUT, `no response to the command \`${command}\``);
    this.#process.stdin.write(`${JSON.stringify({ [command]: parameters })}\n`);
    const response = JSON.parse(await line);
    if ("error" in response) throw new MockError(`${command}: ${response.error}`);
    return response.ok;
  }

  async switch(name, on = true) {
    await this.steer("switch", { name, on });
  }

  async trace() {
    const events = [];
    for (const line of (await readFile(this.traceFile, "utf8")).split("\n")) {
      let event;
      try {
        event = JSON.parse(line);
      } catch {
        break; // The last line is being written.
      }
      if (event.kind !== undefined) events.push(event);
    }
    return events;
  }

  stop() {
    this.#verdict ??= this.#end().then(() => this.#judge());
    return this.#verdict;
  }

  async verify({ strict = false } = {}) {
    const { findings, trace } = await this.stop();
    const levels = strict ? ["must", "should"] : ["must"];
    const violations = findings.filter(({ level }) => levels.includes(level));
    if (violations.length === 0) return this.close();
    const shown = violations.map(show).join("\n");
    throw new AssertionError({
      message: `the code under test violates the protocol:\n${shown}\nlook at the traffic: wirecert view ${trace}`,
      actual: violations,
      expected: [],
      operator: "verify",
    });
  }

  async close() {
    await this.#end();
    await rm(this.#place.folder, { recursive: true, force: true });
  }

  [Symbol.asyncDispose ?? Symbol.for("nodejs.asyncDispose")]() {
    return this.verify();
  }

  async #end() {
    // The end of its stdin ends the mock.
    this.#process.stdin.end();
    const kill = setTimeout(() => this.#process.kill("SIGKILL"), STOP_TIMEOUT);
    const code = await this.#ended;
    clearTimeout(kill);
    if (code !== 0) throw new MockError(this.#failure(`the mock ended with exit code ${code}`));
  }

  async #judge() {
    const args = ["check", this.traceFile, "--report", "json=-", "--color", "never", "-q"];
    const { stdout, stderr } = await new Promise((fulfil) => {
      execFile(this.#place.binary, args, { maxBuffer: MAX_REPORT }, (_, stdout, stderr) => fulfil({ stdout, stderr }));
    });
    let report;
    try {
      report = JSON.parse(stdout);
    } catch {
      throw new MockError(`the traffic could not be judged: ${(stderr || stdout).trim()}`);
    }
    const findings = report.subjects.flatMap((subject) => subject.findings);
    const shown = ({ requirement, level, message, path, expected, actual }) => ({
      requirement, level, message, path, expected, actual,
    });
    return { findings: findings.filter(({ blame }) => blame === "subject").map(shown), trace: this.traceFile };
  }

  #line(timeout, failure) {
    return new Promise((fulfil, reject) => {
      if (this.#process.exitCode !== null) {
        reject(new MockError(this.#failure(`${failure}: the mock has ended`)));
        return;
      }
      const late = setTimeout(() => reject(new MockError(`${failure} within ${timeout / 1000} seconds`)), timeout);
      const done = (settle) => (value) => {
        clearTimeout(late);
        settle(value);
      };
      this.#waiting.push({ fulfil: done(fulfil), reject: done(reject) });
    });
  }

  #failure(what) {
    const said = this.#errors.trim();
    return said ? `${what}: ${said}` : what;
  }
}

function show({ requirement, level, message, path, expected, actual }) {
  const lines = [`- ${level} ${requirement}: ${message}`];
  if (path) lines.push(`    at       ${path}`);
  if (expected !== undefined && expected !== null) lines.push(`    expected ${JSON.stringify(expected)}`);
  if (actual !== undefined && actual !== null) lines.push(`    actual   ${JSON.stringify(actual)}`);
  return lines.join("\n");
}
