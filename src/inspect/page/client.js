// The HTTP interface of the inspector. The token is in the fragment of the address, which no request carries.

const token = new URLSearchParams(location.hash.slice(1)).get("token") ?? "";

export const address = location.origin;

/** The name of the trace that is shown. */
export let trace = "session";

/** Shows another trace. */
export function choose(name) {
  trace = name;
}

export class Refused extends Error {
  constructor(status, message) {
    super(message);
    this.status = status;
  }
}

async function ask(path, options = {}) {
  const headers = { Authorization: `Bearer ${token}`, ...options.headers };
  const response = await fetch(path, { ...options, headers, cache: "no-store" });
  if (!response.ok) {
    let message = `${response.status} ${response.statusText}`;
    try {
      message = (await response.json()).error ?? message;
    } catch { /* the status says it */ }
    throw new Refused(response.status, message);
  }
  return response;
}

export async function get(path, parameters = {}, signal = undefined) {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(parameters)) {
    if (value !== undefined && value !== null && value !== "" && value !== false) query.append(name, value === true ? "1" : value);
  }
  const text = query.toString();
  return (await ask(text ? `${path}?${text}` : path, { signal })).json();
}

export async function post(path, body) {
  const headers = { "Content-Type": "application/json" };
  return (await ask(path, { method: "POST", headers, body: JSON.stringify(body) })).json();
}

/** The same request as a command of a shell; the token stays a variable. */
export function curl(path, body) {
  const text = JSON.stringify(body).replaceAll("'", "'\\''");
  return `curl -sS -H "Authorization: Bearer $TOKEN" -H 'Content-Type: application/json' -d '${text}' ${address}${path}`;
}

/** The requests of a trace that is shown. */
export const ofTrace = (path, parameters = {}) => get(path, { ...parameters, trace });

/**
 * Calls `told` with each state of a trace, until the signal; connects again where the connection is lost, which `lost` is
 * told.
 */
export async function follow(name, signal, told, lost) {
  for (let wait = 250; !signal.aborted; wait = Math.min(wait * 2, 5000)) {
    try {
      const response = await ask(`/api/live?trace=${encodeURIComponent(name)}`, { signal });
      lost(null);
      wait = 250;
      const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
      let rest = "";
      for (;;) {
        const { value, done } = await reader.read();
        if (done) break;
        rest += value;
        const events = rest.split("\n\n");
        rest = events.pop();
        const data = events.map((event) => event.split("\n").filter((line) => line.startsWith("data:")).map((line) => line.slice(5)).join("\n"));
        const last = data.filter((text) => text).at(-1);
        if (last) told(JSON.parse(last));
      }
      lost(new Error("the inspector has ended"));
    } catch (error) {
      if (signal.aborted) return;
      lost(error);
      if (error instanceof Refused) return;
    }
    await new Promise((resolve) => setTimeout(resolve, wait));
  }
}
