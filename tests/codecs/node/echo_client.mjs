// An echo client of node `ws`: connects to the URL that is its first argument so many times as the second one says, one
// connection after the other ended, `third` at a time. Ends when all have ended.
import WebSocket from "ws";

const [url, count, parallel] = [process.argv[2], Number(process.argv[3]), Number(process.argv[4])];
let next = 0;

function play() {
  if (next === count) return;
  const number = next++;
  const socket = new WebSocket(`${url}&case=${number}`, { perMessageDeflate: true, maxPayload: 32 << 20 });
  socket.on("error", () => {});
  socket.on("message", (data, binary) => socket.send(data, { binary }));
  socket.on("close", play);
}

for (let i = 0; i < parallel; i++) play();
