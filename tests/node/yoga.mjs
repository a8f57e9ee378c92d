// graphql-yoga over as many nodes in memory as the argument says; prints its port.
// The same part of the schema, and the same answer, as `benchmarks/answers.py` asks for.
import { createServer } from 'node:http';
import { createSchema, createYoga } from 'graphql-yoga';

const MADE = '2026-05-01T09:30:00.123456Z';

const typeDefs = /* GraphQL */ `
  scalar DateTime
  scalar JSON
  enum NodeKind { ASSERTION RULE }
  enum Validity {
    CURRENTLY_VALID POTENTIALLY_STALE DEFINITELY_STALE INVALID SUPERSEDED REVALIDATED
  }
  type MemoryNode {
    id: ID!
    key: String
    kind: NodeKind!
    validity: Validity!
    projectedValidity: Validity!
    confidence: Float!
    pinned: Boolean!
    payload: JSON
    validFrom: DateTime!
    versionId: ID!
  }
  type NodeConnection { nodes: [MemoryNode!]! }
  type Query { nodes(fleetId: ID!, first: Int): NodeConnection! }
`;

function node(place) {
  const id = String(place + 1);
  return {
    id,
    key: `belief:${place}`,
    kind: 'ASSERTION',
    validity: 'CURRENTLY_VALID',
    projectedValidity: 'CURRENTLY_VALID',
    confidence: 0.9,
    pinned: false,
    payload: { claim: 'the invoice agrees with the metered hours' },
    validFrom: MADE,
    versionId: `${id}@1777627800123456`,
  };
}

const nodes = Array.from({ length: Number(process.argv[2]) }, (_, place) => node(place));
const resolvers = {
  Query: { nodes: (_, { first }) => ({ nodes: nodes.slice(0, first) }) },
};
const yoga = createYoga({ schema: createSchema({ typeDefs, resolvers }), logging: false });
const server = createServer(yoga);
server.listen(0, '127.0.0.1', () => console.log(server.address().port));
