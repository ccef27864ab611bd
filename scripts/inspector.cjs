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
const firmware = ["--as", "guidance", `${root}/examples/firmware`, "--task-file", `${root}/examples/firmware/task.json`, "--policy", `${root}/examples/firmware/policy.toml`, "--budget", "4500"];
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
  const found = JSON.parse(tenure("compile", ...firmware, "--store", store, "--tenant", "acme", "--target", "openai-chat", "--format", "json")).envelope;
  ids.weighed = { digest: found.payload_digest, items: found.sections.reduce((sum, section) => sum + section.items.length, 0) };
  ids.later = JSON.parse(tenure("compile", ...firmware.slice(0, -1), "3500", "--store", store, "--tenant", "acme", "--record", "--target", "openai-chat", "--format", "json")).record_ids[0];
  const crowd = Array.from({ length: 10000 }, (_, at) => ({ name: `crowd/${at}`, object_type: "rule", content: `Pump ${at} reports its pressure in pascal at ${at % 24} o'clock.` }));
  ids.crowd = await compile({ request: { task: { objective: "Which pump reports its pressure?" }, budget: { tokens: 20000 } }, objects: crowd });
  const hostile = [HOSTILE, "javascript:alert(1)", "<svg onload=alert(1)>", "x".repeat(250)];
  ids.hostile = await compile({
    request: { task: { objective: HOSTILE }, budget: { tokens: 3000 } },
    objects: hostile.map((name) => ({ name, object_type: "rule", content: `${name} says that pumps are warm. `.repeat(40) })),
  });
  const claim = (name, value) => ({ name, object_type: "project_decision", content: `The rollout is ${value}. ${HOSTILE}`, normalized_claim: `rollout.status == ${value}`, canonical_entity_ids: ["rollout"] });
  await api(address, key, "POST", "/api/v1/objects", { objects: [claim("rollout-open", "open"), claim("rollout-closed", "closed")] });
  await api(address, key, "POST", "/api/v1/registries", { label: "notes", kind: "agent" });
  await api(address, key, "POST", "/api/v1/registries/notes/import", { objects: [{ name: "first", object_type: "rule", content: "Be brief." }] }).catch(() => null);
  await api(address, key, "POST", "/api/v1/sessions", { id: "talk", text: "Set up the pump." });
  // What waits for a person: a correction, and a rule that is too old by its own.
  await api(address, key, "POST", "/api/v1/outcomes", { kind: "correction", mistake: "psi in the list", object: { name: "bars", content: `Valves are listed in bar. ${HOSTILE}` } });
  const old = { name: "warm-pump", object_type: "rule", content: "The pump at the northern station runs warm.", valid_from: "2020-01-01", decay_rule: { half_life_days: 1, minimum_threshold: 0.2 }, retirement_rule: "trigger_user_confirmation" };
  await api(address, key, "POST", "/api/v1/objects", { objects: [old] });
  tenure("store", "sweep", "--store", store, "--tenant", "acme");
  // An object that was said three times.
  for (const [at, bar] of [["2025-01-01", 3], ["2025-06-01", 4], ["2026-01-01", 6]]) {
    await api(address, key, "POST", "/api/v1/objects", { objects: [{ name: "pressure", object_type: "rule", content: `The pressure of the pump is ${bar} bar.`, valid_from: at }] });
  }
  // A compile under another version of a policy.
  const policy = fs.readFileSync(`${root}/examples/firmware/policy.toml`, "utf8").replace(/^version = .*$/m, 'version = "2.0.0"').replace("max = 800", "max = 300");
  fs.writeFileSync(path.join(folder, "second.toml"), policy);
  tenure("compile", ...firmware.slice(0, 5), "--policy", path.join(folder, "second.toml"), "--budget", "4500", "--store", store, "--tenant", "acme", "--record", "--target", "openai-chat");
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
  if (keep) await picture(page, path.join(keep, `${name}-${sheet}.webp`));
  expect(page.said.length === 0, `${name} (${sheet}): ${page.said.join("; ")}`);
  return { took, bytes };
}

