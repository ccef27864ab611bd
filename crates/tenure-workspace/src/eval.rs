//! Evaluation of the ranker: how much of what a query needs fits a budget, filled by rank.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use tenure::error::ErrorKind;
use tenure::ranker::{Question, Ranker, Similar, Unit, Weights};
use tenure::vectors::Vectors;
use tenure::{Digest, Error, Facts};

use tenure_adapters::RelevanceScorer;
use tenure_adapters::decompose::{Decomposer, add_subqueries};
use tenure_adapters::embed::{Embedder, NearWords, StaticTable, Vector, builtin_model};

/// One set to find things in, and what is asked: a line of an evaluation file.
#[derive(Clone, Debug, Deserialize)]
pub struct EvalSet {
    /// The units that may be found.
    pub units: Vec<EvalUnit>,
    /// The queries.
    pub queries: Vec<EvalQuery>,
}

/// Something that may be found.
#[derive(Clone, Debug, Deserialize)]
pub struct EvalUnit {
    /// Its id, unlike any other of its set.
    pub id: String,
    /// Its text.
    pub text: String,
    /// Its speaker.
    #[serde(default)]
    pub speaker: String,
    /// Its date, as text.
    #[serde(default)]
    pub date: String,
    /// Its heading.
    #[serde(default)]
    pub name: String,
    /// Its place, where the units are ordered.
    #[serde(default)]
    pub order: Option<u64>,
}

/// A question.
#[derive(Clone, Debug, Deserialize)]
pub struct EvalQuery {
    /// Its text.
    pub text: String,
    /// The ids of the units that answer it.
    pub relevant: Vec<String>,
}

/// The recall of an evaluation.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct Recall {
    /// The mean over the queries of the share of the relevant units that stand in the budget.
    pub recall: f64,
    /// The mean share that stands among the first five.
    pub recall_at_5: f64,
    /// The number of queries.
    pub queries: usize,
    /// The number of units.
    pub units: usize,
    /// The number of sets.
    pub sets: usize,
}

impl EvalUnit {
    /// Its cost: a token for each four characters of `speaker: text`, rounded up. Not a tokenizer's count, so that
    /// figures compare across tokenizers.
    fn cost(&self) -> u64 {
        let speaker = if self.speaker.is_empty() {
            0
        } else {
            self.speaker.chars().count() + 2
        };
        (speaker + self.text.chars().count()).div_ceil(4) as u64
    }

    fn unit(&self) -> Unit<'_> {
        Unit {
            name: &self.name,
            tags: "",
            speaker: &self.speaker,
            date: &self.date,
            purpose: "",
            text: &self.text,
            order: self.order,
        }
    }
}

/// Reads sets, one on each line, and checks them.
///
/// # Errors
///
/// [`ErrorKind::Input`] with the line: no JSON, an id that stands twice, or a query for what is not there.
pub fn read_sets(text: &str, source: &str) -> Result<Vec<EvalSet>, Error> {
    let mut sets = Vec::new();
    for (number, line) in text.lines().enumerate() {
        if line.trim().is_empty() {
            continue;
        }
        let broken = |what: String| Error::input(what).at(source, Some(number + 1));
        let set: EvalSet = serde_json::from_str(line).map_err(|error| {
            broken(format!("the line is no set: {error}")).expected(
                "{\"units\": [{\"id\", \"text\", …}], \"queries\": [{\"text\", \"relevant\"}]}",
            )
        })?;
        let mut ids = std::collections::BTreeSet::new();
        for unit in &set.units {
            if !ids.insert(&*unit.id) {
                return Err(broken(format!("two units have the id `{}`", unit.id)));
            }
        }
        for query in &set.queries {
            if let Some(missing) = query.relevant.iter().find(|id| !ids.contains(&***id)) {
                return Err(broken(format!(
                    "a query asks for the unit `{missing}`, which is not there"
                )));
            }
        }
        sets.push(set);
    }
    if sets.iter().all(|set| set.queries.iter().all(|query| query.relevant.is_empty())) {
        return Err(
            Error::new(ErrorKind::Input, "no query has a relevant unit").or_at(source, None)
        );
    }
    Ok(sets)
}

