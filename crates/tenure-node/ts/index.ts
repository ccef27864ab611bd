/**
 * A context compiler for LLM agents.
 *
 * ```ts
 * import * as tenure from "tenure";
 * const compiled = await tenure.compile({
 *   task: "Report the pressure.",
 *   objects: [tenure.rule("units", "Report pressure in pascal.")],
 *   budget: 300,
 * });
 * ```
 *
 * The functions of this module are the methods of the user's own {@link Workspace}.
 */

import { createHash } from "node:crypto";
import { renameSync, writeFileSync } from "node:fs";

import { input, run, settled, TenureError, within } from "./errors.js";
import type { Kind } from "./errors.js";
import { native } from "./native.js";
import { Tenant } from "./operations.js";
import { dumps, HALF, only, said } from "./values.js";
import type { NativeCompiled, NativeObjects, NativeRegistries, NativeSession, NativeStore, NativeWorkspace } from "./native.js";

export { Tenant, TenureError };
export type * as operations from "./operations.js";
export type { WriteOptions } from "./caller.js";
export type { Kind };

/** The version of the package. */
export const version: string = native.VERSION;

/** A value of JSON. */
export type Json = null | boolean | number | string | Json[] | { [key: string]: Json };

/** An object in the published form (`tenure schema object`). */
export interface ContextObject {
  name?: string;
  object_type?: string;
  authority_level?: number;
  content: string;
  [field: string]: unknown;
}

/** A document: a text, or its content with what is known of it. */
export type Document = string | { content?: string; text?: string; name?: string; source?: string; [field: string]: unknown };

/** Where blocks go in a registry. */
export type Place = "front" | "back" | { at: number } | { steps: number } | { before: string } | { after: string };

/** What became of one object, and why. */
export interface Verdict {
  name: string;
  verdict: "included" | "omitted" | "quarantined";
  /** The code of the reason, with its data. */
  reason: { code: string; [field: string]: unknown };
  section: string;
  tokens: number;
  score?: { relevance: number; composite: number; [field: string]: unknown } | null;
  [field: string]: unknown;
}

/**
 * Says how near texts are to a task: a number from 0 to 1 for each, or null where it knows none. It may be async. What it
 * awaits may not be of Tenure, since a compile is waiting for it.
 */
export type Scorer = (task: string, texts: string[]) => readonly (number | null)[] | Promise<readonly (number | null)[]>;

/** What a compile takes. */
export interface CompileOptions {
  /** What is to be reached. Where it is left out, the user's last message says it. */
  task?: string;
  /** What is asked now, where that differs from the task. */
  query?: string;
  /** The conversation, in the provider's own form. */
  messages?: readonly unknown[];
  /** The system's text, as the provider takes it beside the messages. */
  system?: unknown;
  /** The tools that are offered, in the provider's own form. */
  tools?: readonly unknown[];
  /** Data that is quoted. */
  documents?: readonly Document[];
  /** Objects in the published form, or kept ones. */
  objects?: readonly ContextObject[] | Objects;
  /** Files and folders, as `tenure compile` takes them. */
  files?: string | readonly string[];
  /** What the files' documents are. */
  readAs?: "evidence" | "guidance" | "corpus";
  /** The file or folder that is worked on; it decides which instruction files count. */
  near?: string;
  /** Lets instruction files leave where the budget is short. */
  optionalInstructions?: boolean;
  /** The tokens of the payload. Default: the window less what is kept for the answer. */
  budget?: number;
  /** The model's window in tokens, where it is not the catalogue's. */
  window?: number;
  /** The tokens kept for the answer. */
  reserve?: number;
  /** The model whose tokens are counted. Default: `gpt-4o`. */
  model?: string;
  /** `text`, `anthropic`, `openai`, `responses`, or another target of `tenure compile`. */
  target?: string;
  /** A preset, the path of a `.toml` file, the name of a policy of the store, or a whole policy. */
  policy?: string | object;
  /** The store whose objects are candidates, too. */
  store?: Store;
  /** The registry of the store whose blocks stand before its other objects. */
  registry?: string;
  /** Keeps a record in the store, from which the compile can be made again. */
  record?: boolean;
  /** On whose behalf. Default: the owner, who sees everything. */
  principal?: object;
  /** The instant at which what stands must be true. */
  asOf?: Date | string;
  /** The instant at which it must have been known. */
  knownAt?: Date | string;
  /** Lets only so many blocks pass, the nearest. */
  topK?: number;
  /** Lets only blocks pass with at least this relevance. */
  threshold?: number;
  /** The envelope of the call before: what was sent stays as it was. */
  previous?: { served?: unknown };
  /** The folder where originals are kept that the payload points to. */
  originals?: string;
  /** Writes the marks for the provider's prompt cache into the request. */
  cache?: boolean;
  /** Prices alone, no payload. */
  dryRun?: boolean;
  /** Further fields of the request, in its published form (`tenure schema request`). */
  request?: Record<string, unknown>;
  /** Takes the call back, as long as it has not begun. */
  signal?: AbortSignal;
}

