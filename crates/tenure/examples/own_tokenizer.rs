//! A tokenizer of one's own: whatever counts the tokens of the model that reads the payload.
//!
//! `cargo run -p tenure --example own_tokenizer`

use std::sync::Arc;

use tenure::{
    Budget, Candidates, CountKind, Error, Facts, FrameKey, Model, ObjectDocument, Policy, Request,
    Tokenizer, World, compile,
};

/// A token for each byte, as models of bytes have it.
struct Bytes;

impl Tokenizer for Bytes {
    fn name(&self) -> &str {
        "bytes"
    }

    fn count(&self, text: &str) -> usize {
        text.len()
    }

    /// This is the model's own count, not an estimate.
    fn kind(&self) -> CountKind {
        CountKind::Exact
    }

    /// The bytes of two texts are those of both together. Where this does not hold, pieces are priced with a margin.
    fn is_additive(&self) -> bool {
        true
    }
}

/// Compiles for a model of 4,096 bytes that the catalogue does not know.
pub(crate) fn main() -> Result<(), Error> {
    let model = Model::new(4_096, 512, "o200k_base");
    let key = FrameKey::new("demo", [7; 32]);
    let world = World::new("byte-lm", model, Arc::new(Bytes), key);

    let rule = ObjectDocument::rule("units", "Report pressure in pascal.").seal()?;
    let request = Request::new("Report the pressure.", Budget::tokens(2_000));
    let policy = Policy::preset("standard")?;
    let outcome = compile(
        &world,
        &policy,
        &request,
        &Candidates::new(vec![rule]),
        &Facts::none(),
    )?;
    let envelope = &outcome.single()?.envelope;
    let text = envelope.payload.as_ref().map_or("", |payload| payload.as_str());
    println!("{text}");
    println!("{} bytes, counted {}", text.len(), envelope.total_tokens);
    assert_eq!(text.len(), envelope.total_tokens as usize);
    Ok(())
}
