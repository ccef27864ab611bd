/**
 * The AI SDK (`ai` 6): a middleware that keeps a conversation within a budget.
 *
 * ```ts
 * import { wrapLanguageModel } from "ai";
 * import { tenureMiddleware } from "tenure/ai";
 * const model = wrapLanguageModel({ model: anthropic("claude-sonnet-4-5"), middleware: tenureMiddleware({ budget: 50_000 }) });
 * ```
 *
 * Messages that stay are the very objects that came, with their provider options (marks for a cache among them); what a compile
 * leaves out is left out. Nothing is rewritten, so what would be condensed stays whole. As `prepareStep` the same function
 * is {@link keptMessages}.
 */

import { workspace as users } from "./index.js";
import type { Compiled, CompileOptions, Workspace } from "./index.js";

interface Part {
  type: string;
  text?: string;
  toolCallId?: string;
  toolName?: string;
  input?: unknown;
  output?: unknown;
}

/** A message as the AI SDK has it, as far as it is read here. */
export interface Message {
  role: "system" | "user" | "assistant" | "tool";
  content: string | readonly Part[];
}

/** What the middleware takes: the fields of a compile but for its messages, and the workspace where it is not the user's own. */
export type KeepOptions = Omit<CompileOptions, "messages" | "system" | "tools" | "target"> & { workspace?: Workspace };

/** A message in the form of OpenAI's chat API, for judging alone. */
function plain(message: Message): object[] {
  if (typeof message.content === "string") return [{ role: message.role, content: message.content }];
  const text = message.content.map((part) => (part.type === "text" ? part.text : part.type === "file" ? "[file]" : "")).join("");
  if (message.role === "tool") {
    const results = message.content.filter((part) => part.type === "tool-result");
    return results.map((part) => ({ role: "tool", tool_call_id: part.toolCallId, content: JSON.stringify(part.output) ?? "" }));
  }
  const calls = message.content
    .filter((part) => part.type === "tool-call")
    .map((part) => ({ id: part.toolCallId, type: "function", function: { name: part.toolName, arguments: JSON.stringify(part.input ?? {}) } }));
  return [{ role: message.role, content: text === "" && calls.length > 0 ? null : text, ...(calls.length > 0 ? { tool_calls: calls } : {}) }];
}

/** The places of the messages of the history that stand in a compile, from 0. */
function standing(compiled: Compiled): Set<number> {
  const history = compiled.included.filter((verdict) => verdict.section === "history");
  return new Set(history.map((verdict) => Number(verdict.name.slice(verdict.name.lastIndexOf("-") + 1)) - 1));
}

/** The messages that a compile keeps within the budget, in order; those of the system always. */
export async function keptMessages<M>(messages: readonly M[], options: KeepOptions): Promise<M[]> {
  const { workspace, ...rest } = options;
  const said: object[] = [];
  const owners: number[] = [];
  messages.forEach((message, at) => {
    const one = message as unknown as Message;
    if (one.role === "system") return;
    for (const form of plain(one)) {
      said.push(form);
      owners.push(at);
    }
  });
  if (said.length === 0) return [...messages];
  const compiled = await (workspace ?? users()).compile({ ...rest, messages: said, target: "openai" });
  const stays = new Set([...standing(compiled)].map((at) => owners[at]));
  return messages.filter((message, at) => (message as unknown as Message).role === "system" || stays.has(at));
}

/** A middleware for `wrapLanguageModel`: each call's conversation, kept within the budget. */
export function tenureMiddleware(options: KeepOptions): {
  readonly specificationVersion: "v3";
  transformParams: <P extends { prompt: unknown[] }>(given: { params: P }) => Promise<P>;
} {
  return {
    specificationVersion: "v3",
    transformParams: async ({ params }) => ({ ...params, prompt: await keptMessages(params.prompt, options) }),
  };
}
