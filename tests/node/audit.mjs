// Audits a server against the GraphQL-over-HTTP specification: `node audit.mjs URL` prints what came of each audit.
import { serverAudits } from "graphql-http";

const results = [];
for (const audit of serverAudits({ url: process.argv[2], fetchFn: fetch })) {
  const { id, name, status, reason } = await audit.fn();
  results.push({ id, name, status, reason });
}
console.log(JSON.stringify(results));
