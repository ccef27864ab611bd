//! A summary of turns, extractive and deterministic: sentences as they were said, each with its turn. Of a tool's
//! result it holds what was called and the lines that say what none of its others says.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{SessionPolicy, Shown, result};
use crate::base::num::Score;
use crate::base::time::Instant;
use crate::condense::telling::{is_fragment, one_line};
use crate::condense::turns::{self, Speaker, Standing, Turn, Weights};
use crate::object::ToolCall;
use crate::rank::ranker::each_term;

/// The version of a checkpoint's form. 2: it names its sources, its instant and its ratio, and what it says of
/// results is read from them as what they are.
pub const CHECKPOINT_VERSION: u32 = 2;

/// A turn of a conversation.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Said<'t> {
    /// The turn's number in its session.
    pub turn: u64,
    /// The speaker.
    pub speaker: Speaker,
    /// The text.
    pub text: &'t str,
    /// True if all of it outlives every compaction.
    pub pinned: bool,
    /// The call that it answers, where it is a result.
    pub call: Option<&'t ToolCall>,
}

/// A sentence that a checkpoint hands on.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Statement {
    /// The turn it was said in.
    pub turn: u64,
    /// The speaker.
    pub speaker: Speaker,
    /// The reason for which it stays.
    pub standing: Standing,
    /// True if someone pinned it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub pinned: bool,
    /// The words, on one line.
    pub text: String,
    /// Its worth, in millionths.
    pub score: u32,
    /// The later turn that corrects it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub corrected_in: Option<u64>,
}

/// A summary of a run of turns, or of checkpoints.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Checkpoint {
    /// The version of this form.
    pub version: u32,
    /// 1 for a summary of turns, one more for a summary of summaries.
    pub level: u32,
    /// The number of its first turn.
    pub first: u64,
    /// The number of its last turn.
    pub last: u64,
    /// The number of turns that it stands for.
    pub turns: u64,
    /// The tokens of these turns.
    pub from: u64,
    /// The number of pictures, documents and recordings in these turns: a summary says nothing of what they show.
    #[serde(default, skip_serializing_if = "is_nought")]
    pub media: u64,
    /// The checkpoints that it was made of, by their numbers.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub of: Vec<u64>,
    /// The checkpoint that it replaces, because later turns corrected what that says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replaces: Option<u64>,
    /// Decisions, corrections, constraints and what is pinned, in order: they outlive every compaction.
    pub kept: Vec<Statement>,
    /// The other statements, in order.
    pub said: Vec<Statement>,
    /// The number of decisions that were too many to hand on. They are in the turns.
    #[serde(default, skip_serializing_if = "is_nought")]
    pub demoted: u64,
    /// The ids of what it was made of: turns (`t12`) or checkpoints (`c40`).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub source_ids: Vec<String>,
    /// The instant that it speaks of: when the newest message was said that was known when it was made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<Instant>,
    /// The tokens of its statements over those of the turns.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub compression_ratio: Option<Score>,
}

fn is_nought(count: &u64) -> bool {
    *count == 0
}

/// The purpose of a summary.
#[derive(Clone, Copy)]
pub struct Summarizing<'g> {
    /// The limits of what it keeps.
    pub policy: &'g SessionPolicy,
    /// The model's next task.
    pub task: &'g str,
    /// Counts the tokens of a text.
    pub count: &'g dyn Fn(&str) -> usize,
    /// The instant of the newest message.
    pub at: Option<Instant>,
    /// The texts that the model reads anyway.
    pub shown: &'g Shown,
}

