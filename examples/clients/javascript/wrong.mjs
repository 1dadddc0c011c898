// Ways to be wrong that authors of clients have been seen to find. They show that wirecert catches them; copy none.
//
// Each is a client like the right one in all but one thing.

import { AmpClient, Session } from "./client.mjs";
import { Discovery } from "./discovery.mjs";

// Ids are numbers.
class NumberIds extends Session {
  send({ clientRequest }) {
    super.send({ clientRequest: { ...clientRequest, id: Number(clientRequest.id) } });
  }

  answer(response) {
    super.answer({ ...response, id: String(response.id) });
  }
}

// Every request has the same id.
class SameId extends Session {
  nextId() {
    return "1";
  }
}

// Whatever answer comes is taken for that of every open call.
class FirstAnswer extends Session {
  answer(response) {
    for (const id of this.open.keys()) super.answer({ ...response, id });
  }
}

// An error is handed on as if it were a result.
class ErrorAsResult extends Session {
  answer(response) {
    const call = this.open.get(response.id);
    if (call && response.error) call.resolve(response.error);
    else super.answer(response);
  }
}

// A call waits until the one before it is answered.
class OneAtATime extends Session {
  last = Promise.resolve();

  request(method, params) {
    const mine = this.last.then(() => super.request(method, params));
    this.last = mine.catch(() => {});
    return mine;
  }
}

// While a call is open, only its answer is listened for.
class DropsNotificationsWhileOpen extends Session {
  tell(body) {
    if (this.open.size === 0) super.tell(body);
  }
}

// Requests are sent as binary data.
class BinaryFrames extends Session {
  send(message) {
    this.socket.send(Buffer.from(JSON.stringify(message)), () => {});
  }
}

// A message that is no JSON ends the program.
class DiesOfBadJson extends Session {
  take(text) {
    JSON.parse(text);
    super.take(text);
  }
}

// Lockfiles of dead editors count.
class NoPidCheck extends Discovery {
  isAlive() {
    return true;
  }
}

// Editors that have other folders open count.
class NoFolderCheck extends Discovery {
  inThisFolder(editors) {
    return editors.slice(0, 1);
  }
}

// The token is put into the URL as it is.
class RawToken extends AmpClient {
  encoded(token) {
    return token;
  }
}

// An answer is waited for without end.
class NoTimeout extends AmpClient {
  constructor(edition, options) {
    super(edition, { ...options, timeout: 0 });
  }
}

// When the connection has ended, there is never another one.
class NoReconnect extends AmpClient {
  async serve(session) {
    await super.serve(session);
    this.closing.abort();
  }
}

const withSession = (session) =>
  class extends AmpClient {
    sessionType = session;
  };

const withDiscovery = (discovery) =>
  class extends AmpClient {
    constructor(edition, options) {
      super(edition, { ...options, discovery: new discovery(edition) });
    }
  };

export const WRONG = {
  "number-ids": withSession(NumberIds),
  "same-id": withSession(SameId),
  "first-answer": withSession(FirstAnswer),
  "error-as-result": withSession(ErrorAsResult),
  "one-at-a-time": withSession(OneAtATime),
  "drops-notifications-while-open": withSession(DropsNotificationsWhileOpen),
  "binary-frames": withSession(BinaryFrames),
  "dies-of-bad-json": withSession(DiesOfBadJson),
  "dead-pid": withDiscovery(NoPidCheck),
  "any-folder": withDiscovery(NoFolderCheck),
  "raw-token": RawToken,
  "no-timeout": NoTimeout,
  "no-reconnect": NoReconnect,
};
