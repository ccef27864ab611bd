// Drives the inspector's pages in headless Chromium. `scripts/inspector --help` is its first comment.
"use strict";
const { execFileSync, spawn } = require("node:child_process");
const fs = require("node:fs");
const http = require("node:http");
const os = require("node:os");
const path = require("node:path");
const { chromium } = require("playwright-core");
const AXE = fs.readFileSync(require.resolve("axe-core/axe.min.js"), "utf8");

const [program, ...rest] = process.argv.slice(2);
const full = rest.includes("--full");
const shots = rest.includes("--screenshots") ? rest[rest.indexOf("--screenshots") + 1] : null;
const root = path.join(__dirname, "..");
const folder = fs.mkdtempSync(path.join(os.tmpdir(), "tenure-inspector-"));
const env = { ...process.env, XDG_CONFIG_HOME: folder, XDG_DATA_HOME: folder, XDG_STATE_HOME: folder };
const store = `sqlite://${folder}/store.db`;
const HOSTILE = "<script>alert(1)</script> \u202Egnp.exe";

const tenure = (...args) => execFileSync(program, args, { env, cwd: folder, encoding: "utf8", maxBuffer: 1 << 28, stdio: ["ignore", "pipe", "ignore"] });
const firmware = [`${root}/examples/firmware`, "--task-file", `${root}/examples/firmware/task.json`, "--policy", `${root}/examples/firmware/policy.toml`, "--budget", "4500"];
let failures = 0;
const expect = (holds, what) => {
  if (!holds) {
    failures += 1;
    console.error(`   FAILED: ${what}`);
  }
};

async function serve(keyed) {
  const server = spawn(program, ["serve", "--listen", "127.0.0.1:0", "--store", store, ...keyed], { env, cwd: folder, stdio: ["ignore", "pipe", "pipe"] });
  const address = await new Promise((found, failed) => {
    let text = "";
    const read = (data) => {
      text += data;
      const url = text.match(/http:\/\/[0-9.:]+/);
      if (url) found(url[0]);
    };
    server.stdout.on("data", read);
    server.stderr.on("data", read);
    server.on("exit", () => failed(new Error(`the server ended: ${text}`)));
  });
  return { server, address };
}

// A provider that says the same to everything, and has half of it in its cache.
async function provider() {
  const reply = (tokens) => JSON.stringify({
    id: "c",
    object: "chat.completion",
    model: "gpt-4o",
    choices: [{ index: 0, message: { role: "assistant", content: `The pump is warm. ${HOSTILE}` }, finish_reason: "stop" }],
    usage: { prompt_tokens: tokens, completion_tokens: 9, total_tokens: tokens + 9, prompt_tokens_details: { cached_tokens: tokens >> 1 } },
  });
  const server = http.createServer((request, response) => {
    let size = 0;
    request.on("data", (data) => (size += data.length));
    request.on("end", () => response.writeHead(200, { "content-type": "application/json" }).end(reply(size >> 2)));
  });
  await new Promise((listening) => server.listen(0, "127.0.0.1", listening));
  return server;
}

// A conversation through the gateway; gives the record of its last request.
async function talk(address, key) {
  const messages = [{ role: "system", content: "Be brief." }];
  let id, session;
  for (let turn = 0; turn < 12; turn += 1) {
    messages.push({ role: "user", content: `Question ${turn}: ${"is the pump warm, and why? ".repeat(60)}` });
    const headers = { "content-type": "application/json", "x-tenure-key": key, authorization: "Bearer none", "user-agent": "demo-agent/1.0" };
    const reply = await fetch(`${address}/v1/chat/completions`, { method: "POST", headers, body: JSON.stringify({ model: "small", messages }) });
    if (!reply.ok) throw new Error(`the gateway: ${reply.status} ${await reply.text()}`);
    id = reply.headers.get("x-tenure-record");
    session = reply.headers.get("x-tenure-session");
    messages.push((await reply.json()).choices[0].message);
  }
  // Records are kept behind the answers.
  for (let tries = 0; tries < 100; tries += 1) {
    const found = await fetch(`${address}/api/v1/records/${id}`, { headers: { "x-tenure-key": key } });
    if (found.ok) return { id, session };
    await new Promise((later) => setTimeout(later, 50));
  }
  throw new Error(`the record ${id} is not kept`);
}

async function api(address, key, method, place, body) {
  const headers = { "content-type": "application/json", "x-tenure-key": key };
  const reply = await fetch(address + place, { method, headers, body: body && JSON.stringify(body) });
  const text = await reply.text();
  if (!reply.ok) throw new Error(`${method} ${place}: ${reply.status} ${text}`);
  return text ? JSON.parse(text) : null;
}

