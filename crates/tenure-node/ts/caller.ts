/** Calls of operations: what the methods that are written from their schemas have in common. */

import { settled } from "./errors.js";
import type { NativeStore } from "./native.js";
import { dumps, only } from "./values.js";

/** What every write takes besides its fields. */
export interface WriteOptions {
  /** The idempotency key: with the same one, the same write happens once. */
  key?: string;
}

/** The option of a field. */
function option(field: string): string {
  return field.replace(/_+([^_])/g, (_, letter: string) => letter.toUpperCase());
}

/** A tenant of a store, and the author of what is written there. */
export class Caller {
  readonly #inner: NativeStore;
  readonly #tenant: string;
  readonly #author: string | undefined;

  /** @internal */
  constructor(inner: NativeStore, tenant: string, author?: string) {
    this.#inner = inner;
    this.#tenant = tenant;
    this.#author = author;
  }

  /**
   * The answer of an operation, whose form has these fields.
   * @internal
   */
  protected async call<Answer>(id: string, given: object, fields: readonly string[], options: WriteOptions = {}): Promise<Answer> {
    only(given, fields.map(option), id);
    only(options, ["key"], `the write ${id}`);
    const values = given as Record<string, unknown>;
    const form = dumps(Object.fromEntries(fields.map((field) => [field, values[option(field)]])), id);
    return JSON.parse(await settled(() => this.#inner.call(id, form, this.#tenant, options.key, this.#author))) as Answer;
  }
}
