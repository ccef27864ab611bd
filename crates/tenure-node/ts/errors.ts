/** The errors of Tenure: what happened, where, what was expected, a hint. */

import { AsyncLocalStorage } from "node:async_hooks";

/** What kind of failure it is. */
export type Kind =
  | "usage"
  | "input"
  | "budget"
  | "policy"
  | "conflict"
  | "unavailable"
  | "damaged"
  | "internal";

interface Fields {
  kind: Kind;
  message: string;
  what: string;
  where?: string | null;
  line?: number | null;
  expected?: string | null;
  hint?: string | null;
}

/** A failure. Its `message` is the whole of it, in lines. */
export class TenureError extends Error {
  /** `budget` where what must go in does not fit, `input` where something that came from outside is malformed, and so on. */
  readonly kind: Kind;
  /** The failure, in words. */
  readonly what: string;
  /** The place of it: a field, a file. */
  readonly where: string | undefined;
  /** The line there, counted from 1. */
  readonly line: number | undefined;
  /** The input that was expected instead. */
  readonly expected: string | undefined;
  /** Advice on what to do. */
  readonly hint: string | undefined;

  constructor(fields: Fields) {
    super(fields.message);
    this.name = "TenureError";
    this.kind = fields.kind;
    this.what = fields.what;
    this.where = fields.where ?? undefined;
    this.line = fields.line ?? undefined;
    this.expected = fields.expected ?? undefined;
    this.hint = fields.hint ?? undefined;
  }
}

/** Makes an error of input. */
export function input(what: string, more: Partial<Fields> = {}): TenureError {
  const lines = [what, more.expected && `expected: ${more.expected}`, more.hint && `hint: ${more.hint}`];
  return new TenureError({ kind: "input", what, message: lines.filter(Boolean).join("\n"), ...more });
}

/** The error of the compiled part as one of this package; any other as it is. */
export function known(error: unknown): unknown {
  if (error instanceof Error && error.message.startsWith('{"')) {
    try {
      const fields = JSON.parse(error.message) as Fields;
      if (typeof fields.kind === "string") return new TenureError(fields);
    } catch {
      return error;
    }
  }
  return error;
}

/** What this gives, or an error of this package. */
export function run<T>(work: () => T): T {
  try {
    return work();
  } catch (error) {
    throw known(error);
  }
}

/** Set within a scorer, and in all that it awaits. */
export const within = new AsyncLocalStorage<true>();

/** The same for a promise. A compile waits for its scorer, so what is asked for there would wait for itself. */
export async function settled<T>(work: () => Promise<T>): Promise<T> {
  if (within.getStore() === true) {
    const what = "a scorer may not wait for Tenure: a compile is waiting for the scorer";
    throw new TenureError({ kind: "usage", what, message: what });
  }
  try {
    return await work();
  } catch (error) {
    throw known(error);
  }
}
