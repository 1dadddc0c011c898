// A client of AMP: finds the editor, asks it, and hears from it.
//
//     const client = new AmpClient("cli", { onNotification: console.log });
//     const text = await client.request("readFile", { path: "/home/me/project/a.txt" });
//     await client.close();

import { once } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import WebSocket from "ws";

import { Discovery } from "./discovery.mjs";
import { AmpError, EDITIONS, isObject, outcome } from "./editions.mjs";

const MAX_MESSAGE = 64 * 1024 * 1024; // Bytes.

// One connection: requests go out, and answers find the requests that they belong to.
export class Session {
  constructor(socket, edition, { timeout, onNotification }) {
    Object.assign(this, { socket, edition, timeout, onNotification });
    this.count = 0;
    this.open = new Map(); // From ids to the calls that wait.
    socket.on("message", (data) => this.take(data.toString()));
    this.ended = new Promise((resolve) => socket.once("close", resolve)).then(() => {
      for (const call of this.open.values()) call.reject(new AmpError("the connection to the editor ended"));
    });
  }

  // Any number may be under way at a time. Rejects with an AmpError.
  async request(method, params) {
    const id = this.nextId();
    const call = { method };
    const answer = new Promise((resolve, reject) => Object.assign(call, { resolve, reject }));
    const late = new AmpError(`the editor did not answer ${method} within ${this.timeout} s`);
    const timer = this.timeout && setTimeout(() => call.reject(late), this.timeout * 1000);
    this.open.set(id, call);
    try {
      this.send({ clientRequest: this.edition.request(id, method, params) });
      return await answer;
    } finally {
      clearTimeout(timer);
      if (this.open.get(id) === call) this.open.delete(id);
    }
  }

  nextId() {
    this.count += 1;
    return String(this.count); // A string: editors need not find numbers.
  }

  send(message) {
    // A string goes as text, a Buffer would go as binary. That the connection is gone is reported by `ended`.
    this.socket.send(JSON.stringify(message), () => {});
  }

  // Takes what the editor sends. What makes no sense is passed over: one bad message does not spoil the others.
  take(text) {
    let message;
    try {
      message = JSON.parse(text);
    } catch {
      return;
    }
    if (isObject(message?.serverResponse)) this.answer(message.serverResponse);
    else if (isObject(message?.serverNotification)) this.tell(message.serverNotification);
  }

  answer(response) {
    const call = this.open.get(response.id); // A number finds nothing here: the ids are strings.
    if (!call) return; // Too late, for the second time, or for nobody.
    try {
      call.resolve(outcome(this.edition, response, call.method));
    } catch (error) {
      call.reject(error);
    }
  }

  tell(body) {
    const named = this.edition.notification(body);
    if (!isObject(named)) return;
    for (const name of this.edition.notifications) {
      if (Object.hasOwn(named, name)) this.onNotification(name, named[name]);
    }
  }
}

// Keeps a connection to the editor, and finds it again when it was away.
//
// `onState` hears `connected`, `disconnected`, `reconnecting` and `no_server`. Times are in seconds: how long an answer
// may take, how long a call waits for a connection, how often one is tried, and how long without success until that
// is given up; the next call begins it anew.
export class AmpClient {
  sessionType = Session;

  constructor(edition, options = {}) {
    const defaults = { timeout: 2, wait: 5, retry: 1, giveUp: 30, onNotification: () => {}, onState: () => {} };
    this.options = { ...defaults, ...options };
    this.edition = EDITIONS[edition];
    this.discovery = options.discovery ?? new Discovery(edition);
    this.state = null;
    this.session = null; // While a connection stands.
    this.editor = null; // The last one that let us in.
    this.running = null; // The search for an editor.
    this.closing = new AbortController();
    this.waiting = new Map(); // Calls that wait for a connection, each with its timer.
  }

  // Begins to look for the editor, unless it does already.
  start() {
    if (this.closing.signal.aborted) return;
    this.running ??= this.stayConnected().finally(() => (this.running = null));
  }

  // What the editor answers. Waits for a connection before. Rejects with an AmpError.
  async request(method, params) {
    this.start();
    const session = this.session ?? (await this.connected());
    return session.request(method, params);
  }

  // Ends the connection as a good client does: by a close frame.
  async close() {
    this.closing.abort();
    const session = this.session;
    if (session) {
      session.socket.close(1000);
      // Whoever quits does not wait for an editor that hangs.
      const bound = setTimeout(() => session.socket.terminate(), 500);
      await session.ended;
      clearTimeout(bound);
    }
    await this.running;
    for (const timer of this.waiting.values()) clearTimeout(timer); // Nothing holds the process any more.
    this.tellState("disconnected");
  }

  // The session, once there is one.
  connected() {
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        this.waiting.delete(resolve);
        reject(new AmpError("no editor was found"));
      }, this.options.wait * 1000);
      this.waiting.set(resolve, timer);
    });
  }

  async stayConnected() {
    const bound = () => Date.now() + this.options.giveUp * 1000;
    let until = bound();
    while (!this.closing.signal.aborted && Date.now() < until) {
      const session = await this.open();
      if (session) {
        await this.serve(session);
        until = bound();
      } else if (this.editor === null) {
        this.tellState("no_server");
      }
      await sleep(this.options.retry * 1000, null, { signal: this.closing.signal }).catch(() => {});
    }
    if (!this.closing.signal.aborted) this.tellState("no_server");
  }

  // A connection to the first editor that lets us in.
  async open() {
    const { signal } = this.closing;
    for (const editor of this.discovery.editors(this.editor)) {
      if (signal.aborted) break;
      let socket;
      try {
        socket = new WebSocket(this.url(editor), { handshakeTimeout: 2000, maxPayload: MAX_MESSAGE });
        socket.on("error", () => {}); // What it was does not matter: `close` follows.
        // Made before the connection stands, so that nothing which comes first is missed.
        const session = new this.sessionType(socket, this.edition, this.options);
        await once(socket, "open", { signal });
        this.editor = editor;
        return session;
      } catch {
        socket?.terminate(); // Nobody there, not what it seemed, or not for us.
      }
    }
    return null;
  }

  url(editor) {
    return `ws://${this.edition.host}:${editor.port}/?auth=${this.encoded(editor.token)}`;
  }

  encoded(token) {
    return encodeURIComponent(token);
  }

  async serve(session) {
    this.session = session;
    this.tellState("connected");
    for (const [resolve, timer] of this.waiting) {
      clearTimeout(timer);
      resolve(session);
    }
    this.waiting.clear();
    await session.ended;
    this.session = null;
    this.tellState("disconnected");
    if (!this.closing.signal.aborted) this.tellState("reconnecting");
  }

  tellState(state) {
    if (state === this.state) return;
    this.state = state;
    this.options.onState(state);
  }
}
