// Loads a provider that is a JavaScript module as OpenCtx clients do, and answers for it: POST / on a loopback port.
//
//   node module.mjs --port N --module FILE [--settings FILE] --refusal FILE --within MILLISECONDS
//
// What cannot be answered for is said in the refusal file, as {problem, help}, before this ends with exit code 1.
// It listens once the module is loaded. What the provider throws is answered as an error, and reported on stderr.

import { spawnSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { pathToFileURL } from "node:url";
import { inspect, parseArgs } from "node:util";

const METHODS = ["meta", "mentions", "items", "annotations"];
const MAX_BODY = 64 * 1024 * 1024;
const MAX_MEMORY = 1024 * 1024 * 1024;
const LOOK = 250;
const CHECK = { timeout: 5000 };
const NOTHING_ELSE = "have it do nothing but define the provider";

const text = { type: "string" };
const options = { port: text, module: text, settings: text, refusal: text, within: text };
const { values: given } = parseArgs({ options });
const within = Number(given.within);

let stage = "loading";

function refuse(problem, help) {
  stage = "refused";
  writeFileSync(given.refusal, JSON.stringify({ problem, help }));
  process.exit(1);
}

function tell(what, error) {
  process.stderr.write(`wirecert: ${what}: ${read(() => inspect(error))}\n`);
}

// What reading something of the module gives: a property of what it throws may itself throw.
function read(get, otherwise = "what cannot be read") {
  try {
    return get();
  } catch {
    return otherwise;
  }
}

// A client's process lives on after these.
process.on("uncaughtException", (error) => tell("the module threw where nobody catches it", error));
process.on("unhandledRejection", (error) => tell("the module left a rejected promise alone", error));
process.on("beforeExit", () => {
  if (stage === "loading") refuse("an `await` at its top level never ends", NOTHING_ELSE);
});
process.on("exit", (code) => {
  if (stage !== "loading") return;
  const problem = `it ended the process with exit code ${code}`;
  writeFileSync(given.refusal, JSON.stringify({ problem, help: NOTHING_ELSE }));
});

// Buffers lie beside the heap that Node bounds.
setInterval(() => {
  if (process.memoryUsage.rss() <= MAX_MEMORY) return;
  process.stderr.write("wirecert: the module holds more than 1 GiB of memory\n");
  process.exit(1);
}, LOOK).unref();

const settings = given.settings === undefined ? {} : JSON.parse(readFileSync(given.settings, "utf8"));
const provider = await load(given.module);
stage = "loaded";

async function load(path) {
  let loaded;
  try {
    loaded = await import(pathToFileURL(path).href);
  } catch (error) {
    // Only Node's own report says in which line.
    const checked = error instanceof SyntaxError && spawnSync(process.execPath, ["--check", path], CHECK);
    if (checked && checked.status === 1) process.stderr.write(checked.stderr);
    else tell("the module could not be loaded", error);
    refuse(...explained(error));
  }
  if (!("default" in loaded)) {
    refuse("it has no default export", "export the provider: `export default provider`, or `module.exports = provider`");
  }
  // What a compiler made of an ES module has its default export one level down.
  let found = loaded.default;
  if (isObject(found) && "default" in found) found = found.default;
  try {
    found = await found;
  } catch (error) {
    refuse(`its default export is a promise that was rejected: ${brief(error)}`, "export the provider itself");
  }
  const offered = isObject(found) ? METHODS.filter((name) => typeof found[name] === "function") : [];
  if (offered.length === 0) {
    const is = found === null ? "null" : `of type ${typeof found}`;
    const why = isObject(found) ? "has no method of a provider" : `is ${is}`;
    refuse(`its default export ${why}`, `export an object with the methods ${METHODS.join(", ")}, the first at least`);
  }
  return found;
}

// What is wrong with a module that cannot be loaded, and what to do about it.
function explained(error) {
  const message = brief(error);
  const code = read(() => (isObject(error) ? error.code : undefined), undefined);
  if (code === "ERR_UNKNOWN_FILE_EXTENSION") {
    return [message, "compile it: npx esbuild provider.ts --bundle --platform=node --format=esm --outfile=provider.mjs"];
  }
  if (code === "ERR_MODULE_NOT_FOUND" || code === "MODULE_NOT_FOUND") {
    return [message, "install what it imports (npm ci), or bundle it into one file"];
  }
  if (error instanceof SyntaxError) {
    const about = /Cannot use import statement|Unexpected token 'export'/.test(message)
      ? 'name it `.mjs`, or put `"type": "module"` into its package.json'
      : `correct it, or compile it for Node ${process.versions.node}`;
    return [`it is no JavaScript that Node understands: ${message}`, about];
  }
  return [`it threw while it was loaded: ${message}`, NOTHING_ELSE];
}

function isObject(value) {
  return (typeof value === "object" && value !== null) || typeof value === "function";
}

function brief(error) {
  const message = read(() => (isObject(error) ? error.message : undefined), undefined);
  return (typeof message === "string" ? message : read(() => inspect(error))).slice(0, 10_000);
}

// What a request gets: `{result}` or `{error}`.
async function answer(request) {
  if (!isObject(request) || Array.isArray(request) || typeof request.method !== "string") {
    return failure(-32600, "a request is an object with a `method`");
  }
  const { method, params = {}, settings: own } = request;
  if (!METHODS.includes(method)) return failure(-32601, `there is no method ${JSON.stringify(method)}`);
  if (typeof provider[method] !== "function") return failure(-32601, `the module has no method \`${method}\``);
  for (const [name, value] of [["params", params], ["settings", own ?? {}]]) {
    if (!isObject(value) || Array.isArray(value)) return failure(-32602, `\`${name}\` is no object`);
  }
  try {
    const result = await bounded(provider[method](params, own ?? structuredClone(settings)));
    if (result === undefined) tell(`\`${method}\` gave`, undefined);
    return { result: result === undefined ? null : result };
  } catch (error) {
    tell(`\`${method}\` failed`, error);
    const code = read(() => (isObject(error) ? error.code : undefined), undefined);
    return failure(Number.isSafeInteger(code) ? code : -32000, brief(error));
  }
}

function failure(code, message) {
  return { error: { code, message } };
}

// A promise's value, or a failure where it has none for too long.
async function bounded(promise) {
  let timer;
  const late = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Error(`its promise did not settle within ${within} ms`)), within);
  });
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
}

