//! No failed reading widens access: what holds an object is an object or an error, in whatever it stands, however it is
//! misspelt; and what other programs write is read as before.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use proptest::prelude::*;
use serde_json::{Map, Value, json};
use tempfile::TempDir;
use tenure::object::Classification;
use tenure::package::{Engine, LabelTable, Plan, RetrievalRecipe};
use tenure::time::Instant;
use tenure::{Budget, Candidates, Error, FrameKey, ObjectDocument, Policy, Principal, Request};
use tenure_workspace::packages::{Bearing, Packages};
use tenure_workspace::{Collect, Collected, ReadAs, WarningKind, Workspace};

const SECRET: &str = "The chief earns kestrel 9 a year.";
const OPEN: &str = "The chief earns what all know.";

fn workspace() -> Workspace {
    Workspace::new(FrameKey::new("test", [7; 32])).unwrap()
}

/// Whom every restriction of the objects here keeps out.
fn denied() -> Principal {
    Principal {
        roles: vec!["contractor".into()],
        clearance: Classification::Restricted,
        ..Principal::default()
    }
}

/// Who may see all of them.
fn permitted() -> Principal {
    Principal {
        roles: vec!["director".into()],
        user: Some("ada".into()),
        project: Some("pay".into()),
        session: Some("talk".into()),
        task: Some("raise".into()),
        ..Principal::owner()
    }
}

/// The payload of a compile of these candidates for a caller.
fn payload(candidates: &Candidates, principal: Principal) -> String {
    let workspace = workspace();
    let world = workspace.world("gpt-4o").unwrap();
    let policy = Policy::from_toml("guidance = { near = 0.0 }\ncorpus = { near = 0.0 }");
    let policy = policy.or_else(|_| Policy::from_toml("guidance = { near = 0.0 }")).unwrap();
    let request = Request {
        principal,
        ..Request::new("What does the chief earn in a year?", Budget::tokens(8_000))
    };
    match workspace.compile(&world, &policy, &request, candidates) {
        Ok(outcome) => serde_json::to_string(&outcome).unwrap(),
        Err(error) => error.to_string(),
    }
}

fn collect(root: &Path, name: &str, how: How) -> Result<Collected, Error> {
    let options = Collect {
        typed_objects: how.typed,
        strict: how.strict,
        read_as: if how.guidance {
            ReadAs::Guidance
        } else {
            ReadAs::Evidence
        },
        ..Collect::default()
    };
    let path = if how.walked {
        root.to_owned()
    } else {
        root.join(name)
    };
    workspace().collect(&[path], &options)
}

#[derive(Clone, Copy, Debug, Default)]
struct How {
    typed: bool,
    walked: bool,
    strict: bool,
    guidance: bool,
}

/// What a caller sees of a file of this name and text.
fn seen(name: &str, text: &[u8], how: How, principal: Principal) -> String {
    let root = tempfile::tempdir().unwrap();
    fs::write(root.path().join(name), text).unwrap();
    match collect(root.path(), name, how) {
        Ok(read) => payload(&read.candidates, principal),
        Err(error) => error.to_string(),
    }
}

/// A typed object with one restriction.
fn object() -> impl Strategy<Value = Map<String, Value>> {
    let kinds = ["rule", "artifact", "project_decision", "policy_rule"];
    let restrictions = [
        json!({"security_classification": "highly_restricted"}),
        json!({"security_classification": "confidential"}),
        json!({"permission_scope": {"deny_roles": ["contractor"]}}),
        json!({"permission_scope": {"allow_roles": ["director"]}}),
        json!({"user_id": "ada"}),
        json!({"project_id": "pay"}),
        json!({"session_id": "talk"}),
        json!({"task_id": "raise"}),
        json!({"security_classification": "highly_restricted", "permission_scope": {"deny_roles": ["contractor"]}}),
    ];
    let rest = [
        json!({}),
        json!({"priority": 0.5}),
        json!({"tags": ["pay"], "valid_from": "2020-01-01T00:00:00Z"}),
        json!({"retirement_rule": "archive"}),
    ];
    let pick = |from: Vec<Value>| prop::sample::select(from);
    (
        prop::sample::select(kinds.to_vec()),
        pick(restrictions.to_vec()),
        pick(rest.to_vec()),
    )
        .prop_map(|(kind, restriction, rest)| {
            let mut object = Map::new();
            object.insert("name".into(), "salary".into());
            object.insert("content".into(), SECRET.into());
            object.insert("object_type".into(), kind.into());
            for part in [restriction, rest] {
                object.extend(part.as_object().unwrap().clone());
            }
            object
        })
}

