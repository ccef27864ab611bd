// What the package costs, and what stands, beside context-chef: the same messages, the same counter of tokens.
//
// PROFILE=dist scripts/node, then npm install @context-chef/core zod beside it, and
// TENURE=target/node/node_modules/tenure/dist/esm/index.js node crates/tenure-node/benches/beside.mjs. Figures in docs/internals/benchmarks.md.
import { mkdtempSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";

const tenure = await import(pathToFileURL(resolve(process.env.TENURE ?? "target/node/node_modules/tenure/dist/esm/index.js")).href);
const require = createRequire(join(process.cwd(), "package.json"));
const chef = require("@context-chef/core");

const WORDS = "timer channel pin route irq register clock enable before after driver value must never check return fault".split(" ");

/** About 140 tokens, different for each number. */
function content(number) {
  let state = (BigInt(number) * 2_654_435_761n + 12_345n) & 0xffff_ffff_ffff_ffffn;
  const words = [`Rule ${number} says that`];
  for (let at = 0; at < 97; at += 1) {
    state = (state * 6_364_136_223_846_793_005n + 1_442_695_040_888_963_407n) & 0xffff_ffff_ffff_ffffn;
    words.push(WORDS[Number((state >> 33n) % BigInt(WORDS.length))]);
  }
  return `${words.join(" ")}.`;
}

async function median(times, run) {
  await run();
  const took = [];
  for (let at = 0; at < times; at += 1) {
    const start = performance.now();
    await run();
    took.push(performance.now() - start);
  }
  return took.sort((a, b) => a - b)[Math.floor(times / 2)];
}

const folder = mkdtempSync(join(tmpdir(), "tenure-"));
writeFileSync(join(folder, "key"), "7".repeat(64));
const workspace = new tenure.Workspace({ frameKey: join(folder, "key") });

const messages = [];
for (let at = 0; at < 500; at += 1) {
  messages.push({ role: "user", content: `What of ${at}? ${content(at)}` });
  messages.push({ role: "assistant", content: `So it is. ${content(at + 1)}` });
}
messages.push({ role: "user", content: "And now?" });
const BUDGET = 8_000;
const count = (of) => of.reduce((sum, message) => sum + workspace.tokens(message.content ?? "").tokens, 0);

const ours = () => workspace.compile({ messages, budget: BUDGET, model: "gpt-4o", target: "openai-chat" });
const theirs = async (strategy) => {
  const made = new chef.ContextChef({ janitor: { contextWindow: BUDGET, tokenizer: count }, overflow: { strategy } });
  return made.setHistory(messages).compile({ target: "openai" });
};
const summary = async () => "The rules were listed.";
const strategies = {
  "summarize (its default, with a model that answers at once)": () => chef.summarize({ compressionModel: summary }),
  "reset": () => chef.reset(),
};

const compiled = await ours();
console.log(`tenure: ${(await median(5, ours)).toFixed(1)} ms, ${compiled.request.messages.length} messages, ${compiled.tokens} tokens as it counts`);
for (const [name, strategy] of Object.entries(strategies)) {
  const payload = await theirs(strategy());
  const took = await median(5, () => theirs(strategy()));
  console.log(`context-chef, ${name}: ${took.toFixed(1)} ms, ${payload.messages.length} messages, ${count(payload.messages)} tokens of their contents`);
}

for (const objects of [31, 1_000]) {
  const rules = await workspace.objects(Array.from({ length: objects }, (_, at) => tenure.rule(`rule-${at}`, content(at))));
  const budget = (objects + 10) * 200;
  const task = "Configure the PWM timer channel on pin PB7 before the flash reset.";
  const took = await median(200, () => workspace.compile({ task, objects: rules, budget, window: budget }));
  console.log(`warm compile of ${objects} kept objects: ${took.toFixed(3)} ms`);
}