/// The ranking of the units of an evaluation.
#[derive(Clone, Copy)]
pub enum RankedBy<'r> {
    /// The built-in ranker, with the built-in table of vectors.
    Table(Weights),
    /// The built-in ranker, with vectors of one's own beside the built-in table.
    Embedder(&'r dyn Embedder, Weights),
    /// A scorer's score of each unit's text.
    Scorer(&'r dyn RelevanceScorer),
}

/// The units that a query is asked of, the best first, each with its score.
type Rank<'s> = dyn Fn(&str) -> Result<Vec<(usize, f64)>, Error> + 's;

impl RankedBy<'_> {
    fn ranking<'s>(&'s self, set: &'s EvalSet) -> Result<Box<Rank<'s>>, Error> {
        let units: Vec<Unit<'_>> = set.units.iter().map(EvalUnit::unit).collect();
        Ok(match *self {
            RankedBy::Table(weights) => {
                let (table, near) = (StaticTable::builtin()?, NearWords::builtin()?);
                let vectors: Vec<Vector> =
                    units.iter().map(|unit| table.embed(unit.text)).collect();
                let ranker = Ranker::new(&units, weights);
                Box::new(move |query| {
                    let asked = table.embed(query);
                    let dense = vectors.iter().map(|vector| asked.similarity(vector).to_f64());
                    let similar = Similar {
                        by: &dense.collect::<Vec<f64>>(),
                        beside: None,
                    };
                    let question = Question::of(query).with_near(near.of(query));
                    Ok(ranker.rank_by(&question, Some(similar)))
                })
            }
            RankedBy::Embedder(embedder, weights) => {
                let vectors = vectors_of(Some(embedder), set)?;
                let (table, near) = (StaticTable::builtin()?, NearWords::builtin()?);
                let known: Vec<Vector> = units.iter().map(|unit| table.embed(unit.text)).collect();
                let ranker = Ranker::new(&units, weights);
                Box::new(move |query| {
                    let dense = units.iter().map(|unit| similarity(&vectors, query, unit.text));
                    let asked = table.embed(query);
                    let beside = known.iter().map(|vector| asked.similarity(vector).to_f64());
                    let similar = Similar {
                        by: &dense.collect::<Vec<f64>>(),
                        beside: Some(&beside.collect::<Vec<f64>>()),
                    };
                    let question = Question::of(query).with_near(near.of(query));
                    Ok(ranker.rank_by(&question, Some(similar)))
                })
            }
            RankedBy::Scorer(scorer) => {
                let texts: Vec<&str> = units.iter().map(|unit| unit.text).collect();
                Box::new(move |query| {
                    let mut ranked: Vec<(usize, f64)> = scorer
                        .relevance(query, &texts)?
                        .into_iter()
                        .map(|score| score.map_or(0.0, |score| score.to_f64()))
                        .enumerate()
                        .collect();
                    // Of equals the first stays the first.
                    ranked.sort_by(|(_, a), (_, b)| b.total_cmp(a));
                    Ok(ranked)
                })
            }
        })
    }
}

