//! The user's words in messages that left: they stand on, whole within its share, whatever else is cut.
//!
//! A person's words are the text of the user's role, less what a tool returned and less the blocks that a client put
//! there. Who names a thing decides its trust, so nothing that a tool returns or the model says becomes one of them.

use std::collections::{BTreeMap, BTreeSet};

use tenure::condense::turns::{Speaker, is_filler};
use tenure::object::{Authority, ObjectType};
use tenure::session::{Frontier, Shown, UserWords, UserWordsKept, Words};
use tenure::{Error, ObjectDocument, Unfetched};
use tenure_store::ERASED;

use super::draft::Draft;
use super::draft_inputs::DraftInputs;
use super::instructions::{is_erased, is_users};
use super::{Session, Turn};

/// The heading over the user's own words. It is the compiler's, so it does not speak as the user.
const QUOTES: &str = "Quoted from messages of the user that no longer stand here, word for word, each with its message:";

impl Session {
    /// What the user said in the messages that leave where the turns from `start` on stay, `request` aside, which stands
    /// by itself.
    pub(super) fn words(
        &self,
        start: usize,
        request: Option<&Turn>,
        how: &DraftInputs<'_>,
    ) -> Result<UserWords, Error> {
        let mut words = self.words_before()?;
        let leave = self.request.iter().chain(&self.turns[..start]);
        let known: BTreeSet<u64> = words.stand.iter().map(|words| words.turn).collect();
        let leave = leave.filter(|turn| !known.contains(&turn.number));
        words.stand.extend(leave.filter_map(Turn::typed));
        words.stand.retain(|words| {
            request.is_none_or(|kept| kept.number != words.turn) && !self.is_judged(words.turn)
        });
        words.stand.sort_by_key(|words| words.turn);
        Ok(words.within(how.words, &|text| u64::from(how.world.price(text))))
    }

    /// The user's words before this epoch's window.
    fn words_before(&self) -> Result<UserWords, Error> {
        let known = self.mark.words.as_ref();
        if let Some(words) =
            known.filter(|words| !words.stand.iter().any(is_gone) && self.rejudged().is_empty())
        {
            return Ok(words.clone());
        }
        // Epochs that began before words stood on, and words of which some were erased or judged: they are in the log.
        let mut words = UserWords::default();
        self.each_message(&mut |number, message| {
            if number < self.mark.from {
                words.stand.extend(Turn::new(number, message).typed());
            }
            Ok(())
        })?;
        Ok(words)
    }

    /// The texts of the user that a passage need not say, since they stand whole in any case, and the messages that they
    /// are of.
    pub(super) fn said_whole(&self, how: &DraftInputs<'_>) -> Result<SaidWhole, Error> {
        let words = self.words(self.turns.len(), None, how)?;
        let whole = words.stand.into_iter().filter(|words| words.cut.is_none());
        let mut said = SaidWhole::default();
        for Words { turn, text, .. } in whole {
            said.turns.insert(turn);
            said.texts.insert(text);
        }
        Ok(said)
    }

    /// How the user's words in messages that left stand; none where no message left, or in an epoch of a time when
    /// summaries alone said them.
    pub fn words_kept(&self) -> Option<UserWordsKept> {
        let kept = self.mark.words.as_ref()?.counts();
        (kept != UserWordsKept::default()).then_some(kept)
    }