impl Checkpoint {
    /// A summary of turns, none where there are none. `from` is what they cost.
    ///
    /// ```
    /// use tenure::condense::turns::Speaker;
    /// use tenure::session::{Checkpoint, Said, SessionPolicy, Shown, Summarizing};
    /// let said = |turn, speaker, text| Said { turn, speaker, text, pinned: false, call: None };
    /// let turns = [
    ///     said(4, Speaker::User, "Set up the server. It must never listen on all addresses."),
    ///     said(5, Speaker::Assistant, "Done. It listens on port 8443."),
    /// ];
    /// let (policy, shown) = (SessionPolicy::default(), Shown::default());
    /// let count = |text: &str| text.len() / 4;
    /// let how = Summarizing { policy: &policy, task: "Test it", count: &count, at: None, shown: &shown };
    /// let checkpoint = Checkpoint::of_turns(&turns, 30, &how).unwrap();
    /// assert_eq!((checkpoint.first, checkpoint.last, checkpoint.kept.len()), (4, 5, 1));
    /// assert_eq!(checkpoint.kept[0].text, "It must never listen on all addresses.");
    /// ```
    pub fn of_turns(said: &[Said<'_>], from: u64, how: &Summarizing<'_>) -> Option<Checkpoint> {
        let (first, last) = (said.first()?.turn, said.last()?.turn);
        let (kept, said_too) = statements(said, how.task).into_iter().partition(outlives);
        let aim = u64::from(how.policy.ratio.millionths()) * from / 1_000_000;
        let aim = u32::try_from(aim).unwrap_or(u32::MAX);
        let checkpoint = Checkpoint {
            version: CHECKPOINT_VERSION,
            level: 1,
            first,
            last,
            turns: count_turns(said.iter().map(|said| said.turn)),
            from,
            media: 0,
            of: Vec::new(),
            replaces: None,
            kept,
            said: said_too,
            demoted: 0,
            source_ids: source_ids('t', said.iter().map(|said| said.turn)),
            at: how.at,
            compression_ratio: None,
        };
        Some(checkpoint.within(aim.clamp(how.policy.least, how.policy.most), how))
    }

    /// A summary of checkpoints, oldest first, each under its number; none where there are none.
    pub fn of_checkpoints(
        children: &[(u64, Checkpoint)],
        how: &Summarizing<'_>,
    ) -> Option<Checkpoint> {
        let (first, last) = (children.first()?, children.last()?);
        let each = || children.iter().map(|(_, child)| child);
        let merged = Checkpoint {
            version: CHECKPOINT_VERSION,
            level: each().map(|child| child.level).max().unwrap_or(0) + 1,
            first: first.1.first,
            last: last.1.last,
            turns: each().map(|child| child.turns).sum(),
            from: each().map(|child| child.from).sum(),
            media: each().map(|child| child.media).sum(),
            of: children.iter().map(|(number, _)| *number).collect(),
            replaces: None,
            kept: each().flat_map(|child| child.kept.clone()).collect(),
            said: each().flat_map(|child| child.said.clone()).collect(),
            demoted: each().map(|child| child.demoted).sum(),
            source_ids: source_ids('c', children.iter().map(|(number, _)| *number)),
            at: how.at,
            compression_ratio: None,
        };
        Some(merged.within(how.policy.most, how))
    }

    /// Returns the checkpoint with the best of what was said in `aim` tokens, and of what is kept no more
    /// than the policy allows.
    fn within(mut self, aim: u32, how: &Summarizing<'_>) -> Checkpoint {
        let cost = |statement: &Statement| (how.count)(&statement.line()) as u64 + 1;
        self.said.retain(|said| said.pinned || !how.shown.says(&said.text));
        once(&mut self.said);
        let chosen = best(&self.said, u64::from(aim), &cost, |statement| {
            (Reverse(statement.score), Reverse(statement.turn))
        });
        retain(&mut self.said, &chosen);
        let before = self.kept.len();
        let most = u64::from(how.policy.kept_most);
        let chosen = best(&self.kept, most, &cost, |statement| {
            let decided = statement.standing == Standing::Decision;
            (decided && !statement.pinned, Reverse(statement.turn))
        });
        retain(&mut self.kept, &chosen);
        self.demoted += (before - self.kept.len()) as u64;
        let tokens: u64 = self.kept.iter().chain(&self.said).map(cost).sum();
        let millionths = tokens.saturating_mul(1_000_000) / self.from.max(1);
        self.compression_ratio = Some(Score::from_millionths(millionths.min(1_000_000) as u32));
        self
    }

    /// Returns the checkpoint with what this later correction speaks of marked as corrected; none where it
    /// speaks of nothing here. A statement is spoken of when at least half of the words of the shorter
    /// of the two, and two of them, are in both.
    pub fn corrected(&self, correction: &Said<'_>) -> Option<Checkpoint> {
        let words = |text: &str| {
            let mut words = BTreeSet::new();
            each_term(text, |term| {
                if term.chars().count() > 2 {
                    words.insert(term.to_owned());
                }
            });
            words
        };
        let said = words(correction.text);
        let mut changed = self.clone();
        let mut any = false;
        for statement in changed.kept.iter_mut().chain(&mut changed.said) {
            let own = words(&statement.text);
            let both = own.intersection(&said).count();
            let short = own.len().min(said.len());
            let spoken_of = both >= 2 && both * 2 >= short;
            if spoken_of && statement.turn < correction.turn && statement.corrected_in.is_none() {
                statement.corrected_in = Some(correction.turn);
                any = true;
            }
        }
        any.then_some(changed)
    }

    /// Returns whether it speaks of any of these turns: it stands for them, or one of them corrects what it says.
    pub fn speaks_of(&self, turns: &BTreeSet<u64>) -> bool {
        let last = self.last.max(self.first);
        let mut corrected = self
            .kept
            .iter()
            .chain(&self.said)
            .filter_map(|statement| statement.corrected_in);
        turns.range(self.first..=last).next().is_some()
            || corrected.any(|turn| turns.contains(&turn))
    }

    /// Returns the decisions, corrections and demands of the user, in order. The system's words stay as they are.
    pub fn demands(&self) -> impl Iterator<Item = &Statement> {
        self.kept.iter().filter(|statement| statement.speaker == Speaker::User)
    }

    /// The text of what else was said, for the model. The instant is not in it, because the same messages give the same
    /// bytes whenever they come. `found` is the tool that reads the originals, where the model is
    /// offered it, and the summary's number there.
    pub fn text(&self, found: Option<(&str, u64)>) -> String {
        let mut text = format!(
            "Summary of turns {} to {} ({} turns, {} tokens",
            self.first, self.last, self.turns, self.from
        );
        if self.media > 0 {
            text.push_str(&format!(", pictures and files left out: {}", self.media));
        }
        if let Some(ratio) = self.compression_ratio {
            text.push_str(&format!("; compression_ratio {ratio}"));
        }
        text.push_str(").");
        if let Some((tool, number)) = found {
            text.push_str(&format!(" The originals: {tool} c{number}."));
        }
        text.push('\n');
        let kept = self.kept.iter().filter(|statement| !statement.is_demand());
        let mut lines: Vec<&Statement> = kept.chain(&self.said).collect();
        lines.sort_by_key(|statement| statement.turn);
        for statement in lines {
            text.push_str(&statement.line());
            text.push('\n');
        }
        if self.demoted > 0 {
            text.push_str(&format!(
                "{} older decisions are in the originals alone.\n",
                self.demoted
            ));
        }
        text
    }
}

impl Statement {
    fn is_demand(&self) -> bool {
        matches!(self.speaker, Speaker::User | Speaker::System)
    }