/** A block before a gate. */
export interface GatedBlock {
  name: string;
  /** Its relevance to the task; null where it stays whatever its relevance. */
  relevance: number | null;
  /** Its rank, from 1. */
  rank: number | null;
}

/** What a gate says. */
export interface Gated {
  kept: GatedBlock[];
  left: GatedBlock[];
  /** The names of those that are not in force. */
  absent: string[];
}

/** What condensing takes besides the text. */
export interface CondenseOptions {
  task?: string;
  model?: string;
  /** The name of the text's file: it may say of which language source code is. */
  name?: string;
  lossless?: boolean;
  /** The folder where the original is kept. */
  keep?: string;
  /** The store where it is kept instead. */
  store?: Store;
}

const TARGETS: Record<string, string> = {
  anthropic: "anthropic-messages",
  openai: "openai-chat",
  responses: "openai-responses",
};

function instant(value: Date | string): string {
  if (typeof value === "string") return value;
  if (Number.isNaN(value.getTime())) throw input("a date is none");
  return value.toISOString();
}

/** The leave to hold a thread of Node's pool until a scorer answers. There are fewer than threads, in all of the process. */
interface Turn {
  end(): void;
}

const { Turn } = native as unknown as { Turn: { begin(): Turn | null } };

/** The milliseconds between two looks whether another thread of Node has ended a turn. */
const LOOK = 10;

/** The calls that wait for their turn, in order. */
const waiting: { begin(turn: Turn): void }[] = [];
let look: NodeJS.Timeout | undefined;

/** Gives the turns that are free to those that wait. */
function giveTurns(): void {
  clearTimeout(look);
  while (waiting.length > 0) {
    const turn = Turn.begin();
    if (turn === null) {
      look = setTimeout(giveTurns, LOOK);
      return;
    }
    waiting.shift()?.begin(turn);
  }
}

/** Work that may wait for a scorer, in its turn: a scorer may need threads of the pool itself. */
async function inTurn<T>(work: () => Promise<T>, signal?: AbortSignal): Promise<T> {
  const taken = () => Object.assign(new Error("AbortError"), { name: "AbortError", code: "Cancelled" });
  const turn = await new Promise<Turn>((resolve, reject) => {
    const one = {
      begin(turn: Turn) {
        signal?.removeEventListener("abort", leave);
        resolve(turn);
      },
    };
    const leave = () => {
      waiting.splice(waiting.indexOf(one), 1);
      reject(taken());
    };
    if (signal?.aborted === true) return reject(taken());
    signal?.addEventListener("abort", leave, { once: true });
    waiting.push(one);
    giveTurns();
  });
  try {
    if (signal?.aborted === true) throw taken();
    return await work();
  } finally {
    turn.end();
    giveTurns();
  }
}

/** What a call of a workspace gives; where that has a scorer, in its turn. */
function asked<T>(isScored: boolean, work: () => Promise<T>, signal?: AbortSignal): Promise<T> {
  return settled(isScored ? () => inTurn(work, signal) : work);
}

/** A rule of the developer: an instruction that the model is to follow. */
export function rule(name: string, content: string, fields: object = {}): ContextObject {
  return { object_type: "policy_rule", authority_level: 1, name, content, ...fields };
}

/**
 * Text of somebody else, as data that commands nothing. `source` says where it is from; its own name where nothing else is
 * said. With `retrieved_at` in `provenance` it is what somebody retrieved for this task; without, it is judged by how near
 * it is, as a file is.
 */
export function evidence(name: string, content: string, fields: { source?: string; provenance?: object; [field: string]: unknown } = {}): ContextObject {
  const { source, provenance, ...rest } = fields;
  const digest = "sha256:" + createHash("sha256").update(content, "utf8").digest("hex");
  return {
    object_type: "retrieved_passage",
    authority_level: 4,
    name,
    content,
    provenance: { source_id: source ?? name, digest, ...provenance },
    ...rest,
  };
}