    /// Adds what the user said in messages that left, in the order in which it was said, and what summaries hand on of the
    /// user's demands in words that do not stand whole. `asked` is the user's last request, which stands by itself.
    pub(super) fn quote(
        &self,
        (words, asked): (&UserWords, Option<u64>),
        frontier: &Frontier,
        (reads, how): (Option<&str>, &DraftInputs<'_>),
        draft: &mut Draft,
    ) -> Result<(), Error> {
        let stand: Vec<&Words> = words
            .stand
            .iter()
            .filter(|words| !self.is_judged(words.turn) && !is_gone(words))
            .collect();
        let whole: BTreeSet<u64> = stand
            .iter()
            .filter(|words| words.cut.is_none())
            .map(|words| words.turn)
            .collect();
        let shown = Shown::of(stand.iter().map(|words| words.text.as_str()));
        let demands = frontier.checkpoints().iter().flat_map(|(_, summary)| summary.demands());
        let mut lines: Vec<(u64, String)> = Vec::new();
        let mut corrected: BTreeMap<u64, u64> = BTreeMap::new();
        for statement in demands {
            if let Some(by) = statement.corrected_in {
                corrected.insert(statement.turn, by);
            }
            let stands = whole.contains(&statement.turn) || asked == Some(statement.turn);
            if !stands && !shown.says(&statement.text) {
                lines.push((statement.turn, statement.line()));
            }
        }
        for words in stand {
            let corrected = corrected.get(&words.turn);
            lines.push((words.turn, line(words, corrected, reads)));
            if let Some(cut) = words.cut {
                draft.unfetched.push(Unfetched::new(
                    format!(
                        "{} tokens of the user's words in t{}",
                        cut.tokens, words.turn
                    ),
                    "the user's words are longer than their share of the window",
                ));
            }
        }
        if words.left_out > 0 {
            draft.unfetched.push(Unfetched::new(
                format!("the words of {} messages of the user", words.left_out),
                "the user's words are longer than their share of the window",
            ));
        }
        if lines.is_empty() {
            return Ok(());
        }
        lines.sort_by_key(|(turn, _)| *turn);
        let lines: Vec<String> = lines.into_iter().map(|(_, line)| line).collect();
        let text = format!("{QUOTES}\n{}\n", lines.join("\n"));
        let mut document = ObjectDocument::named("words", text);
        document.object_type = Some(ObjectType::Checkpoint);
        document.authority_level = Some(Authority::User);
        self.add(document, how, draft)
    }
}

/// Returns whether words were erased with their message.
fn is_gone(words: &Words) -> bool {
    words.text == ERASED
}

/// The words of a message as the model reads them.
fn line(words: &Words, corrected: Option<&u64>, reads: Option<&str>) -> String {
    let mut line = format!("[{} user", words.turn);
    if words.times > 1 {
        line.push_str(&format!(", {} times", words.times));
    }
    if let Some(by) = corrected {
        line.push_str(&format!(", corrected in {by}"));
    }
    let (before, behind) = words.parts();
    line.push_str("] ");
    line.push_str(before);
    if let Some(cut) = words.cut {
        let found = reads.map(|tool| format!("; {tool} with t{}", words.turn)).unwrap_or_default();
        line.push_str(&format!("\n[omitted: {} tokens{found}]\n", cut.tokens));
        line.push_str(behind.trim_start());
    }
    line
}

/// The user's words that stand whole.
#[derive(Default)]
pub(super) struct SaidWhole {
    turns: BTreeSet<u64>,
    texts: BTreeSet<String>,
}

impl SaidWhole {
    /// Returns whether a text of a message would only be said again, or answers nothing.
    pub(super) fn needs_no_passage(&self, turn: u64, speaker: Speaker, text: &str) -> bool {
        let stands = self.turns.contains(&turn) || self.texts.contains(text.trim());
        is_filler(text) || speaker == Speaker::User && stands
    }
}

impl Turn {
    /// The text that a person typed in it; none where that is nothing.
    fn typed(&self) -> Option<Words> {
        let users = (0u32..)
            .zip(&self.entry.objects)
            .filter(|(_, object)| is_users(object) && !is_erased(object));
        let texts: Vec<String> = users
            .map(|(part, _)| self.without(part, &|_| true))
            .map(|text| text.trim().to_owned())
            .filter(|text| !text.is_empty())
            .collect();
        (!texts.is_empty()).then(|| Words::whole(self.number, texts.join("\n")))
    }
}
