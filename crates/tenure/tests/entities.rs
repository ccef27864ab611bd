//! Resolution of entities, measured on labelled pairs of a mention and an entity: `models/eval/entities.jsonl`.

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;
use tenure::belief::entity::{
    Entities, EntityType, MAX_MENTIONS, Metadata, PartWeights, Profile, Resolution, Resolver,
    SimilarityPart, resolve, similarity,
};
use tenure::num::Score;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Pair {
    case: String,
    same: bool,
    mention: Profile,
    entity: Profile,
}

fn pairs() -> Vec<Pair> {
    let text = include_str!("../../../models/eval/entities.jsonl");
    text.lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

fn outcome(pair: &Pair) -> Resolution {
    resolve(
        &pair.mention,
        [("e1", &pair.entity)],
        &PartWeights::default(),
    )
    .outcome
}

#[test]
fn no_labelled_pair_is_merged_wrongly() {
    let pairs = pairs();
    assert!(pairs.len() >= 300, "{}", pairs.len());
    let mut told: BTreeMap<(bool, Resolution), u32> = BTreeMap::new();
    for pair in &pairs {
        let outcome = outcome(pair);
        assert!(
            pair.same || outcome != Resolution::Bind,
            "{}: {:?} is not {:?}",
            pair.case,
            pair.mention,
            pair.entity
        );
        *told.entry((pair.same, outcome)).or_default() += 1;
    }
    let count = |same, outcome| told.get(&(same, outcome)).copied().unwrap_or(0);
    let bound = count(true, Resolution::Bind);
    let same = bound + count(true, Resolution::Review) + count(true, Resolution::New);
    // The mean of the parts by itself merges what the limits keep apart.
    let mean = |pair: &Pair| {
        let weights = PartWeights::default();
        let found = similarity(&pair.mention, "e1", &pair.entity, &weights);
        let weight = |part: &SimilarityPart| match part {
            SimilarityPart::Lexical => weights.lexical,
            SimilarityPart::Kind => weights.kind,
            SimilarityPart::Scope => weights.scope,
            SimilarityPart::Metadata => weights.metadata,
            SimilarityPart::Neighbourhood => weights.neighbourhood,
            _ => weights.source,
        };
        let weighed = found.parts.iter().map(|(part, score)| {
            let weight = weight(part).to_f64();
            (score.to_f64() * weight, weight)
        });
        let (sum, weights) = weighed.fold((0.0, 0.0), |sum, one| (sum.0 + one.0, sum.1 + one.1));
        sum / weights
    };
    let wrong = pairs.iter().filter(|pair| !pair.same && mean(pair) >= 0.95);
    let wrong = wrong.count();
    assert!(wrong > 0);
    println!("by the mean alone: {wrong} wrong merges");
    println!("{told:?}");
    println!("automatic merges: precision 1 ({bound} of {bound}), recall {bound} of {same}");
    // What is not merged by itself mostly waits for a person: few are lost as new.
    assert!(bound * 10 >= same * 6, "{bound} of {same}");
    assert!(count(true, Resolution::New) * 10 <= same, "{told:?}");
}

#[test]
fn two_alike_entities_wait_for_a_person() {
    let mention = Profile {
        name: "Mei Chen".into(),
        tenant: "acme".into(),
        ..Profile::default()
    };
    let alone = resolve(&mention, [("e1", &mention)], &PartWeights::default());
    assert_eq!(alone.outcome, Resolution::Bind);
    let both = resolve(
        &mention,
        [("e1", &mention), ("e2", &mention)],
        &PartWeights::default(),
    );
    assert_eq!(both.outcome, Resolution::Review);
    assert_eq!(both.candidates.len(), 2);
    let nobody = resolve(&mention, [], &PartWeights::default());
    assert_eq!(nobody.outcome, Resolution::New);
    // One word of which a person and something else are called says as little of either; what the session spoke of tells.
    let of = |kind| Profile {
        name: "Mercury".into(),
        tenant: "acme".into(),
        kind,
        ..Profile::default()
    };
    let (person, system) = (of(Some(EntityType::Person)), of(Some(EntityType::System)));
    let both = |mention: &Profile| {
        let all = [("person", &person), ("system", &system)];
        resolve(mention, all, &PartWeights::default())
    };
    let plain = both(&of(None));
    assert_eq!(plain.outcome, Resolution::Review);
    assert_eq!(plain.candidates.len(), 2);
    let spoken = both(&Profile {
        earlier: ["system".to_owned()].into(),
        ..of(None)
    });
    assert_eq!(spoken.outcome, Resolution::Bind);
    assert_eq!(spoken.candidates[0].0, "system");
}

/// The weights of the parts, in their order, in millionths.
fn weights(parts: [u32; 6]) -> PartWeights {
    let [lexical, kind, scope, metadata, neighbourhood, source] = parts.map(Score::from_millionths);
    PartWeights {
        lexical,
        kind,
        scope,
        metadata,
        neighbourhood,
        source,
    }
}

/// Weights of which this part alone counts.
fn only(part: usize) -> PartWeights {
    let mut parts = [0; 6];
    parts[part] = 1_000_000;
    weights(parts)
}

/// The place of the quality of the source among the parts.
const SOURCE: usize = 5;

fn named(name: &str) -> Profile {
    Profile {
        name: name.into(),
        tenant: "acme".into(),
        ..Profile::default()
    }
}

fn of_quality(name: &str, millionths: u32) -> Profile {
    Profile {
        source_authority: Some(Score::from_millionths(millionths)),
        ..named(name)
    }
}

fn mail(address: &str) -> Metadata {
    Metadata {
        mail: Some(address.into()),
        ..Metadata::default()
    }
}

fn ids(ids: &[&str]) -> BTreeSet<String> {
    ids.iter().map(|id| (*id).to_owned()).collect()
}

#[test]
fn each_part_is_shown_and_weighed() {
    let mention = Profile {
        kind: Some(EntityType::Person),
        project: Some("pumps".into()),
        metadata: mail("mei@acme.example"),
        neighbours: ids(&["nova", "helix"]),
        confidence: Some(Score::HALF),
        ..of_quality("Chen Mei", 600_000)
    };
    let entity = Profile {
        kind: Some(EntityType::Person),
        metadata: mail("m.chen@acme.example"),
        neighbours: ids(&["helix", "plan", "desk"]),
        ..named("Mei Chen")
    };
    // Words in another order; one type; one of both is of a project; one domain; one of two neighbours; 0.6 by 0.5.
    let parts = [940_000, 1_000_000, 800_000, 500_000, 500_000, 300_000];
    let score = |weights: &PartWeights| {
        let found = similarity(&mention, "e1", &entity, weights);
        let shown = SimilarityPart::ALL.iter().copied();
        let all: Vec<_> = shown.zip(parts.map(Score::from_millionths)).collect();
        // Whatever is weighed, all that is known is shown.
        assert_eq!(found.parts.into_iter().collect::<Vec<_>>(), all);
        (found.score.millionths(), found.limits.len())
    };
    for (place, part) in parts.into_iter().enumerate() {
        // No type lifts what is not the whole name to a merge.
        let (least, limits) = (part.min(949_999), usize::from(part > 949_999));
        assert_eq!(score(&only(place)), (least, limits), "{place}");
    }
    // 0.35 of 0.94, 0.15 of 1 and of 0.8, 0.2 and 0.1 of 0.5, 0.05 of 0.3.
    assert_eq!(score(&PartWeights::default()), (764_000, 0));
    let names_and_source = weights([250_000, 0, 0, 0, 0, 750_000]);
    assert_eq!(score(&names_and_source), (460_000, 0));
    // What is not known is not shown, and weighs nothing.
    let pair = &pairs()[0];
    let found = similarity(&pair.mention, "e1", &pair.entity, &PartWeights::default());
    assert_eq!(found.parts[&SimilarityPart::Lexical], Score::ONE);
    assert_eq!(found.parts[&SimilarityPart::Metadata], Score::ONE);
    assert!(!found.parts.contains_key(&SimilarityPart::Neighbourhood));
    let heavy = weights([350_000, 150_000, 150_000, 200_000, 1_000_000, 50_000]);
    let again = similarity(&pair.mention, "e1", &pair.entity, &heavy);
    assert_eq!(again, found);
    let nothing = weights([0; 6]).check().unwrap_err();
    assert!(nothing.to_string().contains("all weights"), "{nothing}");
    PartWeights::default().check().unwrap();
}

#[test]
fn the_edges_are_at_0_95_and_0_70() {
    let entity = named("Project Nova");
    let outcome = |quality: u32, weights: &PartWeights| {
        let mention = of_quality("Project Nova", quality);
        let found = resolve(&mention, [("nova", &entity)], weights);
        let shown = found.candidates.first();
        (
            found.outcome,
            shown.map(|(_, found)| found.score.millionths()),
        )
    };
    for (score, expected) in [
        (1_000_000, Resolution::Bind),
        (950_000, Resolution::Bind),
        (949_999, Resolution::Review),
        (700_001, Resolution::Review),
        (700_000, Resolution::New),
        (699_999, Resolution::New),
        (0, Resolution::New),
    ] {
        let shown = (expected != Resolution::New).then_some(score);
        assert_eq!(outcome(score, &only(SOURCE)), (expected, shown));
    }
    // A mean is never rounded up to an edge: 0.9499995, and 0.7000005.
    let both = weights([500_000, 0, 0, 0, 0, 500_000]);
    let below = (Resolution::Review, Some(949_999));
    assert_eq!(outcome(899_999, &both), below);
    assert_eq!(outcome(400_001, &both), (Resolution::New, None));
    assert_eq!(outcome(900_000, &both).0, Resolution::Bind);
}

#[test]
fn the_best_needs_a_lead_of_0_05() {
    let mention = named("Project Nova");
    for (best, next, expected) in [
        (1_000_000, 950_000, Resolution::Bind),
        (1_000_000, 950_001, Resolution::Review),
        (950_000, 900_000, Resolution::Bind),
        (950_000, 900_001, Resolution::Review),
        (949_999, 0, Resolution::Review),
    ] {
        let (one, other) = (
            of_quality("Project Nova", best),
            of_quality("Project Nova", next),
        );
        let told = |all: [(&str, &Profile); 2]| {
            let found = resolve(&mention, all, &only(SOURCE));
            let shown = found.candidates.iter().map(|(id, _)| id.clone());
            (found.outcome, shown.collect::<Vec<String>>())
        };
        let shown: &[&str] = if expected == Resolution::Bind || next == 0 {
            &["best"]
        } else {
            &["best", "next"]
        };
        let expected = (expected, shown.iter().map(|id| (*id).to_owned()).collect());
        // Whichever of them is looked at first.
        let (best, next) = (("best", &one), ("next", &other));
        assert_eq!(told([best, next]), expected);
        assert_eq!(told([next, best]), expected);
    }
}

#[test]
fn each_limit_keeps_a_perfect_mean_below_a_merge() {
    type Change = fn(&mut Profile, &mut Profile);
    let changes: [(&str, u32, Change); 13] = [
        ("another tenant", 0, |_, entity| {
            entity.tenant = "globex".into()
        }),
        ("another type", 700_000, |mention, entity| {
            (mention.kind, entity.kind) = (Some(EntityType::Project), Some(EntityType::System));
        }),
        ("another id", 700_000, |mention, entity| {
            mention.metadata.record_id = Some("crm:1".into());
            entity.metadata.record_id = Some("crm:2".into());
        }),
        ("another id", 700_000, |mention, entity| {
            mention.metadata.document_id = Some("DOC-1".into());
            entity.metadata.document_id = Some("DOC-2".into());
        }),
        ("another name", 700_000, |_, entity| {
            entity.name = "Grace Hopper".into()
        }),
        ("not the whole name", 949_999, |mention, _| {
            mention.name = "Chen Mei".into()
        }),
        ("look-alike characters", 949_999, |mention, entity| {
            mention.name = "Mei Ch\u{435}n".into();
            entity.name = "Mei Ch\u{435}n".into();
        }),
        (
            "another mail address, path or role",
            949_999,
            |mention, entity| {
                mention.metadata.mail = Some("mei@acme.example".into());
                entity.metadata.mail = Some("mei@globex.example".into());
            },
        ),
        (
            "another mail address, path or role",
            949_999,
            |mention, entity| {
                mention.metadata.path = Some("people/mei-1".into());
                entity.metadata.path = Some("people/mei-2".into());
            },
        ),
        (
            "another mail address, path or role",
            949_999,
            |mention, entity| {
                mention.metadata.role = Some("lead".into());
                entity.metadata.role = Some("auditor".into());
            },
        ),
        ("another project", 949_999, |mention, entity| {
            mention.project = Some("pumps".into());
            entity.project = Some("valves".into());
        }),
        ("no neighbour in common", 949_999, |mention, entity| {
            mention.neighbours = ids(&["nova"]);
            entity.neighbours = ids(&["helix"]);
        }),
        ("a name that many have", 949_999, |mention, entity| {
            mention.name = "Mei".into();
            entity.name = "Mei".into();
            entity.kind = Some(EntityType::Person);
        }),
    ];
    // Of all that is known the quality of the source alone counts, and there is no better one.
    let told = |mention: &Profile, entity: &Profile| {
        let found = similarity(mention, "e1", entity, &only(SOURCE));
        let outcome = resolve(mention, [("e1", entity)], &only(SOURCE)).outcome;
        (found.score.millionths(), found.limits, outcome)
    };
    let plain = named("Mei Chen");
    assert_eq!(
        told(&plain, &plain),
        (1_000_000, Vec::new(), Resolution::Bind)
    );
    for (limit, most, change) in changes {
        let (mut mention, mut entity) = (plain.clone(), plain.clone());
        change(&mut mention, &mut entity);
        let outcome = if most > 700_000 {
            Resolution::Review
        } else {
            Resolution::New
        };
        assert_eq!(told(&mention, &entity), (most, vec![limit], outcome));
    }
}

#[test]
fn an_id_that_is_the_same_is_enough_for_a_merge() {
    // The mean is 0.
    let of = |name: &str, metadata: &Metadata| Profile {
        metadata: metadata.clone(),
        ..of_quality(name, 0)
    };
    let told = |mention: &Profile, entity: &Profile| {
        let found = resolve(mention, [("e1", entity)], &only(SOURCE));
        let score = similarity(mention, "e1", entity, &only(SOURCE)).score;
        (found.outcome, score.millionths())
    };
    let record = Metadata {
        record_id: Some("crm:1".into()),
        ..Metadata::default()
    };
    let (bound, new) = ((Resolution::Bind, 950_000), (Resolution::New, 0));
    let entity = of("Mei Chen", &record);
    assert_eq!(told(&of("Grace Hopper", &record), &entity), bound);
    // An id says nothing of something of another type, or of another tenant's.
    let mut project = of("Mei Chen", &record);
    project.kind = Some(EntityType::Project);
    let mut person = entity.clone();
    person.kind = Some(EntityType::Person);
    assert_eq!(told(&project, &person), new);
    let mut abroad = entity.clone();
    abroad.tenant = "globex".into();
    assert_eq!(told(&entity, &abroad), new);
    // A mailbox may be shared: the name has to be near as well.
    let shared = mail("office@acme.example");
    let entity = of("Mei Chen", &shared);
    assert_eq!(told(&of("Chen Mei", &shared), &entity), bound);
    assert_eq!(told(&of("Grace Hopper", &shared), &entity), new);
}

#[test]
fn a_million_mentions_are_bounded_and_what_is_left_out_is_said() {
    let mut entities = Entities::default();
    let create =
        r#"{"at": "2026-06-06", "does": {"op": "create", "id": "nova", "name": "Project Nova"}}"#;
    entities
        .apply(&serde_json::from_str(create).unwrap())
        .unwrap();
    let resolver = Resolver::new(entities.seen("acme", &|_| true)).unwrap();
    let mut text: String = (0..1_000_000).map(|at| format!("OPS-{at} ")).collect();
    text.push_str("wait for Project Nova.");
    let around = named("");
    let began = std::time::Instant::now();
    let (found, is_cut) = resolver.text(&text, &around, &PartWeights::default());
    let took = began.elapsed();
    assert!(is_cut);
    assert_eq!(found.len(), MAX_MENTIONS);
    // Names that are known go first, wherever they stand.
    let known = found
        .iter()
        .filter(|one| one.resolved.outcome == Resolution::Bind);
    let known: Vec<&str> = known.map(|one| one.name.as_str()).collect();
    assert_eq!(known, ["project nova"]);
    // One name, however often, is one name.
    let same = "Project Nova. ".repeat(200_000);
    let (found, is_cut) = resolver.text(&same, &around, &PartWeights::default());
    assert_eq!((found.len(), is_cut), (1, false));
    assert!(took.as_secs() < 20, "{took:?}");
}

#[test]
fn names_of_any_length_are_compared() {
    let profile = |name: String| Profile {
        name,
        tenant: "acme".into(),
        ..Profile::default()
    };
    let (long, other) = (profile("ab ".repeat(33_000)), profile("ba ".repeat(33_000)));
    for entity in [&long, &other, &profile(String::new()), &profile("x".into())] {
        let found = resolve(&long, [("e1", entity)], &PartWeights::default());
        assert_eq!(
            found.outcome == Resolution::Bind,
            std::ptr::eq(entity, &long)
        );
    }
}
