//! Encoders and cross-encoders in the ONNX format, run by a real ONNX Runtime.

use std::path::Path;
use std::sync::OnceLock;

use crate::support::onnx::{library, models};
use serde_json::Value;
use tenure::num::Score;
use tenure::{Budget, Candidates, Error, ErrorKind, FrameKey, ObjectDocument, Policy, Request};
use tenure_workspace::embed::{self, Embedder, OnnxEncoder};
use tenure_workspace::relevance::{self, CrossEncoder};
use tenure_workspace::{RelevanceScorer, Workspace};

const MINILM: &str = "all-MiniLM-L6-v2";

fn expected(model: &str) -> Vec<Value> {
    let text = std::fs::read_to_string(models().join(model).join("expected.json")).unwrap();
    serde_json::from_str(&text).unwrap()
}

fn minilm() -> &'static OnnxEncoder {
    static OPENED: OnceLock<OnnxEncoder> = OnceLock::new();
    OPENED.get_or_init(|| OnnxEncoder::open(&models().join(MINILM), Some(&library())).unwrap())
}

/// An encoder as these lines say.
fn encoder(settings: &str) -> Result<OnnxEncoder, Error> {
    OnnxEncoder::from_toml(settings, &models(), Some(&library()))
}

fn cosine(one: &[f32], other: &[f32]) -> f64 {
    let dot = |a: &[f32], b: &[f32]| -> f64 {
        let products = a.iter().zip(b).map(|(a, b)| f64::from(*a) * f64::from(*b));
        products.sum()
    };
    dot(one, other) / (dot(one, one) * dot(other, other)).sqrt()
}

#[test]
fn vectors_are_those_of_the_original() {
    let encoder = minilm();
    let model = encoder.model();
    assert_eq!((model.name.as_str(), model.dimensions), (MINILM, 384));
    let rows = expected(MINILM);
    let texts: Vec<&str> = rows.iter().map(|row| row["text"].as_str().unwrap()).collect();
    assert!(texts.len() >= 7 && texts.iter().any(|text| text.len() > 2_000));
    let made = encoder.embed(&texts).unwrap();
    for (row, vector) in rows.iter().zip(&made) {
        let original: Vec<f32> = serde_json::from_value(row["vector"].clone()).unwrap();
        let length = vector.iter().map(|c| c * c).sum::<f32>().sqrt();
        let farthest = original.iter().zip(vector).map(|(a, b)| (a - b / length).abs());
        let farthest = farthest.fold(0.0, f32::max);
        assert!(farthest < 2e-6, "{}: {farthest}", row["text"]);
    }
    assert!(cosine(&made[0], &made[1]) > cosine(&made[0], &made[2]) + 0.3);
}

#[test]
fn a_vector_depends_on_its_text_alone() {
    let rows = expected(MINILM);
    let mut texts: Vec<&str> = rows.iter().map(|row| row["text"].as_str().unwrap()).collect();
    texts.insert(2, " \n");
    let one = minilm();
    let together = one.embed(&texts).unwrap();
    let two = encoder(&format!("onnx = \"{MINILM}\"\nworkers = 2")).unwrap();
    assert_eq!(two.embed(&texts).unwrap(), together);
    assert_eq!(two.model(), one.model());
    texts.reverse();
    let mut reversed = two.embed(&texts).unwrap();
    reversed.reverse();
    assert_eq!(reversed, together);
    for (at, text) in texts.iter().rev().enumerate() {
        assert_eq!(one.embed(&[text]).unwrap()[0], together[at]);
    }
    assert!(together[2].iter().all(|component| *component == 0.0));
    assert!(one.embed(&[]).unwrap().is_empty());
    // Nobody says in a text where it ends.
    let [plain, marked] = ["a b", "a [SEP] b"].map(|text| one.embed(&[text]).unwrap().remove(0));
    assert!(cosine(&plain, &marked) < 0.95);
}

#[test]
fn what_stands_before_a_query_and_how_tokens_are_pooled_is_the_models() {
    let bare = minilm();
    let own = format!("onnx = \"{MINILM}\"\nencoder = \"{MINILM}\"\nquery_prefix = \"query: \"");
    let prefixed = encoder(&own).unwrap();
    let vectors = |of: &OnnxEncoder, text: &str| of.embed(&[text]).unwrap();
    assert_eq!(
        prefixed.embed_queries(&["cats"]).unwrap(),
        vectors(bare, "query: cats")
    );
    assert_eq!(vectors(&prefixed, "cats"), vectors(bare, "cats"));
    assert_eq!(
        bare.embed_queries(&["cats"]).unwrap(),
        vectors(bare, "cats")
    );
    let others = [
        "pooling = \"cls\"",
        "max_tokens = 16",
        "passage_prefix = \"p\"",
    ];
    let mut digests = vec![bare.model().digest, prefixed.model().digest];
    for other in others {
        let other = encoder(&format!("onnx = \"{MINILM}\"\n{other}")).unwrap();
        assert_ne!(
            vectors(&other, &"a cat ".repeat(20)),
            vectors(bare, &"a cat ".repeat(20))
        );
        digests.push(other.model().digest);
    }
    digests.sort();
    digests.dedup();
    assert_eq!(digests.len(), 5, "another model each");
}