/// Another spelling of a key.
fn misspelt(key: &str, way: usize, at: usize) -> String {
    let chars: Vec<char> = key.chars().collect();
    let at = at % chars.len();
    let mut changed = chars.clone();
    match way % 13 {
        0 => drop(changed.remove(at)),
        1 => changed.insert(at, 'x'),
        2 => changed.swap(at, (at + 1) % chars.len()),
        3 => changed.insert(at, '\u{200b}'),
        4 => changed[at] = 'ѕ',
        5 => return key.to_uppercase(),
        6 => return key.replace('_', "-"),
        7 => return key.replace('_', ""),
        8 => return key.replace('_', " "),
        9 => return format!("{}{}", key[..1].to_uppercase(), &key[1..]),
        10 => return format!("{key} "),
        11 => return "q7".into(),
        _ => return format!("{key}s"),
    }
    changed.into_iter().collect()
}

/// Another value, most of them wrong.
fn other(value: &Value, way: usize) -> Value {
    let word = value.as_str().unwrap_or("x");
    match way % 10 {
        0 => json!(7),
        1 => json!(true),
        2 => json!([value]),
        3 => json!({"is": value}),
        4 => json!(word.replace('_', "-")),
        5 => json!(format!("{word}x")),
        6 => json!(word.to_uppercase()),
        7 => Value::Null,
        8 => json!(value.to_string()),
        _ => json!([[], {}]),
    }
}

/// Where a mutation takes place.
#[derive(Clone, Copy, Debug)]
enum Mutation {
    None,
    Key {
        field: usize,
        way: usize,
        at: usize,
        deep: bool,
    },
    Value {
        field: usize,
        way: usize,
        deep: bool,
    },
}

fn mutated(object: &Map<String, Value>, mutation: Mutation) -> Map<String, Value> {
    let (field, deep) = match mutation {
        Mutation::None => return object.clone(),
        Mutation::Key { field, deep, .. } | Mutation::Value { field, deep, .. } => (field, deep),
    };
    if deep && let Some(Value::Object(scope)) = object.get("permission_scope") {
        let inner = match mutation {
            Mutation::Key { way, at, .. } => Mutation::Key {
                field,
                way,
                at,
                deep: false,
            },
            Mutation::Value { way, .. } => Mutation::Value {
                field,
                way,
                deep: false,
            },
            Mutation::None => mutation,
        };
        let mut changed = object.clone();
        changed.insert(
            "permission_scope".into(),
            Value::Object(mutated(scope, inner)),
        );
        return changed;
    }
    let key = object.keys().nth(field % object.len()).unwrap().clone();
    let mut changed = object.clone();
    match mutation {
        Mutation::Key { way, at, .. } => {
            let value = changed.remove(&key).unwrap();
            changed.insert(misspelt(&key, way, at), value);
        }
        Mutation::Value { way, .. } => {
            let value = other(&changed[&key], way);
            changed.insert(key, value);
        }
        Mutation::None => {}
    }
    changed
}

fn mutation() -> impl Strategy<Value = Mutation> {
    let number = || 0_usize..64;
    prop_oneof![
        1 => Just(Mutation::None),
        4 => (number(), number(), number(), any::<bool>())
            .prop_map(|(field, way, at, deep)| Mutation::Key { field, way, at, deep }),
        4 => (number(), number(), any::<bool>())
            .prop_map(|(field, way, deep)| Mutation::Value { field, way, deep }),
    ]
}

const NEIGHBOUR: &str =
    r#"{"name":"open","content":"The chief earns what all know.","object_type":"rule"}"#;

/// The frontmatter and the text of a page that is this object.
fn page(object: &Map<String, Value>, fence: &str, indent: &str, colon: &str) -> String {
    let mut text = format!("{fence}\n");
    let mut body = String::new();
    for (key, value) in object {
        if key == "content" {
            body = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
            continue;
        }
        let plain = key.chars().all(|c| c.is_ascii_alphanumeric() || "_-".contains(c));
        let key = if plain {
            key.clone()
        } else {
            json!(key).to_string()
        };
        text.push_str(&format!("{indent}{key}{colon} {value}\n"));
    }
    format!("{text}{fence}\n{body}\n")
}