// What the pages show: compiles of the example, of a crowd, of hostile names; conflicts, a registry, a session.
async function fill(address, key) {
  const ids = {};
  const compile = async (call) => (await api(address, key, "POST", "/api/v1/compile", { record: true, ...call })).record_ids[0];
  ids.example = JSON.parse(tenure("compile", ...firmware, "--store", store, "--tenant", "acme", "--record", "--target", "openai-chat", "--format", "json")).record_ids[0];
  ids.later = JSON.parse(tenure("compile", ...firmware.slice(0, -1), "3500", "--store", store, "--tenant", "acme", "--record", "--target", "openai-chat", "--format", "json")).record_ids[0];
  const crowd = Array.from({ length: 10000 }, (_, at) => ({ name: `crowd/${at}`, object_type: "rule", content: `Pump ${at} reports its pressure in pascal at ${at % 24} o'clock.` }));
  ids.crowd = await compile({ request: { task: { objective: "Which pump reports its pressure?" }, budget: { tokens: 20000 } }, objects: crowd });
  const hostile = [HOSTILE, "javascript:alert(1)", "<svg onload=alert(1)>", "x".repeat(250)];
  ids.hostile = await compile({
    request: { task: { objective: HOSTILE }, budget: { tokens: 3000 } },
    objects: hostile.map((name) => ({ name, object_type: "rule", content: `${name} says that pumps are warm. `.repeat(40) })),
  });
  const claim = (name, value) => ({ name, object_type: "inferred_belief", content: `The rollout is ${value}. ${HOSTILE}`, normalized_claim: `rollout.status == ${value}`, canonical_entity_ids: ["rollout"] });
  await api(address, key, "POST", "/api/v1/objects", { objects: [claim("rollout-open", "open"), claim("rollout-closed", "closed")] });
  await api(address, key, "POST", "/api/v1/registries", { label: "notes", kind: "agent" });
  await api(address, key, "POST", "/api/v1/registries/notes/import", { objects: [{ name: "first", object_type: "rule", content: "Be brief." }] }).catch(() => null);
  await api(address, key, "POST", "/api/v1/sessions", { id: "talk", text: "Set up the pump." });
  return ids;
}

// What hangs is a failure, and not a wait for ever.
const within = (seconds, what, promise) => {
  let timer;
  const late = new Promise((_, failed) => {
    timer = setTimeout(() => failed(new Error(`${what} took more than ${seconds} s`)), seconds * 1000);
  });
  return Promise.race([promise, late]).finally(() => clearTimeout(timer));
};

// A page that notes what goes wrong in it. One is enough for all views.
async function watched(context, ours) {
  const page = await within(60, "a new page", context.newPage());
  page.said = [];
  page.on("console", (message) => ["error", "warning"].includes(message.type()) && page.said.push(message.text()));
  page.on("pageerror", (error) => page.said.push(String(error)));
  page.on("request", (request) => {
    const to = request.url();
    if (!to.startsWith(ours) && !to.startsWith("data:") && !to.startsWith("file:")) page.said.push(`a request to ${to}`);
  });
  return page;
}

async function open(page, url, { name, sheet, keep }) {
  page.said.length = 0;
  const started = Date.now();
  const reply = await page.goto(url, { waitUntil: "load" });
  const took = Date.now() - started;
  const bytes = (await page.content()).length;
  expect(!reply || reply.ok() || url.startsWith("file:"), `${name}: status ${reply && reply.status()}`);
  const wide = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
  expect(wide <= 1, `${name} (${sheet}): ${wide} px wider than the window`);
  if (keep) await page.screenshot({ path: path.join(keep, `${name}-${sheet}.png`), fullPage: false });
  expect(page.said.length === 0, `${name} (${sheet}): ${page.said.join("; ")}`);
  return { took, bytes };
}

async function audit(page, name, sheet) {
  const found = await within(60, `axe on ${name} (${sheet})`, page.evaluate(async (axe) => {
    new Function(axe)();
    return (await window.axe.run(document, { resultTypes: ["violations"] })).violations.map((one) => `${one.impact} ${one.id}: ${one.nodes.slice(0, 3).map((node) => node.html.slice(0, 160)).join(" | ")}`);
  }, AXE));
  const serious = found.filter((one) => /^(serious|critical)/.test(one));
  expect(serious.length === 0, `${name} (${sheet}): axe finds ${serious.join("\n      ")}`);
}

