// The middleware with the AI SDK itself.

import assert from "node:assert/strict";
import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";

import { generateText, jsonSchema, stepCountIs, tool, wrapLanguageModel } from "ai";
import { MockLanguageModelV3 } from "ai/test";
import * as tenure from "tenure";
import { keptMessages, tenureMiddleware } from "tenure/ai";

const folder = mkdtempSync(join(tmpdir(), "tenure-"));
writeFileSync(join(folder, "key"), "7".repeat(64));
const workspace = new tenure.Workspace({ frameKey: join(folder, "key") });

test("a long conversation is kept within the budget, and legal", async () => {
  const model = new MockLanguageModelV3({
    doGenerate: async () => ({
      content: [{ type: "text", text: "Yes." }],
      finishReason: { unified: "stop", raw: "stop" },
      usage: { inputTokens: { total: 1 }, outputTokens: { total: 1 } },
      warnings: [],
    }),
  });
  const messages = [];
  for (let at = 0; at < 60; at++) {
    messages.push(
      { role: "user", content: `What is the pressure of valve ${at}?` },
      { role: "assistant", content: [{ type: "tool-call", toolCallId: `c${at}`, toolName: "read", input: { valve: at } }] },
      { role: "tool", content: [{ type: "tool-result", toolCallId: `c${at}`, toolName: "read", output: { type: "text", value: `valve ${at}: ${at} bar. `.repeat(20) } }] },
      { role: "assistant", content: `It is ${at} bar.` },
    );
  }
  messages.push({ role: "user", content: "And of valve 61?" });
  const middleware = tenureMiddleware({ workspace, budget: 3000, model: "gpt-4o" });
  const result = await generateText({ model: wrapLanguageModel({ model, middleware }), system: "Be brief.", messages });
  assert.equal(result.text, "Yes.");
  const prompt = model.doGenerateCalls[0].prompt;
  assert.ok(prompt.length > 3 && prompt.length < messages.length, `${prompt.length}`);
  assert.equal(prompt[0].content, "Be brief.");
  assert.equal(prompt.at(-1).content[0].text, "And of valve 61?");
  const ids = (type) => prompt.flatMap((message) => (Array.isArray(message.content) ? message.content : [])).filter((part) => part.type === type).map((part) => part.toolCallId);
  assert.deepEqual(ids("tool-result"), ids("tool-call"));
});

test("a loop goes on behind a result that is larger than the budget, and its answer is there", async () => {
  const log = Array.from({ length: 900 }, (_, at) => `2026-01-01 00:00:${at} INFO worker ${at} ${at === 451 ? "FAILED: code 8813" : "started"}`).join("\n");
  const usage = { inputTokens: { total: 1 }, outputTokens: { total: 1 } };
  let step = 0;
  const model = new MockLanguageModelV3({
    doGenerate: async () => {
      step += 1;
      if (step === 1) {
        const content = [{ type: "tool-call", toolCallId: "c1", toolName: "read", input: "{}" }];
        return { content, finishReason: { unified: "tool-calls", raw: "tool_calls" }, usage, warnings: [] };
      }
      return { content: [{ type: "text", text: "451: 8813." }], finishReason: { unified: "stop", raw: "stop" }, usage, warnings: [] };
    },
  });
  const read = tool({ description: "Reads the log.", inputSchema: jsonSchema({ type: "object", properties: {} }), execute: async () => log });
  const middleware = tenureMiddleware({ workspace, budget: 4000, model: "gpt-4o" });
  const result = await generateText({
    model: wrapLanguageModel({ model, middleware }),
    system: "Be brief.",
    prompt: "Which worker failed, with which code?",
    tools: { read },
    stopWhen: stepCountIs(3),
  });
  assert.equal(result.text, "451: 8813.");
  const prompt = model.doGenerateCalls[1].prompt;
  assert.deepEqual(prompt.map((message) => message.role), ["system", "user", "assistant", "tool"]);
  const [part] = prompt[3].content;
  assert.equal(part.toolCallId, "c1");
  assert.ok(part.output.value.includes("8813") && workspace.tokens(part.output.value).tokens < 3000, part.output.value);
  // What fits is the very messages.
  const messages = result.response.messages;
  const kept = await keptMessages([{ role: "user", content: "Which?" }, ...messages], { workspace, budget: 100_000 });
  assert.ok(messages.every((message, at) => kept[at + 1] === message));
});

test("results that leave take nothing else with them", async () => {
  const messages = [{ role: "system", content: "Be brief." }];
  for (let at = 0; at < 60; at++) {
    messages.push({ role: "user", content: `What of valve ${at}? `.repeat(20) }, { role: "assistant", content: [{ type: "text", text: `Valve ${at} is closed. `.repeat(20) }] });
  }
  const ran = [
    { type: "tool-call", toolCallId: "s1", toolName: "search", input: {}, providerExecuted: true },
    { type: "tool-result", toolCallId: "s1", toolName: "search", output: { type: "json", value: [1] } },
    { type: "text", text: "Found." },
  ];
  messages.push({ role: "assistant", content: ran }, { role: "user", content: [{ type: "text", text: "And of valve 61?" }] });
  const kept = await keptMessages(messages, { workspace, budget: 2500, model: "gpt-4o" });
  assert.ok(kept.length < messages.length);
  assert.equal(kept[0], messages[0]);
  assert.equal(kept.at(-1), messages.at(-1));
  assert.equal(kept.at(-2), messages.at(-2));
  assert.ok(kept.every((message) => message.role !== "tool"));
});
