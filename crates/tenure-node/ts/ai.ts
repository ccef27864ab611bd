/**
 * The AI SDK (`ai` 6): a middleware that keeps a conversation within a budget.
 *
 * ```ts
 * import { wrapLanguageModel } from "ai";
 * import { tenureMiddleware } from "tenure/ai";
 * const model = wrapLanguageModel({ model: anthropic("claude-sonnet-5-5"), middleware: tenureMiddleware({ budget: 50_000 }) });
 * ```
 *
 * Messages that stay are the very objects that came, with their provider options (marks for a cache among them). A result of a
 * tool that is condensed is a copy of its part with another output; what Tenure adds (summaries, words that it quotes) is a
 * message of the user. As `prepareStep` the same function is {@link keptMessages}.
 */

import { workspace as users } from "./index.js";
import type { CompileOptions, Workspace } from "./index.js";

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

/** A message in the form of OpenAI's chat API. */
interface Plain {
  role: string;
  content: string | null;
  tool_call_id?: string;
  tool_calls?: { id: string; type: string; function: { name: string; arguments: string } }[];
}

/** Where a message of that form is from: the message, and of results the part. */
interface Place {
  message: number;
  part: number | undefined;
}

/** A message in that form, for judging alone; each result of a tool by itself, with the number of its part. */
function plain(message: Message): { said: Plain; part?: number }[] {
  if (typeof message.content === "string") return [{ said: { role: message.role, content: message.content } }];
  if (message.role === "tool") {
    return message.content.flatMap((part, at) => {
      if (part.type !== "tool-result") return [];
      return [{ said: { role: "tool", tool_call_id: part.toolCallId ?? "", content: result(part.output) }, part: at }];
    });
  }
  const text = message.content.map((part) => (part.type === "text" ? part.text : part.type === "file" || part.type === "image" ? "[file]" : "")).join("");
  // What the provider ran itself has its result beside it.
  const done = new Set(message.content.filter((part) => part.type === "tool-result").map((part) => part.toolCallId));
  const calls = message.content
    .filter((part) => part.type === "tool-call" && !done.has(part.toolCallId))
    .map((part) => ({ id: part.toolCallId ?? "", type: "function", function: { name: part.toolName ?? "", arguments: JSON.stringify(part.input ?? {}) } }));
  if (calls.length === 0) return [{ said: { role: message.role, content: text } }];
  return [{ said: { role: message.role, content: text === "" ? null : text, tool_calls: calls } }];
}

/** The text of what a tool gave, as models read it. */
function result(output: unknown): string {
  const given = output as { type?: string; value?: unknown } | undefined;
  const isText = given?.type === "text" || given?.type === "error-text";
  return isText && typeof given.value === "string" ? given.value : (JSON.stringify(given?.value ?? given) ?? "");
}

/** The output of a tool with another text: an error stays one. */
function shorter(output: unknown, value: string): object {
  const isError = (output as { type?: string } | undefined)?.type?.startsWith("error") === true;
  return { type: isError ? "error-text" : "text", value };
}

/** A message that was made anew, among these. */
function made(said: Plain, among: readonly Plain[]): object {
  const text = said.content ?? "";
  if (said.role === "system") return { role: "system", content: text };
  if (said.role === "tool") {
    const calls = among.flatMap((one) => one.tool_calls ?? []);
    const toolName = calls.find((call) => call.id === said.tool_call_id)?.function.name ?? "unknown";
    return { role: "tool", content: [{ type: "tool-result", toolCallId: said.tool_call_id, toolName, output: { type: "text", value: text } }] };
  }
  const calls = (said.tool_calls ?? []).map((call) => ({ type: "tool-call", toolCallId: call.id, toolName: call.function.name, input: JSON.parse(call.function.arguments) as unknown }));
  return { role: said.role, content: [...(text === "" && calls.length > 0 ? [] : [{ type: "text", text }]), ...calls] };
}

/** A message with these results in the place of its own; where they are its own, the message itself. */
function standing<M>(message: M, results: ReadonlyMap<number, Part> | undefined): M {
  if (results === undefined) return message;
  const before = (message as unknown as Message).content as readonly Part[];
  const after = before.flatMap((part, at) => (part.type === "tool-result" ? (results.get(at) ?? []) : part));
  const isSame = after.length === before.length && after.every((part, at) => part === before[at]);
  return isSame ? message : { ...message, content: after };
}

/**
 * The messages of a conversation within the budget, in order: all of them where they fit. Those of the system are counted with
 * them.
 */
export async function keptMessages<M>(messages: readonly M[], options: KeepOptions): Promise<M[]> {
  const { workspace, ...rest } = options;
  const said: Plain[] = [];
  const places: Place[] = [];
  // Messages that no model reads, each behind the message that it follows.
  const silent = new Map<number, M[]>();
  messages.forEach((message, at) => {
    const forms = plain(message as unknown as Message);
    if (forms.length === 0) {
      const behind = places.at(-1)?.message ?? 0;
      silent.set(behind, [...(silent.get(behind) ?? []), message]);
    }
    for (const { said: form, part } of forms) {
      said.push(form);
      places.push({ message: at, part });
    }
  });
  if (said.every((one) => one.role === "system")) return [...messages];
  const compiled = await (workspace ?? users()).compile({ ...rest, messages: said, target: "openai" });
  const stand = compiled.request.messages as Plain[];
  const kept: (number | object)[] = [];
  const results = new Map<number, Map<number, Part>>();
  compiled.places().forEach((place, at) => {
    const form = stand[at] as Plain;
    const from = place === null ? undefined : places[place];
    if (from === undefined || place === null) {
      kept.push(made(form, stand));
      return;
    }
    if (kept.at(-1) !== from.message) kept.push(from.message);
    if (from.part === undefined) return;
    const part = ((messages[from.message] as unknown as Message).content as readonly Part[])[from.part] as Part;
    const is = form.content === said[place]?.content ? part : { ...part, output: shorter(part.output, form.content ?? "") };
    results.set(from.message, (results.get(from.message) ?? new Map<number, Part>()).set(from.part, is));
  });
  return kept.flatMap((one) => {
    if (typeof one === "object") return [one as M];
    return [standing(messages[one] as M, results.get(one)), ...(silent.get(one) ?? [])];
  });
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
