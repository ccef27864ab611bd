// Drives a server with the generated client: node drive.js URL CASE.json…
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";

import { type Schemas, tenure } from "./client.js";

interface Case {
  call: Schemas["Call"];
  expected: { payload_digest: string; total_tokens: number; verdicts: [string, string][] };
}

const [url, ...cases] = process.argv.slice(2);
assert(url !== undefined && cases.length >= 6);
const client = tenure(url);

for (const path of cases) {
  const { call, expected } = JSON.parse(await readFile(path, "utf8")) as Case;
  const { data, error } = await client.POST("/api/v1/compile", { body: { ...call, store: false } });
  assert(data?.envelope && data.trace, JSON.stringify(error));
  const told = {
    payload_digest: data.envelope.payload_digest,
    total_tokens: data.envelope.total_tokens,
    verdicts: data.trace.verdicts.map((verdict) => [verdict.name, verdict.reason.code]),
  };
  assert.deepEqual(told, expected, path);
}

const object: Schemas["ObjectDocument"] = { name: "from-typescript", content: "The valve opens at two bar." };
const put = await client.POST("/api/v1/objects", { body: { objects: [object] } });
assert(put.data, JSON.stringify(put.error));
const found = await client.POST("/api/v1/query", { body: { text: "When does the valve open?" } });
assert(JSON.stringify(found.data).includes("two bar"), JSON.stringify(found));

// What is wrong comes as a problem, with the field that it is in.
const wrong = await client.POST("/api/v1/compile", { body: { request: { task: "x", budget: { tokens: -1 } } } as never });
assert.equal(wrong.response.status, 400);
assert.equal(wrong.error?.kind, "input");
assert.match(JSON.stringify(wrong.error.at), /budget\.tokens/);
console.log(`typescript: ${cases.length} cases of the contract, an object put and found, an error`);
