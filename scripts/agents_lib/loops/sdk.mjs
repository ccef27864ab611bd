// A tool loop on the providers' own Node SDKs: sdk.mjs URL MODEL PROMPT PACKAGES PROTOCOL stream|whole

import { createRequire } from "node:module";
import path from "node:path";

import { TOOLS, call, given, patiently, schema } from "./tools.mjs";

const { url, model, prompt, packages, rest, headers, instructions } = given();
const [protocol, how] = rest;
const require = createRequire(path.resolve(packages, "agent.js"));
const settings = { apiKey: "sk-scripted", defaultHeaders: headers, timeout: 120_000 };

async function messages() {
  const Anthropic = require("@anthropic-ai/sdk").default;
  const client = new Anthropic({ baseURL: url, ...settings });
  const tools = TOOLS.map(({ name, description, names }) => ({ name, description, input_schema: schema(names) }));
  const mark = { type: "ephemeral" };
  const system = [{ type: "text", text: instructions, cache_control: mark }];
  const turns = [{ role: "user", content: [{ type: "text", text: prompt }] }];
  for (;;) {
    const marked = turns.filter((turn) => turn.role === "user").map((turn) => turn.content.at(-1));
    marked.forEach((block) => delete block.cache_control);
    marked.slice(-2).forEach((block) => (block.cache_control = mark));
    const asked = { model, max_tokens: 4096, system, tools, messages: turns };
    const reply = await patiently(() =>
      how === "stream" ? client.messages.stream(asked).finalMessage() : client.messages.create(asked),
    );
    turns.push({ role: "assistant", content: reply.content });
    const calls = reply.content.filter((block) => block.type === "tool_use");
    if (!calls.length) return reply.content.map((block) => block.text ?? "").join("");
    const results = calls.map((block) => ({ type: "tool_result", tool_use_id: block.id, content: call(block.name, block.input) }));
    turns.push({ role: "user", content: results });
  }
}

async function chat() {
  const OpenAI = require("openai").default;
  const client = new OpenAI({ baseURL: `${url}/v1`, ...settings });
  const tools = TOOLS.map(({ name, description, names }) => ({ type: "function", function: { name, description, parameters: schema(names) } }));
  const turns = [{ role: "system", content: instructions }, { role: "user", content: prompt }];
  for (;;) {
    const asked = { model, tools, messages: turns };
    const reply = await patiently(async () => {
      if (how !== "stream") return (await client.chat.completions.create(asked)).choices[0].message;
      return await client.chat.completions.stream(asked).finalMessage();
    });
    const { content, tool_calls } = reply;
    turns.push({ role: "assistant", content, ...(tool_calls?.length ? { tool_calls } : {}) });
    if (!tool_calls?.length) return content;
    for (const one of tool_calls) {
      turns.push({ role: "tool", tool_call_id: one.id, content: call(one.function.name, one.function.arguments) });
    }
  }
}

async function responses() {
  const OpenAI = require("openai").default;
  const client = new OpenAI({ baseURL: `${url}/v1`, ...settings });
  const tools = TOOLS.map(({ name, description, names }) => ({ type: "function", name, description, parameters: schema(names), strict: true }));
  const input = [{ role: "user", content: prompt }];
  for (;;) {
    const asked = { model, instructions, tools, input, store: false, include: ["reasoning.encrypted_content"], reasoning: { effort: "low" } };
    const reply = await patiently(() => (how === "stream" ? client.responses.stream(asked).finalResponse() : client.responses.create(asked)));
    input.push(...reply.output.map(({ parsed_arguments, ...item }) => item));
    const calls = reply.output.filter((item) => item.type === "function_call");
    if (!calls.length) return reply.output_text ?? reply.output.flatMap((item) => item.content ?? []).map((part) => part.text).join("");
    for (const one of calls) input.push({ type: "function_call_output", call_id: one.call_id, output: call(one.name, one.arguments) });
  }
}

console.log(await { messages, chat, responses }[protocol]());