(async () => {
  const made = JSON.parse(tenure("keys", "create", "--tenant", "acme", "--operator", "--store", store, "--format", "json"));
  const key = made.key;
  fs.writeFileSync(path.join(folder, "models.toml"), 'models.small = { extends = "gpt-4o", window = 3000, reserve = 500 }\n');
  const upstream = await provider();
  const { server, address } = await serve(["--mode", "fit", "--catalogue", path.join(folder, "models.toml"), "--upstream", `openai=http://127.0.0.1:${upstream.address().port}`]);
  // Chromium as root wants no sandbox of its own.
  const browser = await chromium.launch({ executablePath: process.env.CHROMIUM || "/usr/bin/chromium", args: ["--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu"] });
  try {
    const ids = await fill(address, key);
    const { id: request, session } = await talk(address, key);
    const of = (id, part = "") => `/inspect/records/${id}${part}`;
    const views = {
      overview: "/inspect",
      compile: of(ids.example),
      candidates: of(ids.example, "/items"),
      payload: of(ids.example, "/payload"),
      candidate: of(ids.example, "/item?at=0"),
      difference: of(ids.later, `/diff?before=${ids.example}`),
      crowd: of(ids.crowd),
      "crowd-candidates": of(ids.crowd, "/items"),
      hostile: of(ids.hostile, "/items"),
      "hostile-payload": of(ids.hostile, "/payload"),
      request: of(request),
      "request-items": of(request, "/items"),
      "request-payload": of(request, "/payload"),
      session: `/inspect/sessions/${encodeURIComponent(session)}`,
      object: "/inspect/objects/rollout-open",
      registries: "/inspect/registries",
      registry: "/inspect/registries/notes",
      waiting: "/inspect/waiting",
      trends: "/inspect/trends",
    };
    const report = path.join(folder, "report.html");
    tenure("report", ids.example, "--store", store, "--tenant", "acme", "-o", report);
    expect(fs.statSync(report).size <= 400000, `the report of the example has ${fs.statSync(report).size} bytes`);

    const sheets = full || shots ? [["wide", 1280, "light"], ["wide-dark", 1280, "dark"], ["narrow", 360, "light"], ["narrow-dark", 360, "dark"]] : [["wide", 1280, "light"], ["narrow-dark", 360, "dark"]];
    const smoke = ["overview", "compile", "crowd", "hostile", "waiting"];
    let looked = 0;
    for (const [sheet, width, colorScheme] of sheets) {
      const context = await browser.newContext({ viewport: { width, height: 900 }, colorScheme });
      const page = await watched(context, address);
      await page.goto(`${address}/inspect/trends`);
      await page.fill("input[name=key]", key);
      await page.click("main button");
      expect(page.url().endsWith("/inspect/trends"), `signing in led to ${page.url()}`);
      for (const [name, place] of Object.entries(views)) {
        if (!full && !shots && !smoke.includes(name)) continue;
        const { took, bytes } = await open(page, address + place, { name, sheet, keep: shots });
        expect(bytes <= 500000, `${name}: ${bytes} bytes`);
        if (name === "crowd" && sheet === "wide") {
          const times = [];
          for (let round = 0; round < 5; round += 1) {
            const started = Date.now();
            await page.reload({ waitUntil: "load" });
            times.push(Date.now() - started);
          }
          console.log(`   a compile of 10,000 candidates: ${bytes} bytes, first ${took} ms, then ${Math.min(...times)} to ${Math.max(...times)} ms`);
        }
        looked += 1;
      }
      await open(page, `file://${report}`, { name: "report", sheet, keep: shots });
      await context.close();

      const cookie = { name: "tenure_key", value: key, domain: "127.0.0.1", path: "/inspect", expires: -1, httpOnly: true, secure: false, sameSite: "Strict" };
      // What checks runs in the page, which the page's own policy forbids.
      const checked = await browser.newContext({ viewport: { width, height: 900 }, colorScheme, bypassCSP: true, storageState: { cookies: [cookie], origins: [] } });
      const checking = await within(60, "a new page", checked.newPage());
      for (const [name, place] of [...Object.entries(views), ["report", `file://${report}`]]) {
        if (!full && !shots && !smoke.includes(name) && name !== "report") continue;
        await checking.goto(place.startsWith("file:") ? place : address + place);
        await audit(checking, name, sheet);
      }
      await checked.close();
    }
    // Without script every page is read.
    const context = await browser.newContext({ javaScriptEnabled: false, viewport: { width: 1280, height: 900 } });
    const page = await context.newPage();
    await page.goto(`${address}/inspect`);
    await page.fill("input[name=key]", key);
    await page.click("main button");
    await page.click(`text=${ids.example}`);
    expect((await page.textContent("h1")).includes(ids.example), "without script a link leads to a compile");
    // By the keyboard alone.
    await page.keyboard.press("Tab");
    await context.close();
    console.log(`   ${looked} pages looked at in Chromium`);
  } finally {
    await browser.close();
    server.kill("SIGTERM");
    upstream.close();
    upstream.closeAllConnections();
    fs.rmSync(folder, { recursive: true, force: true });
  }
  process.exit(failures === 0 ? 0 : 1);
})().catch((error) => {
  console.error(error);
  process.exit(1);
});
