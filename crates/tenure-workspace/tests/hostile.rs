//! Whatever comes from outside, reading it ends in objects or in an error that says where, never in
//! a panic; and what was read compiles within its budget.

use proptest::prelude::*;
use tenure::{
    Budget, Candidates, ErrorKind, Facts, FrameKey, Policy, Request, Trace, World, compile,
};
use tenure_workspace::sources::markdown::{self, Split, split};
use tenure_workspace::sources::skill::Skill;
use tenure_workspace::sources::{Sourced, json, seed};

/// Texts made of the pieces that matter to the readers, in any order.
fn text() -> impl Strategy<Value = String> {
    let pieces = prop_oneof![
        Just("---\n".to_owned()),
        Just("---".to_owned()),
        Just("name: a\n".to_owned()),
        Just("name: b\n".to_owned()),
        Just("priority: 0.5\n".to_owned()),
        Just("priority: .inf\n".to_owned()),
        Just("tags: [x, y]\n".to_owned()),
        Just("tags: &a [*a]\n".to_owned()),
        Just("object_type: tool_schema\n".to_owned()),
        Just("object_type: turn\nrole: user\n".to_owned()),
        Just("object_type: retrieved_passage\n".to_owned()),
        Just("valid_from: 2026-06-06\n".to_owned()),
        Just("keep_with: [a, b]\n".to_owned()),
        Just("input_schema: {type: object}\n".to_owned()),
        Just("```\n".to_owned()),
        Just("# A\n".to_owned()),
        Just("\n## B\n\n".to_owned()),
        Just("\nUnder\n---\n".to_owned()),
        Just("> - # C\n".to_owned()),
        Just("<!-- name: x, priority: 0.8, tags: [a] -->\n".to_owned()),
        Just("<!-- piority: 1 -->".to_owned()),
        Just("<!--".to_owned()),
        Just("-->".to_owned()),
        Just("description: a: b\n".to_owned()),
        Just("{\"name\": \"a\", \"content\": \"".to_owned()),
        Just("\"}".to_owned()),
        Just("[".to_owned()),
        Just("]".to_owned()),
        Just("\\ud800".to_owned()),
        Just("</evidence>\n".to_owned()),
        Just("\u{feff}".to_owned()),
        Just("\u{200b}\u{202e}".to_owned()),
        Just("\r\n".to_owned()),
        Just("\n\n".to_owned()),
        any::<char>().prop_map(String::from),
        ".{0,20}",
    ];
    prop::collection::vec(pieces, 0..30).prop_map(|pieces| pieces.concat())
}

/// Compiles what could be read, under every preset.
fn compiles(sourced: Vec<Sourced>) -> Result<(), TestCaseError> {
    let sealed = sourced.into_iter().filter_map(|one| one.document.seal().ok());
    let candidates = Candidates::new(sealed.collect());
    let world = World::for_model("cl100k_base", FrameKey::new("test", [7; 32])).unwrap();
    let request = Request::new("Do the work.", Budget::tokens(400));
    for preset in ["standard", "ordered", "stable-floor", "prefill"] {
        let policy = Policy::preset(preset).unwrap();
        match compile(&world, &policy, &request, &candidates, &Facts::none()) {
            Ok(outcome) => {
                let envelope = &outcome.single().unwrap().envelope;
                let payload = envelope.payload.as_ref().unwrap().bytes();
                let count = world.tokenizer().count(std::str::from_utf8(payload).unwrap());
                prop_assert_eq!(count, envelope.total_tokens as usize);
                prop_assert!(count <= 400);
            }
            Err(error) => prop_assert_ne!(error.kind, ErrorKind::Internal, "{}", error),
        }
    }
    Ok(())
}

proptest! {
    #[test]
    fn any_seed_file_is_read_or_refused(text in text()) {
        match seed::parse(&text, "stem") {
            Ok(sourced) => compiles(sourced)?,
            Err(error) => prop_assert!(error.at.and_then(|at| at.line).is_some(), "{}", error.what),
        }
    }

    #[test]
    fn parts_are_the_text_and_their_objects_lose_nothing(text in text()) {
        let parts = split(&text);
        prop_assert_eq!(parts.iter().map(|part| part.text).collect::<String>(), text.as_str());
        for (at, part) in parts.iter().enumerate() {
            let before: usize = parts[..at].iter().map(|part| part.text.matches('\n').count()).sum();
            prop_assert_eq!(part.line, before + 1);
            prop_assert_eq!(part.heading.is_none(), part.above.is_empty() && part.heading.is_none());
        }
        match markdown::documents(&text, "stem", Split::Above(0)) {
            Ok(sections) => {
                // Every word of the text stands in an object, in order; hints aside.
                let whole: String = sections.iter().map(|one| one.document.content.as_str()).collect();
                for line in text.split(['\n', '\r']).filter(|line| !line.contains("-->") && !line.contains("<!--")) {
                    if !text.contains("<!--") {
                        prop_assert!(whole.contains(line.trim()), "{:?} is lost", line);
                    }
                }
                let mut names: Vec<_> = sections.iter().map(|one| &one.document.name).collect();
                let count = names.len();
                names.sort();
                names.dedup();
                // Only hints can give one name twice, and collecting refuses that.
                prop_assert!(names.len() == count || text.contains("name: x"));
                compiles(sections)?;
            }
            Err(error) => prop_assert!(error.at.and_then(|at| at.line).is_some(), "{}", error.what),
        }
    }

    #[test]
    fn any_skill_is_read_or_refused(text in text()) {
        for text in [text.clone(), format!("---\n{text}\n---\n{text}")] {
            if let Ok(skill) = Skill::parse(&text, "folder") {
                prop_assert!(!skill.name.is_empty());
                prop_assert!(text.contains(skill.body.trim()));
            }
        }
    }

    #[test]
    fn any_json_is_read_or_refused(text in text()) {
        if let Ok(sourced) = json::parse(&text, "stem") {
            compiles(sourced)?;
        }
    }

    #[test]
    fn any_request_policy_and_trace_is_read_or_refused(text in text()) {
        let _ = Request::from_json(&text);
        let _ = Policy::from_toml(&text);
        let _ = Trace::from_json(&text);
    }
}
