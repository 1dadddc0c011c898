/** wirecert's mocks for tests in node: start, steer, judge. */

export type ServerRole = "amp-server" | "openctx-provider" | "amplifier-server";

export interface MockOptions {
  /** The edition of the protocol; the first one of the protocol, if not given. */
  edition?: string;
  /** The folder that the mock has open; a new, empty one, if not given. */
  workspace?: string;
  /** What the mock does by itself: a file, or its content. */
  script?: string | object;
  /** What a provider returns: a file, or its content. */
  data?: string | object;
  /** How the mock is wrong; `wirecert mock ROLE --list-flaws` lists the names. */
  flaws?: string[];
  /** How the mock is different, and right all the same. */
  freedoms?: string[];
  /** The port to listen on; a free one, if not given. */
  port?: number;
  /** Where a mock editor puts its lockfile; a new folder, if not given. */
  dataHome?: string;
  /** The secret of a mock editor; a generated one, if not given. */
  token?: string;
  /** How long messages are delayed, such as `300ms` or `20ms..200ms`. */
  latency?: string;
  /** Where to record the traffic; a temporary file, if not given. */
  trace?: string;
  /** Further options of `wirecert mock`. */
  options?: string[];
}

/** A requirement that the code under test violated. */
export interface Finding {
  /** The id, such as `amplifier/2025-12-09/create/client-profile`. */
  requirement: string;
  level: "must" | "should" | "may";
  /** What is wrong. */
  message: string;
  /** Where in the message, as a JSON Pointer. */
  path?: string;
  expected?: unknown;
  actual?: unknown;
}

/** What the rules of the protocol say about the traffic. */
export interface Verdict {
  /** What the code under test violated, the most important finding first. */
  findings: Finding[];
  /** The recorded traffic, for `wirecert view`. */
  trace: string;
}

/** An event of a trace. */
export interface TraceEvent {
  i: number;
  t: number;
  kind: string;
  conn?: string;
  dir?: string;
  [key: string]: unknown;
}

/** The mock could not be started or stopped, or refused a command. */
export class MockError extends Error {}

/** A running mock. */
export interface Mock extends AsyncDisposable {
  /** The address, such as `http://127.0.0.1:8765/` or `ws://127.0.0.1:43289`. */
  readonly url: string;
  readonly port: number;
  /** The lockfile of a mock editor. */
  readonly lockfile?: string;
  /** The secret of a mock editor. */
  readonly token?: string;
  readonly workspace: string;
  /** Where the traffic is recorded. */
  readonly traceFile: string;
  /**
   * Sends a command, such as `steer("open", { path: "a.txt" })`, and gives its result. The mock has sent everything that
   * the command causes when the promise is fulfilled.
   */
  steer(command: string, parameters?: object): Promise<any>;
  /** Switches a flaw or a freedom on or off. */
  switch(name: string, on?: boolean): Promise<void>;
  /** The events recorded so far. */
  trace(): Promise<TraceEvent[]>;
  /** Stops the mock and judges the traffic. */
  stop(): Promise<Verdict>;
  /**
   * Stops the mock, and fails with an `AssertionError` if the code under test violated a `must` (with `strict` also a
   * `should`). The trace is kept then.
   */
  verify(options?: { strict?: boolean }): Promise<void>;
  /** Stops the mock and removes what it wrote, unless its place was given. Judges nothing. */
  close(): Promise<void>;
}

/** Starts a mock of a server and waits until it is ready. */
export function mock(role: ServerRole, options?: MockOptions): Promise<Mock>;

/** The path of the `wirecert` program. */
export function findBinary(): string;
