//! Nearness of parts to words by vectors of an encoder of one's own.

use std::path::Path;

use tenure::vectors::Vectors;
use tenure::{Digest, Error};
use tenure_adapters::embed::Embedder;
use tenure_store::{FileMark, VectorCache};

/// The similarity of each text to the words, nought where it is less than unrelated texts have. The vectors of texts are
/// kept in this file, with the mark of its index, so that each text is asked about once; those of words are not.
pub(super) fn similarities(
    (kept_in, mark): (&Path, Option<FileMark>),
    embedder: &dyn Embedder,
    words: &str,
    texts: &[&str],
) -> Result<Vec<f64>, Error> {
    let model = embedder.model();
    let digests: Vec<Digest> = texts.iter().map(|text| Digest::of(text.as_bytes())).collect();
    let mut cache = VectorCache::open(kept_in, mark)?;
    let mut vectors = Vectors::new(model.clone());
    let mut unknown: Vec<(Digest, &str)> = Vec::new();
    let known = cache.known(&model.digest, model.dimensions, &digests)?;
    for ((text, digest), known) in texts.iter().zip(&digests).zip(known) {
        match known {
            Some(vector) => vectors.add_rounded(*digest, &vector)?,
            None if unknown.iter().any(|(other, _)| other == digest) => {}
            None => unknown.push((*digest, text)),
        }
    }
    if !unknown.is_empty() {
        let asked: Vec<&str> = unknown.iter().map(|(_, text)| *text).collect();
        let made = answered(embedder.embed(&asked)?, asked.len(), &model.name)?;
        for ((digest, _), vector) in unknown.iter().zip(made) {
            vectors.add(*digest, &vector)?;
        }
        let made: Vec<(Digest, &[i8])> = unknown
            .iter()
            .filter_map(|(digest, _)| Some((*digest, vectors.get(digest)?)))
            .collect();
        cache.keep(&model.digest, &made)?;
    }
    let question = Digest::of(words.as_bytes());
    let mut asked = Vectors::new(model.clone());
    for vector in answered(embedder.embed_queries(&[words])?, 1, &model.name)? {
        asked.add(question, &vector)?;
    }
    let found = vectors.similarities(&digests, (&asked, &question));
    Ok(found
        .into_iter()
        .map(|score| match score {
            Some(score) if score >= model.unrelated => score.to_f64(),
            _ => 0.0,
        })
        .collect())
}

fn answered(made: Vec<Vec<f32>>, asked: usize, name: &str) -> Result<Vec<Vec<f32>>, Error> {
    if made.len() == asked {
        return Ok(made);
    }
    let what = format!("`{name}` gave {} vectors for {asked} texts", made.len());
    Err(Error::input(what).expected("one for each text"))
}
