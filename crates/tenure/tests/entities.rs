//! Resolution of entities, measured on labelled pairs of a mention and an entity: `models/eval/entities.jsonl`.

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;
use tenure::belief::entity::{
    Entities, EntityType, MAX_MENTIONS, MentionFinder, Metadata, PartWeights, Profile, Resolution,
    Resolved, Resolver, Sign, SimilarityPart, resolve, similarity,
};
use tenure::num::Score;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Pair {
    case: String,
    same: bool,
    /// The text in which the mention stands, where it is found by its address.
    text: Option<String>,
    mention: Profile,
    entity: Profile,
}

fn pairs() -> Vec<Pair> {
    let text = include_str!("../../../models/eval/entities.jsonl");
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
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
    let finder = MentionFinder::new([""; 0]).unwrap();
    for pair in &pairs {
        if let Some(text) = &pair.text {
            let found = finder.find(text).mentions;
            let found: Vec<Profile> = found.iter().map(|one| one.profile(named(""))).collect();
            assert_eq!(found, std::slice::from_ref(&pair.mention), "{text}");
        }
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

fn person(name: &str, address: &str) -> Profile {
    Profile {
        kind: Some(EntityType::Person),
        metadata: mail(address),
        ..named(name)
    }
}

/// A name as a text has it beside an address.
fn beside(name: &str, address: &str) -> Profile {
    Profile {
        metadata: mail(address),
        ..named(name)
    }
}

fn resolved(mention: &Profile, all: &[(&str, &Profile)]) -> (Resolved, Vec<String>) {
    let found = resolve(mention, all.iter().copied(), &PartWeights::default());
    let ids = found.candidates.iter().map(|(id, _)| id.clone());
    let ids = ids.collect();
    (found, ids)
}

#[test]
fn an_address_alone_is_whose_it_is() {
    let alone = person("office@acme.example", "office@acme.example");
    let mei = person("Mei Chen", "Office@acme.example");
    let (found, ids) = resolved(&alone, &[("mei", &mei)]);
    assert_eq!((found.outcome, ids.len()), (Resolution::Bind, 1));
    // Its name is nobody's: it says nothing, and is none that anybody has from now on.
    let parts = &found.candidates[0].1.parts;
    assert!(!parts.contains_key(&SimilarityPart::Lexical), "{parts:?}");
    assert_eq!(parts[&SimilarityPart::Metadata], Score::ONE);
    assert_eq!(found.alias, None);
    // Whoever asks by the address as a name asks the same.
    let (asked, _) = resolved(&named("OFFICE@acme.example"), &[("mei", &mei)]);
    assert_eq!(asked.outcome, Resolution::Bind);
    // Two that have it wait, whatever they are called; one of them may be named by it.
    let liam = person("Liam O'Connor", "office@acme.example");
    let itself = named("office@acme.example");
    for other in [&liam, &itself] {
        let (found, ids) = resolved(&alone, &[("mei", &mei), ("other", other)]);
        assert_eq!((found.outcome, ids.len()), (Resolution::Review, 2));
    }
    // One whose name is like it puts it in no doubt.
    let office = Profile {
        project: Some("pumps".into()),
        ..person("Office Acme", "other@acme.example")
    };
    let (found, ids) = resolved(&alone, &[("mei", &mei), ("office", &office)]);
    assert_eq!((found.outcome, &*ids[0]), (Resolution::Bind, "mei"));
    // Another address of theirs is one of their names.
    let mut two = mei.clone();
    two.aliases.push("mei@home.example".into());
    let home = person("mei@home.example", "mei@home.example");
    assert_eq!(
        resolved(&home, &[("mei", &two)]).0.outcome,
        Resolution::Bind
    );
    let home = beside("M. Chen", "mei@home.example");
    assert_eq!(
        resolved(&home, &[("mei", &two)]).0.outcome,
        Resolution::Bind
    );
    // What is no person has it as its own: a question of types is none of addresses.
    let system = Profile {
        kind: Some(EntityType::System),
        ..mei.clone()
    };
    assert_eq!(
        resolved(&alone, &[("mei", &system)]).0.outcome,
        Resolution::New
    );
    let elsewhere = person("office@globex.example", "office@globex.example");
    assert_ne!(
        resolved(&elsewhere, &[("mei", &mei)]).0.outcome,
        Resolution::Bind
    );
}

#[test]
fn a_near_name_beside_a_known_address_is_a_name_from_now_on() {
    let mut mei = person("Mei Chen", "mei@acme.example");
    mei.aliases.push("Meimei Chen".into());
    mei.roles.push(("the CFO".into(), Default::default()));
    let told = |name: &str| {
        let (found, _) = resolved(&beside(name, "mei@acme.example"), &[("mei", &mei)]);
        (found.outcome, found.alias)
    };
    for name in ["M. Chen", "Chen, Mei", "Mei-Lin Chen", "Mei Chenn"] {
        assert_eq!(told(name), (Resolution::Bind, Some(name.to_owned())));
    }
    // It is known; it is found by what is known; it is a role, or a name that many have.
    for name in [
        "MEI  CHEN",
        "Meimei Chen",
        "Dr Mei Chen",
        "Mei",
        "MC",
        "the CFO",
    ] {
        assert_eq!(told(name), (Resolution::Bind, None), "{name}");
    }
    // Another name in the same mailbox, and letters of another script.
    assert_eq!(told("Anna Kowalska"), (Resolution::New, None));
    for name in ["Mei Ch\u{435}n", "M. Ch\u{435}n", "M\u{435}i-Lin Chen"] {
        let (outcome, alias) = told(name);
        assert_ne!(outcome, Resolution::Bind, "{name}");
        assert_eq!(alias, None, "{name}");
    }
    // Words that many names share are no name.
    let legal = person("Legal", "legal@acme.example");
    let team = beside("Legal Team", "legal@acme.example");
    let (found, _) = resolved(&team, &[("legal", &legal)]);
    assert_eq!((found.outcome, found.alias), (Resolution::Bind, None));
    // What an address is named by stands before its @.
    let known = person("mei.chen@acme.example", "mei.chen@acme.example");
    let of = |name: &str| {
        let said = beside(name, "mei.chen@acme.example");
        let (found, _) = resolved(&said, &[("e", &known)]);
        (found.outcome, found.alias)
    };
    assert_eq!(of("Mei Chen"), (Resolution::Bind, Some("Mei Chen".into())));
    assert_eq!(of("Acme Example").0, Resolution::New);
    // A name by which another may be called is none, whether that one is bound or not.
    let said = beside("M. Chen", "mei@acme.example");
    for other in [
        named("M. Chen"),
        person("Max Chen", "max@acme.example"),
        person("Max Chen", "max@globex.example"),
        Profile {
            kind: Some(EntityType::System),
            ..named("Machine Chen")
        },
        // It looks so.
        named("M. Ch\u{435}n"),
    ] {
        let (found, _) = resolved(&said, &[("mei", &mei), ("other", &other)]);
        assert_eq!(found.alias, None, "{other:?}");
    }
    // Whom the session named in full is called so there, and nowhere else.
    let here = Profile {
        earlier: ids(&["mei"]),
        ..beside("Chen", "mei@acme.example")
    };
    assert_eq!(resolved(&here, &[("mei", &mei)]).0.alias, None);
}

/// A registry of these names with these addresses, an id each.
fn registry(all: &[(&str, &str)]) -> Resolver {
    let mut entities = Entities::default();
    for (at, (name, address)) in all.iter().enumerate() {
        let metadata = match *address {
            "" => "{}".to_owned(),
            address => format!(r#"{{"mail": "{address}"}}"#),
        };
        let create = format!(
            r#"{{"at": "2026-06-06", "does": {{"op": "create", "id": "e{at}", "name": "{name}", "metadata": {metadata}}}}}"#
        );
        entities.apply(&serde_json::from_str(&create).unwrap()).unwrap();
    }
    Resolver::new(entities.seen("acme", &|_| true)).unwrap()
}

/// Name, sign, what it is bound to or how many it may be, and the name that is one from now on.
fn told(resolver: &Resolver, text: &str) -> Vec<(String, Sign, String, Option<String>)> {
    let (found, _) = resolver.text(text, &named(""), &PartWeights::default());
    let told = found.into_iter().map(|one| {
        let candidates = one.resolved.candidates;
        let means = match one.resolved.outcome {
            Resolution::Bind => candidates[0].0.clone(),
            Resolution::New => "new".to_owned(),
            _ => format!("{} wait", candidates.len()),
        };
        (one.name, one.sign, means, one.resolved.alias)
    });
    told.collect()
}

#[test]
fn a_name_and_its_address_are_one_mention() {
    let resolver = registry(&[
        ("Mei Chen", "mei@acme.example"),
        ("Liam O'Connor", "info@acme.example"),
        ("ann.lee@acme.example", "ann.lee@acme.example"),
        ("Project Nova", ""),
    ]);
    let name = Sign::DisplayName;
    for (text, expected) in [
        (
            "Ask M. Chen <mei@acme.example>.",
            ("m. chen", name, "e0", Some("M. Chen")),
        ),
        (
            "\"Chen,  Mei\" <MEI@acme.example>",
            ("chen, mei", name, "e0", Some("Chen, Mei")),
        ),
        (
            "Mei Chen (mei@acme.example)",
            ("mei chen", name, "e0", None),
        ),
        (
            "mei chen <mei@acme.example>",
            ("mei chen", name, "e0", None),
        ),
        (
            "Yesterday Ann Lee <ann.lee@acme.example>",
            ("ann lee", name, "e2", Some("Ann Lee")),
        ),
        // A known name is no less a name beside an address of somebody else.
        (
            "mei chen <info@acme.example>",
            ("mei chen", name, "1 wait", None),
        ),
        (
            "Anna Kowalska <info@acme.example>",
            ("anna kowalska", name, "new", None),
        ),
        (
            "write to <mei@acme.example>",
            ("mei@acme.example", Sign::Mail, "e0", None),
        ),
        (
            "(ann.lee@acme.example)",
            ("ann.lee@acme.example", Sign::Alias, "e2", None),
        ),
    ] {
        let (said, sign, means, alias) = expected;
        let expected = (
            said.to_owned(),
            sign,
            means.to_owned(),
            alias.map(str::to_owned),
        );
        assert_eq!(told(&resolver, text), [expected], "{text}");
    }
    // Each address has its own; what stands around is found as ever.
    let text =
        "M. Chen <mei@acme.example> and M. Chen <m@globex.example> met Mei Chen of Project Nova.";
    let found = told(&resolver, text);
    let means: Vec<&str> = found.iter().map(|one| one.2.as_str()).collect();
    assert_eq!(means, ["e0", "new", "e0", "e3"]);
    // One text that calls two so gives the name to none.
    assert!(found.iter().all(|one| one.3.is_none()), "{found:?}");
    // A known name that holds the address is that name.
    let odd = registry(&[("Lee <a@b.example> Inc", ""), ("Ann", "a@b.example")]);
    let found = told(&odd, "Lee <a@b.example> Inc, Ann <a@b.example>");
    let signs: Vec<Sign> = found.iter().map(|one| one.1).collect();
    assert_eq!(signs, [Sign::Alias, Sign::DisplayName]);
    // Many who share a word: somebody else may be called so.
    let names: Vec<String> = (0..70).map(|at| format!("Kim{at} Chen")).collect();
    let mut many: Vec<(&str, &str)> = names.iter().map(|name| (name.as_str(), "")).collect();
    many.push(("Mei Chen", "mei@acme.example"));
    let found = told(&registry(&many), "Mei-Lin Chen <mei@acme.example>");
    assert_eq!((&*found[0].2, &found[0].3), ("e70", &None));
}

#[test]
fn hostile_texts_around_addresses_cost_no_more_than_others() {
    let resolver = registry(&[
        ("Mei Chen", "mei@acme.example"),
        ("a@b.example", "a@b.example"),
        ("A A", ""),
        ("> A", ""),
    ]);
    let began = std::time::Instant::now();
    for part in [
        "<",
        "(",
        "A ",
        "\"",
        "A. ",
        " ",
        "Aa",
        "von ",
        "a@b.example",
        "<a@b.example>",
        "A <a@b.example> ",
        "\"A A\" <a@b.example>",
        "(a@b.example)A ",
        "] <a@b.example>",
        "[A](mailto:a@b.example)",
    ] {
        let text = part.repeat((1 << 20) / part.len()) + " Mei Chen <mei@acme.example>";
        let found = told(&resolver, &text);
        assert!(found.len() < 8, "{part}: {}", found.len());
    }
    let mut many: String = (0..200_000).map(|at| format!("A{at} B <a{at}@b.example> ")).collect();
    many.push_str("Mei Chen <mei@acme.example>");
    let (found, is_cut) = resolver.text(&many, &named(""), &PartWeights::default());
    assert!(is_cut);
    assert_eq!(found.len(), MAX_MENTIONS);
    let took = began.elapsed();
    assert!(took.as_secs() < 60, "{took:?}");
}

#[test]
fn a_million_mentions_are_bounded_and_what_is_left_out_is_said() {
    let mut entities = Entities::default();
    let create =
        r#"{"at": "2026-06-06", "does": {"op": "create", "id": "nova", "name": "Project Nova"}}"#;
    entities.apply(&serde_json::from_str(create).unwrap()).unwrap();
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
    let known = found.iter().filter(|one| one.resolved.outcome == Resolution::Bind);
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
