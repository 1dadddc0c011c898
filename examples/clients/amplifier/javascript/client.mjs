// A client of Amplifier servers: requests on `fetch`, event streams on `eventsource`, WebSockets on `ws`.

import { EventSource } from "eventsource";
import { WebSocket } from "ws";

const PATIENCE = 30_000; // Milliseconds. No answer of the document takes long.

export class AmplifierError extends Error {
  constructor(message, { code, status } = {}) {
    super(message);
    this.code = code;
    this.status = status;
  }
}

export class AmplifierClient {
  constructor(url, { onEvent = () => {}, onState = () => {} } = {}) {
    this.url = url.replace(/\/+$/, "");
    this.onEvent = onEvent;
    this.onState = onState;
    this.subscriptions = new Map();
    this.last = 0;
  }

  createSession(body) {
    return this.request("POST", "/sessions", { body });
  }

  submitPrompt({ session_id, ...body }) {
    return this.request("POST", `${this.session(session_id)}/prompt`, { body });
  }

  submitApproval({ session_id, ...body }) {
    return this.request("POST", `${this.session(session_id)}/approval`, { body });
  }

  getSession({ session_id }) {
    return this.request("GET", this.session(session_id));
  }

  deleteSession({ session_id }) {
    return this.request("DELETE", this.session(session_id));
  }

  listSessions({ status, limit }) {
    return this.request("GET", "/sessions", { query: { status, limit } });
  }

  listProfiles({ collection }) {
    return this.request("GET", "/profiles", { query: { collection } });
  }

  getProfile({ name }) {
    return this.request("GET", `/profiles/${this.segment(name)}`);
  }

  listCollections() {
    return this.request("GET", "/collections");
  }

  listAgents({ collection }) {
    return this.request("GET", "/agents", { query: { collection } });
  }

  health() {
    return this.request("GET", "/health");
  }

  info() {
    return this.request("GET", "/info");
  }

  // Follows the events of a session. The promise is kept once the server has answered: what happens from then on is reported.
  async subscribe({ session_id, transport }) {
    const id = ++this.last;
    const subscription = transport === "ws" ? this.socket(id, session_id) : this.stream(id, session_id);
    await subscription.opened;
    this.subscriptions.set(id, subscription);
    return { subscription: id };
  }

  unsubscribe({ subscription }) {
    this.subscriptions.get(subscription)?.close();
    this.subscriptions.delete(subscription);
    return null;
  }

  control({ subscription, message }) {
    const socket = this.subscriptions.get(subscription)?.socket;
    if (socket?.readyState !== WebSocket.OPEN) throw new AmplifierError("the WebSocket is not open");
    socket.send(JSON.stringify(message));
    return null;
  }

  close() {
    for (const subscription of this.subscriptions.values()) subscription.close();
  }

  session(id) {
    return `/sessions/${this.segment(id)}`;
  }

  segment(text) {
    return encodeURIComponent(text);
  }

  headers() {
    return { accept: "application/json" };
  }

  async request(method, path, { body, query = {} } = {}) {
    const given = Object.entries(query).filter(([, value]) => value !== undefined && value !== null);
    const search = given.length > 0 ? `?${new URLSearchParams(given)}` : "";
    const headers = this.headers();
    if (body !== undefined) headers["content-type"] = "application/json";
    const response = await this.send(this.url + path + search, {
      method,
      headers,
      body: body === undefined ? undefined : JSON.stringify(body),
      signal: AbortSignal.timeout(PATIENCE),
    });
    const text = await response.text();
    if (!response.ok) throw this.failure(response.status, text);
    return this.result(text);
  }

  async send(url, options) {
    try {
      return await fetch(url, options);
    } catch (error) {
      throw new AmplifierError(`no answer: ${error.cause?.message ?? error.message}`);
    }
  }

  result(text) {
    const json = parsed(text);
    if (json === null || typeof json !== "object") throw new AmplifierError("the answer is no JSON object");
    return json;
  }

  failure(status, text) {
    const error = parsed(text)?.error;
    return new AmplifierError(error?.message ?? `the server answered with the status ${status}`, { code: error?.code, status });
  }

  // A message came over a subscription. What is no event is passed over: servers keep streams alive as they like.
  hear(id, text) {
    const message = parsed(text);
    if (typeof message?.event === "string") this.tell(id, message.event, message.data);
  }

  tell(id, event, data) {
    this.onEvent(event, data, id);
  }

  // An event stream. `EventSource` subscribes again by itself when it is cut, but not to a session that has ended.
  stream(id, session) {
    const source = new EventSource(`${this.url}${this.session(session)}/events`, { fetch: this.streamFetch() });
    source.onmessage = ({ data }) => {
      this.hear(id, data);
      if (parsed(data)?.event === "session:end") source.close();
    };
    const opened = new Promise((resolve, reject) => {
      source.onopen = () => {
        this.onState("connected");
        resolve();
      };
      source.onerror = ({ code, message }) => {
        const closed = source.readyState === EventSource.CLOSED;
        this.onState(closed ? "disconnected" : "reconnecting");
        // Where the first attempt fails, the caller is told; it closes nothing that stands.
        reject(new AmplifierError(message ?? "the stream was refused", { status: code }));
      };
    });
    opened.catch(() => source.close());
    return { opened, close: () => source.close() };
  }

  streamFetch() {
    return fetch;
  }

  socket(id, session) {
    const socket = new WebSocket(`${this.url.replace(/^http/, "ws")}${this.session(session)}/ws`);
    socket.on("message", (data) => this.hear(id, data.toString()));
    const opened = new Promise((resolve, reject) => {
      socket.on("open", () => {
        this.onState("connected");
        resolve();
      });
      socket.on("unexpected-response", (_request, response) => {
        reject(new AmplifierError("the WebSocket was refused", { status: response.statusCode }));
        socket.terminate();
      });
      socket.on("error", (error) => reject(new AmplifierError(error.message)));
      socket.on("close", () => {
        this.onState("disconnected");
        reject(new AmplifierError("the WebSocket was closed"));
      });
    });
    return { opened, socket, close: () => socket.close(1000) };
  }
}

// What a text says as JSON; `undefined` where it is none.
export function parsed(text) {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