/// The containers that are read: the name of the file and its text.
const CONTAINERS: usize = 6;

fn contained(object: &Map<String, Value>, container: usize) -> (&'static str, String) {
    let own = Value::Object(object.clone());
    match container {
        0 => ("x.json", own.to_string()),
        1 => ("x.json", format!("[\n{NEIGHBOUR},\n{own}\n]")),
        2 => ("x.jsonl", format!("{NEIGHBOUR}\n\n{own}\n")),
        3 => ("x.json", json!({"objects": [own]}).to_string()),
        4 => ("x.ndjson", format!("{own}\n")),
        _ => ("x.md", page(object, "---", "", ":")),
    }
}

/// An object in what is broken, or is no container at all.
fn broken(object: &Map<String, Value>, way: usize) -> (&'static str, Vec<u8>) {
    let own = Value::Object(object.clone()).to_string();
    let inner = &own[..own.len() - 1];
    let text = |name, text: String| (name, text.into_bytes());
    match way % 30 {
        0 => text("x.json", format!("{inner},}}")),
        1 => text("x.json", format!("// an object\n{own}")),
        2 => text("x.json", format!("{inner},\"priority\":NaN}}")),
        3 => text("x.json", inner.to_owned()),
        4 => text("x.json", own.replace(",\"", ",\n\"")[1..].to_owned()),
        5 => text("x.json", format!("{{\"data\":{{\"items\":[{own}]}}}}")),
        6 => text("x.json", format!("[[{own}]]")),
        7 => text("x.json", format!("{{\"objekts\":[{own}]}}")),
        8 => text("x.json", format!("{{\"objects\":[{own}],\"next\":null}}")),
        9 => text("x.json", format!("{own}\n{own}")),
        10 => text("x.json", json!(own).to_string()),
        11 => text("x.json", own.replace('"', "'")),
        12 => text("x.jsonl", format!("{NEIGHBOUR}\n{inner}\n")),
        13 => text("x.jsonl", format!("[{own}]\n")),
        14 => text("x.jsonl", own.replace(',', ",\n")),
        15 => text("x.JSON", format!("\u{feff}{own},")),
        16 => text("x.txt", own),
        17 => text("x.md", format!("{own}\n")),
        18 => {
            let wide = own.encode_utf16().flat_map(u16::to_le_bytes);
            ("x.json", [0xFF, 0xFE].into_iter().chain(wide).collect())
        }
        19 => text("x.md", page(object, "----", "", ":")),
        20 => text("x.md", page(object, "+++", "", " =")),
        21 => text("x.md", page(object, "---", " ", ":")),
        22 => text("x.md", page(object, "---", "", " :")),
        23 => text("x.md", page(object, "---", "- ", ":")),
        24 => text("x.md", page(object, "---", "", ":").replace('\n', "\r\n")),
        25 => text(
            "x.md",
            page(object, "---", "", ":").replacen("\n---\n", "\n", 1),
        ),
        26 => text("x.md", format!("\n\n{}", page(object, "---", "", ":"))),
        27 => text(
            "x.md",
            format!(
                "---\nname: open\n---\n{OPEN}\n\n{}",
                page(object, "---", "", " :")
            ),
        ),
        28 => text("x.rst", page(object, "---", "", ":")),
        _ => text("x.md", page(object, "***", "", ":")),
    }
}

/// Whether a document, as it stands, is one that the caller may not see: it was misspelt into nothing that is wider.
fn is_kept_out(object: &Map<String, Value>) -> bool {
    let read = serde_json::from_value::<ObjectDocument>(Value::Object(object.clone()));
    let Ok(mut document) = read else { return true };
    document.untyped_is_data();
    document.provenance = None;
    document.object_type = Some(tenure::object::ObjectType::Artifact);
    document.authority_level = None;
    let Ok(sealed) = document.seal() else {
        return true;
    };
    !payload(&Candidates::new(vec![sealed]), denied()).contains("kestrel")
}

