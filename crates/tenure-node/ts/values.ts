/** Values that come from a program, as JSON; and options, of which none is unknown. */

import { input, TenureError } from "./errors.js";

/** Half of a surrogate pair alone. */
export const HALF = /[\uD800-\uDBFF](?![\uDC00-\uDFFF])|(?<![\uD800-\uDBFF])[\uDC00-\uDFFF]/;

/** The words of what was thrown. It may be anything, and even its text may throw. */
export function said(thrown: unknown): string {
  try {
    return String(thrown instanceof Error ? thrown.message : thrown);
  } catch {
    return "what it threw has no text";
  }
}

/** A value as JSON; an error names it. */
export function dumps(value: unknown, name: string): string {
  let text: string | undefined;
  const held = (key: string, inner: unknown): unknown => {
    if (typeof inner === "number" && !Number.isFinite(inner)) throw input(`a number is ${inner} (${name}, ${key})`, { where: name });
    if (typeof inner === "bigint") return Number.isSafeInteger(Number(inner)) ? Number(inner) : fail(`a number is ${inner}`);
    if (typeof inner === "symbol" || typeof inner === "function") return fail(`a value is a ${typeof inner}`);
    if (inner instanceof Uint8Array) return fail("a value is bytes", "a text");
    if (typeof inner === "string" && HALF.test(inner)) return fail("a text holds half of a surrogate pair", "valid Unicode");
    return inner;
  };
  const fail = (what: string, expected?: string): never => {
    throw input(`${what} (${name})`, { where: name, ...(expected === undefined ? {} : { expected }) });
  };
  try {
    text = JSON.stringify(value, held);
  } catch (error) {
    if (error instanceof TenureError) throw error;
    return fail(said(error).split("\n")[0] ?? "");
  }
  return text ?? fail("a value is undefined");
}

/** Refuses options that are not known: a typo is no default. */
export function only(options: object, names: readonly string[], verb: string): void {
  if (typeof options !== "object" || options === null || Array.isArray(options)) {
    throw input(`the options of ${verb} are ${said(options)}`, { where: verb, expected: "an object" });
  }
  const unknown = Object.keys(options).find((name) => !names.includes(name));
  if (unknown === undefined) return;
  const bare = (name: string) => name.replaceAll("_", "").toLowerCase();
  const near = names.find((name) => bare(name) === bare(unknown));
  const hint = near === undefined ? {} : { hint: `did you mean \`${near}\`?` };
  throw input(`unknown option \`${unknown}\` of ${verb}`, { where: `${verb}.${unknown}`, expected: `one of ${names.join(", ")}`, ...hint });
}