function documented(value: Document, at: number): ContextObject {
  if (typeof value === "string") return evidence(`document-${at + 1}`, value);
  if (typeof value !== "object" || value === null) throw input(`documents[${at}] is ${String(value)}`, { where: `documents[${at}]`, expected: "a text or an object" });
  if ("object_type" in value) return value as unknown as ContextObject;
  const { content, text, pageContent, name, title, source, metadata, id, ...rest } = value as Record<string, unknown>;
  const said = content ?? text ?? pageContent;
  if (typeof said !== "string") throw input("a document has no text", { where: `documents[${at}]`, expected: "a field `content` or `text`" });
  const from = source ?? (metadata as { source?: unknown } | undefined)?.source;
  const called = name ?? title ?? id ?? from ?? `document-${at + 1}`;
  const more = from === undefined ? rest : { source: String(from), ...rest };
  return evidence(String(called), said, more);
}

const OWNER: unknown = JSON.parse(native.Workspace.owner());

/** The call of a compile, as the compiled part takes it. */
function call(options: CompileOptions): { request: Record<string, unknown>; [field: string]: unknown } {
  const request: Record<string, unknown> = { ...options.request };
  if (options.task !== undefined) request["task"] = { ...(request["task"] as object), objective: options.task };
  const budget = { ...(request["budget"] as object), ...defined({ tokens: options.budget, window: options.window, reserve: options.reserve }) };
  request["budget"] = budget;
  request["principal"] = options.principal ?? request["principal"] ?? OWNER;
  const instants = {
    ...(request["as_of"] as object),
    ...defined({ valid: options.asOf && instant(options.asOf), known: options.knownAt && instant(options.knownAt) }),
  };
  if (Object.keys(instants).length > 0) request["as_of"] = instants;
  const gate = defined({ top_k: options.topK, threshold: options.threshold });
  if (Object.keys(gate).length > 0) request["gate"] = gate;
  if (options.previous !== undefined) request["served"] = options.previous.served;
  if (options.target !== undefined) request["target"] = TARGETS[options.target] ?? options.target;
  Object.assign(request, defined({ query: options.query, model: options.model, dry_run: options.dryRun }));
  const given = options.objects instanceof Objects ? [] : [...(options.objects ?? [])];
  const documents = [...(options.documents ?? [])].map(documented);
  return {
    request,
    objects: [...given, ...documents],
    files: typeof options.files === "string" ? [options.files] : [...(options.files ?? [])],
    ...defined({
      policy: options.policy,
      read_as: options.readAs,
      near: options.near,
      optional_instructions: options.optionalInstructions,
      registry: options.registry,
      record: options.record,
      cache: options.cache,
      originals: options.originals,
    }),
  };
}

/** The options of a compile. */
const COMPILE: Record<keyof CompileOptions, true> = {
  task: true,
  query: true,
  messages: true,
  system: true,
  tools: true,
  documents: true,
  objects: true,
  files: true,
  readAs: true,
  near: true,
  optionalInstructions: true,
  budget: true,
  window: true,
  reserve: true,
  model: true,
  target: true,
  policy: true,
  store: true,
  registry: true,
  record: true,
  principal: true,
  asOf: true,
  knownAt: true,
  topK: true,
  threshold: true,
  previous: true,
  originals: true,
  cache: true,
  dryRun: true,
  request: true,
  signal: true,
};
const ALL = Object.keys(COMPILE);
const OF_SESSION = ALL.filter((name) => !["messages", "system", "tools"].includes(name));

function defined(fields: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
}

/** The body that messages, system and tools are of. */
function body(options: CompileOptions, target: unknown): unknown {
  const { messages, system, tools } = options;
  if (messages === undefined && system === undefined && tools === undefined) return undefined;
  const said = [...(messages ?? [])];
  const more = tools === undefined ? {} : { tools: [...tools] };
  if (target === "openai-responses") return { input: said, ...defined({ instructions: system }), ...more };
  if (target === "anthropic-messages") return { messages: said, ...defined({ system }), ...more };
  if (target === "gemini") {
    const text = typeof system === "string" ? { parts: [{ text: system }] } : system;
    return { contents: said, ...defined({ systemInstruction: text }), ...more };
  }
  return { messages: system === undefined ? said : [{ role: "system", content: system }, ...said], ...more };
}