fn how() -> impl Strategy<Value = How> {
    any::<[bool; 4]>().prop_map(|[typed, walked, strict, guidance]| How {
        typed,
        walked,
        strict,
        guidance,
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 250, ..ProptestConfig::default() })]

    #[test]
    fn no_mutation_of_an_object_shows_it(
        object in object(), mutation in mutation(), container in 0..CONTAINERS, how in how(),
    ) {
        let changed = mutated(&object, mutation);
        prop_assume!(is_kept_out(&changed));
        let (name, text) = contained(&changed, container);
        let shown = seen(name, text.as_bytes(), how, denied());
        prop_assert!(!shown.contains("kestrel"), "{name} {how:?}\n{text}\n{shown}");
        prop_assert!(!packed(name, &text, &denied()).contains("kestrel"), "packed: {name}\n{text}");
    }

    #[test]
    fn no_broken_container_shows_an_object(object in object(), way in 0_usize..30, how in how()) {
        let (name, text) = broken(&object, way);
        let shown = seen(name, &text, how, denied());
        let text = String::from_utf8_lossy(&text).into_owned();
        prop_assert!(!shown.contains("kestrel"), "{name} {how:?}\n{text}\n{shown}");
        prop_assert!(!packed(name, &text, &denied()).contains("kestrel"), "packed: {name}\n{text}");
    }

    #[test]
    fn who_may_see_an_object_sees_it_in_each_container(
        object in object(), container in 0..CONTAINERS, typed in any::<bool>(),
    ) {
        let (name, text) = contained(&object, container);
        let how = How { typed, ..How::default() };
        let shown = seen(name, text.as_bytes(), how, permitted());
        prop_assert!(shown.contains("kestrel"), "{name}\n{text}\n{shown}");
    }
}

/// What a caller reads of a package that the owner packed of this file.
fn packed(name: &str, text: &str, caller: &Principal) -> String {
    let root = tempfile::tempdir().unwrap();
    fs::write(root.path().join(name), text).unwrap();
    packed_in(&root, name, &LabelTable::default(), caller)
}

fn packed_in(root: &TempDir, name: &str, labels: &LabelTable, caller: &Principal) -> String {
    let world = workspace().world("gpt-4o").unwrap();
    let (owner, summaries) = (permitted(), BTreeMap::new());
    let bearing = |caller| Bearing {
        caller,
        labels,
        decider: None,
        tokenizer: world.tokenizer(),
        now: Instant::from_micros(1_000),
        summaries: &summaries,
        embedder: None,
    };
    let recipe = RetrievalRecipe {
        engine: None,
        kind: Engine::Selector,
        limit: None,
        paths: Vec::new(),
        query: "documents".into(),
        sources: vec![name.to_owned()],
        vectors: None,
    };
    let plan = Plan {
        name: "pay".into(),
        recipes: vec![recipe],
        ..Plan::default()
    };
    let packages = Packages::of(root.path()).unwrap();
    let read = packages.pack(plan, &bearing(&owner)).and_then(|packed| {
        let found = packages.find(&packed.id)?;
        packages.activate(&found, "", tenure::package::Shown::Raw, &bearing(caller))
    });
    read.map_or_else(
        |error| error.to_string(),
        |(activation, _)| activation.content,
    )
}

#[test]
fn a_package_carries_what_its_documents_say_of_who_may_see_them() {
    let director = Principal {
        roles: vec!["director".into()],
        ..denied()
    };
    for (text, may) in [
        ("---\nname: a\n---\nkestrel\n", true),
        ("---\ntitle: a\n---\nkestrel\n", true),
        (
            "---\nname: a\npermission_scope: {allow_roles: [director]}\n---\nkestrel\n",
            true,
        ),
        (
            "---\nname: a\npermission_scope: {deny_roles: [director]}\n---\nkestrel\n",
            false,
        ),
        (
            "---\nname: a\nsecurity_classification: highly_restricted\n---\nkestrel\n",
            false,
        ),
        ("---\nname: a\nuser_id: ada\n---\nkestrel\n", false),
        (
            "---\nname: a\n---\nx\n\n---\nname: b\nsecurity_classification: confidential\n---\nkestrel\n",
            false,
        ),
    ] {
        assert_eq!(
            packed("a.md", text, &director).contains("kestrel"),
            may,
            "{text}"
        );
    }
    let open = r#"{"name":"a","content":"kestrel"}"#;
    assert!(packed("a.json", open, &denied()).contains("kestrel"));
}

