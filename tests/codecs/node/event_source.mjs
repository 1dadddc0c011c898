// Reads the event streams URL/0, URL/1… (URL and their number are the arguments) with `eventsource`, and prints a JSON line for
// each: the list of its events, each with type, data, last id and reconnection time. Types other than `message` are found with
// `eventsource-parser`, on which `eventsource` is built.
import { EventSource } from "eventsource";
import { createParser } from "eventsource-parser";

const [url, count] = [process.argv[2], Number(process.argv[3])];

// The types of the events of a stream, and for each event the reconnection time that holds when it is dispatched.
function survey(text) {
  const [types, times] = [new Set(), []];
  let retry = null;
  const onEvent = (event) => {
    types.add(event.event || "message");
    times.push(retry);
  };
  createParser({ onEvent, onRetry: (value) => (retry = value) }).feed(text);
  return { types, times };
}

function read(number) {
  return new Promise((resolve) => {
    const events = [];
    const fetchOnce = async (input, init) => {
      const response = await fetch(input, init);
      const [one, other] = response.body.tee();
      const { types, times } = survey(await new Response(other).text());
      for (const type of types) {
        source.addEventListener(type, (event) => events.push([event.type, event.data, event.lastEventId, times[events.length] ?? null]));
      }
      return { body: one, url: response.url, status: response.status, headers: response.headers, redirected: false };
    };
    const source = new EventSource(`${url}/${number}`, { fetch: fetchOnce });
    source.addEventListener("error", () => {
      source.close();
      resolve(events);
    });
  });
}

for (let number = 0; number < count; number++) {
  console.log(JSON.stringify(await read(number)));
}
