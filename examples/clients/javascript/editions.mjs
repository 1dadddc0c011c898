// What the messages look like in the two editions of AMP.

// A call that came to nothing. `code` is that of the editor's error, where it sent one.
export class AmpError extends Error {
  constructor(message, code) {
    super(message);
    this.code = code;
  }
}

const cli = {
  host: "localhost",
  methods: ["ping", "authenticate", "readFile", "editFile", "getDiagnostics", "openURI"],
  notifications: [
    "selectionDidChange", "visibleFilesDidChange", "pluginMetadata", "userSentMessage", "appendToPrompt",
  ],
  request: (id, method, params) => ({ id, [method]: params }),
  // What an answer to this method gives. Throws an AmpError where it is an error, or no answer to it.
  result(response, method) {
    throwError(response);
    if (!isObject(response[method])) throw new AmpError(`the editor's answer has no ${method}`);
    return response[method];
  },
  // The object that has the notification's name as its key.
  notification: (body) => body,
};

const guide = {
  host: "127.0.0.1",
  methods: ["readFile", "editFile", "getDiagnostics", "openURI"],
  notifications: ["selectionChanged", "visibleFilesChanged"],
  request: (id, method, params) => ({ id, method: { [method]: params } }),
  result(response) {
    throwError(response);
    if (!Object.hasOwn(response, "result")) throw new AmpError("the editor's answer has no result");
    return response.result;
  },
  notification: (body) => body.method,
};

export const EDITIONS = { cli, guide };

function throwError({ error }) {
  if (isObject(error)) throw new AmpError(String(error.message ?? "the editor gave no reason"), error.code);
  if (error) throw new AmpError(String(error)); // The guide leaves open what errors look like.
}

export function isObject(value) {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