// Sends a form, and waits for the page that answers.
const send = (page, button) => Promise.all([page.waitForNavigation({ waitUntil: "load" }), page.click(button)]);

// A picture of what is in the window, as the browser itself packs it.
async function picture(page, file) {
  const session = await page.context().newCDPSession(page);
  const { data } = await session.send("Page.captureScreenshot", { format: "webp", quality: 30 });
  fs.writeFileSync(file, Buffer.from(data, "base64"));
  await session.detach();
}

// The weights of a payload: all on its first item, as a model does that reads the beginning alone.
const weights = (digest, items) => JSON.stringify({ payload: digest, items: Array.from({ length: items }, (_, at) => (at === 0 ? 60 : at < 4 ? 5 : 0.01)) });

async function attend(page, url, record) {
  await page.goto(url);
  await page.click("summary:has-text('Lay attention weights')");
  await page.fill("textarea", weights(record.digest, record.items));
  await send(page, "main form button:has-text('Show')");
  expect(await page.isVisible("text=Of the weights"), "weights are laid over a payload");
}

// What has the focus, in words; and whether a reader sees that it has.
const focused = (page) => page.evaluate(() => {
  const one = document.activeElement;
  const box = one.getBoundingClientRect();
  const style = getComputedStyle(one);
  const seen = box.width > 0 && box.height > 0 && box.bottom > 0 && box.top < innerHeight && box.right > 0;
  const marked = one === document.body || (style.outlineStyle !== "none" && parseFloat(style.outlineWidth) >= 2) || !!one.querySelector("rect");
  const inside = !!one.closest("main");
  return { tag: one.localName, name: one.name || one.getAttribute("aria-label") || one.textContent.trim().slice(0, 60), href: one.getAttribute("href") || "", seen, marked, inside };
});

// Presses Tab until something is reached; every stop on the way is seen and marked. Gives the stops.
async function reach(page, what, holds, most = 60) {
  const stops = [];
  for (let press = 0; press < most; press += 1) {
    await page.keyboard.press("Tab");
    const at = await focused(page);
    stops.push(at);
    expect(at.seen && at.marked, `the focus on ${at.tag} "${at.name}" is not seen (${JSON.stringify(at)})`);
    if (holds(at)) return stops;
  }
  expect(false, `${what} is not reached with Tab: ${stops.map((stop) => `${stop.tag} ${stop.name}`).join(", ")}`);
  return stops;
}

// The whole way by the keyboard: skip link, filter, list, compile, candidates, candidate; a decision.
async function byKeyboard(page, address, ids) {
  const go = async () => {
    await Promise.all([page.waitForNavigation(), page.keyboard.press("Enter")]);
  };
  await page.goto(`${address}/inspect`);
  const first = await reach(page, "the skip link", () => true);
  expect(first[0].href === "#main", `the first stop is ${first[0].name}`);
  await page.keyboard.press("Enter");
  await page.keyboard.press("Tab");
  const behind = await focused(page);
  expect(behind.inside && behind.name === "q", `behind the skip link is ${behind.tag} ${behind.name}`);
  await page.keyboard.type("firmware");
  await reach(page, "the kind of records", (at) => at.name === "kind");
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("ArrowDown");
  await reach(page, "the button of the filter", (at) => at.tag === "button");
  await go();
  const filter = new URL(page.url()).searchParams;
  expect(filter.get("q") === "firmware" && filter.get("kind") === "compiles", `the filter led to ${page.url()}`);
  await reach(page, "a compile in the list", (at) => at.href.endsWith(ids.example));
  await go();
  expect((await page.textContent("h1")).includes(ids.example), `Enter led to ${page.url()}`);
  await reach(page, "its candidates", (at) => at.href.endsWith("/items"));
  await go();
  const order = await reach(page, "a candidate", (at) => /item\?at=/.test(at.href));
  const places = ["q", "verdict"].map((name) => order.findIndex((stop) => stop.name === name));
  expect(places.every((place) => place >= 0), "the filter comes before the candidates");
  await go();
  expect(/item\?at=/.test(page.url()), `Enter led to ${page.url()}`);

  await page.goto(`${address}/inspect/waiting`);
  await reach(page, "a decision", (at) => at.tag === "summary");
  await page.keyboard.press("Enter");
  const form = await reach(page, "the button of a decision", (at) => at.tag === "button");
  expect(form.some((stop) => stop.tag === "select"), "the choice comes before the button");
  await go();
  expect((await page.textContent("h1")).includes("Are you sure?"), `the first step led to ${page.url()}`);
  await reach(page, "the button that decides", (at) => at.tag === "button" && at.inside);
  await go();
  expect((await page.textContent("[role=status]")).includes("It is decided"), `the second step led to ${page.url()}`);
}