/** Objects that were read and sealed once, to be compiled often. */
export class Objects {
  /** @internal */
  constructor(readonly inner: NativeObjects) {}

  /** Their number. */
  get length(): number {
    return this.inner.length;
  }

  /** Their names, in order. */
  get names(): string[] {
    return this.inner.names();
  }
}

/** What a compile gave: the payload, and a reason for all that went in or stayed out. */
export class Compiled {
  #trace: Record<string, Json> | undefined;

  /** @internal */
  constructor(
    private readonly inner: NativeCompiled,
    private readonly isScored: boolean,
    private readonly page = 0,
  ) {}

  /** The payload as it is sent: one text, or the JSON of a request. */
  get text(): string {
    const payload = run(() => this.inner.payload(this.page));
    if (payload === null) throw input("a dry run has no payload", { hint: "compile without dryRun" });
    return payload;
  }

  /**
   * The request, for an SDK: `client.messages.create(compiled.request)`. SDKs write it as JSON again, which may space it
   * otherwise; `text` is what was counted.
   */
  // The SDKs' own types differ with the target.
  // eslint-disable-next-line @typescript-eslint/no-explicit-any
  get request(): any {
    const text = this.text;
    if (!text.startsWith("{")) throw input("the payload is a text, no request", { expected: "a target such as anthropic-messages or openai-chat" });
    return JSON.parse(text);
  }

  /** The tokens of the payload. */
  get tokens(): number {
    return run(() => this.inner.tokens(this.page));
  }

  /** The payloads, where the policy spreads what does not fit over several. */
  get pages(): Compiled[] {
    return Array.from({ length: this.inner.pages() }, (_, page) => new Compiled(this.inner, this.isScored, page));
  }

  /** The whole trace, in its published form. */
  get trace(): Record<string, Json> {
    this.#trace ??= JSON.parse(run(() => this.inner.trace(this.page))) as Record<string, Json>;
    return this.#trace;
  }

  /** What became of every object, in the order of the candidates. */
  get verdicts(): Verdict[] {
    return this.trace["verdicts"] as unknown as Verdict[];
  }

  /** The objects that stand in the payload. */
  get included(): Verdict[] {
    return this.verdicts.filter((verdict) => verdict.verdict === "included");
  }

  /** The objects that stayed out, with the reason. */
  get omitted(): Verdict[] {
    return this.verdicts.filter((verdict) => verdict.verdict !== "included");
  }

  /** The envelope but for its payload. It is the `previous` of the next call. */
  get envelope(): Record<string, Json> {
    return JSON.parse(run(() => this.inner.envelope(this.page))) as Record<string, Json>;
  }

  /**
   * The places of the given messages that stand in the request, message by message; null for one that the compile made.
   * @internal
   */
  places(): (number | null)[] {
    return JSON.parse(run(() => this.inner.places(this.page))) as (number | null)[];
  }

  /** The ids of the records that the store keeps of it. */
  get records(): string[] {
    return this.inner.records();
  }

  /** The state of the session, of a session's compile. */
  get session(): Record<string, Json> | undefined {
    const text = run(() => this.inner.session());
    return text === null ? undefined : (JSON.parse(text) as Record<string, Json>);
  }

  /** Says what the provider's prompt cache does with the request: breakpoints, what they hold, what it costs. */
  cachePlan(): Record<string, Json> {
    return JSON.parse(run(() => this.inner.cachePlan(this.page))) as Record<string, Json>;
  }

  /** Explains why an object is in or out, and what would have let it in. */
  async why(name: string): Promise<Record<string, Json>> {
    return JSON.parse(await asked(this.isScored, () => this.inner.why(name, this.page))) as Record<string, Json>;
  }
}

/** A store of objects. Each has its history: what was believed when. */
export class Store {
  /** @internal */
  constructor(readonly inner: NativeStore) {}

  /** Writes objects, all of them or none. With the same `key` the same write happens once. */
  async put(objects: ContextObject | readonly ContextObject[], options: { tenant?: string; key?: string; author?: string } = {}): Promise<Record<string, Json>> {
    only(options, ["tenant", "key", "author"], "put");
    const all: readonly ContextObject[] = Array.isArray(objects) ? objects : [objects as ContextObject];
    const text = dumps(all.map((object) => ({ object })), "objects");
    return JSON.parse(await settled(() => this.inner.put(text, options.tenant ?? "local", options.key, options.author))) as Record<string, Json>;
  }

