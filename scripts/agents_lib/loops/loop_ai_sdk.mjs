// The same task with the AI SDK: loop_ai_sdk.mjs URL MODEL PROMPT PACKAGES messages|responses

import { createRequire } from "node:module";
import path from "node:path";
import { pathToFileURL } from "node:url";

import { TOOLS, given, schema } from "./tools.mjs";

const { url, model, prompt, packages, rest, headers, instructions } = given();
const require = createRequire(path.resolve(packages, "agent.js"));
const load = (name) => import(pathToFileURL(require.resolve(name)));
const { generateText, jsonSchema, stepCountIs, tool } = await load("ai");
let chosen;
if (rest[0] === "messages") {
  const { createAnthropic } = await load("@ai-sdk/anthropic");
  chosen = createAnthropic({ baseURL: `${url}/v1`, apiKey: "sk-scripted", headers })(model);
} else {
  const { createOpenAI } = await load("@ai-sdk/openai");
  chosen = createOpenAI({ baseURL: `${url}/v1`, apiKey: "sk-scripted", headers })(model);
}
const tools = Object.fromEntries(
  TOOLS.map(({ name, description, names, run }) => [name, tool({ description, inputSchema: jsonSchema(schema(names)), execute: run })]),
);
const options = { openai: { store: false, include: ["reasoning.encrypted_content"] } };
const done = await generateText({ model: chosen, system: instructions, prompt, tools, stopWhen: stepCountIs(200), providerOptions: options });
console.log(done.text);
