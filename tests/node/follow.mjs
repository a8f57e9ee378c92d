// Speaks to a server as others' clients do: `node follow.mjs ws|sse URL COUNT` prints the answer to a query, to a
// mutation and to an operation that is wrong, then COUNT events from the beginning on, whatever becomes of the server.
import { setTimeout as delay } from "node:timers/promises";
import * as sse from "graphql-sse";
import * as ws from "graphql-ws";
import WebSocket from "ws";

const [transport, url, count] = process.argv.slice(2);
const EVENTS = "subscription ($after: String) { events(fleetId: 1, after: $after) { cursor } }";
const PUT = 'mutation { putNodes(input: {fleetId: 1, nodes: [{key: "by:node", kind: RULE}]}) { __typename } }';

// The clients would try again by themselves, but from where they began: what was told already would come twice.
const client =
  transport === "ws"
    ? ws.createClient({ url: url.replace("http", "ws"), webSocketImpl: WebSocket, retryAttempts: 0 })
    : sse.createClient({ url, retryAttempts: 0 });

function say(value) {
  console.log(JSON.stringify(value));
}

async function ask(query) {
  try {
    for await (const { data, errors } of client.iterate({ query })) return errors ? errors[0].extensions.code : data;
  } catch (errors) {
    return errors[0].extensions.code;
  }
}

async function* follow(after) {
  for (;;) {
    try {
      for await (const { data, errors } of client.iterate({ query: EVENTS, variables: { after } })) {
        if (errors) throw errors;
        after = data.events.cursor;
        yield after;
      }
    } catch (lost) {
      if (Array.isArray(lost)) throw new Error(JSON.stringify(lost));
    }
    await delay(20);
  }
}

say(await ask("{ viewer { tenantId } }"));
say(await ask(PUT));
say(await ask("{ nope }"));
let left = Number(count);
for await (const cursor of follow("0-0")) {
  say(cursor);
  if (--left === 0) break;
}
await client.dispose();
