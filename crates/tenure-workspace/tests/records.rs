//! Records: what they say of a compile and of a request that went through a gateway, and what they prove.

use std::time::Duration;

use serde_json::{Value, json};
use tenure::inspect::Remedy;
use tenure::time::Instant;
use tenure::trace::{Ruling, View};
use tenure::{
    AsOf, Budget, COMPILER, Candidates, Facts, FrameKey, ObjectDocument, Policy, Principal,
    Request, compile,
};
use tenure_store::{Put, Store, Tenant, Writing};
use tenure_workspace::records::{Proof, Recording};
use tenure_workspace::{Ask, Choice, Done, Gathered, Reach, StoreAsk, Workspace};

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
        let mut kept = self.workspace.records(&self.tenant).keep(&recording).unwrap();
        kept.remove(0)
    }

    /// Writes so many notes to the store, of which every fifth is secret.
    fn write(&self, count: usize) {
        let document = |at: usize| ObjectDocument {
            security_classification: Some(if at.is_multiple_of(5) {
                tenure::object::Classification::HighlyRestricted
            } else {
                tenure::object::Classification::Public
            }),
            ..ObjectDocument::named(
                format!("note-{at}"),
                format!(
                    "Pump {at} stands at {} bar. {}",
                    at % 61,
                    "It was looked at by the shift before and by the crew of the northern hall. "
                        .repeat(4)
                ),
            )
        };
        let all: Vec<usize> = (0..count).collect();
        for part in all.chunks(1_000) {
            let puts = part.iter().map(|at| Put::new(document(*at))).collect();
            self.tenant.put(puts, &Writing::default()).unwrap();
        }
    }

    /// Compiles over the store and keeps a record.
    fn compiled(&self, tokens: u32) -> (Done, String) {
        let mut request = Request::new(
            "At which pressure does pump 7 stand?",
            Budget::tokens(tokens),
        );
        request.principal = Principal {
            tenant: "acme".into(),
            ..Principal::default()
        };
        let ask = Ask {
            request,
            policy: Choice::Named("standard"),
            sources: Box::new(|| Ok(Candidates::new(Vec::new()))),
            store: Some(StoreAsk {
                tenant: self.tenant.clone(),
                objects: Some(Reach::Resident),
                version: 0,
                registry: None,
                names_registries: true,
                record: true,
            }),
            originals: None,
            view: View::Operator,
        };
        let job = self.workspace.prepare(ask, &self.workspace).unwrap();
        let mut done = self.workspace.run(&job).unwrap();
        let id = done.record_ids.remove(0);
        (done, id)
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
    bench.workspace.records(&bench.tenant).replay(&id).unwrap_err();
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
        let shown = bench.workspace.records(&bench.tenant).prefill(&record).unwrap();
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
    assert!(items.iter().all(|item| fields.iter().all(|field| item.get(*field).is_some())));
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
        bench.workspace.records(&bench.tenant).principle(&record).unwrap()
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

/// The most bytes of a record, however many candidates there were.
const MOST: usize = 30_000;

#[test]
fn a_record_has_the_size_of_what_was_asked_and_not_of_what_there_was() {
    let bench = Bench::new();
    bench.write(10_000);
    // Some have been used before, which a compile depends on.
    bench.compiled(600);
    let (done, id) = bench.compiled(1_000);
    let row = bench.tenant.record(&id).unwrap().unwrap();
    assert!(row.body.len() <= MOST, "{} bytes", row.body.len());
    assert!(row.objects.len() <= 100, "{} objects", row.objects.len());
    let records = bench.workspace.records(&bench.tenant);
    let record = records.get(&id).unwrap();
    let whole = &done.outcome.single().unwrap().trace;
    let brief = &record.record.trace;
    assert_eq!((whole.candidates(), brief.candidates()), (10_000, 10_000));
    assert!(brief.verdicts.len() < 100);
    let is_in = |verdict: &&tenure::Verdict| verdict.verdict == Ruling::Included;
    let included = whole.verdicts.iter().filter(is_in).count();
    assert_eq!(brief.verdicts.iter().filter(is_in).count(), included);
    let replay = records.replay(&id).unwrap();
    assert_eq!(replay.proof, Proof::Whole);
    assert_eq!(replay.compiled.unwrap().trace, *whole);
}

#[test]
fn what_a_record_only_counts_is_found_again() {
    let bench = Bench::new();
    bench.write(400);
    bench.compiled(300);
    let (done, id) = bench.compiled(500);
    let records = bench.workspace.records(&bench.tenant);
    let record = records.get(&id).unwrap();
    let whole = &done.outcome.single().unwrap().trace;
    let brief = &record.record.trace;
    let rest = brief.rest.as_ref().unwrap();
    assert!(rest.whole == whole.digest() && whole.brief() == *brief);
    // Each verdict is that of its place, and the rest adds up by reason.
    for (verdict, place) in brief.verdicts.iter().zip(&rest.places) {
        assert_eq!(*verdict, whole.verdicts[*place as usize]);
    }
    for (code, left) in &rest.reasons {
        let of = |trace: &tenure::Trace| {
            let all = trace.verdicts.iter();
            all.filter(|verdict| verdict.reason.code() == code).count()
        };
        assert_eq!(of(whole), of(brief) + left.candidates as usize, "{code}");
    }
    assert_eq!(*records.whole(&record).unwrap(), *whole);
    let kept = |name: &str| brief.verdict(name).is_some();
    let lost = |ruling: Ruling| {
        let all = whole.verdicts.iter();
        let mut lost = all.filter(|one| one.verdict == ruling && !kept(&one.name));
        lost.next().unwrap().name.to_string()
    };
    let denied = records.why_not(&record, &lost(Ruling::Denied)).unwrap();
    assert!(matches!(denied.remedy, Remedy::Change { .. }));
    let far = records.why_not(&record, &lost(Ruling::Omitted)).unwrap();
    assert_eq!(far.verdict.verdict, Ruling::Omitted);
    assert!(records.why_not(&record, "nothing-is-called-so").is_err());
    // Pages show each verdict with its own object, to an operator and to the caller.
    for (look, candidates) in [
        (records.look(&id, View::Operator).unwrap(), 400),
        (records.look_whole(&id, View::Operator).unwrap(), 400),
        (records.look(&id, View::Caller).unwrap(), 320),
        (records.look_whole(&id, View::Caller).unwrap(), 320),
    ] {
        assert_eq!(look.trace.candidates(), candidates);
        assert_eq!(look.objects.len(), look.trace.verdicts.len());
        for (at, object) in &look.objects {
            assert_eq!(object.name(), &*look.trace.verdicts[*at].name);
        }
    }
    let caller = records.look(&id, View::Caller).unwrap().trace;
    assert!(!serde_json::to_string(&caller).unwrap().contains("denied"));
    let shown = records.principle(&record).unwrap();
    let count = "/state_compilation_metadata/retrieval_metadata/retrieved_candidate_count";
    assert_eq!(shown.pointer(count).unwrap(), 400);
    // What mattered and was only counted has its verdict from then on.
    let name = lost(Ruling::Omitted);
    let choice = records.label(&id, vec![name.clone()], Instant::from_micros(9)).unwrap();
    assert_eq!(choice.context_recall.map(|share| share.to_f64()), Some(0.0));
    let labelled = records.get(&id).unwrap();
    assert!(labelled.record.trace.verdict(&name).is_some() && labelled.choice() == Some(choice));
    assert_eq!(records.replay(&id).unwrap().proof, Proof::Whole);
    assert!(records.label(&id, vec!["none".into()], Instant::from_micros(9)).is_err());
}

#[test]
fn a_brief_record_survives_erasures_and_says_what_it_cannot() {
    let bench = Bench::new();
    bench.write(400);
    let (done, id) = bench.compiled(500);
    let records = bench.workspace.records(&bench.tenant);
    let record = records.get(&id).unwrap();
    let whole = &done.outcome.single().unwrap().trace;
    let kept = |name: &str| record.record.trace.verdict(name).is_some();
    let lost = whole
        .verdicts
        .iter()
        .find(|one| one.verdict == Ruling::Omitted && !kept(&one.name));
    let erase = |name: &str| {
        let id = bench.tenant.named(name).unwrap()[0];
        bench.tenant.erase(vec![id], &Writing::default()).unwrap();
    };
    erase(&lost.unwrap().name);
    let replay = records.replay(&id).unwrap();
    assert_eq!((replay.proof, replay.erased), (Proof::Payload, 1));
    let look = records.look(&id, View::Operator).unwrap();
    assert_eq!(look.objects.len(), look.trace.verdicts.len());
    for (at, object) in &look.objects {
        assert_eq!(object.name(), &*look.trace.verdicts[*at].name);
    }
    // The whole account had what is gone in it.
    let error = records.whole(&record).unwrap_err();
    assert!(error.what.contains("brief account"), "{error}");
    // One that the record names leaves it.
    let named = record.record.trace.verdicts.iter().find(|one| one.verdict == Ruling::Included);
    let name = named.unwrap().name.to_string();
    erase(&name);
    let row = bench.tenant.record(&id).unwrap().unwrap();
    assert!(!row.body.contains(&format!("\"{name}\"")), "{name}");
    assert_eq!(records.replay(&id).unwrap().erased, 2);
}

#[test]
fn a_record_of_before_accounts_were_brief_is_read_and_made_again() {
    let bench = Bench::new();
    bench.write(200);
    bench.compiled(300);
    let (done, id) = bench.compiled(500);
    let whole = done.outcome.single().unwrap().trace.clone();
    let used = bench.workspace.records(&bench.tenant).get(&id).unwrap();
    let used = used.inputs.store.unwrap().used;
    assert!(used.contains('B'), "{used}");
    let objects: Vec<(usize, String)> = (0..200)
        .map(|at| {
            (
                at,
                bench.tenant.named(&format!("note-{at}")).unwrap()[0].to_string(),
            )
        })
        .collect();
    let trace = whole.clone();
    bench.alter(&id, move |body| {
        body["record"]["trace"] = serde_json::to_value(&trace).unwrap();
        let store = body["inputs"]["store"].as_object_mut().unwrap();
        // Each letter stands for the places that follow.
        let used = store.remove("used").unwrap();
        let mut places = Vec::new();
        let mut letters = used.as_str().unwrap().chars().peekable();
        while let Some(letter) = letters.next() {
            let mut digits = String::new();
            while let Some(digit) = letters.next_if(char::is_ascii_digit) {
                digits.push(digit);
            }
            let count = digits.parse().unwrap_or(1);
            places.extend(std::iter::repeat_n(letter as u8 - b'A', count));
        }
        let buckets = places.iter().zip(&objects).filter(|(bucket, _)| **bucket > 0);
        let buckets: serde_json::Map<String, Value> =
            buckets.map(|(bucket, (_, id))| (id.clone(), json!(bucket))).collect();
        store.insert("buckets".into(), buckets.into());
    });
    let records = bench.workspace.records(&bench.tenant);
    assert_eq!(records.get(&id).unwrap().record.trace, whole);
    assert_eq!(records.replay(&id).unwrap().proof, Proof::Whole);
    assert_eq!(
        records.look(&id, View::Caller).unwrap().trace.candidates(),
        160
    );
}
