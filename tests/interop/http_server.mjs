// An HTTP server on node's own stack. Prints its port.
import { createServer } from "node:http";
import { gzipSync } from "node:zlib";

const server = createServer((request, response) => {
  const path = request.url.split("?")[0];
  const parts = [];
  request.on("data", (part) => parts.push(part));
  request.on("end", () => {
    const body = Buffer.concat(parts);
    if (path === "/echo") {
      response.writeHead(200, { "Content-Type": "application/json", "X-Was": request.headers["transfer-encoding"] ?? "length" });
      response.end(body);
    } else if (path === "/chunked") {
      response.writeHead(200, { Trailer: "X-Sum" });
      response.write("ab");
      response.write("cd");
      response.addTrailers({ "X-Sum": "1" });
      response.end();
    } else if (path === "/gzip") {
      response.writeHead(200, { "Content-Encoding": "gzip" });
      response.end(gzipSync(JSON.stringify({ long: "x".repeat(100000) })));
    } else if (path === "/events") {
      response.writeHead(200, { "Content-Type": "text/event-stream" });
      response.write("retry: 10\n\n: hello\n\nid: 1\ndata: a\ndata: ü\n\n");
      response.end("event: other\r\ndata: b\r\n\r\ndata: never ended\n");
    } else if (path === "/early") {
      response.writeEarlyHints({ link: "</x>; rel=preload" }, () => response.end("late"));
    } else if (path === "/cut") {
      response.writeHead(200, { "Content-Length": "10" });
      response.write("abc", () => request.socket.destroy());
    } else {
      response.writeHead(204).end();
    }
  });
});
server.listen(0, "127.0.0.1", () => console.log(server.address().port));
