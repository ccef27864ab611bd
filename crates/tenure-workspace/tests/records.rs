//! Records: what they say of a compile and of a request that went through a gateway, and what they prove.

use std::time::Duration;

use serde_json::{Value, json};
use tenure::time::Instant;
use tenure::{
    AsOf, Budget, COMPILER, Candidates, Facts, FrameKey, ObjectDocument, Policy, Request, compile,
};
use tenure_store::{Store, Tenant};
use tenure_workspace::records::{Proof, Recording};
use tenure_workspace::{Gathered, Workspace};

struct Bench {
    _folder: tempfile::TempDir,
    workspace: Workspace,
    tenant: Tenant,
}

impl Bench {
    fn new() -> Bench {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::sqlite(&folder.path().join("store.db")).unwrap();
        Bench {
            workspace: Workspace::new(FrameKey::new("test", [7; 32])).unwrap(),
            tenant: store.tenant("acme").unwrap(),
            _folder: folder,
        }
    }

    /// Compiles these texts and keeps a record; gives its id.
    fn recorded(&self, texts: &[&str], budget: u32) -> String {
        let objects = texts.iter().enumerate();
        let objects = objects.map(|(at, text)| ObjectDocument::named(format!("rule-{at}"), *text));
        let policy = Policy::preset("standard").unwrap();
        let request = Request::new("Report the pressure.", Budget::tokens(budget));
        self.record(objects.collect(), &policy, request)
    }

    fn record(&self, objects: Vec<ObjectDocument>, policy: &Policy, request: Request) -> String {
        let objects = objects.into_iter().map(|object| object.seal().unwrap());
        let gathered = Gathered::of_sources(Candidates::new(objects.collect()));
        let facts = Facts::none();
        let world = self.workspace.world("gpt-4o").unwrap();
        let outcome = compile(&world, policy, &request, &gathered.candidates, &facts).unwrap();
        let recording = Recording {
            outcome: &outcome,
            request: &request,
            policy,
            template: None,
            gathered: &gathered,
            facts: &facts,
            compiled_at: Instant::from_micros(1_000_000),
            latency: Duration::ZERO,
        };
        let mut kept = self
            .workspace
            .records(&self.tenant)
            .keep(&recording)
            .unwrap();
        kept.remove(0)
    }

    /// Changes the body of a record behind the workspace's back.
    fn alter(&self, id: &str, change: impl Fn(&mut Value) + Send + 'static) {
        let altered = self.tenant.change_record(id, move |row| {
            let mut body: Value = serde_json::from_str(&row.body).unwrap();
            change(&mut body);
            Ok((body.to_string(), ()))
        });
        altered.unwrap().unwrap();
    }
}

#[test]
fn what_another_compiler_made_is_not_proven_and_is_no_fault() {
    let bench = Bench::new();
    let id = bench.recorded(&["Report pressure in pascal."], 400);
    let replay = bench.workspace.records(&bench.tenant).replay(&id).unwrap();
    assert_eq!(replay.proof, Proof::Whole);
    assert_eq!(replay.record.record.compiler, COMPILER);
    // Records had no number before there was a second compiler.
    bench.alter(&id, |body| {
        let record = body["record"].as_object_mut().unwrap();
        record.remove("compiler").unwrap();
        record["trace"]["payload_digest"] = format!("sha256:{}", "0".repeat(64)).into();
    });
    let replay = bench.workspace.records(&bench.tenant).replay(&id).unwrap();
    assert_eq!(replay.proof, Proof::OtherCompiler);
    let shown = replay.to_json(&id);
    assert_eq!(shown["proof"], "other_compiler");
    assert_eq!(shown["compiler"], 1);
    assert_ne!(shown["payload_digest"], shown["recorded_digest"]);
    // The same difference in a record of this compiler is a fault.
    bench.alter(&id, |body| body["record"]["compiler"] = COMPILER.into());
    bench
        .workspace
        .records(&bench.tenant)
        .replay(&id)
        .unwrap_err();
}