    /// The line that a model reads.
    pub fn line(&self) -> String {
        let mut line = format!("[{} {}", self.turn, self.speaker);
        if self.pinned {
            line.push_str(", pinned");
        } else if self.standing != Standing::Scored {
            line.push_str(", ");
            line.push_str(self.standing.term());
        }
        if let Some(turn) = self.corrected_in {
            line.push_str(&format!(", corrected in {turn}"));
        }
        line.push_str("] ");
        line.push_str(&self.text);
        line
    }
}

/// Returns whether a statement outlives compaction: a tool decides and demands nothing.
fn outlives(statement: &Statement) -> bool {
    let demands = match statement.standing {
        Standing::Decision => statement.speaker != Speaker::Tool,
        Standing::Correction | Standing::Constraint => {
            matches!(statement.speaker, Speaker::User | Speaker::System)
        }
        Standing::LastRequest | Standing::Scored => false,
    };
    statement.pinned || demands
}

/// The places of the best statements that cost no more than `most` together.
fn best<K: Ord>(
    statements: &[Statement],
    most: u64,
    cost: &dyn Fn(&Statement) -> u64,
    rank: impl Fn(&Statement) -> K,
) -> BTreeSet<usize> {
    let mut order: Vec<usize> = (0..statements.len()).collect();
    order.sort_by_key(|at| (rank(&statements[*at]), *at));
    let mut spent = 0;
    order
        .into_iter()
        .filter(|at| {
            let statement = &statements[*at];
            let with = spent + cost(statement);
            // What someone pinned stays whatever it costs.
            let stays = with <= most || statement.pinned;
            if stays {
                spent = with;
            }
            stays
        })
        .collect()
}

fn retain(statements: &mut Vec<Statement>, chosen: &BTreeSet<usize>) {
    let mut at = 0;
    statements.retain(|_| {
        at += 1;
        chosen.contains(&(at - 1))
    });
}

fn count_turns(turns: impl Iterator<Item = u64>) -> u64 {
    turns.collect::<BTreeSet<_>>().len() as u64
}

/// Returns the turns as statements in order: sentences of what people and the model said, and of each result what was
/// called and what only its best lines say.
fn statements(said: &[Said<'_>], task: &str) -> Vec<Statement> {
    // What a tool returned is no prose that could decide or demand.
    let is_result = |said: &Said<'_>| said.speaker == Speaker::Tool && !said.pinned;
    let spoken: Vec<Turn<'_>> = said
        .iter()
        .map(|said| Turn {
            speaker: said.speaker,
            text: if is_result(said) { "" } else { said.text },
        })
        .collect();
    let mut sentences =
        turns::read(&spoken, &Weights::default(), task, None).into_iter().peekable();
    let mut found: Vec<Statement> = Vec::new();
    for (at, said) in said.iter().enumerate() {
        let made = |text: String, standing: Standing, score: u32| Statement {
            turn: said.turn,
            speaker: said.speaker,
            standing,
            pinned: said.pinned,
            text,
            score,
            corrected_in: None,
        };
        if is_result(said) {
            let told = result::told(said.text, said.call, task).into_iter();
            found.extend(told.map(|told| made(told.text, Standing::Scored, told.score)));
            continue;
        }
        let own = std::iter::from_fn(|| sentences.next_if(|sentence| sentence.turn == at)).map(
            |sentence| {
                let text = one_line(&said.text[sentence.bytes.clone()]);
                made(text, sentence.standing, sentence.score)
            },
        );
        found.extend(whole(own.collect()));
    }
    found
}

/// The statements of one turn without fragments: one that must stay stands with its neighbour, others go.
fn whole(statements: Vec<Statement>) -> Vec<Statement> {
    let mut found: Vec<Statement> = Vec::new();
    let mut before: Option<Statement> = None;
    for mut statement in statements {
        if let Some(start) = before.take() {
            statement.text = format!("{} {}", start.text, statement.text);
            statement.standing = statement.standing.min(start.standing);
            statement.score = statement.score.max(start.score);
        }
        if !is_fragment(&statement.text) {
            found.push(statement);
        } else if outlives(&statement) {
            match found.last_mut().filter(|last| outlives(last)) {
                Some(last) => last.text = format!("{} {}", last.text, statement.text),
                None => before = Some(statement),
            }
        }
    }
    // "Yes." to a question is all that there is of it.
    found.extend(before);
    found
}

/// Of statements that say the same one stays: that of the speaker who ranks highest, and of several the newest.
fn once(statements: &mut Vec<Statement>) {
    let mut stays: BTreeMap<&str, usize> = BTreeMap::new();
    for (at, statement) in statements.iter().enumerate() {
        let known = stays.entry(&statement.text).or_insert(at);
        if statement.speaker <= statements[*known].speaker {
            *known = at;
        }
    }
    let stays: BTreeSet<usize> = stays.into_values().collect();
    let mut at = 0;
    statements.retain(|statement| {
        at += 1;
        stays.contains(&(at - 1)) || statement.pinned
    });
}

fn source_ids(kind: char, numbers: impl Iterator<Item = u64>) -> Vec<String> {
    let numbers: BTreeSet<u64> = numbers.collect();
    numbers.into_iter().map(|number| format!("{kind}{number}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(turn: u64, speaker: Speaker, text: &str) -> Said<'_> {
        Said {
            turn,
            speaker,
            text,
            pinned: false,
            call: None,
        }
    }

    fn how<'g>(policy: &'g SessionPolicy, task: &'g str) -> Summarizing<'g> {
        static NOTHING: Shown = Shown::NOTHING;
        Summarizing {
            policy,
            task,
            count: &|text| text.len().div_ceil(4),
            at: None,
            shown: &NOTHING,
        }
    }

    #[test]
    fn what_two_say_is_said_by_the_one_who_ranks_higher() {
        let policy = SessionPolicy::default();
        let how = how(&policy, "deploy");
        let text = "Deploy to the blue cluster.";
        let turns = [
            said(1, Speaker::User, text),
            said(2, Speaker::Assistant, text),
            said(3, Speaker::User, text),
            said(4, Speaker::Assistant, text),
        ];
        let made = Checkpoint::of_turns(&turns, 600, &how).unwrap();
        let found: Vec<(u64, Speaker)> = made
            .kept
            .iter()
            .chain(&made.said)
            .filter(|statement| statement.text == text)
            .map(|statement| (statement.turn, statement.speaker))
            .collect();
        assert_eq!(found, [(3, Speaker::User)]);
    }

    #[test]
    fn what_the_user_demands_outlives_every_level() {
        let policy = SessionPolicy::default();
        let how = how(&policy, "deploy");
        let mut children = Vec::new();
        for block in 0..4u64 {
            let base = block * 10;
            let demand = format!("Never deploy to region {block}.");
            let chatter = "The log shows nothing of interest today. ".repeat(40);
            let turns = [
                said(base, Speaker::User, &demand),
                said(base + 1, Speaker::Tool, &chatter),
                said(base + 2, Speaker::Assistant, "We will use blue servers."),
            ];
            children.push((
                100 + block,
                Checkpoint::of_turns(&turns, 600, &how).unwrap(),
            ));
        }
        let merged = Checkpoint::of_checkpoints(&children, &how).unwrap();
        assert_eq!((merged.level, merged.first, merged.last), (2, 0, 32));
        assert_eq!(merged.of, [100, 101, 102, 103]);
        for block in 0..4 {
            let demand = format!("Never deploy to region {block}.");
            assert!(merged.kept.iter().any(|kept| kept.text == demand));
        }
        let spent: usize = merged.said.iter().map(|said| said.line().len() / 4 + 1).sum();
        assert!(spent <= policy.most as usize, "{spent}");
        assert!(
            merged.text(Some(("rehydrate", 9))).starts_with(
                "Summary of turns 0 to 32 (12 turns, 2400 tokens; compression_ratio 0."
            )
        );
    }

    #[test]
    fn too_many_decisions_are_counted_and_the_newest_stay() {
        let policy = SessionPolicy {
            kept_most: 60,
            ..SessionPolicy::default()
        };
        let decisions: Vec<String> =
            (0..20).map(|at| format!("We decided on variant number {at}.")).collect();
        let mut turns: Vec<Said<'_>> = (0..)
            .zip(&decisions)
            .map(|(at, text)| said(at, Speaker::Assistant, text))
            .collect();
        let pinned = "The key is under the mat.";
        turns.insert(
            0,
            Said {
                pinned: true,
                ..said(0, Speaker::Tool, pinned)
            },
        );
        let checkpoint = Checkpoint::of_turns(&turns, 200, &how(&policy, "x")).unwrap();
        assert!(checkpoint.kept[0].pinned && checkpoint.kept[0].text == pinned);
        assert_eq!(checkpoint.kept.last().unwrap().text, decisions[19]);
        assert_eq!(checkpoint.demoted as usize, 21 - checkpoint.kept.len());
        assert!(checkpoint.demoted > 10);
    }

    #[test]
    fn a_later_correction_marks_what_it_speaks_of() {
        let policy = SessionPolicy::default();
        let turns = [
            said(
                1,
                Speaker::User,
                "We use port 8080 for the public listener.",
            ),
            said(2, Speaker::User, "The colour must be green."),
        ];
        let checkpoint = Checkpoint::of_turns(&turns, 30, &how(&policy, "x")).unwrap();
        let correction = said(7, Speaker::User, "No, the public listener uses port 8443.");
        let corrected = checkpoint.corrected(&correction).unwrap();
        assert_eq!(corrected.kept[0].corrected_in, Some(7));
        assert!(corrected.kept[0].line().starts_with("[1 user, decision, corrected in 7] "));
        assert_eq!(corrected.kept[1].corrected_in, None);
        assert!(corrected.corrected(&correction).is_none());
        assert!(checkpoint.corrected(&said(8, Speaker::User, "Thanks.")).is_none());
    }
}