/// The vectors of a set's units and of its queries, by this encoder or else the built-in table.
fn vectors_of(embedder: Option<&dyn Embedder>, set: &EvalSet) -> Result<Facts, Error> {
    let mut facts = Facts::none();
    let units: Vec<&str> = set.units.iter().map(|unit| &*unit.text).collect();
    let queries: Vec<&str> = set.queries.iter().map(|query| &*query.text).collect();
    let Some(embedder) = embedder else {
        let table = StaticTable::builtin()?;
        let mut vectors = Vectors::new(builtin_model()?);
        for text in units.into_iter().chain(queries) {
            vectors.add_rounded(Digest::of(text.as_bytes()), table.embed(text).components())?;
        }
        facts.add_vectors(Arc::new(vectors))?;
        return Ok(facts);
    };
    let made = [
        (embedder.embed(&units)?, units),
        (embedder.embed_queries(&queries)?, queries),
    ];
    for (made, texts) in made {
        let mut vectors = Vectors::new(embedder.model());
        for (text, vector) in texts.iter().zip(made) {
            vectors.add(Digest::of(text.as_bytes()), &vector)?;
        }
        facts.add_vectors(Arc::new(vectors))?;
    }
    Ok(facts)
}

fn similarity(vectors: &Facts, query: &str, text: &str) -> f64 {
    let [query, text] = [query, text].map(|text| Digest::of(text.as_bytes()));
    let similarity = vectors.similarity(&query, &text);
    similarity.map_or(0.0, |similarity| similarity.to_f64())
}

/// The share of the units that each query needs that stand in the budget, when the units are taken by rank until one
/// no longer fits. Queries that nothing is relevant to do not count.
///
/// # Errors
///
/// What the encoder or the scorer failed with; [`ErrorKind::Internal`] when the built-in table of vectors was altered.
pub fn recall(sets: &[EvalSet], budget: u64, by: RankedBy<'_>) -> Result<Recall, Error> {
    recall_in_parts(sets, budget, by, None)
}

/// Like `recall`, where somebody takes each query apart first: a unit is as near as the nearest of the questions says.
///
/// # Errors
///
/// As [`recall`], and what the decomposer failed with.
pub fn recall_in_parts(
    sets: &[EvalSet],
    budget: u64,
    by: RankedBy<'_>,
    decomposer: Option<&dyn Decomposer>,
) -> Result<Recall, Error> {
    let (mut found, mut found_at_5, mut queries, mut units) = (0.0, 0.0, 0, 0);
    for set in sets {
        let rank = by.ranking(set)?;
        units += set.units.len();
        for query in set.queries.iter().filter(|query| !query.relevant.is_empty()) {
            let mut ranked = rank(&query.text)?;
            if let Some(decomposer) = decomposer {
                let mut facts = Facts::none();
                add_subqueries(decomposer, &query.text, &mut facts)?;
                let mut best = vec![0.0f64; set.units.len()];
                ranked.iter().for_each(|(unit, score)| best[*unit] = *score);
                for part in facts.subqueries(&query.text) {
                    for (unit, score) in rank(part)? {
                        best[unit] = best[unit].max(score);
                    }
                }
                ranked = best.into_iter().enumerate().collect();
                ranked.sort_by(|(_, a), (_, b)| b.total_cmp(a));
            }
            let is_relevant = |unit: usize| query.relevant.contains(&set.units[unit].id);
            let mut left = Some(budget);
            let (mut hits, mut hits_at_5) = (0, 0);
            for (place, (unit, score)) in ranked.into_iter().enumerate() {
                // What has nothing to do with the query fills no room.
                if score <= 0.0 {
                    break;
                }
                left = left.and_then(|left| left.checked_sub(set.units[unit].cost()));
                hits += usize::from(left.is_some() && is_relevant(unit));
                if place < 5 {
                    hits_at_5 += usize::from(is_relevant(unit));
                }
            }
            let of = query.relevant.len() as f64;
            found += hits as f64 / of;
            found_at_5 += hits_at_5 as f64 / of;
            queries += 1;
        }
    }
    let mean = |sum: f64| sum / f64::from(queries.max(1));
    Ok(Recall {
        recall: mean(found),
        recall_at_5: mean(found_at_5),
        queries: queries as usize,
        units,
        sets: sets.len(),
    })
}

/// The similarities of queries to units that answer them and to units that do not, from which thresholds are chosen.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct Similarities {
    /// Of a query and what is not relevant to it.
    pub unrelated: Quantiles,
    /// Of a query and what is.
    pub related: Quantiles,
}

