// Drives Chromium for a test: MODULES (the folder of `ws`), BROWSER, PROFILE. Takes commands as JSON lines on stdin, answers each with one:
// {"open": URL, "width": N, "height": N}, {"evaluate": "the body of an async function"}, {"screenshot": FILE}. Ends with stdin.
import { spawn } from "node:child_process";
import { createRequire } from "node:module";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { createInterface } from "node:readline";

const [modules, browser, profile] = process.argv.slice(2);
const { WebSocket } = createRequire(`${modules}/`)("ws");
const chromium = spawn(browser, [
  "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync",
  "--disable-dev-shm-usage", "--disable-default-apps", "--remote-debugging-port=0", `--user-data-dir=${profile}`, "about:blank",
], { stdio: "ignore" });
process.on("exit", () => chromium.kill("SIGKILL"));

const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

async function until(what, look) {
  for (let n = 0; n < 1200; n++) {
    const found = await look();
    if (found) return found;
    await pause(50);
  }
  throw new Error(`the browser does not ${what}`);
}

// The file is there before what is in it: a line with the port, and one with a path.
const written = () => (existsSync(`${profile}/DevToolsActivePort`) ? readFileSync(`${profile}/DevToolsActivePort`, "utf8") : "");
const port = await until("say where it listens", () => /^(\d+)\n\S/.exec(written())?.[1]);
const pages = async () => (await fetch(`http://127.0.0.1:${port}/json/list`)).json();
const target = await until("have a page", async () => (await pages()).find((one) => one.type === "page"));
const socket = new WebSocket(target.webSocketDebuggerUrl, { perMessageDeflate: false, maxPayload: 1 << 28 });
await new Promise((resolve, reject) => socket.on("open", resolve).on("error", reject));
let next = 1;
const waiting = new Map();
const problems = [];
socket.on("message", (text) => {
  const message = JSON.parse(text);
  if (message.id) waiting.get(message.id)?.(message);
  else if (message.method === "Runtime.exceptionThrown") problems.push(message.params.exceptionDetails.exception?.description ?? message.params.exceptionDetails.text);
  else if (message.method === "Log.entryAdded" && message.params.entry.level === "error") problems.push(message.params.entry.text);
});
const send = (method, params = {}) => new Promise((resolve, reject) => {
  const id = next++;
  waiting.set(id, (message) => {
    waiting.delete(id);
    if (message.error) reject(new Error(`${method}: ${message.error.message}`));
    else resolve(message.result);
  });
  socket.send(JSON.stringify({ id, method, params }));
});
await send("Runtime.enable");
await send("Log.enable");
await send("Page.enable");

const HANDS = `
const at = (id) => document.getElementById(id);
const until = async (what, test) => {
  for (let n = 0; n < 1500; n++) {
    const found = await test();
    if (found) return found;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  throw new Error("waited in vain for " + what + "; the count says: " + at("count")?.textContent);
};
const rows = () => [...document.querySelectorAll("#rows .row")].filter((row) => !row.hidden).map((row) => row.textContent);
const type = (element, text) => { element.value = text; element.dispatchEvent(new Event("input", { bubbles: true })); };
const choose = (element, value) => { element.value = value; element.dispatchEvent(new Event("change", { bubbles: true })); };
const key = (name) => document.activeElement.dispatchEvent(new KeyboardEvent("keydown", { key: name, bubbles: true }));
`;

async function evaluate(body) {
  const expression = `(async () => { ${HANDS} ${body} })()`;
  const { result, exceptionDetails } = await send("Runtime.evaluate", { expression, awaitPromise: true, returnByValue: true });
  if (exceptionDetails) throw new Error(exceptionDetails.exception?.description ?? exceptionDetails.text);
  return result.value ?? null;
}

async function perform(command) {
  if (command.open) {
    const { width = 1300, height = 850 } = command;
    await send("Emulation.setDeviceMetricsOverride", { width, height, deviceScaleFactor: 1, mobile: false });
    if (command.dark !== undefined) {
      await send("Emulation.setEmulatedMedia", { features: [{ name: "prefers-color-scheme", value: command.dark ? "dark" : "light" }] });
    }
    // What differs in the fragment alone would be the same document.
    await send("Page.navigate", { url: "about:blank" });
    await send("Page.navigate", { url: command.open });
    for (let n = 0; ; n++) {
      try {
        return await evaluate("return until('the page', () => document.documentElement.dataset.ready !== undefined)");
      } catch (error) {
        // The document before it may still have been there.
        if (n > 2 || String(error).includes("waited in vain")) throw error;
        await pause(100);
      }
    }
  }
  if (command.evaluate) return evaluate(command.evaluate);
  if (command.screenshot) {
    const { data } = await send("Page.captureScreenshot", { format: "png" });
    writeFileSync(command.screenshot, Buffer.from(data, "base64"));
    return null;
  }
  return problems;
}

for await (const line of createInterface({ input: process.stdin })) {
  let answer;
  try {
    answer = { ok: await perform(JSON.parse(line)) };
  } catch (error) {
    answer = { error: String(error), problems };
  }
  process.stdout.write(`${JSON.stringify(answer)}\n`);
}
process.exit(0);