#[test]
fn a_label_that_is_not_read_opens_nothing() {
    let table = "[labels.board]\nallow_roles = [\"director\"]\n[zones.partner]\ndeny_roles = [\"contractor\"]\n";
    let table = LabelTable::from_toml(table, "labels.toml").unwrap();
    for (head, may) in [
        ("title: x", true),
        ("labels: [board]", false),
        ("lables: [board]", false),
        ("Labels: [board]", false),
        ("label: boards", false),
        ("labels: {board: true}", false),
        ("trust_zone: partner", false),
        ("trust-zone: partner", false),
        ("trustzone: partner", false),
        ("labels: [board\nx: }", false),
        ("labels: [board]\nlabels: []", false),
    ] {
        let root = tempfile::tempdir().unwrap();
        let text = format!("---\n{head}\n---\n\nkestrel\n");
        fs::write(root.path().join("a.md"), text).unwrap();
        let shown = packed_in(&root, "a.md", &table, &denied());
        assert_eq!(shown.contains("kestrel"), may, "{head}: {shown}");
    }
}

#[test]
fn one_bad_object_leaves_out_its_file_and_is_told_of() {
    let root = tempfile::tempdir().unwrap();
    let bad = NEIGHBOUR.replace("rule", "rul");
    fs::write(
        root.path().join("all.json"),
        format!("[\n{NEIGHBOUR},\n{bad}]"),
    )
    .unwrap();
    fs::write(root.path().join("good.md"), "The chief is kind.").unwrap();
    let walked = How {
        walked: true,
        ..How::default()
    };
    let read = collect(root.path(), "", walked).unwrap();
    let names: Vec<&str> = read.candidates.objects().iter().map(|one| one.name()).collect();
    assert_eq!(names, ["good"]);
    assert_eq!(read.warnings.len(), 1);
    assert_eq!(read.warnings[0].kind, WarningKind::File);
    let told = read.warnings[0].to_string();
    assert!(
        told.contains("unknown term `rul`") && told.contains("all.json:3"),
        "{told}"
    );
    for how in [
        How {
            strict: true,
            ..walked
        },
        How::default(),
    ] {
        let error = collect(root.path(), "all.json", how).unwrap_err();
        assert_eq!(error.at.as_ref().and_then(|at| at.line), Some(3));
        assert!(error.expected.as_ref().unwrap().contains("rule"), "{error}");
    }
}

#[test]
fn what_may_have_been_meant_is_said() {
    for (name, text, hint, line) in [
        (
            "a.md",
            "---\ntitle: x\nsecurity_clasification: public\n---\nx",
            "security_classification",
            3,
        ),
        (
            "a.md",
            "---\ntitle: x\nSecurity_Classification: public\n---\nx",
            "security_classification",
            3,
        ),
        (
            "a.md",
            "---\ndeny-roles: [a]\n---\nx",
            "permission_scope.deny_roles",
            2,
        ),
        (
            "a.md",
            "---\nclass: highly-restricted\n---\nx",
            "security_classification",
            2,
        ),
        ("a.md", "---\ntenant: acme\n---\nx", "tenant_id", 2),
        ("a.md", "---\nuserId: ada\n---\nx", "user_id", 2),
    ] {
        let root = tempfile::tempdir().unwrap();
        fs::write(root.path().join(name), text).unwrap();
        let error = collect(root.path(), name, How::default()).unwrap_err();
        let told = error.to_string();
        assert!(
            told.contains(&format!("did you mean `{hint}`?")),
            "{text}: {told}"
        );
        assert_eq!(
            error.at.and_then(|at| at.line),
            Some(line),
            "{text}: {told}"
        );
        assert!(!told.contains("expected: one of object_id"), "{told}");
    }
    let root = tempfile::tempdir().unwrap();
    fs::write(root.path().join("a.md"), "---\nname: a\nuser_id:\n---\nx").unwrap();
    let error = collect(root.path(), "a.md", How::default()).unwrap_err();
    assert_eq!(error.what, "`user_id` has no value");
    assert_eq!(error.at.and_then(|at| at.line), Some(3));
}

