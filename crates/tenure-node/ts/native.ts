/** The compiled part: JSON in, JSON out. It lies beside the two forms of the package. */

import { createRequire } from "node:module";
import { join } from "node:path";

export interface NativeObjects {
  readonly length: number;
  names(): string[];
}

export interface NativeCompiled {
  pages(): number;
  payload(page: number): string | null;
  tokens(page: number): number;
  envelope(page: number): string;
  trace(page: number): string;
  places(page: number): string;
  cachePlan(page: number): string;
  why(name: string, page: number): Promise<string>;
  records(): string[];
  session(): string | null;
}

export interface NativeStore {
  put(objects: string, tenant: string, key?: string, author?: string): Promise<string>;
  get(name: string, tenant: string, knownAt?: string): Promise<string>;
  history(name: string, tenant: string): Promise<string>;
  search(query: string, most: number, tenant: string): Promise<string>;
  retract(name: string, tenant: string): Promise<string>;
  call(id: string, input: string, tenant: string, key?: string, author?: string): Promise<string>;
}

export interface NativeSession {
  id(): string;
  len(): number;
  append(messages: string, format?: string): Promise<string>;
  compile(call: string, kept?: NativeObjects, store?: NativeStore, signal?: AbortSignal): Promise<NativeCompiled>;
  rehydrate(id: string | undefined, query: string | undefined, tokens: number, model: string): Promise<string>;
  pin(message: number, pins: boolean): void;
  export(format: string): Promise<string>;
}

export interface NativeRegistries {
  create(label: string, kind: string): void;
  labels(): string[];
  draw(workspace: NativeWorkspace, label: string, files: string[]): number;
  apply(label: string, op: string): string;
  write(label: string, object: string, at: string): string;
  revise(label: string, name: string, content: string): string;
  evictUntil(label: string, bytes: number, scores?: string): string;
  objects(label: string): NativeObjects;
  blocks(label: string): string;
  summary(label: string): string;
  provenance(label: string): string;
  snapshot(): string;
}

export interface NativeWorkspace {
  objects(objects: string, tenant: string): Promise<NativeObjects>;
  compile(
    call: string,
    kept?: NativeObjects,
    messages?: string,
    format?: string,
    store?: NativeStore,
    signal?: AbortSignal,
  ): Promise<NativeCompiled>;
  gate(call: string, kept?: NativeObjects): Promise<string>;
  tokens(text: string, model: string): string;
  check(body: string, format?: string): string;
  condense(
    text: string,
    to: number,
    model: string,
    task: string,
    name: string,
    lossless: boolean,
    keep?: string,
    store?: NativeStore,
  ): Promise<string>;
  rehydrate(id: string, keep?: string, store?: NativeStore): Promise<Buffer>;
  models(): string[];
  store(url: string): Promise<NativeStore>;
  session(store: NativeStore, id?: string, format?: string, user?: string, project?: string): Promise<NativeSession>;
  registries(snapshot?: string): NativeRegistries;
  scored(question: number, scores?: string, failure?: string): void;
}

interface Native {
  VERSION: string;
  Workspace: { new (frameKey?: string, catalogue?: string, scorer?: (question: number, task: string, texts: string[]) => void, limit?: number): NativeWorkspace; owner(): string };
}

declare const __dirname: string | undefined;

/** The folder of this file, in either form of the package. */
function here(): string {
  // An ES module has no `__dirname`; a CommonJS module must not hold `import.meta`.
  if (typeof __dirname === "string") return __dirname;
  const line = new Error().stack?.split("\n").find((at) => at.includes("file://"));
  const url = line?.match(/file:\/\/\S+?\/native\.js/)?.[0];
  if (url === undefined) throw new Error("the folder of the package tenure is not known");
  return decodeURIComponent(new URL(".", url).pathname);
}

const folder = here();
export const native: Native = createRequire(join(folder, "native.js"))(join(folder, "..", "tenure.node"));
