//! Scorers of relevance, where the policy leaves it to the caller (`scorer = "supplied"`): a cross-encoder, a
//! judge behind an OpenAI-compatible endpoint, or any function. The answers are facts, which a record keeps: a
//! replay asks nobody.
//!
//! ```
//! use tenure::{Error, num::Score};
//! use tenure_adapters::RelevanceScorer;
//!
//! struct LikesCats;
//!
//! impl RelevanceScorer for LikesCats {
//!     fn relevance(&self, _query: &str, texts: &[&str]) -> Result<Vec<Option<Score>>, Error> {
//!         Ok(texts.iter().map(|text| text.contains("cat").then_some(Score::ONE)).collect())
//!     }
//! }
//! ```

#[cfg(feature = "onnx")]
mod cross;
#[cfg(feature = "http")]
mod judge;

use std::collections::BTreeMap;
use std::path::Path;

use tenure::num::Score;
use tenure::{Candidates, Error, Fact, Facts, Need, Needs};

#[cfg(feature = "onnx")]
pub use cross::CrossEncoder;
#[cfg(feature = "http")]
pub use judge::Judge;

use crate::settings::{Given, in_file, variable};

/// Name in errors of settings of a scorer whose file is not known.
const WHAT: &str = "scorer";

/// Says how relevant texts are to a query: a cross-encoder, a model, or any function of the caller. Asked only when
/// the policy says `scorer = "supplied"`, only about what the caller may see, and about each text once.
pub trait RelevanceScorer: Send + Sync {
    /// The relevance of each text to the query, in their order; none to fall back on the built-in ranker.
    ///
    /// # Errors
    ///
    /// Whatever went wrong; the compile that asked then fails with it.
    fn relevance(&self, query: &str, texts: &[&str]) -> Result<Vec<Option<Score>>, Error>;
}

impl<S: RelevanceScorer + ?Sized> RelevanceScorer for Box<S> {
    fn relevance(&self, query: &str, texts: &[&str]) -> Result<Vec<Option<Score>>, Error> {
        (**self).relevance(query, texts)
    }
}

/// Opens the scorer at this path: a folder with a cross-encoder in the ONNX format, or a TOML file that names one
/// (`onnx`) or a judge behind an OpenAI-compatible endpoint (`url`). `library` is the ONNX Runtime that runs a model.
///
/// # Errors
///
/// [`ErrorKind::Input`](tenure::ErrorKind::Input) with the file and line, or what is wrong with the model;
/// [`ErrorKind::Usage`](tenure::ErrorKind::Usage) in a build without the feature `onnx` or `http`.
pub fn open(path: &Path, library: Option<&Path>) -> Result<Box<dyn RelevanceScorer>, Error> {
    match Given::open(path)? {
        #[cfg(feature = "onnx")]
        Given::Folder(folder) => Ok(Box::new(CrossEncoder::open(&folder, library)?)),
        #[cfg(feature = "onnx")]
        Given::Onnx { text, base } => {
            let scorer = CrossEncoder::from_toml(&text, &base, library);
            Ok(Box::new(scorer.map_err(in_file(path, WHAT))?))
        }
        #[cfg(not(feature = "onnx"))]
        Given::Folder(_) | Given::Onnx { .. } => Err(crate::without_onnx()),
        #[cfg(feature = "http")]
        Given::Endpoint(text) => {
            let judge = Judge::from_toml(&text, &variable);
            Ok(Box::new(judge.map_err(in_file(path, WHAT))?))
        }
        #[cfg(not(feature = "http"))]
        Given::Endpoint(_) => Err(crate::without_http()),
    }
}

/// Adds the scorer's answers to all needs of relevance.
///
/// # Errors
///
/// The scorer's own; [`ErrorKind::Input`](tenure::ErrorKind::Input) when it has not one answer for each text.
pub fn add_scores(
    scorer: &dyn RelevanceScorer,
    needs: &Needs,
    candidates: &Candidates,
    facts: &mut Facts,
) -> Result<(), Error> {
    let wanted = needs.asked.iter().filter(|asked| matches!(asked.need, Need::Relevance { .. }));
    let mut places: BTreeMap<&str, usize> = BTreeMap::new();
    let mut texts = Vec::new();
    let mut asked = Vec::new();
    for one in wanted {
        let text = one.text(candidates);
        let place = *places.entry(text).or_insert_with(|| {
            texts.push(text);
            texts.len() - 1
        });
        asked.push((&one.need, place));
    }
    if texts.is_empty() {
        return Ok(());
    }
    let scores = scorer.relevance(&needs.query, &texts)?;
    if scores.len() != texts.len() {
        let (answers, texts) = (scores.len(), texts.len());
        return Err(Error::input(format!(
            "the scorer gave {answers} answers for {texts} texts"
        ))
        .expected("one for each text"));
    }
    for (need, place) in asked {
        if let Some(score) = scores[place] {
            facts.insert(need, Fact::Relevance { score });
        }
    }
    Ok(())
}
