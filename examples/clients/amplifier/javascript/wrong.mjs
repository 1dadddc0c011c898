// Ways to be wrong that authors of clients have been seen to find. They show that wirecert catches them; copy none.
//
// Each is a client like the right one in all but one thing.

import { AmplifierClient, parsed } from "./client.mjs";

// The status of an answer is not looked at.
class ErrorAsResult extends AmplifierClient {
  failure(_status, text) {
    return parsed(text);
  }

  async request(...request) {
    try {
      return await super.request(...request);
    } catch (error) {
      if (error instanceof Error) throw error;
      return error;
    }
  }
}

// A profile's name is written into the path as it is.
class RawPath extends AmplifierClient {
  segment(text) {
    return text;
  }
}

// A prompt that was refused is tried again.
class RetriesPrompts extends AmplifierClient {
  async submitPrompt(params) {
    try {
      return await super.submitPrompt(params);
    } catch {
      return super.submitPrompt(params);
    }
  }
}

// What the agent wants to do is allowed without asking anybody.
class AllowsEverything extends AmplifierClient {
  tell(id, event, data) {
    super.tell(id, event, data);
    if (event === "approval:required") {
      this.submitApproval({ session_id: data.session_id, decision: data.options[0] }).catch(() => {});
    }
  }
}

// The API key goes with every request.
class KeyInHeader extends AmplifierClient {
  async createSession(body) {
    this.key = body.credentials?.anthropic_api_key;
    return super.createSession(body);
  }

  headers() {
    return { ...super.headers(), ...(this.key && { "x-api-key": this.key }) };
  }
}

// What is sent is logged, the API key among it.
class LogsKey extends AmplifierClient {
  createSession(body) {
    console.error("new session", JSON.stringify(body));
    return super.createSession(body);
  }
}

// White space around a delta gets lost.
class TrimsDeltas extends AmplifierClient {
  tell(id, event, data) {
    super.tell(id, event, typeof data?.delta === "string" ? { ...data, delta: data.delta.trim() } : data);
  }
}

// Every message has to be JSON.
class DiesOfKeepAlive extends AmplifierClient {
  hear(id, text) {
    JSON.parse(text);
    super.hear(id, text);
  }
}

// Events that come before the answer to the prompt get lost.
class DeafBeforeAnswer extends AmplifierClient {
  async submitPrompt(params) {
    this.deaf = true;
    try {
      return await super.submitPrompt(params);
    } finally {
      this.deaf = false;
    }
  }

  tell(id, event, data) {
    if (!this.deaf) super.tell(id, event, data);
  }
}

// The stream is cut at every pair of line feeds, and each piece decoded by itself.
class NaiveStream extends AmplifierClient {
  stream(id, session) {
    const abort = new AbortController();
    const follow = async (response) => {
      let rest = "";
      for await (const piece of response.body) {
        const blocks = (rest + Buffer.from(piece).toString()).split("\n\n");
        rest = blocks.pop();
        for (const block of blocks) {
          if (block.startsWith("data: ")) this.hear(id, block.slice("data: ".length));
        }
      }
    };
    const headers = { accept: "text/event-stream", "cache-control": "no-cache" };
    const opened = fetch(`${this.url}${this.session(session)}/events`, { headers, signal: abort.signal }).then(
      async (response) => {
        if (!response.ok) throw this.failure(response.status, await response.text());
        follow(response).catch(() => {});
      },
    );
    return { opened, close: () => abort.abort() };
  }
}

// Subscriptions do not say that they want a stream.
class NoAccept extends AmplifierClient {
  streamFetch() {
    return (url, init) => fetch(url, { ...init, headers: { ...init.headers, Accept: "*/*" } });
  }
}

// A delta has to have an index.
class NeedsIndex extends AmplifierClient {
  tell(id, event, data) {
    if (event !== "content_block:delta" || data.block_index !== undefined) super.tell(id, event, data);
  }
}

export const WRONG = {
  "error-as-result": ErrorAsResult,
  "raw-path": RawPath,
  "retries-prompts": RetriesPrompts,
  "allows-everything": AllowsEverything,
  "key-in-header": KeyInHeader,
  "logs-key": LogsKey,
  "trims-deltas": TrimsDeltas,
  "dies-of-keep-alive": DiesOfKeepAlive,
  "deaf-before-answer": DeafBeforeAnswer,
  "naive-stream": NaiveStream,
  "no-accept": NoAccept,
  "needs-index": NeedsIndex,
};
