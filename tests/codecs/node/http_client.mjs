// Sends a request to the port that is its argument, and prints the body of the response; nothing, if there is none.
import { request } from "node:http";

const outgoing = request({ host: "127.0.0.1", port: process.argv[2], method: "POST", path: "/", agent: false }, (response) => {
  let body = "";
  response.setEncoding("utf8");
  response.on("data", (piece) => (body += piece));
  response.on("end", () => response.complete && response.statusCode === 200 && console.log(body));
  response.on("error", () => {});
});
outgoing.on("error", () => {});
outgoing.end("{}");
