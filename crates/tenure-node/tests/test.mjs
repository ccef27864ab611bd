// What a user of the package does, and does wrong, with the package as it is published.

import assert from "node:assert/strict";
import fs, { mkdtempSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { Worker } from "node:worker_threads";

import * as tenure from "tenure";

const ROOT = process.env.TENURE_ROOT;
const folder = mkdtempSync(join(tmpdir(), "tenure-"));
writeFileSync(join(folder, "key"), "7".repeat(64));
const workspace = new tenure.Workspace({ frameKey: join(folder, "key") });
const CONVERSATION = [
  { role: "user", content: "What is the pressure of valve 3?" },
  { role: "assistant", content: "2 bar." },
  { role: "user", content: "How much is that in pascal?" },
];

const cases = readdirSync(join(ROOT, "tests/contract")).filter((name) => name.endsWith(".json"));
assert.ok(cases.length >= 6);
for (const name of cases) {
  test(`the same as on every face: ${name}`, async () => {
    const { call, expected } = JSON.parse(readFileSync(join(ROOT, "tests/contract", name), "utf8"));
    const compiled = await workspace.compile({ request: call.request, objects: call.objects, policy: call.policy });
    const told = {
      payload_digest: compiled.envelope.payload_digest,
      total_tokens: compiled.tokens,
      verdicts: compiled.verdicts.map((verdict) => [verdict.name, verdict.reason.code]),
    };
    assert.deepEqual(told, expected);
  });
}

test("both forms of the package are the same", async () => {
  const required = createRequire(import.meta.url)("tenure");
  assert.equal(required.version, tenure.version);
  const own = new required.Workspace({ frameKey: join(folder, "key") });
  const options = { task: "Report.", objects: [tenure.rule("units", "Report pressure in pascal.")], budget: 300 };
  assert.equal((await own.compile(options)).text, (await workspace.compile(options)).text);
});

test("objects, a task and a budget", async () => {
  const rules = [tenure.rule("units", "Report pressure in pascal."), tenure.rule("names", "Name functions with verbs.")];
  const compiled = await workspace.compile({ task: "Report the pressure.", objects: rules, budget: 300 });
  assert.ok(compiled.tokens <= 300);
  assert.deepEqual(compiled.included.map((verdict) => verdict.name), ["units", "names"]);
  assert.equal(workspace.tokens(compiled.text).tokens, compiled.tokens);
  const kept = await workspace.objects(rules);
  assert.equal(kept.length, 2);
  assert.equal((await workspace.compile({ task: "Report the pressure.", objects: kept, budget: 300 })).text, compiled.text);
});

test("messages become a request", async () => {
  const tool = { type: "function", function: { name: "read", parameters: { type: "object", properties: {} } } };
  const compiled = await workspace.compile({ messages: CONVERSATION, tools: [tool], budget: 2000, model: "gpt-4o" });
  assert.deepEqual(compiled.request.messages, CONVERSATION);
  assert.deepEqual(compiled.request.tools, [tool]);
  assert.deepEqual(workspace.check(compiled.request), []);
  const claude = await workspace.compile({ messages: CONVERSATION, system: "Be brief.", budget: 2000, model: "claude-sonnet-4-5" });
  assert.ok(JSON.stringify(claude.request.system).includes("Be brief."));
  assert.ok(claude.request.max_tokens > 0);
});

test("documents, and why one is out", async () => {
  const documents = ["The pressure of valve 3 is 2 bar.", { text: "Cakes need eggs.", name: "cakes" }];
  const compiled = await workspace.compile({ task: "What is the pressure of valve 3?", documents, budget: 2000 });
  assert.deepEqual(compiled.omitted.map((verdict) => verdict.name), ["cakes"]);
  assert.ok(JSON.stringify(await compiled.why("cakes")).length > 2);
  await assert.rejects(compiled.why("nothing"), tenure.TenureError);
});

test("files", async () => {
  const compiled = await workspace.compile({ task: "Set up 500 Hz PWM on PB7.", files: join(ROOT, "examples/firmware"), readAs: "guidance", budget: 4500 });
  assert.ok(compiled.included.some((verdict) => verdict.name === "timer-channel-map"));
});

test("errors have a kind and a place", async () => {
  const of = async (options) => workspace.compile(options).then(() => assert.fail("it compiled"), (error) => error);
  const small = await of({ task: "Report.", objects: [tenure.rule("units", "pascal ".repeat(500))], budget: 200 });
  assert.ok(small instanceof tenure.TenureError && small.kind === "budget");
  assert.equal((await of({ budget: 300 })).kind, "usage");
  const slip = await of({ task: "x", objects: [tenure.rule("a", "b"), { name: "c", contents: "d" }], budget: 300 });
  assert.ok(slip.where.includes("objects[1]"), slip.message);
});

test("a typo is no default: unknown options are refused, with those that are known", async () => {
  const refused = async (work, unknown, known) => {
    const error = await Promise.resolve().then(work).then(() => assert.fail(`it took ${unknown}`), (error) => error);
    assert.ok(error instanceof tenure.TenureError, String(error));
    assert.equal(error.kind, "input");
    assert.ok(error.message.includes(`unknown option \`${unknown}\``) && error.expected.includes(known), error.message);
    return error;
  };
  await refused(() => workspace.compile({ task: "x", budgt: 300 }), "budgt", "budget");
  const error = await refused(() => workspace.compile({ task: "x", budget: 300, top_k: 3 }), "top_k", "threshold");
  assert.equal(error.hint, "did you mean `topK`?");
  await refused(() => workspace.gate({ task: "x", budget: 3 }), "budget", "topK");
  await refused(() => new tenure.Workspace({ framekey: "x" }), "framekey", "frameKey");
  await refused(() => workspace.tokens("x", { models: "gpt-4o" }), "models", "model");
  await refused(() => workspace.condense("x", 9, { keeps: "x" }), "keeps", "keep");
  const session = await workspace.session(await workspace.store(join(folder, "typo.db")));
  await refused(() => session.compile({ messages: [] }), "messages", "budget");
  await refused(() => session.append([], { from: "openai" }), "from", "format");
  await assert.rejects(workspace.compile(null), tenure.TenureError);
});

test("a result of a tool that is larger than the budget is condensed", async () => {
  const log = Array.from({ length: 900 }, (_, at) => `2026-01-01 00:00:${at} INFO worker ${at} ${at === 451 ? "FAILED: code 8813" : "started"}`).join("\n");
  const messages = [
    { role: "user", content: "Which worker failed, with which code?" },
    { role: "assistant", content: null, tool_calls: [{ id: "c1", type: "function", function: { name: "read", arguments: "{}" } }] },
    { role: "tool", tool_call_id: "c1", content: log },
  ];
  const compiled = await workspace.compile({ messages, budget: 4000 });
  assert.ok(compiled.tokens <= 4000 && compiled.text.includes("8813"));
  assert.deepEqual(compiled.request.messages.slice(0, 2), messages.slice(0, 2));
  assert.equal(compiled.text, (await workspace.compile({ messages, budget: 4000 })).text);
  assert.deepEqual((await workspace.compile({ messages, budget: 100_000 })).request.messages, messages);
});

const cyclic = [];
cyclic.push(cyclic);
for (const bad of [null, NaN, undefined, "\ud800", new Uint8Array(3), 10n ** 400n, cyclic, () => 1, { content: null }, 7, Symbol("x")]) {
  test(`bad input is an error of the package: ${typeof bad}`, async () => {
    for (const options of [{ documents: [bad] }, { messages: [bad] }, { objects: [bad] }, { budget: bad ?? NaN }]) {
      await assert.rejects(workspace.compile({ task: "x", ...options }), tenure.TenureError, Object.keys(options)[0]);
    }
  });
}

test("condense and rehydrate", async () => {
  const text = Array.from({ length: 400 }, (_, at) => `2026-01-01T00:00:${at % 60} INFO worker ${at} started`).join("\n") + "\nERROR disk full";
  const short = await workspace.condense(text, 200, { keep: join(folder, "kept") });
  assert.ok(short.to <= 200 && short.text.includes("disk full"));
  assert.equal((await workspace.rehydrate(short.pointer, { keep: join(folder, "kept") })).toString(), text);
});

test("a store remembers, and a session goes on", async () => {
  const store = await workspace.store(join(folder, "s.db"));
  await store.put(tenure.rule("units", "Report pressure in pascal."));
  await store.put([tenure.rule("units", "Report pressure in bar.")]);
  assert.equal((await store.get("units"))[0].object.content, "Report pressure in bar.");
  assert.ok((await store.history("units")).length >= 2);
  assert.deepEqual((await store.search("pressure")).map((found) => found.name), ["units"]);
  const compiled = await workspace.compile({ task: "Report the pressure.", store, budget: 400, record: true });
  assert.ok(compiled.text.includes("in bar.") && compiled.records.length === 1);
  const session = await workspace.session(store, "valves", { format: "openai-chat" });
  await session.append(CONVERSATION);
  const first = await session.compile({ budget: 4000 });
  assert.deepEqual(first.request.messages.slice(-3), CONVERSATION);
  await session.append({ role: "assistant", content: "200,000 Pa." });
  assert.equal(session.length, 4);
  assert.deepEqual(await (await workspace.session(store, "valves")).export(), await session.export());
  await store.retract("units");
  assert.deepEqual(await store.get("units"), []);
});

test("an outcome is proposed, listed and decided on", async () => {
  const store = await workspace.store(join(folder, "outcomes.db"));
  const tenant = store.tenant("local", { author: "agent 7" });
  const written = await tenant.proposeOutcome({ content: "List valves in bar.", name: "bars", mistake: "in psi" });
  assert.equal(written.objects[0].outcome, "created");
  const { outcomes: [line] } = await tenant.listOutcomes({ state: "proposed" });
  assert.deepEqual([line.kind, line.proposed_by], ["correction", "agent 7"]);
  assert.deepEqual((await tenant.listProposals()).proposals.map((waiting) => waiting.name), ["bars"]);
  await tenant.decideOutcome({ outcome: "bars", decision: "accept", by: "ada" });
  await tenant.repeatMistake({ outcome: "bars" });
  const { outcomes: [decided] } = await tenant.listOutcomes({ principal: { clearance: "highly_restricted" } });
  assert.deepEqual([decided.state, decided.decided_by, decided.repeats], ["accepted", "ada", 1]);
  assert.deepEqual(await tenant.listOutcomes({ principal: { clearance: "public" } }), { outcomes: [] });
  const compiled = await workspace.compile({ task: "List the valves in bar.", store, budget: 500 });
  assert.deepEqual(compiled.included.map((verdict) => verdict.name), ["bars"]);
});

test("an operation that is called wrongly names what is wrong", async () => {
  const tenant = (await workspace.store(join(folder, "wrong.db"))).tenant();
  for (const [given, where, said] of [
    [{}, "content", "a text or an object"],
    [{ content: 3 }, "content", "expected: a string"],
    [{ content: "x", derivedFrom: ["y"] }, "derived_from", "`y`"],
    [{ object: { contents: "x" } }, "object.contents", "did you mean `content`?"],
    [{ contents: "x" }, "proposeOutcome.contents", "expected: one of content, "],
    [{ derived_from: [] }, "proposeOutcome.derived_from", "did you mean `derivedFrom`?"],
    [{ content: Number.NaN }, "proposeOutcome", "NaN"],
    [null, "proposeOutcome", "an object"],
  ]) {
    await assert.rejects(tenant.proposeOutcome(given), (error) => {
      assert.ok(error instanceof tenure.TenureError, String(error));
      assert.equal(error.where, where);
      assert.ok(error.message.includes(said), error.message);
      return true;
    });
  }
  await assert.rejects(tenant.proposeOutcome({ content: "x" }, { kay: "k1" }), /unknown option `kay`/);
  await assert.rejects(tenant.call("listOutcome", {}, []), /did you mean `listOutcomes`/);
  assert.deepEqual(await tenant.listOutcomes(), { outcomes: [] });
});

test("a write with a key happens once, and in its tenant alone", async () => {
  const store = await workspace.store(join(folder, "tenants.db"));
  const [acme, local] = [store.tenant("acme"), store.tenant()];
  const first = await acme.proposeOutcome({ content: "In bar.", name: "bars" }, { key: "k1" });
  assert.deepEqual(await acme.proposeOutcome({ content: "In bar.", name: "bars" }, { key: "k1" }), first);
  await assert.rejects(acme.proposeOutcome({ content: "In psi." }, { key: "k1" }), { kind: "conflict" });
  assert.equal((await acme.listOutcomes()).outcomes.length, 1);
  assert.deepEqual(await local.listOutcomes(), { outcomes: [] });
  await assert.rejects(local.decideOutcome({ outcome: "bars", decision: "accept", by: "ada" }), { where: "outcome" });
  assert.throws(() => store.tenant("acme", { authors: "x" }), /unknown option `authors`/);
});

test("a registry", async () => {
  const registries = workspace.registries();
  const registry = registries.create("main");
  for (const name of ["a", "b", "c"]) registry.writeBlock(name, `Block ${name} says ${name}.`, { trajectory_id: "run-1" });
  registry.promote("c");
  registry.revise("a", "Block a says more.");
  registry.evict("b");
  assert.deepEqual(registry.blocks().map((block) => block.name), ["c", "a"]);
  const compiled = await workspace.compile({ task: "What does block a say?", objects: registry.objects(), budget: 900, policy: "ordered" });
  assert.ok(compiled.text.includes("Block a says more."));
  registries.save(join(folder, "snapshot.json"));
  const kept = workspace.registries(join(folder, "snapshot.json")).get("main");
  assert.deepEqual(kept.evictUntil(20, (block) => (block.name === "c" ? 1 : 0)), { gone: ["a"], short: 0 });
  registry.rollback("run-1");
  assert.equal(registry.blocks().length, 0);
});

test("a library of seeds, and the cache", async () => {
  const registry = workspace.registries().fromFiles("firmware", join(ROOT, "examples/firmware/library.md"));
  const near = await registry.findRelevant("Set up 500 Hz PWM on pin PB7 with TIM4 channel 2.", 3);
  assert.deepEqual(near.map((block) => block.rank), [1, 2, 3]);
  assert.equal(near[0].name, "timer-channel-map");
  assert.ok((await registry.compile({ task: "Set up PWM.", budget: 9000 })).tokens > 100);
  const rules = Array.from({ length: 200 }, (_, at) => tenure.rule(`rule-${at}`, `Rule ${at} is about valve ${at} and its pressure.`));
  const options = { messages: CONVERSATION, objects: rules, budget: 20000, model: "claude-sonnet-4-5" };
  const plain = await workspace.compile(options);
  const marked = await workspace.compile({ ...options, cache: true });
  assert.ok(!plain.text.includes("cache_control") && marked.text.includes("cache_control"));
  assert.equal(plain.cachePlan().model, "claude-sonnet-4-5");
});

test("the loop goes on, threads work, a call can be taken back", async () => {
  const rules = await workspace.objects(Array.from({ length: 500 }, (_, at) => tenure.rule(`r${at}`, `Rule ${at} is about valve ${at}.`)));
  let ticks = 0;
  const ticking = setInterval(() => ticks++, 1);
  const options = { task: "What about valve 7?", objects: rules, budget: 20000 };
  const [one, other] = await Promise.all([workspace.compile(options), workspace.compile(options)]);
  clearInterval(ticking);
  assert.equal(one.text, other.text);
  const controller = new AbortController();
  const many = Array.from({ length: 64 }, () => workspace.compile({ ...options, signal: controller.signal }));
  controller.abort();
  const ended = await Promise.allSettled(many);
  assert.ok(ended.some((result) => result.status === "rejected"));
  const code = `const { parentPort, workerData } = require("node:worker_threads");
    const tenure = require(workerData.tenure);
    new tenure.Workspace({ frameKey: workerData.key }).compile({ task: "x", budget: 300 }).then((done) => parentPort.postMessage(done.tokens));`;
  const worker = new Worker(code, { eval: true, workerData: { key: join(folder, "key"), tenure: createRequire(import.meta.url).resolve("tenure") } });
  const said = await new Promise((resolve, reject) => worker.on("message", resolve).on("error", reject));
  assert.ok(said > 0);
});

const BLOCKS = [
  { name: "long", content: "x ".repeat(50) },
  { name: "short", content: "pressure" },
];
const NEAREST = { task: "What is the pressure?", objects: BLOCKS, policy: "ordered", topK: 1, budget: 900 };
const scored = (scorer) => new tenure.Workspace({ frameKey: join(folder, "key"), scorer });
const byLength = (task, texts) => texts.map((text) => Math.min(1, text.length / 100));

test("a function scores, and so does one that is async", async () => {
  const asked = [];
  const own = scored((task, texts) => {
    asked.push(task);
    return byLength(task, texts);
  });
  const names = async (workspace) => (await workspace.compile(NEAREST)).included.map((verdict) => verdict.name);
  assert.deepEqual(await names(own), ["long"]);
  assert.ok(asked.length > 0 && asked.every((task) => task === NEAREST.task), String(asked));
  assert.deepEqual(await names(workspace), ["short"]);
  // It may take its time: the loop goes on, and more compiles wait for it than Node has threads.
  let ticks = 0;
  const ticking = setInterval(() => ticks++, 1);
  const slow = scored(async (task, texts) => {
    await new Promise((resolve) => setTimeout(resolve, 20));
    return byLength(task, texts);
  });
  const all = await Promise.all(Array.from({ length: 32 }, () => names(slow)));
  clearInterval(ticking);
  assert.ok(all.every((found) => found[0] === "long") && ticks > 10);
  // Where it knows nothing, the built-in ranker decides.
  assert.deepEqual(await names(scored((task, texts) => texts.map(() => null))), ["short"]);
  const registry = own.registries().create("a");
  registry.writeBlock("long", BLOCKS[0].content);
  registry.writeBlock("short", BLOCKS[1].content);
  assert.equal((await registry.findRelevant("pressure", 1))[0].name, "long");
});

test("a scorer that fails is named, and one that would wait for itself is refused", async () => {
  const refused = (scorer, what) => assert.rejects(scored(scorer).compile(NEAREST), (error) => error instanceof tenure.TenureError && error.where === "scorer" && what.test(error.message));
  await refused(() => { throw new Error("no pump"); }, /the scorer failed: no pump/);
  await refused(async () => { throw "a word"; }, /the scorer failed: a word/);
  await refused(() => [], /gave 0 numbers for 2 texts/);
  await refused(() => [7, 7], /gave 7/);
  await refused(() => [NaN, 0], /NaN/);
  await refused(() => undefined, /undefined/);
  await refused(() => "half", /no list of numbers/);
  await refused(() => ["a", "b"], /no list of numbers/);
  await refused(async (task, texts) => ((await workspace.compile({ task, budget: 400 })) ? byLength(task, texts) : []), /may not wait for Tenure/);
  assert.throws(() => scored("no function"), /no function/);
  // What is thrown may be anything; it never ends the process.
  await refused(() => { throw Object.assign(new Error(), { message: 42 }); }, /the scorer failed: 42/);
  await refused(() => { throw Object.create(null); }, /the scorer failed: what it threw has no text/);
  await refused(async () => { throw { toString() { throw new Error("no text"); } }; }, /the scorer failed: what it threw has no text/);
  for (const scorerTimeout of [Infinity, NaN, -1, 0, 1.5, 2 ** 31, "50", null]) {
    const refusal = (error) => error instanceof tenure.TenureError && error.where === "scorerTimeout" && /from 1 to 2147483647/.test(error.expected);
    assert.throws(() => new tenure.Workspace({ frameKey: join(folder, "key"), scorer: byLength, scorerTimeout }), refusal, String(scorerTimeout));
  }
  const silent = new tenure.Workspace({ frameKey: join(folder, "key"), scorer: () => new Promise(() => {}), scorerTimeout: 50 });
  await assert.rejects(silent.compile(NEAREST), /no answer in 50 ms/);
  // Afterwards all goes on.
  assert.equal((await scored(byLength).compile(NEAREST)).included[0].name, "long");
});

test("a scorer may use Node's pool of threads itself, however many compiles wait for it", async () => {
  const scorer = async (task, texts) => {
    await fs.promises.readFile(join(folder, "key"));
    return byLength(task, texts);
  };
  const reading = new tenure.Workspace({ frameKey: join(folder, "key"), scorer, scorerTimeout: 20_000 });
  const all = await Promise.all(Array.from({ length: 8 }, () => reading.compile(NEAREST)));
  assert.ok(all.every((compiled) => compiled.included[0].name === "long"));
  // A session's other verbs wait for its compile, and hold no more threads than compiles do.
  const store = await reading.store(join(folder, "reading.db"));
  const session = await reading.session(store, undefined, { format: "openai-chat" });
  await session.append(CONVERSATION);
  const told = [session.compile({ objects: BLOCKS, policy: "standard", model: "gpt-4o" }), ...Array.from({ length: 8 }, () => session.export())];
  assert.equal((await Promise.all(told)).length, 9);
});

test("scored compiles wait in turn, in all of the process, and what fails or is taken back gives its turn on", async () => {
  let answers = [];
  let most = 0;
  const held = () => new Promise((resolve) => {
    answers.push(resolve);
    most = Math.max(most, answers.length);
  });
  const holding = scored(async (task, texts) => {
    await held();
    return byLength(task, texts);
  });
  const other = createRequire(import.meta.url)("tenure");
  const too = new other.Workspace({ frameKey: join(folder, "key"), scorer: async (task, texts) => (await held(), byLength(task, texts)) });
  const controller = new AbortController();
  const first = [holding.compile(NEAREST), too.compile(NEAREST), holding.compile(NEAREST)];
  const taken = [holding, too].map((workspace) => workspace.compile({ ...NEAREST, signal: controller.signal }));
  const last = [holding.compile(NEAREST), too.compile({ ...NEAREST, budget: 1 }).catch(() => {}), too.compile(NEAREST)];
  controller.abort();
  for (const result of await Promise.allSettled(taken)) assert.equal(result.reason?.name, "AbortError");
  await assert.rejects(holding.compile({ ...NEAREST, signal: AbortSignal.abort() }), { name: "AbortError" });
  const answering = setInterval(() => {
    answers.forEach((answer) => answer());
    answers = [];
  }, 50);
  await Promise.all([...first, ...last]);
  clearInterval(answering);
  const pool = Number(process.env.UV_THREADPOOL_SIZE ?? 4);
  assert.ok(most >= 1 && most <= Math.max(1, pool - 2), String(most));
});

test("a session whose compile waits for a scorer is not waited for on the scorer's thread", async () => {
  let session;
  const within = [];
  const own = scored(async (task, texts) => {
    try {
      within.push(session.length);
    } catch (error) {
      within.push(error.kind);
    }
    await session.append({ role: "user", content: "Again." }).catch((error) => within.push(error.kind));
    return byLength(task, texts);
  });
  const store = await own.store(join(folder, "scored.db"));
  session = await own.session(store, undefined, { format: "openai-chat" });
  await session.append(CONVERSATION);
  const compiling = session.compile({ objects: BLOCKS, policy: "standard", model: "gpt-4o" });
  assert.ok(session.id.length > 0);
  assert.ok((await compiling).tokens > 0);
  assert.equal(session.length, CONVERSATION.length);
  assert.ok(within.length > 0 && within.every((kind) => kind === "conflict" || kind === "usage"), String(within));
});

test("a worker that is ended in the middle of a score ends", async () => {
  const code = `const { parentPort, workerData } = require("node:worker_threads");
    const tenure = require(workerData.tenure);
    const scorer = () => { parentPort.postMessage("asked"); return new Promise(() => {}); };
    setInterval(() => {}, 1000);
    new tenure.Workspace({ frameKey: workerData.key, scorer, scorerTimeout: 700 }).compile(workerData.call);`;
  const worker = new Worker(code, { eval: true, workerData: { key: join(folder, "key"), tenure: createRequire(import.meta.url).resolve("tenure"), call: NEAREST } });
  await new Promise((resolve, reject) => worker.on("message", resolve).on("error", reject));
  await worker.terminate();
});
