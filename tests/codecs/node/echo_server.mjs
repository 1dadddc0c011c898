// An echo server of node `ws`, with compression. Prints its port.
import { WebSocketServer } from "ws";

const server = new WebSocketServer({ host: "127.0.0.1", port: 0, perMessageDeflate: true, maxPayload: 32 << 20 });

server.on("listening", () => console.log(server.address().port));
server.on("connection", (socket) => {
  socket.on("error", () => {});
  socket.on("message", (data, binary) => socket.send(data, { binary }));
});