#[test]
fn a_folder_says_for_itself_how_it_is_used() {
    let folder = tempfile::tempdir().unwrap();
    let home = folder.path().join("mine");
    std::fs::create_dir_all(home.join("1_Pooling")).unwrap();
    std::fs::create_dir(home.join("onnx")).unwrap();
    let original = models().join(MINILM);
    std::fs::hard_link(original.join("model.onnx"), home.join("onnx/model.onnx")).unwrap();
    std::fs::copy(original.join("tokenizer.json"), home.join("tokenizer.json")).unwrap();
    let write = |name: &str, text: &str| std::fs::write(home.join(name), text).unwrap();
    write(
        "1_Pooling/config.json",
        "{\"pooling_mode_cls_token\": true}",
    );
    write("sentence_bert_config.json", "{\"max_seq_length\": 16}");
    write(
        "config_sentence_transformers.json",
        "{\"prompts\": {\"query\": \"ask \", \"document\": \"say \"}}",
    );
    let open = || OnnxEncoder::open(&home, Some(&library()));
    let own = open().unwrap();
    assert_eq!(own.model().name, "mine");
    let lines =
        "pooling = \"cls\"\nmax_tokens = 16\nquery_prefix = \"ask \"\npassage_prefix = \"say \"";
    let same = encoder(&format!("onnx = \"{MINILM}\"\n{lines}")).unwrap();
    assert_eq!(own.model().digest, same.model().digest);
    let text = ["a cat ".repeat(20)];
    let text = [&*text[0]];
    assert_eq!(own.embed(&text).unwrap(), same.embed(&text).unwrap());
    assert_eq!(
        own.embed_queries(&text).unwrap(),
        same.embed_queries(&text).unwrap()
    );
    write(
        "1_Pooling/config.json",
        "{\"pooling_mode_max_tokens\": true}",
    );
    assert!(open().unwrap_err().what.contains("in another way"));
    write("1_Pooling/config.json", "{\n,");
    let error = open().unwrap_err();
    assert_eq!(error.at.unwrap().line, Some(2));
}

#[test]
fn a_compile_finds_by_meaning() {
    let key = FrameKey::new("test", [7; 32]);
    let own = embed::open(&models().join(MINILM), Some(&library())).unwrap();
    let workspace = Workspace::new(key).unwrap().with_embedder(own);
    let world = workspace.world("gpt-4o").unwrap();
    let seal = |name: &str, text: &str| ObjectDocument::named(name, text).seal().unwrap();
    let candidates = Candidates::new(vec![
        seal("pets", "A kitten naps in the sun."),
        seal("money", "File the tax return by April."),
    ]);
    let request = Request::new("Where does my cat sleep?", Budget::tokens(400));
    let policy = Policy::from_toml("guidance = { near = 0.0 }").unwrap();
    let facts = workspace.answer(&world, &policy, &request, &candidates).unwrap();
    assert_eq!(facts.vectors()[0].model(), &minilm().model());
    let compiled = tenure::compile(&world, &policy, &request, &candidates, &facts).unwrap();
    let trace = &compiled.single().unwrap().trace;
    let relevance = |name: &str| trace.verdict(name).unwrap().score.unwrap().relevance;
    assert!(relevance("pets") > relevance("money"));
}

#[test]
fn a_cross_encoder_reads_query_and_text_together() {
    let scorer = relevance::open(&models().join("cross"), Some(&library())).unwrap();
    for row in expected("cross") {
        let [query, text] = ["query", "text"].map(|key| row[key].as_str().unwrap());
        let score = scorer.relevance(query, &[text]).unwrap()[0].unwrap();
        let expected = 1.0 / (1.0 + (-row["logit"].as_f64().unwrap()).exp());
        assert!(
            (score.to_f64() - expected).abs() < 2e-6,
            "{query}: {score} {expected}"
        );
    }
    let texts = ["whales", "pumps", "a pump"];
    let three =
        CrossEncoder::from_toml("onnx = \"cross\"\nworkers = 3", &models(), Some(&library()));
    let scores = three.unwrap().relevance("a pump", &texts).unwrap();
    assert_eq!(scores, scorer.relevance("a pump", &texts).unwrap());
    assert!(scores[2] > scores[1] && scores[2] > Some(Score::HALF));

    let workspace = Workspace::new(FrameKey::new("test", [7; 32])).unwrap();
    let workspace = workspace.with_scorer(scorer);
    let world = workspace.world("gpt-4o").unwrap();
    let policy = "scorer = \"supplied\"\nguidance = { near = 0.0 }";
    let policy = Policy::from_toml(policy).unwrap();
    let objects = texts.map(|text| ObjectDocument::named(text, text).seal().unwrap());
    let candidates = Candidates::new(objects.to_vec());
    let request = Request::new("a pump", Budget::tokens(400));
    let outcome = workspace.compile(&world, &policy, &request, &candidates).unwrap();
    let trace = &outcome.single().unwrap().trace;
    let given: Vec<_> = trace.verdicts.iter().map(|v| Some(v.score.unwrap().relevance)).collect();
    assert_eq!(given, scores);
    assert!(trace.notes.is_empty(), "{:?}", trace.notes);
}