#[test]
fn the_trace_of_a_prefill_says_what_overflowed() {
    let bench = Bench::new();
    let policy = Policy::from_toml("").unwrap();
    let passage = |name: &str, lines: usize| {
        let line = |at: usize| format!("At {at} o'clock the northern pump stood at {at} bar.\n");
        let text: String = (0..lines).map(line).collect();
        let mut passage = ObjectDocument::evidence(name, "2026-06-01".parse().unwrap(), text);
        passage.tags = vec!["pump".into()];
        passage
    };
    let shown = |tokens: u32| {
        let request = Request::new(
            "When did the northern pump stand at 7 bar?",
            Budget::tokens(tokens),
        );
        let id = bench.record(
            vec![passage("log", 90), passage("note", 3)],
            &policy,
            request,
        );
        let record = bench.workspace.records(&bench.tenant).get(&id).unwrap();
        let shown = bench
            .workspace
            .records(&bench.tenant)
            .prefill(&record)
            .unwrap();
        (shown, record.record.trace)
    };
    let (whole, trace) = shown(9_000);
    assert_eq!(whole["section_allocations"]["evidence"]["overflow"], false);
    assert_eq!(whole["compression_ratios"]["evidence"], 0.0);
    assert_eq!(whole["excluded_items"], json!([]));
    assert_eq!(whole["config_version"], trace.policy.version);
    assert_eq!(whole["input_hash"], json!(trace.input_digest));
    let (tight, trace) = shown(1_200);
    let evidence = &tight["section_allocations"]["evidence"];
    assert_eq!(evidence["overflow"], true, "{tight}");
    assert!(evidence["used"].as_u64() <= Some(u64::from(trace.budget)));
    let ratio = tight["compression_ratios"]["evidence"].as_f64().unwrap();
    let [condensed] = &trace.condensed[..] else {
        panic!("{:?}", trace.condensed)
    };
    assert!(
        ratio > 0.0 && ratio < 1.0 && condensed.to < condensed.from,
        "{tight}"
    );
    let (least, _) = shown(220);
    let items = least["excluded_items"].as_array().unwrap();
    assert!(!items.is_empty(), "{least}");
    let fields = ["item_id", "section", "reason", "score"];
    assert!(
        items
            .iter()
            .all(|item| fields.iter().all(|field| item.get(*field).is_some()))
    );
}

#[test]
fn the_trace_of_the_principle_is_of_its_compile() {
    let bench = Bench::new();
    let now: Instant = "2026-06-01T00:00:00Z".parse().unwrap();
    let policy = Policy::from_toml("[sections.memory]\nfreshness_floor = 0.3").unwrap();
    let principle = |text: &str, written: &str, project: Option<&str>| {
        let object = json!({
            "name": "gauge", "content": text, "object_type": "rule", "valid_from": written,
            "decay_rule": { "half_life_days": 1.0 },
        });
        let object: ObjectDocument = serde_json::from_value(object).unwrap();
        let mut request = Request::new("Report the pressure.", Budget::tokens(400));
        request.as_of = AsOf::both(now);
        request.principal.project = project.map(str::to_owned);
        let id = bench.record(vec![object], &policy, request);
        let record = bench.workspace.records(&bench.tenant).get(&id).unwrap();
        bench
            .workspace
            .records(&bench.tenant)
            .principle(&record)
            .unwrap()
    };
    let (new, old) = ("2026-05-31T00:00:00Z", "2016-01-01T00:00:00Z");
    let plain = principle("The pressure was 4 bar.", new, None);
    assert_eq!(plain["validation_status"], "CLEAN");
    assert_eq!(plain["observability_metrics"]["state_decay_evictions"], 0);
    let decayed = principle("The pressure was 3 bar.", old, None);
    assert_eq!(decayed["observability_metrics"]["state_decay_evictions"], 1);
    let hidden = principle("The pres\u{200b}sure was 5 bar.", new, None);
    assert_eq!(hidden["validation_status"], "FLAGGED");
    // The same for a tenant's project, whatever is compiled; another for another project.
    let key = |shown: &Value| {
        let key = shown.pointer("/state_compilation_metadata/cache_metadata/prompt_cache_key");
        key.unwrap().as_str().unwrap().to_owned()
    };
    assert_eq!(key(&plain), key(&decayed));
    assert_ne!(
        key(&plain),
        key(&principle("The pressure was 4 bar.", new, Some("north")))
    );
    // What its provider said of it.
    assert_eq!(plain["cache_hit_status"], "UNKNOWN");
    assert_eq!(plain["downstream_retries_triggered"], 0);
}

#[test]
fn what_higher_authority_overrides_is_quarantined_where_the_policy_says_so() {
    let claims = |name: &str, authority: u8, port: u16| {
        let object = json!({
            "name": name, "content": format!("The port is {port}."), "object_type": "rule", "authority_level": authority,
            "normalized_claim": format!("port == {port}"), "canonical_entity_ids": ["desk"],
        });
        serde_json::from_value::<ObjectDocument>(object).unwrap()
    };
    for (rule, listed) in [
        ("settle", "omitted_objects"),
        ("quarantine", "quarantined_objects"),
    ] {
        let bench = Bench::new();
        let policy = Policy::from_toml(&format!("contradictions = \"{rule}\"")).unwrap();
        let objects = vec![claims("low", 3, 80), claims("high", 2, 443)];
        let id = bench.record(
            objects,
            &policy,
            Request::new("Open the port.", Budget::tokens(400)),
        );
        let records = bench.workspace.records(&bench.tenant);
        let shown = records.principle(&records.get(&id).unwrap()).unwrap();
        let shown = &shown["state_compilation_metadata"];
        for list in ["omitted_objects", "quarantined_objects"] {
            let out = shown[list].as_array().unwrap();
            assert_eq!(out.len(), usize::from(list == listed), "{rule}: {shown}");
        }
        let out = &shown[listed][0];
        assert_eq!(out["reason"], "overridden");
        let status = if rule == "quarantine" {
            "quarantined"
        } else {
            "overridden"
        };
        assert_eq!(out["contradiction_status"], status);
    }
}
