// What the messages look like in the two editions of AMP.

// A call that came to nothing. `code` is that of the editor's error, where it sent one.
export class AmpError extends Error {
  constructor(message, code) {
    super(message);
    this.code = code;
  }
}

export function isObject(value) {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

const isText = (value) => typeof value === "string";
const isBoolean = (value) => typeof value === "boolean";

const cli = {
  host: "localhost",
  notifications: [
    "selectionDidChange", "visibleFilesDidChange", "pluginMetadata", "userSentMessage", "appendToPrompt",
  ],
  // Each method, with the members of its result. The first has to be there.
  methods: {
    ping: { message: isText },
    authenticate: { authenticated: isBoolean },
    readFile: { success: isBoolean, content: isText, message: isText },
    editFile: { success: isBoolean, message: isText },
    getDiagnostics: { entries: Array.isArray },
    openURI: { success: isBoolean, message: isText },
  },
  request: (id, method, params) => ({ id, [method]: params }),
  result: (response, method) => response[method],
  // The object that has the notification's name as its key.
  notification: (body) => body,
};

const guide = {
  host: "127.0.0.1",
  notifications: ["selectionChanged", "visibleFilesChanged"],
  methods: {
    readFile: { content: isText },
    editFile: { success: isBoolean },
    getDiagnostics: Array.isArray,
    openURI: { success: isBoolean },
  },
  request: (id, method, params) => ({ id, method: { [method]: params } }),
  result: (response) => response.result,
  notification: (body) => body.method,
};

export const EDITIONS = { cli, guide };

// What a response to this method gives. Throws an AmpError where it is an error, a failure, or no such response.
export function outcome(edition, response, method) {
  const { error } = response;
  if (isObject(error)) throw new AmpError(String(error.message ?? "the editor gave no reason"), error.code);
  if (error) throw new AmpError(String(error)); // The guide leaves open what errors look like.
  const result = edition.result(response, method);
  if (result?.success === false) {
    throw new AmpError(String(result.message ?? `the editor says that ${method} failed`));
  }
  if (!fits(result, edition.methods[method])) throw new AmpError(`the editor's answer is none to ${method}`);
  if (method === "readFile" && !Object.hasOwn(result, "content")) {
    throw new AmpError("the editor succeeded in reading the file, and gave no content");
  }
  return result;
}

function fits(result, expected) {
  if (typeof expected === "function") return expected(result);
  const members = Object.entries(expected);
  if (!isObject(result) || !Object.hasOwn(result, members[0][0])) return false;
  return members.every(([key, is]) => !Object.hasOwn(result, key) || is(result[key]));
}