#[test]
fn what_other_programs_write_is_read_as_before() {
    let schema = json!({
        "type": "object",
        "properties": {
            "content": {"type": "string"},
            "object_type": {"type": "string"},
            "user_id": {"type": "string"},
            "security_classification": {"$ref": "#/$defs/Class"},
        },
    });
    let tool = json!({"name": "read", "description": "Reads.", "input_schema": {"type": "object"}});
    for (name, text) in [
        ("package.json", json!({"name": "a", "version": "1.0.0", "license": "MIT", "type": "module"}).to_string()),
        ("tools.json", json!([tool]).to_string()),
        ("chat.json", json!({"messages": [{"role": "tool", "tool_call_id": "c", "name": "read", "content": "kestrel"}]}).to_string()),
        ("rows.json", json!([{"user_id": 7, "session_id": "s", "name": "kestrel"}]).to_string()),
        ("note.json", json!({"name": "a", "content": "kestrel", "author": "b", "date": "2026-01-01"}).to_string()),
        ("schema.json", schema.to_string()),
        ("broken.json", "{\"name\": \"kestrel\", \"content\": ".to_owned()),
        ("rows.jsonl", "{\"question\": \"x\", \"context\": \"kestrel\"}\n".to_owned()),
        ("talk.jsonl", "{\"role\": \"user\", \"content\": \"kestrel\"}\n".to_owned()),
        ("rows.csv", "name,user_id,class\nkestrel,7,a\n".to_owned()),
        ("jekyll.md", "---\nlayout: post\ntitle: Kestrel\ncategories: a b\n---\nkestrel\n".to_owned()),
        ("obsidian.md", "---\naliases: [k]\ntags: [pii, x]\ncssclasses: wide\n---\nkestrel\n".to_owned()),
        ("marp.md", "---\nmarp: true\nclass: lead\n---\nkestrel\n".to_owned()),
        ("hugo.md", "+++\ntitle = \"Kestrel\"\n+++\nkestrel\n".to_owned()),
        ("agent.md", "---\ndescription: x\nmode: subagent\npermission: {edit: deny}\n---\nkestrel\n".to_owned()),
        ("lease.txt", "Tenant: John\nUser: Ann\n\nkestrel\n".to_owned()),
        ("prose.md", "# Fields\n\n- `security_classification`: who may see it\n\n```yaml\nsecurity_classification: public\n```\n\n---\n\nSession 4: kestrel\n".to_owned()),
    ] {
        let root = tempfile::tempdir().unwrap();
        fs::write(root.path().join(name), &text).unwrap();
        let strict = How { strict: true, walked: true, ..How::default() };
        let read = collect(root.path(), name, strict).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!(read.candidates.objects().len(), 1, "{name}");
        let words = read.candidates.objects()[0].revision().content().to_owned();
        assert!(text.contains(words.lines().last().unwrap().trim()), "{name}: {words}");
    }
}

#[test]
fn instructions_skills_imports_and_code_that_say_who_may_see_them_are_left_out() {
    let page = format!(
        "---\nname: pay\ndescription: x\nsecurity_classification: confidential\n---\n{SECRET}\n"
    );
    let object = json!({"name": "pay", "content": SECRET, "object_type": "rule", "user_id": "ada"})
        .to_string();
    for (files, named) in [
        (vec![("CLAUDE.md", &page)], Some("CLAUDE.md")),
        (vec![(".claude/rules/pay.md", &page)], None),
        (vec![("pay/SKILL.md", &page)], Some("pay/SKILL.md")),
        (
            vec![
                ("CLAUDE.md", &"See @pay.md and @pay.json".to_owned()),
                ("pay.md", &page),
                ("pay.json", &object),
            ],
            None,
        ),
    ] {
        let root = tempfile::tempdir().unwrap();
        for (path, text) in &files {
            let path = root.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        let walked = How {
            walked: true,
            ..How::default()
        };
        let read = collect(root.path(), "", walked).unwrap();
        assert!(!read.warnings.is_empty(), "{files:?}");
        assert!(
            !payload(&read.candidates, denied()).contains("kestrel"),
            "{files:?}"
        );
        assert!(
            collect(
                root.path(),
                "",
                How {
                    strict: true,
                    ..walked
                }
            )
            .is_err(),
            "{files:?}"
        );
        if let Some(named) = named {
            assert!(
                collect(root.path(), named, How::default()).is_err(),
                "{named}"
            );
        }
    }
    let root = tempfile::tempdir().unwrap();
    fs::write(root.path().join("pay.json"), &object).unwrap();
    fs::write(
        root.path().join("pay.rs"),
        "const CLASS: &str = \"security_classification: x\";",
    )
    .unwrap();
    let options = Collect {
        code: vec![root.path().to_owned()],
        ..Collect::default()
    };
    let read = workspace().collect(&[], &options).unwrap();
    assert_eq!(read.candidates.objects().len(), 1);
    assert!(
        read.warnings[0].to_string().contains("pay.json: left out"),
        "{:?}",
        read.warnings
    );
}
