//! The verb **condense**: a text made to fit a number of tokens, with a pointer to the original where something was
//! left out.

use schemars::JsonSchema;
use serde::Serialize;
use tenure::condense::curve::Curve;
use tenure::condense::distill::{BelowFloor, FLOOR};
use tenure::condense::{
    Condensed, ContentType, Goal, LeftOut, Method, Omission, Unit, code, condense, detect,
};
use tenure::num::Score;
use tenure::{Error, PointerId, Tokenizer, pointer_line};
use tenure_adapters::code::outline;
use tenure_adapters::read::text_of;

use crate::originals::{Originals, Pointer};
use crate::workspace::Workspace;

/// The text is made smaller for the sake of its pointer at most so often.
const TRIES: u32 = 6;

/// The task, budget and limits of a condensation.
#[derive(Clone, Copy, Debug)]
pub struct Condensing<'c> {
    /// The most tokens that the result may have, its pointer included.
    pub tokens: u32,
    /// The task of the reader. Everything that it names is kept.
    pub task: &'c str,
    /// The type of the text; detected if `None`.
    pub content_type: Option<ContentType>,
    /// The name of its file, or nothing: it may say that the text is source code, and of which
    /// language.
    pub name: &'c str,
    /// True if nothing may be lost.
    pub lossless_only: bool,
    /// The place where the original is kept when something is left out. Without it the result has no pointer, and
    /// only the caller still has the original.
    pub originals: Option<&'c Originals>,
}

/// A condensed text with its pointer.
#[derive(Clone, Debug)]
pub struct Condensation {
    /// The result; its `text` and its `to` include the pointer.
    pub condensed: Condensed,
    /// The pointer to the original, when something was left out and it was kept.
    pub pointer: Option<Pointer>,
    /// The share of the original's statements that the text still has.
    pub fidelity: Score,
    /// True if a smaller form was given up because there was no room for its pointer.
    pub crowded_out: bool,
}

/// A condensation as the faces print it.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct CondensationReport {
    /// The tokens of the original.
    pub from: u32,
    /// The tokens of the text, its pointer included.
    pub to: u32,
    /// The method.
    pub method: Method,
    /// The type of the text.
    pub content_type: ContentType,
    /// True if nothing was lost.
    pub lossless: bool,
    /// True if it has no more tokens than were asked for.
    pub fits: bool,
    /// The share of the original's statements that the text still has.
    pub fidelity: Score,
    /// The curve of the method, where it has one.
    pub curve: Option<CurveReport>,
    /// The warning that too much was lost.
    pub warning: Option<String>,
    /// The parts that were left out.
    pub left_out: Vec<LeftOutReport>,
    /// The id of the pointer to the original, where it was kept.
    pub pointer: Option<PointerId>,
    /// The text.
    pub text: String,
}

/// Parts that were left out for one reason.
#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
pub struct LeftOutReport {
    class: Omission,
    unit: Unit,
    count: u32,
}

/// The curve of a method, and where its knee is for this text.
#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
pub struct CurveReport {
    alpha: f64,
    beta: f64,
    knee: Option<Knee>,
}

/// The size below which a text loses fast.
#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
struct Knee {
    to: u32,
    fidelity: Score,
}

impl Condensation {
    /// The report on it. It warns where less than `floor` of the original's statements is left; without one, where a
    /// distilled text lost too much.
    pub fn report(&self, floor: Option<Score>) -> CondensationReport {
        let condensed = &self.condensed;
        let curve = Curve::of(condensed.method).map(|curve| CurveReport {
            alpha: curve.alpha,
            beta: curve.beta,
            knee: curve.knee().map(|knee| Knee {
                to: curve.target(condensed.from, FLOOR),
                fidelity: curve.fidelity(knee),
            }),
        });
        CondensationReport {
            from: condensed.from,
            to: condensed.to,
            method: condensed.method,
            content_type: condensed.content_type,
            lossless: condensed.lossless,
            fits: condensed.fits,
            fidelity: self.fidelity,
            curve,
            warning: self.below(floor).map(|below| below.to_string()),
            left_out: condensed
                .left_out
                .iter()
                .map(|left| LeftOutReport {
                    class: left.class,
                    unit: left.unit,
                    count: left.count,
                })
                .collect(),
            pointer: self.pointer.map(|pointer| pointer.id),
            text: condensed.text.clone(),
        }
    }

