//! Resolution of entities, measured on labelled pairs of a mention and an entity: `models/eval/entities.jsonl`.

use std::collections::BTreeMap;

use serde::Deserialize;
use tenure::belief::entity::{
    EntityType, PartWeights, Profile, Resolution, SimilarityPart, resolve, similarity,
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

#[test]
fn each_part_is_shown_and_weighed() {
    let pair = &pairs()[0];
    let found = similarity(&pair.mention, "e1", &pair.entity, &PartWeights::default());
    assert_eq!(found.parts[&SimilarityPart::Lexical], Score::ONE);
    assert_eq!(found.parts[&SimilarityPart::Metadata], Score::ONE);
    assert!(!found.parts.contains_key(&SimilarityPart::Neighbourhood));
    let weights = PartWeights {
        lexical: Score::ZERO,
        kind: Score::ZERO,
        scope: Score::ZERO,
        metadata: Score::ZERO,
        neighbourhood: Score::ZERO,
        source: Score::ZERO,
    };
    assert!(
        weights
            .check()
            .unwrap_err()
            .to_string()
            .contains("all weights")
    );
    PartWeights::default().check().unwrap();
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