  /** What is believed of the object of this name or id, now or at an instant. */
  async get(name: string, options: { tenant?: string; knownAt?: Date | string } = {}): Promise<Record<string, Json>[]> {
    only(options, ["tenant", "knownAt"], "get");
    const known = options.knownAt === undefined ? undefined : instant(options.knownAt);
    return JSON.parse(await settled(() => this.inner.get(name, options.tenant ?? "local", known))) as Record<string, Json>[];
  }

  /** All that was ever believed of it, the first first. */
  async history(name: string, options: { tenant?: string } = {}): Promise<Record<string, Json>[]> {
    only(options, ["tenant"], "history");
    return JSON.parse(await settled(() => this.inner.history(name, options.tenant ?? "local"))) as Record<string, Json>[];
  }

  /** Finds objects by words. */
  async search(query: string, options: { most?: number; tenant?: string } = {}): Promise<ContextObject[]> {
    only(options, ["most", "tenant"], "search");
    const found = await settled(() => this.inner.search(query, options.most ?? 20, options.tenant ?? "local"));
    return JSON.parse(found) as ContextObject[];
  }

  /** Says that an object is believed no more; its history stays. */
  async retract(name: string, options: { tenant?: string } = {}): Promise<Record<string, Json>> {
    only(options, ["tenant"], "retract");
    return JSON.parse(await settled(() => this.inner.retract(name, options.tenant ?? "local"))) as Record<string, Json>;
  }

  /** A tenant, with a method for each operation. `author` is who writes, where a write is kept with its author. */
  tenant(name = "local", options: { author?: string } = {}): Tenant {
    only(options, ["author"], "tenant");
    return new Tenant(this.inner, name, options.author);
  }
}

/** A conversation that a store keeps, and whose next request is compiled within the window. */
export class Session {
  /** @internal */
  constructor(
    private readonly inner: NativeSession,
    private readonly isScored: boolean,
  ) {}

  /** Its id. */
  get id(): string {
    return this.inner.id();
  }

  /** The number of its messages. */
  get length(): number {
    return run(() => this.inner.len());
  }

  /** Adds messages, or one, in the provider's own form; the model's answers as well. Gives their numbers. */
  async append(messages: unknown, options: { format?: string } = {}): Promise<number[]> {
    only(options, ["format"], "append");
    const text = dumps(Array.isArray(messages) ? messages : [messages], "messages");
    const format = options.format && (TARGETS[options.format] ?? options.format);
    return JSON.parse(await asked(this.isScored, () => this.inner.append(text, format))) as number[];
  }

  /** Compiles the next request. */
  async compile(options: Omit<CompileOptions, "messages" | "system" | "tools"> = {}): Promise<Compiled> {
    only(options, OF_SESSION, "a session's compile");
    const kept = options.objects instanceof Objects ? options.objects.inner : undefined;
    const text = dumps(call(options), "call");
    const work = () => this.inner.compile(text, kept, options.store?.inner, options.signal);
    return new Compiled(await asked(this.isScored, work, options.signal), this.isScored);
  }

  /** Reads back what was summarized: of an id, or what a query asks about, within so many tokens. */
  async rehydrate(wanted: { id?: string; query?: string; tokens?: number; model?: string }): Promise<Record<string, Json>> {
    only(wanted, ["id", "query", "tokens", "model"], "rehydrate");
    const found = () => this.inner.rehydrate(wanted.id, wanted.query, wanted.tokens ?? 1500, wanted.model ?? "gpt-4o");
    return JSON.parse(await asked(this.isScored, found)) as Record<string, Json>;
  }

  /** Keeps a message whole from the next epoch on. */
  pin(message: number): void {
    run(() => this.inner.pin(message, true));
  }

  /** Takes a pin back. */
  unpin(message: number): void {
    run(() => this.inner.pin(message, false));
  }

  /** All messages in a provider's form. */
  async export(format = "openai-chat"): Promise<Record<string, Json>[]> {
    return JSON.parse(await asked(this.isScored, () => this.inner.export(TARGETS[format] ?? format))) as Record<string, Json>[];
  }
}

/** One registry: an agent's ordered working set of blocks, which it may change within limits. */
export class Registry {
  /** @internal */
  constructor(
    private readonly workspace: Workspace,
    private readonly inner: NativeRegistries,
    readonly label: string,
  ) {}