    /// The warning where less than `floor` of the original's statements is left.
    pub fn below(&self, floor: Option<Score>) -> Option<BelowFloor> {
        let distilled = self.condensed.method == Method::Distilled;
        let floor = floor.or(distilled.then_some(FLOOR))?;
        BelowFloor::check(self.fidelity, floor)
    }

    /// A text that is already whole, or that cannot be made smaller.
    fn whole(condensed: Condensed) -> Condensation {
        Condensation {
            condensed,
            pointer: None,
            fidelity: Score::ONE,
            crowded_out: false,
        }
    }
}

impl Workspace {
    /// **condense**: the text in these bytes by the least harmful means. Where something was left
    /// out, the original is kept, and the last line points to it.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Input`](tenure::ErrorKind::Input) when the bytes are no text, or the original
    /// cannot be kept.
    pub fn condense(
        &self,
        tokenizer: &dyn Tokenizer,
        content: &[u8],
        wanted: &Condensing<'_>,
    ) -> Result<Condensation, Error> {
        let text = text_of(content)?;
        let count = |text: &str| tokenizer.count(text);
        let ending = code::ending(wanted.name);
        let content_type = wanted.content_type.unwrap_or_else(|| match ending {
            Some(_) => ContentType::Code,
            None => detect(text),
        });
        let is_code = content_type == ContentType::Code;
        let parts = is_code.then(|| outline(text, ending.unwrap_or_default())).transpose()?;
        let within = |tokens: u32| {
            let goal = Goal {
                tokens,
                task: wanted.task,
                count: &count,
                lossless_only: wanted.lossless_only,
            };
            match &parts {
                Some(parts) => code::condense(text, parts, &goal),
                None => condense(text, Some(content_type), &goal),
            }
        };
        let mut condensed = within(wanted.tokens);
        if condensed.lossless {
            return Ok(Condensation::whole(condensed));
        }
        let Some(originals) = wanted.originals else {
            return Ok(Condensation {
                fidelity: condensed.fidelity(text),
                ..Condensation::whole(condensed)
            });
        };
        let pointer = self.pointer(content)?;
        let mut room = wanted.tokens;
        for _ in 0..TRIES {
            let pointed = with_pointer(&condensed, &pointer);
            let to = u32::try_from(count(&pointed)).unwrap_or(u32::MAX);
            if to <= wanted.tokens && to < condensed.from {
                self.keep(originals, content)?;
                return Ok(Condensation {
                    fidelity: condensed.fidelity(text),
                    condensed: Condensed {
                        text: pointed,
                        to,
                        ..condensed
                    },
                    pointer: Some(pointer),
                    crowded_out: false,
                });
            }
            // Counted from what the text took, since a form may take much less than its room.
            let over = to.saturating_sub(wanted.tokens).max(1);
            room = room.min(condensed.to).saturating_sub(over);
            condensed = within(room);
            if condensed.method == Method::Unchanged {
                break;
            }
        }
        Ok(Condensation {
            crowded_out: true,
            ..Condensation::whole(Condensed {
                text: text.to_owned(),
                method: Method::Unchanged,
                lossless: true,
                fits: false,
                to: condensed.from,
                left_out: Vec::new(),
                ..condensed
            })
        })
    }
}

