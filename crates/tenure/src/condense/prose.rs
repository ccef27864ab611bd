//! Prose is distilled; a text of which no proposition fits whole is cut.

use super::distill::draft;
use super::lines::{Kept, irrelevant, keep};
use super::select::order;
use super::sentences::sentences;
use super::signal::{Signs, Task, worth};
use super::{Draft, Goal, Method, Reading, Unit};

/// A text read as sentences.
pub(super) struct Prose<'t>(pub(super) &'t str);

impl Reading for Prose<'_> {
    /// Sentences have nothing that could go without loss.
    fn lossless(&self) -> Option<Draft> {
        None
    }

    fn lossy(&self, goal: &Goal<'_>) -> Option<Draft> {
        let text = self.0;
        draft(text, goal).or_else(|| {
            let sentences = sentences(text);
            let task = Task::new(goal.task);
            let signs: Vec<Signs> = sentences.iter().map(|said| task.read(said)).collect();
            keep(
                &Kept {
                    head: "",
                    parts: &sentences,
                    end: "\n",
                    order: &order(&worth(&task, &signs)),
                    unit: Unit::Sentences,
                    method: Method::Extracted,
                    class: &irrelevant,
                },
                goal,
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::condense::Omission;

    #[test]
    fn decisions_corrections_and_what_the_task_names_stay() {
        let filler =
            "It is so that one had been there and was with it for all of this. ".repeat(30);
        let text = format!(
            "The talk began. {filler}We decided to use PostgreSQL. {filler}Sure, let me look. The limit is not 30 but 50 requests. {filler}Valve 17 leaks. {filler}That was all."
        );
        let goal = Goal {
            tokens: 90,
            task: "What about valve 17?",
            count: &|text| text.len() / 4,
            lossless_only: false,
        };
        let draft = Prose(&text).lossy(&goal).unwrap();
        let places: Vec<usize> = ["decided", "not 30", "Valve 17"]
            .iter()
            .map(|part| draft.text.find(part).unwrap_or_else(|| panic!("{part} {}", draft.text)))
            .collect();
        assert!(places.is_sorted());
        assert!(!draft.text.contains("Sure"));
        assert_eq!(draft.left_out[0].class, Omission::Acknowledgement);
        let last = draft.text.lines().last().unwrap();
        let sum: u32 = draft.left_out.iter().map(|left| left.count).sum();
        assert_eq!(last, format!("… {sum} propositions left out"));
    }

    #[test]
    fn a_cut_within_a_sentence_is_told() {
        let text = format!("It began{} and so it ended.", " with a word".repeat(200));
        let goal = Goal {
            tokens: 40,
            task: "",
            count: &|text| text.len() / 4,
            lossless_only: false,
        };
        let draft = Prose(&text).lossy(&goal).unwrap();
        assert!(draft.text.starts_with("It began") && draft.text.ends_with("ended."));
        let [left] = draft.left_out[..] else {
            panic!("{:?}", draft.left_out)
        };
        assert_eq!(left.unit, Unit::Bytes);
        assert!(left.count > 2_000, "{left:?}");
    }
}
