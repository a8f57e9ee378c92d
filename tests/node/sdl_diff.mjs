// Compares two schemas: node sdl_diff.mjs BEFORE AFTER
// Prints the changes as JSON, [{level, path, message}, …]; the level is BREAKING, DANGEROUS or SAFE.
import { readFileSync } from "node:fs";
import { CriticalityLevel, diff } from "@graphql-inspector/core";
import { buildSchema } from "graphql";

const levels = {
  [CriticalityLevel.Breaking]: "BREAKING",
  [CriticalityLevel.Dangerous]: "DANGEROUS",
  [CriticalityLevel.NonBreaking]: "SAFE",
};
const [before, after] = process.argv.slice(2).map((file) => buildSchema(readFileSync(file, "utf8")));
const changes = await diff(before, after);
console.log(
  JSON.stringify(
    changes.map(({ criticality, path, message }) => ({ level: levels[criticality.level], path, message })),
  ),
);
