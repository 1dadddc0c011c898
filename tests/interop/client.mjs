// A client of node `ws`: connects to a URL, does what JSON lines on stdin say, tells what comes on stdout.
import { createRequire } from "node:module";
import { createInterface } from "node:readline";

const WebSocket = createRequire(process.env.INTEROP + "/")("ws");
const tell = (event) => console.log(JSON.stringify(event));

const socket = new WebSocket(process.argv[2], process.argv.includes("--no-subprotocol") ? [] : ["chat"], { perMessageDeflate: false });
let opened = false;
const end = (event) => {
  tell(event);
  process.exit();
};

socket.on("open", () => {
  opened = true;
  tell({ open: socket.protocol || null });
});
socket.on("message", (data, binary) => {
  const text = data.toString();
  tell(text.length > 1000 ? { big: text.length } : { text });
});
socket.on("pong", (data) => tell({ pong: data.toString() }));
socket.on("error", () => opened || end({ refused: true }));
socket.on("close", (code, reason) => end({ closed: [code, reason.toString()] }));

createInterface({ input: process.stdin }).on("line", (line) => {
  const order = JSON.parse(line);
  if ("send" in order) socket.send(order.send);
  else if ("parts" in order) order.parts.forEach((part, i) => socket.send(part, { fin: i + 1 === order.parts.length }));
  else if ("big" in order) socket.send("x".repeat(order.big));
  else if ("ping" in order) socket.ping(order.ping);
  else if ("close" in order) socket.close(...order.close);
});