  /** Puts in the seeds of these files and folders, behind its blocks; all of them, or none. Gives their number. */
  draw(...files: string[]): number {
    return run(() => this.inner.draw(this.workspace.inner, this.label, files));
  }

  /** The blocks that are nearest to a task, the nearest first. */
  async findRelevant(task: string, topK = 6): Promise<GatedBlock[]> {
    const { kept } = await this.workspace.gate({ task, objects: this.objects(), topK });
    return kept.filter((block) => block.rank !== null).sort((one, other) => (one.rank ?? 0) - (other.rank ?? 0));
  }

  /** Compiles the blocks, in their order, for a task. */
  async compile(options: Omit<CompileOptions, "objects">): Promise<Compiled> {
    return this.workspace.compile({ policy: "ordered", ...options, objects: this.objects() });
  }

  #apply(op: object): Record<string, Json> {
    return JSON.parse(run(() => this.inner.apply(this.label, dumps(op, "op")))) as Record<string, Json>;
  }

  /** Writes a block. */
  writeBlock(name: string, content: string, options: { at?: Place; [field: string]: unknown } = {}): Record<string, Json> {
    const { at, ...fields } = options;
    const object = dumps({ name, content, ...fields }, "object");
    return JSON.parse(run(() => this.inner.write(this.label, object, dumps(at ?? "back", "at")))) as Record<string, Json>;
  }

  /** Gives a block another content; its name, place and author stay. */
  revise(name: string, content: string): Record<string, Json> {
    return JSON.parse(run(() => this.inner.revise(this.label, name, content))) as Record<string, Json>;
  }

  /** Moves blocks, as one, to a place. */
  promote(names: string | readonly string[], to: Place = "front"): Record<string, Json> {
    return this.#apply({ op: "promote", blocks: typeof names === "string" ? [names] : names, to });
  }

  /** Puts blocks on the places that they hold together, in this order. */
  reorder(names: readonly string[]): Record<string, Json> {
    return this.#apply({ op: "reorder", blocks: names });
  }

  /** Takes blocks out for good. */
  evict(names: string | readonly string[], options: { force?: boolean } = {}): Record<string, Json> {
    only(options, ["force"], "evict");
    return this.#apply({ op: "evict", blocks: typeof names === "string" ? [names] : names, force: options.force ?? false });
  }

  /** Evicts what is least worth keeping until the contents have at most so many bytes. */
  evictUntil(size: number, score?: (block: ContextObject) => number): { gone: string[]; short: number } {
    const scores = score && Object.fromEntries(this.blocks().map((block) => [block.name, score(block)]));
    const text = run(() => this.inner.evictUntil(this.label, size, scores && dumps(scores, "scores")));
    const [gone, short] = JSON.parse(text) as [string[], number];
    return { gone, short };
  }

  /** Takes out every block that this registry wrote in a run, whether removable or not. */
  rollback(trajectory: string): Record<string, Json> {
    return this.#apply({ op: "rollback", trajectory });
  }

  /** The blocks, in order. */
  blocks(): ContextObject[] {
    return JSON.parse(run(() => this.inner.blocks(this.label))) as ContextObject[];
  }

  /** The blocks as objects that can be compiled. */
  objects(): Objects {
    return new Objects(run(() => this.inner.objects(this.label)));
  }

  /** Where each block comes from, and what became of it. */
  provenance(): Record<string, Json>[] {
    return JSON.parse(run(() => this.inner.provenance(this.label))) as Record<string, Json>[];
  }

  /** The registry in a few numbers. */
  summary(): Record<string, Json> {
    return JSON.parse(run(() => this.inner.summary(this.label))) as Record<string, Json>;
  }
}

/** Registries in memory; a snapshot keeps all of them. */
export class Registries {
  /** @internal */
  constructor(
    private readonly workspace: Workspace,
    private readonly inner: NativeRegistries,
  ) {}

  /** Makes a registry of the seeds of these files and folders. */
  fromFiles(label: string, ...files: string[]): Registry {
    const registry = this.create(label);
    registry.draw(...files);
    return registry;
  }

  /** Makes a registry of an agent, or of an orchestrator. */
  create(label: string, kind: "agent" | "orchestrator" = "agent"): Registry {
    run(() => this.inner.create(label, kind));
    return new Registry(this.workspace, this.inner, label);
  }

