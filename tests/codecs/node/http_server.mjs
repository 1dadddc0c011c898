// A server that answers every request with status 200 once its body has come. Prints its port.
import { createServer } from "node:http";

const server = createServer((request, response) => {
  request.on("error", () => {});
  request.resume();
  request.on("end", () => response.end("{}"));
});
server.listen(0, "127.0.0.1", () => console.log(server.address().port));
