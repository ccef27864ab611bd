// Drives `tenure mcp` and `/mcp` of `tenure serve` with the official TypeScript SDK, which checks each result against the
// schema that the tool states. Usage: mcp_sdk.mjs TENURE MODULES, of which the second is the folder with the SDK.
import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

const [tenure, modules] = process.argv.slice(2);
const require = createRequire(join(modules, "package.json"));
const from = (name) => import(pathToFileURL(require.resolve(name)).href);
const { Client, StreamableHTTPClientTransport } = (await from("@modelcontextprotocol/client")).default;
const { StdioClientTransport } = (await from("@modelcontextprotocol/client/stdio")).default;

const folder = mkdtempSync(join(tmpdir(), "tenure-mcp-"));
const kept = Object.entries(process.env).filter(([name]) => !name.startsWith("TENURE_"));
const env = { ...Object.fromEntries(kept), XDG_STATE_HOME: `${folder}/state`, XDG_CONFIG_HOME: `${folder}/config` };
const run = (...args) => execFileSync(tenure, args, { cwd: folder, env, encoding: "utf8" });

const ALL = ["compile", "explain", "search", "rehydrate", "write", "promote", "evict", "rollback", "propose"];
const PACKAGES = ["pack", "activate"];

async function loop(transport, mode, wanted) {
  const client = new Client({ name: "test", version: "1" }, { versionNegotiation: { mode } });
  await client.connect(transport);
  const legacy = mode === "legacy";
  assert.equal(client.getNegotiatedProtocolVersion() < "2026-07-28", legacy);
  const { tools } = await client.listTools();
  assert.deepEqual(tools.map((tool) => tool.name), wanted);

  const call = async (name, args, options) => {
    const done = await client.callTool({ name, arguments: args }, options);
    assert.ok(!done.isError, JSON.stringify(done.content));
    assert.deepEqual(JSON.parse(done.content[0].text), done.structuredContent);
    return done.structuredContent;
  };
  await call("write", { name: "units", content: "Report pressure in pascal.", run: "run-1" });
  const wrote = await call("write", { name: "limits", content: "Valve 7 opens at two bar.", run: "run-2" });
  assert.deepEqual(wrote.blocks, ["units", "limits"]);
  assert.deepEqual((await call("promote", { names: ["limits"], to: "front" })).blocks, ["limits", "units"]);
  const compiled = await call("compile", { task: "Report the pressure at which valve 7 opens", tokens: 2000 });
  assert.match(compiled.payloads[0].payload, /opens at two bar/);
  const explained = await call("explain", { task: "Report the pressure" });
  assert.ok(explained.verdicts.some((verdict) => verdict.name === "units"));
  const found = await call("search", { query: "how hot may the boiler get", limit: 1 });
  assert.match(found.passages[0].text, /95 degrees/);
  const said = await call("rehydrate", { id: "t2" });
  assert.match(said.originals[0].text, /How hot is pump 7/);
  assert.deepEqual((await call("evict", { names: ["units"] })).removed, ["units"]);
  assert.deepEqual((await call("rollback", { run: "run-2" })).removed, ["limits"]);

  const { resources } = await client.listResources();
  assert.equal(resources[0].name, "talk");
  const read = await client.readResource({ uri: resources[0].uri });
  assert.match(read.contents[0].text, /How hot is pump 7/);
  await assert.rejects(client.readResource({ uri: "tenure://sessions/nobody" }), /no session/);
  const { prompts } = await client.listPrompts();
  assert.deepEqual(prompts.map((prompt) => prompt.name), ["context"]);
  const got = await client.getPrompt({ name: "context", arguments: { task: "How hot may the boiler get?", tokens: "900" } });
  assert.match(got.messages[0].content.text, /95 degrees/);

  // A call that takes long gives signs, and ends when it is given up.
  const signs = [];
  const given = new AbortController();
  const onprogress = (sign) => {
    signs.push(sign.progress);
    if (signs.length === 2) given.abort();
  };
  const long = "pump ".repeat(800_000);
  const slow = client.callTool({ name: "compile", arguments: { task: long } }, { onprogress, signal: given.signal });
  await assert.rejects(slow);
  assert.ok(signs.length >= 2 && signs[1] > signs[0], `signs: ${signs}`);
  await call("search", { query: "boiler", limit: 1 });

  if (wanted.includes("pack")) {
    const packed = await call("pack", { name: "boilers", query: "sections[heading~=Boiler]", sources: ["manual.md"] });
    assert.equal(packed.items, 1);
    const active = await call("activate", { package: "boilers" });
    assert.match(active.content, /95 degrees/);
    const again = await call("compile", { task: "How hot may the boiler get?", tokens: 2000 });
    const named = [...again.included, ...again.omitted.map((one) => one.name)];
    assert.ok(named.some((name) => name !== "manual"), `no item of the package among ${named}`);
    const listed = (await client.listResources()).resources.find((entry) => entry.name === "boilers");
    assert.match((await client.readResource({ uri: listed.uri })).contents[0].text, /95 degrees/);
    const outside = await client.callTool({ name: "pack", arguments: { name: "x", query: "*", sources: ["/etc/passwd"] } });
    assert.ok(outside.isError);
    const file = await client.callTool({ name: "activate", arguments: { package: "/etc/x.json" } });
    assert.match(file.content[0].text, /no package/);
  }
  await client.close();
}

let server;
try {
  writeFileSync(join(folder, "manual.md"), "# Boiler\n\nThe boiler may get 95 degrees hot, no more.\n");
  run("store", "put", "manual.md");
  run("session", "new", "talk");
  run("session", "append", "talk", "--text", "How hot is pump 7?");
  server = spawn(tenure, ["serve", "--listen", "127.0.0.1:0"], { cwd: folder, env, stdio: ["ignore", "pipe", "ignore"] });
  const url = await new Promise((resolve) => server.stdout.once("data", (data) => resolve(String(data).trim().split("\n")[0])));
  for (const mode of ["legacy", "auto"]) {
    const args = ["mcp", "--session", "talk", "--registry", `stdio-${mode}`];
    await loop(new StdioClientTransport({ command: tenure, args, cwd: folder, env }), mode, ALL);
    const at = new URL(`${url}/mcp?session=talk&registry=http-${mode}`);
    await loop(new StreamableHTTPClientTransport(at), mode, ALL);
  }
  const args = ["mcp", "--session", "talk", "--registry", "packages", "--tools", [...ALL, ...PACKAGES].join(",")];
  await loop(new StdioClientTransport({ command: tenure, args, cwd: folder, env }), "auto", [...ALL, ...PACKAGES]);
  console.log("mcp: the TypeScript SDK did the main loop by standard input and output and over HTTP, with both handshakes");
} finally {
  server?.kill();
  rmSync(folder, { recursive: true, force: true });
}