function encoded(answered) {
  try {
    if (answered.result !== undefined && JSON.stringify(answered.result) === undefined) {
      throw new TypeError(`a ${typeof answered.result}`);
    }
    return Buffer.from(JSON.stringify(answered));
  } catch (error) {
    tell("what the module gave is no JSON", error);
    return Buffer.from(JSON.stringify(failure(-32000, `the result is no JSON: ${brief(error)}`)));
  }
}

// The whole body; none where it is too large.
async function body(request) {
  const pieces = [];
  let size = 0;
  for await (const piece of request) {
    size += piece.length;
    if (size <= MAX_BODY) pieces.push(piece);
  }
  return size <= MAX_BODY ? Buffer.concat(pieces) : undefined;
}

async function serve(request, response) {
  const say = (status, answered, headers = {}) => {
    const bytes = encoded(answered);
    const type = "application/json; charset=utf-8";
    response.writeHead(status, { "Content-Type": type, "Content-Length": bytes.length, ...headers });
    response.end(bytes);
  };
  const bytes = await body(request);
  if (bytes === undefined) return say(413, failure(-32600, "the request is too large"));
  if (request.url.split("?")[0] !== "/") return say(404, failure(-32600, "the provider answers at /"));
  if (request.method !== "POST") return say(405, failure(-32600, "a request is sent by POST"), { Allow: "POST" });
  if (!["identity", ""].includes(request.headers["content-encoding"] ?? "")) {
    return say(415, failure(-32600, "the request is compressed"), { "Accept-Encoding": "identity" });
  }
  let parsed;
  try {
    parsed = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes));
  } catch {
    return say(400, failure(-32700, "the request is no JSON"));
  }
  say(200, await answer(parsed));
}

const server = createServer((request, response) => {
  // A client that goes away in the middle needs no answer.
  serve(request, response).catch(() => response.destroy());
});
server.keepAliveTimeout = 60_000;

process.on("SIGTERM", async () => {
  try {
    await provider.dispose?.();
  } catch (error) {
    tell("`dispose` failed", error);
  }
  process.exit(0);
});

server.on("error", (error) => refuse(`its port could not be opened: ${brief(error)}`, "run it again"));
server.listen(Number(given.port), "127.0.0.1");