// The pressures, in bar, that an object's page shows as of then: what stands between that heading and the next.
async function asOfThen(page) {
  const shown = (await page.innerHTML("main")).split("<h2>As of then</h2>")[1].split("<h2>")[0];
  return [...shown.matchAll(/is (\d+) bar/g)].map((found) => found[1]).join(", ");
}

// Without script every page is read: a link, a filter, an instant, weights and a decision.
async function withoutScript(browser, address, key, ids, views) {
  const context = await browser.newContext({ javaScriptEnabled: false, viewport: { width: 1280, height: 900 } });
  const page = await context.newPage();
  await page.goto(`${address}/inspect`);
  await page.fill("input[name=key]", key);
  await page.click("main button");
  await page.click(`text=${ids.example}`);
  expect((await page.textContent("h1")).includes(ids.example), "without script a link leads to a compile");
  for (const [name, place] of Object.entries(views)) {
    await page.goto(address + place);
    const shown = (await page.textContent("main")).trim().length;
    expect(shown > 40 && (await page.isVisible("h1")), `without script ${name} shows ${shown} characters`);
    expect((await page.locator("main [hidden]:not(#live)").count()) === 0, `without script something of ${name} is hidden`);
  }
  await page.goto(`${address}/inspect/objects/pressure`);
  await page.fill("input[name=valid]", "2025-03-01");
  await send(page, "main form:has(input[name=valid]) button");
  expect((await asOfThen(page)) === "3", `without script an object is shown as of then: ${await asOfThen(page)}`);
  // The first of three instants, which a reader reaches with Home; it is another one than what was shown.
  await page.goto(`${address}/inspect/objects/pressure?valid=2025-07-01`);
  expect((await asOfThen(page)) === "4", `without script an object is shown as of a link: ${await asOfThen(page)}`);
  await page.focus("input[name=valid_step]");
  await page.keyboard.press("Home");
  await send(page, "main form:has(input[name=valid_step]) button");
  expect(/[?&]valid_step=0(&|$)/.test(page.url()), `without script the slider led to ${page.url()}`);
  expect((await asOfThen(page)) === "3", `without script an object is shown as of the slider: ${await asOfThen(page)}`);
  await attend(page, `${address}/inspect/records/${ids.example}/payload`, ids.weighed);
  await page.goto(`${address}/inspect/waiting`);
  await page.click("#outcomes ~ section summary >> nth=0");
  await send(page, "#outcomes ~ section details[open] button");
  expect((await page.textContent("h1")).includes("Are you sure?"), "without script a decision asks");
  await send(page, "main form button");
  expect((await page.textContent("[role=status]")).includes("It is decided"), "without script a decision is made");
  await context.close();
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
  const person = JSON.parse(tenure("keys", "create", "--tenant", "acme", "--operator", "--user", "rita", "--role", "reviewer", "--store", store, "--format", "json")).key;
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
      object: "/inspect/objects/pressure?valid_step=1&known_step=9",
      registries: "/inspect/registries",
      registry: "/inspect/registries/notes",
      waiting: "/inspect/waiting",
      trends: "/inspect/trends",
    };
    const report = path.join(folder, "report.html");
    tenure("report", ids.example, "--store", store, "--tenant", "acme", "-o", report);
    expect(fs.statSync(report).size <= 400000, `the report of the example has ${fs.statSync(report).size} bytes`);

    const talked = path.join(folder, "talk.html");
    tenure("report", session, "--store", store, "--tenant", "acme", "-o", talked);
    const told = fs.readFileSync(talked, "utf8");
    expect(/c\d+: messages \d+ to \d+, /.test(told), "the report of a conversation has its checkpoints");

    const sheets = full || shots ? [["wide", 1280, "light"], ["wide-dark", 1280, "dark"], ["narrow", 360, "light"], ["narrow-dark", 360, "dark"]] : [["wide", 1280, "light"], ["narrow-dark", 360, "dark"]];
    const smoke = ["overview", "compile", "crowd", "hostile", "waiting"];
    let looked = 0;
    for (const [sheet, width, colorScheme] of sheets) {
      const context = await browser.newContext({ viewport: { width, height: shots ? 720 : 900 }, colorScheme });
      const page = await watched(context, address);
      await page.goto(`${address}/inspect/trends`);
      await page.fill("input[name=key]", person);
      await page.click("main button");
      expect(page.url().endsWith("/inspect/trends"), `signing in led to ${page.url()}`);
      for (const [name, place] of Object.entries(views)) {
        if (!full && !shots && !smoke.includes(name)) continue;
        // The same views of other data are looked at, and not kept.
        const keep = /^(crowd|hostile)/.test(name) ? null : shots;
        const { took, bytes } = await open(page, address + place, { name, sheet, keep });
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
      if (full || shots) {
        await attend(page, `${address}${of(ids.example, "/payload")}`, ids.weighed);
        if (shots) await picture(page, path.join(shots, `attention-${sheet}.webp`));
        await page.goto(`${address}/inspect/waiting`);
        await page.click("summary >> nth=0");
        await send(page, "details[open] button");
        if (shots) await picture(page, path.join(shots, `sure-${sheet}.webp`));
        await page.goto(`${address}/inspect/sign-in`);
        if (shots) await picture(page, path.join(shots, `sign-in-${sheet}.webp`));
      }
      await context.close();

      const cookie = { name: "tenure_key", value: person, domain: "127.0.0.1", path: "/inspect", expires: -1, httpOnly: true, secure: false, sameSite: "Strict" };
      // What checks runs in the page, which the page's own policy forbids.
      const checked = await browser.newContext({ viewport: { width, height: 900 }, colorScheme, bypassCSP: true, storageState: { cookies: [cookie], origins: [] } });
      const checking = await within(60, "a new page", checked.newPage());
      for (const [name, place] of [...Object.entries(views), ["sign-in", "/inspect/sign-in"], ["report", `file://${report}`]]) {
        if (!full && !shots && !smoke.includes(name) && name !== "report") continue;
        await checking.goto(place.startsWith("file:") ? place : address + place);
        await audit(checking, name, sheet);
      }
      if (full || shots) {
        await attend(checking, `${address}${of(ids.example, "/payload")}`, ids.weighed);
        await audit(checking, "attention", sheet);
        await checking.goto(`${address}/inspect/waiting`);
        await checking.click("summary >> nth=0");
        await send(checking, "details[open] button");
        await audit(checking, "sure", sheet);
      }
      await checked.close();
    }
    const context = await browser.newContext({ viewport: { width: 1280, height: 900 } });
    await context.addCookies([{ name: "tenure_key", value: person, domain: "127.0.0.1", path: "/inspect", httpOnly: true, sameSite: "Strict" }]);
    await byKeyboard(await watched(context, address), address, ids);
    await context.close();
    const some = Object.fromEntries(Object.entries(views).filter(([name]) => full || smoke.includes(name)));
    await withoutScript(browser, address, person, ids, some);
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
