//! The shortest way from a rule, a passage and a task to what a model is sent.
//!
//! `cargo run -p tenure --example hello`

use tenure::{
    Budget, Candidates, Error, Facts, FrameKey, ObjectDocument, Policy, Request, Target, World,
    compile,
};

/// Compiles for OpenAI's chat format, and prints the body and the verdicts.
pub(crate) fn main() -> Result<(), Error> {
    // A rule is yours and commands; a passage says where and when it was found, and never commands.
    let read = "2026-06-06T12:00:00Z".parse()?;
    let objects = vec![
        ObjectDocument::rule("units", "Report pressure in pascal.").seal()?,
        ObjectDocument::evidence("manual.pdf", read, "The valve opens at two bar.").seal()?,
    ];

    // A key of your own makes the tags around data unguessable. This one is for show.
    let world = World::for_model("gpt-4o", FrameKey::new("demo", [7; 32]))?;
    let request = Request::new("At what pressure does the valve open?", Budget::tokens(500))
        .with_target(Target::OpenAiChat);
    let policy = Policy::preset("standard")?;
    let candidates = Candidates::new(objects);

    let outcome = compile(&world, &policy, &request, &candidates, &Facts::none())?;
    let compiled = outcome.single()?;
    if let Some(payload) = &compiled.envelope.payload {
        println!("{payload}");
        // For a client that takes a value; a target of plain text has none.
        let messages = payload.as_json().map(|body| body["messages"].clone());
        assert!(messages.is_some_and(|messages| messages.is_array()));
        assert_eq!(payload.as_str().as_bytes(), payload.bytes());
    }
    println!("{} tokens", compiled.envelope.total_tokens);
    for verdict in &compiled.trace.verdicts {
        println!("{}: {}", verdict.name, verdict.reason.sentence());
    }
    Ok(())
}
