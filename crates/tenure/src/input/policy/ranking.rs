//! The weights of the built-in ranker, as a policy has them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::is_nothing;
use crate::base::num::Score;
use crate::rank::ranker::Weights;

/// The weights of the built-in ranker (`docs/reference/ranking.md`). That of a speaker's name is fixed.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Ranking {
    /// The share of the vectors' similarity in the sum with the terms.
    pub dense: Score,
    /// The share of the vectors' similarity for a turn of a conversation. 0: as for all else.
    #[serde(default, skip_serializing_if = "is_nothing")]
    pub turns: Score,
    /// The weight of a term in the name.
    pub name: f64,
    /// The weight of a term in the tags.
    pub tags: f64,
    /// The weight of a term in the date from which it is valid.
    pub date: f64,
    /// The weight of a term in the text.
    pub text: f64,
    /// The saturation of a term that is repeated (BM25's k₁).
    pub saturation: f64,
    /// The discount of longer texts (BM25's b).
    pub length: Score,
    /// The shares that a turn or passage has of the terms of the one before it, the one after it, those two places
    /// away and those three places away.
    pub neighbours: [f64; 4],
    /// The most by which one is raised whose section, a run of neighbours, is near as a whole, as a share of its score.
    #[serde(default, skip_serializing_if = "is_nothing")]
    pub section: Score,
    /// The raise of the one that opens a section, likewise.
    #[serde(default, skip_serializing_if = "is_nothing")]
    pub opener: Score,
    /// The weight of a term in what an object says of its purpose: `why_it_matters` and `behavioral_implication`.
    #[serde(default, skip_serializing_if = "is_nothing")]
    pub purpose: Score,
    /// The bonus of a unit whose speaker (`said_by`) the query names, where the greatest score is 1. It helps some conversations and hurts
    /// others.
    #[serde(default = "named_before", skip_serializing_if = "is_named_before")]
    pub named: Score,
    /// The most by which one is raised that is of the days which the query names, as a share of its score; what is days away
    /// is raised less.
    #[serde(default, skip_serializing_if = "is_nothing")]
    pub dates: Score,
    /// The share of a term that counts for a word which the built-in table has near to one of the query's.
    #[serde(default, skip_serializing_if = "is_nothing")]
    pub near_words: Score,
    /// The share of the similarity by an encoder of one's own in the sum with the terms and the built-in table. 0: the encoder
    /// takes the table's place.
    #[serde(default, skip_serializing_if = "is_nothing")]
    pub encoder: Score,
    /// The share of the table's similarity beside such an encoder.
    #[serde(default, skip_serializing_if = "is_nothing")]
    pub beside: Score,
}

/// The bonus of who is named, of policies that do not say it.
fn named_before() -> Score {
    Score::from_millionths(200_000)
}

fn is_named_before(named: &Score) -> bool {
    *named == named_before()
}

impl Ranking {
    /// Returns the weights of the ranker.
    pub fn weights(&self) -> Weights {
        let standard = Weights::default();
        let [_, _, speaker, ..] = standard.fields;
        Weights {
            fields: [
                self.name,
                self.tags,
                speaker,
                self.date,
                self.purpose.to_f64(),
                self.text,
            ],
            saturation: self.saturation,
            length: self.length.to_f64(),
            neighbours: self.neighbours,
            dense: self.dense.to_f64(),
            turns: self.turns.to_f64(),
            section: self.section.to_f64(),
            opener: self.opener.to_f64(),
            named: self.named.to_f64(),
            dates: self.dates.to_f64(),
            near_words: self.near_words.to_f64(),
            encoder: self.encoder.to_f64(),
            beside: self.beside.to_f64(),
        }
    }

    pub(super) fn is_sound(&self) -> bool {
        let rest = [self.name, self.tags, self.date, self.text, self.saturation];
        let mut all = rest.into_iter().chain(self.neighbours);
        all.all(|weight| (0.0..=1_000.0).contains(&weight))
    }
}