/// Quantiles of a set of similarities: the values that 5, 25, … of a hundred stay below.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct Quantiles {
    /// One in twenty.
    pub p5: f64,
    /// One in four.
    pub p25: f64,
    /// Half of them.
    pub p50: f64,
    /// Three in four.
    pub p75: f64,
    /// Nineteen in twenty.
    pub p95: f64,
    /// Ninety-nine in a hundred.
    pub p99: f64,
}

impl Quantiles {
    fn of(mut values: Vec<f64>) -> Quantiles {
        values.sort_by(f64::total_cmp);
        let at = |hundredths: usize| {
            let place = values.len().saturating_sub(1) * hundredths / 100;
            values.get(place).copied().unwrap_or(0.0)
        };
        Quantiles {
            p5: at(5),
            p25: at(25),
            p50: at(50),
            p75: at(75),
            p95: at(95),
            p99: at(99),
        }
    }
}

/// The similarities that an encoder, or else the built-in table, finds between queries and units, each by itself.
///
/// # Errors
///
/// What the encoder failed with; [`ErrorKind::Internal`] when the built-in table of vectors was altered.
pub fn similarities(
    sets: &[EvalSet],
    embedder: Option<&dyn Embedder>,
) -> Result<Similarities, Error> {
    let (mut related, mut unrelated) = (Vec::new(), Vec::new());
    for set in sets {
        let vectors = vectors_of(embedder, set)?;
        for query in &set.queries {
            for unit in &set.units {
                let values = if query.relevant.contains(&unit.id) {
                    &mut related
                } else {
                    &mut unrelated
                };
                values.push(similarity(&vectors, &query.text, &unit.text));
            }
        }
    }
    Ok(Similarities {
        unrelated: Quantiles::of(unrelated),
        related: Quantiles::of(related),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_fits_by_rank_is_what_counts() {
        let line = r#"{"units":[{"id":"a","text":"The pump leaks.","speaker":"Ann"},{"id":"b","text":"A film about whales, long and slow, that nobody saw."}],"queries":[{"text":"Which pump leaks?","relevant":["a"]},{"text":"whales","relevant":["b"]}]}"#;
        let sets = read_sets(line, "x").unwrap();
        assert_eq!(sets[0].units[0].cost(), 5);
        let by = RankedBy::Table(Weights::default());
        let at = |budget| recall(&sets, budget, by).unwrap().recall;
        assert_eq!((at(5), at(13), at(4)), (0.5, 1.0, 0.0));
        let twice = line.replace("\"b\"", "\"a\"");
        assert!(read_sets(&twice, "x").is_err());
        let missing = line.replace("[\"b\"]", "[\"c\"]");
        assert_eq!(
            read_sets(&missing, "x").unwrap_err().at.unwrap().line,
            Some(1)
        );
        assert!(read_sets("", "x").is_err());
    }

    struct AtAnd;

    impl Decomposer for AtAnd {
        fn decompose(&self, query: &str) -> Result<Vec<String>, Error> {
            Ok(query.split(" and ").map(str::to_owned).collect())
        }
    }

    #[test]
    fn questions_that_are_taken_apart_find_what_each_asks() {
        let line = r#"{"units":[{"id":"a","text":"The long journey to the north was cold."},{"id":"b","text":"The cold north is a long way from here, and the journey there is long."},{"id":"c","text":"Lunch was soup."}],"queries":[{"text":"Who made the long journey to the cold north and what was for lunch","relevant":["a","c"]}]}"#;
        let sets = read_sets(line, "x").unwrap();
        let by = RankedBy::Table(Weights::default());
        let of = |decomposer| recall_in_parts(&sets, 16, by, decomposer).unwrap().recall;
        assert_eq!((of(None), of(Some(&AtAnd))), (0.5, 1.0));
    }
}
