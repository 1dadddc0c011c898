// An echo server of node `ws`. Prints its port, then one JSON line for each connection that ended.
import { createRequire } from "node:module";

const { WebSocketServer } = createRequire(process.env.INTEROP + "/")("ws");

const server = new WebSocketServer({
  host: "127.0.0.1",
  port: 0,
  handleProtocols: (offered) => (offered.has("chat") ? "chat" : false),
  verifyClient: ({ req }, done) => done(req.url !== "/refuse", 403, "not you\n"),
});

server.on("listening", () => console.log(server.address().port));
server.on("connection", (socket) => {
  socket.on("error", () => {});
  socket.on("close", (code, reason) => console.log(JSON.stringify({ closed: [code, reason.toString()] })));
  socket.on("message", (data, binary) => {
    const text = binary ? "" : data.toString();
    if (text === "fragments") {
      socket.send("one ", { fin: false });
      socket.send("two ", { fin: false });
      socket.send("three", { fin: true });
    } else if (text === "ping") {
      socket.once("pong", () => socket.send("ponged"));
      socket.ping("marco");
    } else if (text.startsWith("close ")) {
      const [, code, reason] = text.split(" ");
      socket.close(Number(code), reason);
    } else {
      socket.send(data, { binary });
    }
  });
});