  /** The registry of this label. */
  get(label: string): Registry | undefined {
    return this.inner.labels().includes(label) ? new Registry(this.workspace, this.inner, label) : undefined;
  }

  /** Their labels. */
  get labels(): string[] {
    return this.inner.labels();
  }

  /** Writes a snapshot, which {@link Workspace.registries} and `tenure registry` read. */
  save(path: string): void {
    const text = run(() => this.inner.snapshot());
    writeFileSync(`${path}.part`, text);
    renameSync(`${path}.part`, path);
  }
}

/** The longest time that a scorer may be given, in milliseconds. */
const LONGEST = 2 ** 31 - 1;

/** Models, the frame key and files of one user. */
export class Workspace {
  /** @internal */
  readonly inner: NativeWorkspace;
  readonly #isScored: boolean;

  /**
   * @param options `frameKey` is the file of the key that frames around data are made with; the user's own where none is
   * named. `catalogue` is a file with further models. `scorer` is asked how near texts are to a task, in the place of
   * the built-in ranker, and has `scorerTimeout` milliseconds for it (120,000 where none are named). Calls that may wait for
   * it leave two threads of Node's pool free, and wait for each other.
   */
  constructor(options: { frameKey?: string; catalogue?: string; scorer?: Scorer; scorerTimeout?: number } = {}) {
    only(options, ["frameKey", "catalogue", "scorer", "scorerTimeout"], "Workspace");
    const { scorer, scorerTimeout } = options;
    if (scorer !== undefined && typeof scorer !== "function") throw input("the scorer is no function", { where: "scorer" });
    if (scorerTimeout !== undefined && !(Number.isInteger(scorerTimeout) && scorerTimeout >= 1 && scorerTimeout <= LONGEST)) {
      throw input(`scorerTimeout is ${said(scorerTimeout)}`, { where: "scorerTimeout", expected: `a whole number of milliseconds from 1 to ${LONGEST}` });
    }
    this.#isScored = scorer !== undefined;
    const answer = scorer && ((question: number, task: string, texts: string[]) => void this.#score(scorer, question, task, texts));
    this.inner = run(() => new native.Workspace(options.frameKey, options.catalogue, answer, scorerTimeout));
  }

  /** Asks a scorer, and answers for it. */
  async #score(scorer: Scorer, question: number, task: string, texts: string[]): Promise<void> {
    let scores: string;
    try {
      scores = dumps(await within.run(true, async () => scorer(task, texts)), "scorer");
    } catch (error) {
      return this.inner.scored(question, undefined, said(error));
    }
    this.inner.scored(question, scores);
  }

