// The providers' own Node SDKs as clients of the gateway: what gateway_sdk.py does with the Python ones.
//
// usage: gateway_sdk.mjs PACKAGES compare DIRECT THROUGH KEY    each call twice: the answers must be the same
//        gateway_sdk.mjs PACKAGES talk THROUGH                  prints the sessions of conversations with tools
//
// PACKAGES is the folder of node_modules. The provider behind the addresses is gateway_sdk.py's.

import assert from "node:assert/strict";
import { createRequire } from "node:module";
import path from "node:path";

const [packages, what, ...rest] = process.argv.slice(2);
const require = createRequire(path.resolve(packages, "gateway_sdk.js"));
const OpenAI = require("openai").default;
const { ChatCompletionStream } = require("openai/lib/ChatCompletionStream");
const Anthropic = require("@anthropic-ai/sdk").default;

const PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
const LOOK = { type: "object", properties: { at: { type: "string" } }, required: ["at"] };
const CHAT_TOOLS = [{ type: "function", function: { name: "look", parameters: LOOK, strict: false } }];
const TOOLS = [{ name: "look", input_schema: LOOK }];

function openai(url, headers = {}) {
  return new OpenAI({ baseURL: `${url}/v1`, apiKey: "sk-1", maxRetries: 0, timeout: 60_000, defaultHeaders: headers });
}

function anthropic(url, headers = {}) {
  return new Anthropic({ baseURL: url, apiKey: "sk-2", maxRetries: 0, timeout: 60_000, defaultHeaders: headers });
}

async function all(stream) {
  const events = [];
  for await (const event of await stream) events.push(event);
  return events;
}

function openaiCalls(client) {
  const image = { type: "image_url", image_url: { url: `data:image/png;base64,${PIXEL}` } };
  const messages = [
    { role: "system", content: "Be brief. É \ud7ff" },
    { role: "user", content: [{ type: "text", text: "What does the picture show?" }, image] },
  ];
  const chat = client.chat.completions;
  const items = [{ role: "user", content: [{ type: "input_text", text: "Hi" }] }];
  const management = [{ type: "compaction", compact_threshold: 1000 }];
  return [
    () => chat.create({ model: "gpt-4o", messages, tools: CHAT_TOOLS, seed: 7 }),
    () => all(chat.create({ model: "gpt-4o", messages, stream: true, stream_options: { include_usage: true } })),
    () => client.responses.create({ model: "gpt-4o", input: "Hi", instructions: "Be brief." }),
    () => all(client.responses.create({ model: "gpt-4o", input: items, stream: true, context_management: management })),
    () => all(client.models.list()),
  ];
}

function anthropicCalls(client) {
  const image = { type: "image", source: { type: "base64", media_type: "image/png", data: PIXEL } };
  const called = { type: "tool_use", id: "toolu_1", name: "look", input: { at: "é" } };
  const messages = [
    { role: "user", content: "Look." },
    { role: "assistant", content: [called] },
    { role: "user", content: [{ type: "tool_result", tool_use_id: "toolu_1", content: [image] }] },
  ];
  const asked = { model: "claude-opus-4-5", messages, tools: TOOLS };
  return [
    () => client.messages.create({ max_tokens: 100, system: "Be brief.", ...asked }),
    () => all(client.messages.create({ max_tokens: 100, stream: true, ...asked })),
    () => client.messages.stream({ max_tokens: 100, ...asked }).finalMessage(),
    () => client.messages.countTokens(asked),
  ];
}

/** What an SDK made of an answer, without what it notes of the connection. */
function plain(value) {
  return JSON.parse(JSON.stringify(value, (key, value) => (key.startsWith("_") ? undefined : value)));
}

async function compare(direct, through, key) {
  let count = 0;
  const own = { "x-tenure-key": key };
  for (const [make, calls] of [[openai, openaiCalls], [anthropic, anthropicCalls]]) {
    const [one, other] = [calls(make(direct)), calls(make(through, own))];
    for (const at of one.keys()) {
      assert.deepEqual(plain(await other[at]()), plain(await one[at]()), `answer ${at} of ${make.name}`);
      count += 1;
    }
  }
  await assert.rejects(() => openai(through, { "x-tenure-key": "tnr_no_key" }).models.list(), OpenAI.AuthenticationError);
  console.log(count);
}

/** Waits until so many replies stand in their sessions. */
async function kept(url, count) {
  for (let tries = 0; tries < 500; tries += 1) {
    const metrics = await (await fetch(`${url}/metrics`)).text();
    const found = /tenure_gateway_replies_total\{what="kept"\} (\d+)/.exec(metrics);
    if (found && Number(found[1]) >= count) return;
    await new Promise((done) => setTimeout(done, 10));
  }
  throw new Error(`there are no ${count} replies`);
}

/** A conversation in each protocol, as an agent has it: the SDK's own reply goes back with the tool's result. */
async function talk(through) {
  const sessions = [];
  let replies = 0;
  const heard = async (response) => {
    sessions.push(response.headers.get("x-tenure-session"));
    await kept(through, (replies += 1));
  };

  const chat = openai(through).chat.completions;
  const url = `data:image/png;base64,${PIXEL}`;
  const text = { type: "text", text: "What does the picture show?" };
  const messages = [{ role: "user", content: [text, { type: "image_url", image_url: { url } }] }];
  // Near to what is asked; the other is not.
  const look = { name: "look", description: "Says what a picture shows." };
  const paint = { name: "paint" };
  const functions = [{ ...look, parameters: LOOK }, { ...paint, parameters: { type: "object", properties: {} } }];
  const asked = { model: "gpt-4o", messages, tools: functions.map((tool) => ({ type: "function", function: tool })) };
  for (const streamed of [false, true]) {
    let reply;
    if (streamed) {
      const { data, response } = await chat.create({ ...asked, stream: true }).withResponse();
      const stream = ChatCompletionStream.fromReadableStream(data.toReadableStream());
      reply = (await stream.finalChatCompletion()).choices[0].message;
      await heard(response);
    } else {
      const { data, response } = await chat.create(asked).withResponse();
      await heard(response);
      reply = data.choices[0].message;
    }
    messages.push(reply, { role: "tool", tool_call_id: reply.tool_calls[0].id, content: "A pump." });
  }

  const claude = anthropic(through).messages;
  const source = { type: "base64", media_type: "image/png", data: PIXEL };
  const turns = [{ role: "user", content: [text, { type: "image", source }] }];
  const tools = [{ ...look, input_schema: LOOK }, { ...paint, input_schema: { type: "object" } }];
  for (let turn = 0; turn < 2; turn += 1) {
    const stream = claude.stream({ model: "claude-opus-4-5", max_tokens: 100, tools, messages: turns });
    const { response } = await stream.withResponse();
    const reply = await stream.finalMessage();
    await heard(response);
    const call = reply.content.find((block) => block.type === "tool_use");
    turns.push({ role: reply.role, content: reply.content });
    turns.push({ role: "user", content: [{ type: "tool_result", tool_use_id: call.id, content: "A pump." }] });
  }

  const parts = [{ type: "input_text", text: text.text }, { type: "input_image", image_url: url, detail: "auto" }];
  const input = [{ role: "user", content: parts }];
  for (let turn = 0; turn < 2; turn += 1) {
    const ask = openai(through).responses.create({ model: "gpt-4o", input, stream: true });
    const { data, response } = await ask.withResponse();
    const events = await all(data);
    await heard(response);
    input.push(...events.at(-1).response.output, { role: "user", content: "And this?" });
  }
  console.log(JSON.stringify(sessions));
}

await (what === "talk" ? talk(...rest) : compare(...rest));