/// What is wrong with an encoder, and with a cross-encoder, of these settings.
fn refused(settings: &str) -> [String; 2] {
    let of = |result: Result<(), Error>| {
        let error = result.unwrap_err();
        assert!(!error.to_string().contains("panicked"));
        error.to_string()
    };
    [
        of(encoder(settings).map(|_| ())),
        of(CrossEncoder::from_toml(settings, &models(), Some(&library())).map(|_| ())),
    ]
}

#[test]
fn what_is_no_such_model_is_refused() {
    for (model, why) in [
        ("none", "there is no `model.onnx`"),
        ("missing", "there is no folder"),
        ("corrupt", "takes no such model"),
        ("outside", "takes no such model"),
        ("pixels", "it asks for `pixel_values`"),
        ("halves", "its output `out` is"),
    ] {
        for said in refused(&format!("onnx = \"{model}\"")) {
            assert!(said.contains(why), "{model}: {said}");
            assert!(said.contains(model), "{said}");
        }
    }
    for (settings, why) in [
        ("onnx = \"cross\"\noutput = \"x\"", "no output `x`"),
        ("onnx = \"cross\"\nworkers = 0", "`workers = 0`"),
        ("onnx = \"cross\"\nmax_tokens = 2", "`max_tokens = 2`"),
        ("onnx = \"cross\"\nmax_tokens = 5", "6 at least"),
        ("onnx = \"cross\"\nfile = \"no.onnx\"", "no.onnx"),
        (
            "onnx = \"cross\"\nfile = \"tokenizer.json\"",
            "takes no such model",
        ),
        ("onnx = \"cross\"\n\nmax_tokns = 2", "(embedder:3)"),
        (
            "onnx = \"cross\"\nlibrary = \"cross/model.onnx\"",
            "another ONNX Runtime",
        ),
    ] {
        let [said, also] = refused(settings);
        let said = [said, also.replace("(scorer:", "(embedder:")];
        assert!(said.iter().all(|said| said.contains(why)), "{said:?}");
    }
    let [number, three] = refused("onnx = \"labels\"\noutput = \"logits\"\ndimensions = 4");
    assert!(number.contains("vectors of 3 dimensions") && number.contains("4, as the conf"));
    assert!(three.contains("dimensions"), "{three}");
    let three = relevance::open(&models().join("labels"), Some(&library())).err().unwrap();
    assert!(
        three.to_string().contains("[1, 3]") && three.hint.is_some(),
        "{three}"
    );
    let [vector, score] = refused("onnx = \"nan\"");
    assert!(
        vector.contains("a component of a vector is NaN"),
        "{vector}"
    );
    assert!(score.contains("its answer is NaN"), "{score}");
    // Not what its name promises.
    let error = encoder("onnx = \"cross\"\nencoder = \"bge-large-en-v1.5\"").unwrap_err();
    assert!(
        error.to_string().contains("1024, as the catalogue knows"),
        "{error}"
    );
    let error = encoder("onnx = \"cross\"\nencoder = \"bge-large-en-v1.4\"").unwrap_err();
    assert_eq!(
        error.hint.as_deref(),
        Some("did you mean `bge-large-en-v1.5`?")
    );
    // A number for each token is no vector that could be compared with another.
    let flat = encoder("onnx = \"flat\"").unwrap();
    let error = flat.embed(&["Many more tokens than the first text had."]).unwrap_err();
    assert_eq!(error.kind, ErrorKind::Unavailable);
    assert!(error.what.contains("dimensions"), "{error}");
    // Nor is what lies outside a relevance.
    let raw = "onnx = \"cross\"\nactivation = \"none\"";
    let error = CrossEncoder::from_toml(raw, &models(), Some(&library())).unwrap_err();
    assert!(error.to_string().contains("from 0 to 1"), "{error}");
    let none = OnnxEncoder::open(&models().join(MINILM), None).unwrap_err();
    assert!(none.to_string().contains("ORT_DYLIB_PATH"), "{none}");
    let gone = OnnxEncoder::open(&models().join(MINILM), Some(Path::new("gone.so"))).unwrap_err();
    assert!(gone.to_string().contains("`gone.so`"), "{gone}");
}