  /** Compiles a task and everything that may matter to it into what the model sees, within the budget. */
  async compile(options: CompileOptions): Promise<Compiled> {
    only(options, ALL, "compile");
    const has = options.messages !== undefined || options.tools !== undefined;
    const own = options.model?.includes("claude") === true ? "anthropic" : "openai";
    const wanted = call(has && options.target === undefined ? { ...options, target: own } : options);
    const spoken = body(options, wanted.request["target"]);
    const kept = options.objects instanceof Objects ? options.objects.inner : undefined;
    const messages = spoken === undefined ? undefined : dumps(spoken, "messages");
    const text = dumps(wanted, "call");
    const work = () => this.inner.compile(text, kept, messages, undefined, options.store?.inner, options.signal);
    return new Compiled(await asked(this.#isScored, work, options.signal), this.#isScored);
  }

  /** Reads and seals objects once, to be compiled often. */
  async objects(objects: readonly ContextObject[], options: { tenant?: string } = {}): Promise<Objects> {
    only(options, ["tenant"], "objects");
    return new Objects(await settled(() => this.inner.objects(dumps(objects, "objects"), options.tenant ?? "local")));
  }

  /** Says which blocks are near enough to a task. */
  async gate(options: Pick<CompileOptions, "task" | "objects" | "files" | "topK" | "threshold">): Promise<Gated> {
    only(options, ["task", "objects", "files", "topK", "threshold"], "gate");
    const kept = options.objects instanceof Objects ? options.objects.inner : undefined;
    const text = dumps(call({ ...options, policy: "ordered" }), "call");
    return JSON.parse(await asked(this.#isScored, () => this.inner.gate(text, kept))) as Gated;
  }

  /** Counts the tokens of a text. */
  tokens(text: string, options: { model?: string } = {}): { tokens: number; tokenizer: string; kind: "exact" | "bounded" } {
    only(options, ["model"], "tokens");
    if (HALF.test(text)) throw input("a text holds half of a surrogate pair", { where: "text", expected: "valid Unicode" });
    return JSON.parse(run(() => this.inner.tokens(text, options.model ?? "gpt-4o"))) as {
      tokens: number;
      tokenizer: string;
      kind: "exact" | "bounded";
    };
  }

  /** Checks a request's messages against the provider's rules; gives the rules that they break. */
  check(request: unknown, options: { format?: string } = {}): { rule: string; at: string; what: string }[] {
    only(options, ["format"], "check");
    const text = typeof request === "string" ? request : dumps(request, "body");
    const format = options.format && (TARGETS[options.format] ?? options.format);
    return JSON.parse(run(() => this.inner.check(text, format))) as { rule: string; at: string; what: string }[];
  }

  /** Condenses a text to so many tokens by the least harmful means. */
  async condense(text: string, to: number, options: CondenseOptions = {}): Promise<Record<string, Json>> {
    only(options, ["task", "model", "name", "lossless", "keep", "store"], "condense");
    const { model = "gpt-4o", task = "", name = "", lossless = false, keep, store } = options;
    return JSON.parse(await settled(() => this.inner.condense(text, to, model, task, name, lossless, keep, store?.inner))) as Record<string, Json>;
  }

  /** Reads back the original that a pointer names, byte for byte. */
  async rehydrate(pointer: string, options: { keep?: string; store?: Store } = {}): Promise<Buffer> {
    only(options, ["keep", "store"], "rehydrate");
    return settled(() => this.inner.rehydrate(pointer, options.keep, options.store?.inner));
  }

  /** The known models. */
  models(): string[] {
    return this.inner.models();
  }

  /** Opens a store: `sqlite://PATH`, or the path alone. It is made where it is not there. */
  async store(url: string): Promise<Store> {
    return new Store(await settled(() => this.inner.store(url.includes("://") ? url : `sqlite://${url}`)));
  }

  /** Opens the session of this id in a store, or begins one. */
  async session(store: Store, id?: string, options: { format?: string; user?: string; project?: string } = {}): Promise<Session> {
    only(options, ["format", "user", "project"], "session");
    const format = options.format && (TARGETS[options.format] ?? options.format);
    const work = () => this.inner.session(store.inner, id, format, options.user, options.project);
    return new Session(await settled(work), this.#isScored);
  }

  /** Makes registries, agents' working sets of blocks; or reads those of a snapshot. */
  registries(snapshot?: string): Registries {
    return new Registries(this, run(() => this.inner.registries(snapshot)));
  }
}

let opened: Workspace | undefined;

/** The workspace of the user, opened at the first use. */
export function workspace(): Workspace {
  opened ??= new Workspace();
  return opened;
}

/** {@link Workspace.compile} of the user's own workspace. */
export const compile: Workspace["compile"] = (options) => workspace().compile(options);
/** {@link Workspace.gate} of the user's own workspace. */
export const gate: Workspace["gate"] = (options) => workspace().gate(options);
/** {@link Workspace.objects} of the user's own workspace. */
export const objects: Workspace["objects"] = (...given) => workspace().objects(...given);
/** {@link Workspace.tokens} of the user's own workspace. */
export const tokens: Workspace["tokens"] = (...given) => workspace().tokens(...given);
/** {@link Workspace.check} of the user's own workspace. */
export const check: Workspace["check"] = (...given) => workspace().check(...given);
/** {@link Workspace.condense} of the user's own workspace. */
export const condense: Workspace["condense"] = (...given) => workspace().condense(...given);
/** {@link Workspace.rehydrate} of the user's own workspace. */
export const rehydrate: Workspace["rehydrate"] = (...given) => workspace().rehydrate(...given);
/** {@link Workspace.models} of the user's own workspace. */
export const models: Workspace["models"] = () => workspace().models();
/** {@link Workspace.store} of the user's own workspace. */
export const store: Workspace["store"] = (url) => workspace().store(url);
/** {@link Workspace.session} of the user's own workspace. */
export const session: Workspace["session"] = (...given) => workspace().session(...given);
/** {@link Workspace.registries} of the user's own workspace. */
export const registries: Workspace["registries"] = (snapshot) => workspace().registries(snapshot);
