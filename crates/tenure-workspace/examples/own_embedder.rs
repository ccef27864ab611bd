//! An embedder of one's own: any function from texts to vectors, an endpoint or a model.
//!
//! `cargo run -p tenure-workspace --example own_embedder`

use tenure::vectors::VectorModel;
use tenure::{Budget, Candidates, Digest, Error, FrameKey, ObjectDocument, Policy, Request};
use tenure_workspace::Workspace;
use tenure_workspace::embed::Embedder;

/// A vector of the letters in a text: its shape is all that this shows.
struct Letters;

impl Embedder for Letters {
    /// Says what makes the vectors. Change the digest with the model: vectors of two are never compared.
    fn model(&self) -> VectorModel {
        VectorModel {
            dimensions: 26,
            ..VectorModel::new("letters", Digest::of(b"letters, version 1"))
        }
    }

    fn embed(&self, texts: &[&str]) -> Result<Vec<Vec<f32>>, Error> {
        let vector = |text: &&str| {
            let mut counts = vec![0.0; 26];
            for letter in text.bytes().filter(u8::is_ascii_alphabetic) {
                counts[usize::from(letter.to_ascii_lowercase() - b'a')] += 1.0;
            }
            counts
        };
        Ok(texts.iter().map(vector).collect())
    }
}

/// Ranks three notes with the vectors of one's own, and returns how near each is.
pub(crate) fn ranked() -> Result<Vec<(String, f64)>, Error> {
    let key = FrameKey::new("demo", [7; 32]);
    let workspace = Workspace::new(key)?.with_embedder(Letters);
    let read = "2026-06-06".parse()?;
    let notes = [
        ("valve.md", "The valve opens at two bar."),
        ("pump.md", "The pump starts when the tank is full."),
        ("tax.md", "Taxes are due in May."),
    ];
    let seal = |(source, text): (&str, &str)| ObjectDocument::evidence(source, read, text).seal();
    let objects = notes.into_iter().map(seal).collect::<Result<Vec<_>, _>>()?;

    let world = workspace.world("gpt-4o")?;
    let request = Request::new("When does the valve open?", Budget::tokens(1_000));
    let policy = Policy::preset("standard")?;
    let outcome = workspace.compile(&world, &policy, &request, &Candidates::new(objects))?;
    let verdicts = outcome.single()?.trace.verdicts.iter();
    let near = verdicts.map(|verdict| {
        let score = verdict.score.as_ref().map_or(0.0, |score| score.relevance.to_f64());
        (verdict.name.to_string(), score)
    });
    Ok(near.collect())
}

/// Prints each note with its relevance.
#[allow(dead_code)] // the tests call what it calls
pub(crate) fn main() -> Result<(), Error> {
    for (name, relevance) in ranked()? {
        println!("{relevance:.2}  {name}");
    }
    Ok(())
}
