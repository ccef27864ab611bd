// Drives the inspector's pages in headless Chromium. `scripts/inspector --help` is its first comment.
"use strict";
const { execFileSync, spawn } = require("node:child_process");
const fs = require("node:fs");
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

async function open(context, url, { name, sheet, ours, keep }) {
  const page = await context.newPage();
  const said = [];
  page.on("console", (message) => ["error", "warning"].includes(message.type()) && said.push(message.text()));
  page.on("pageerror", (error) => said.push(String(error)));
  page.on("request", (request) => {
    const to = request.url();
    if (!to.startsWith(ours) && !to.startsWith("data:")) said.push(`a request to ${to}`);
  });
  const started = Date.now();
  const reply = await page.goto(url, { waitUntil: "load" });
  const took = Date.now() - started;
  const bytes = (await page.content()).length;
  expect(!reply || reply.ok() || url.startsWith("file:"), `${name}: status ${reply && reply.status()}`);
  const wide = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
  expect(wide <= 1, `${name} (${sheet}): ${wide} px wider than the window`);
  if (keep) await page.screenshot({ path: path.join(keep, `${name}-${sheet}.png`), fullPage: false });
  return { page, said, took, bytes };
}

// What hangs is a failure, and not a wait for ever.
const within = (seconds, what, promise) => {
  let timer;
  const late = new Promise((_, failed) => {
    timer = setTimeout(() => failed(new Error(`${what} took more than ${seconds} s`)), seconds * 1000);
  });
  return Promise.race([promise, late]).finally(() => clearTimeout(timer));
};

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
  const { server, address } = await serve([]);
  // Chromium as root wants no sandbox of its own.
  const browser = await chromium.launch({ executablePath: process.env.CHROMIUM || "/usr/bin/chromium", args: ["--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu"] });
  try {
    const ids = await fill(address, key);
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
      session: "/inspect/sessions/talk",
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
      // What checks is let in by the driver: the pages' own policy stays for all else.
      const context = await browser.newContext({ viewport: { width, height: 900 }, colorScheme, bypassCSP: false });
      const first = await context.newPage();
      await first.goto(`${address}/inspect/trends`);
      await first.fill("input[name=key]", key);
      await first.click("main button");
      expect(first.url().endsWith("/inspect/trends"), `signing in led to ${first.url()}`);
      await first.close();
      for (const [name, place] of Object.entries(views)) {
        if (!full && !shots && !smoke.includes(name)) continue;
        const { page, said, took, bytes } = await open(context, address + place, { name, sheet, ours: address, keep: shots });
        expect(bytes <= 500000, `${name}: ${bytes} bytes`);
        if (name === "crowd" && sheet === "wide") {
          // The first view, once everything is warm: the server that is tested is not built for speed.
          const times = [];
          for (let round = 0; round < 5; round += 1) {
            const started = Date.now();
            await page.reload({ waitUntil: "load" });
            times.push(Date.now() - started);
          }
          console.log(`   a compile of 10,000 candidates: ${bytes} bytes, first ${took} ms, then ${Math.min(...times)} to ${Math.max(...times)} ms`);
        }
        await page.close();
        expect(said.length === 0, `${name} (${sheet}): ${said.join("; ")}`);
        looked += 1;
      }
      const { page, said } = await open(context, `file://${report}`, { name: "report", sheet, ours: "file://", keep: shots });
      await page.close();
      expect(said.length === 0, `the report (${sheet}): ${said.join("; ")}`);
      await context.close();

      const checked = await browser.newContext({ viewport: { width, height: 900 }, colorScheme, bypassCSP: true, storageState: { cookies: [{ name: "tenure_key", value: key, url: undefined, domain: "127.0.0.1", path: "/inspect", expires: -1, httpOnly: true, secure: false, sameSite: "Strict" }], origins: [] } });
      for (const [name, place] of [...Object.entries(views), ["report", `file://${report}`]]) {
        if (!full && !shots && !smoke.includes(name) && name !== "report") continue;
        const page = await checked.newPage();
        await page.goto(place.startsWith("file:") ? place : address + place);
        await audit(page, name, sheet);
        await page.close();
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
    fs.rmSync(folder, { recursive: true, force: true });
  }
  process.exit(failures === 0 ? 0 : 1);
})().catch((error) => {
  console.error(error);
  process.exit(1);
});
