// A client of the API: its types are those of the server's description.
import createClient, { type Client } from "openapi-fetch";

import type { components, paths } from "./schema.js";

export type Schemas = components["schemas"];

/** A client of the server at `url`; `key` is one of `tenure keys add`. */
export function tenure(url: string, key?: string): Client<paths> {
  return createClient<paths>({ baseUrl: url, headers: key === undefined ? {} : { "x-tenure-key": key } });
}