/// The text, and the line that says where the rest is.
fn with_pointer(condensed: &Condensed, pointer: &Pointer) -> String {
    let parts = counted(&condensed.left_out)
        .into_iter()
        .map(|(number, noun)| format!("{number} {noun}"));
    let left_out = match parts.collect::<Vec<_>>().join(", ") {
        none if none.is_empty() => "parts".to_owned(),
        some => some,
    };
    let line = pointer_line(&left_out, pointer.id);
    let joint = if condensed.text.ends_with('\n') || condensed.text.is_empty() {
        ""
    } else {
        "\n"
    };
    format!("{}{joint}{line}\n", condensed.text)
}

/// The content that was left out, for any reason, as numbers with their nouns. White space and decoration do not
/// count.
pub fn counted(left_out: &[LeftOut]) -> Vec<(u32, &'static str)> {
    let sum = |unit: Unit| {
        left_out
            .iter()
            .filter(|left| left.class != Omission::Formatting)
            .filter(|left| left.unit == unit)
            .fold(0u32, |sum, left| sum.saturating_add(left.count))
    };
    Unit::ALL
        .iter()
        .map(|unit| (sum(*unit), unit.term()))
        .filter(|(number, _)| *number > 0)
        .map(|(number, plural)| match (number, plural) {
            (1, "matches") => (1, "match"),
            (1, plural) => (1, plural.trim_end_matches('s')),
            _ => (number, plural),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use tenure::{FrameKey, PointerId};

    use super::*;

    fn records(count: usize) -> String {
        let records: Vec<String> = (0..count)
            .map(|id| format!(r#"{{"id": {id}, "name": "item {}"}}"#, id * 7_919 % 1_000))
            .collect();
        format!("[{}]", records.join(",\n"))
    }

    #[test]
    fn a_result_with_its_pointer_is_never_above_its_budget() {
        let folder = tempfile::tempdir().unwrap();
        let originals = Originals::at(folder.path().join("originals"));
        let workspace = Workspace::new(FrameKey::new("test", [7; 32])).unwrap();
        let world = workspace.world("gpt-4o").unwrap();
        let tokenizer = world.tokenizer();
        let text = records(300);
        let (mut pointed, mut crowded, mut least) = (0, 0, u32::MAX);
        for tokens in (1..=400).step_by(7) {
            let wanted = Condensing {
                tokens,
                task: "",
                content_type: None,
                name: "",
                lossless_only: false,
                originals: Some(&originals),
            };
            let done = workspace.condense(tokenizer, text.as_bytes(), &wanted).unwrap();
            let condensed = &done.condensed;
            assert_eq!(condensed.to as usize, tokenizer.count(&condensed.text));
            assert_eq!(condensed.fits, condensed.to <= tokens);
            crowded += usize::from(done.crowded_out);
            match done.pointer {
                Some(pointer) => {
                    pointed += 1;
                    least = least.min(tokens);
                    assert!(condensed.fits && !condensed.left_out.is_empty());
                    let last = condensed.text.lines().last().unwrap();
                    assert_eq!(PointerId::of(last), Ok(pointer.id));
                    let read = workspace.rehydrate(&originals, pointer.id).unwrap();
                    assert_eq!(read, text.as_bytes());
                }
                // Where a smaller budget had room for a pointer, a larger one has.
                None => {
                    assert!(tokens < least);
                    assert_eq!(condensed.text, text);
                }
            }
        }
        assert!(pointed > 20 && crowded > 0, "{pointed} {crowded}");
    }

    #[test]
    fn what_was_left_out_is_added_up() {
        let left = |class, unit, count| LeftOut { class, unit, count };
        let left_out = [
            left(Omission::LowRelevance, Unit::Matches, 1),
            left(Omission::Repeat, Unit::Lines, 2),
            left(Omission::LowRelevance, Unit::Lines, 3),
            left(Omission::LowRelevance, Unit::Bytes, 1),
            left(Omission::Formatting, Unit::Bytes, 900),
            left(Omission::LowRelevance, Unit::Frames, 0),
        ];
        assert_eq!(
            counted(&left_out),
            [(1, "byte"), (5, "lines"), (1, "match")]
        );
    }
}
