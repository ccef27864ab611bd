// The middleware with the AI SDK itself.

import assert from "node:assert/strict";
import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";

import { generateText, wrapLanguageModel } from "ai";
import { MockLanguageModelV3 } from "ai/test";
import * as tenure from "tenure";
import { tenureMiddleware } from "tenure/ai";

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
