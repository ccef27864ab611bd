//! The turns that the history can do without: the one whose omission loses least gets its place last.

use std::collections::{BTreeMap, BTreeSet};

use crate::compile::stages::contain::Contained;
use crate::condense::{Omission, sentences};
use crate::input::policy::{Policy, TaskClass};
use crate::input::request::Request;
use crate::input::task::Progress;
use crate::object::section::Section;
use crate::object::{ObjectType, Role};
use crate::session::{Step, superseded};

/// The class of each turn that may be left out, by row.
pub(super) type Losses = BTreeMap<u32, Omission>;

/// The turns of the history that may be left out before others: those of a subtask that is done, results
/// that a later call repeats or makes out of date, with their calls, what is said again, what says
/// nothing, where no person waits for the answer what only asks for a tone or style, and what is stale. Of several classes a turn has the one that loses least.
pub(super) fn losses(contained: &Contained<'_>, policy: &Policy, request: &Request) -> Losses {
    let live = &contained.live;
    let set = live.set;
    let mut losses = Losses::new();
    let rows = live.rows.iter().copied();
    let history: Vec<u32> = rows.filter(|row| set.row(*row).section == Section::History).collect();
    let elastic = |row: &u32| contained.ranking.obligations[*row as usize].is_none();
    if !history.iter().any(elastic) {
        return losses;
    }
    let subtasks = request.task.subtasks.iter();
    let done: BTreeSet<&str> = subtasks
        .filter(|subtask| subtask.status == Progress::Done)
        .map(|subtask| subtask.title.as_str())
        .collect();
    let steps = history.iter().map(|row| {
        let revision = set.object(*row).revision();
        let result = set.row(*row).object_type == ObjectType::ToolResult;
        Step {
            calls: revision.tool_calls(),
            answers: revision.tool_call_id().filter(|_| result),
        }
    });
    let superseded = superseded(steps);
    let below = policy.document().hygiene.stale_below;
    // What a style is worth depends on who reads the answer.
    let unread = request.task.class() != TaskClass::Interactive;
    // From the last on: what was said again is known when its first time comes.
    let mut said = BTreeSet::new();
    // The results of the call that comes next, and whether none of them says how things are.
    let mut all_superseded = true;
    for (&row, superseded) in history.iter().zip(superseded).rev() {
        let revision = set.object(row).revision();
        let text = revision.content().trim();
        let nothing = || {
            // The user's "OK, go ahead" decides something.
            revision.role() == Some(Role::Assistant)
                && !text.contains(|c: char| c.is_ascii_digit())
                && sentences::sentences(text).into_iter().all(sentences::acknowledges)
        };
        let calls = !revision.tool_calls().is_empty();
        let plain = !calls && !text.is_empty();
        let class = if set.row(row).object_type == ObjectType::ToolResult {
            all_superseded &= superseded.is_some();
            superseded.map(|_| Omission::SupersededOutput)
        } else if std::mem::replace(&mut all_superseded, true) && calls && nothing() {
            Some(Omission::SupersededOutput)
        } else if plain && nothing() {
            Some(Omission::Acknowledgement)
        } else if plain && !said.insert((revision.role(), revision.content_digest())) {
            Some(Omission::Repeat)
        } else {
            None
        };
        let finished = || revision.tags().any(|tag| done.contains(tag));
        let class = class.or_else(|| finished().then_some(Omission::CompletedSubtask));
        let styles = || {
            let sentences = sentences::sentences(text);
            revision.role() == Some(Role::User)
                && sentences.into_iter().all(sentences::asks_for_style)
        };
        let class =
            class.or_else(|| (plain && unread && styles()).then_some(Omission::NuancedPreference));
        let stale = || {
            let card = &contained.ranking.scores[row as usize];
            card.currency < below && elastic(&row)
        };
        let class = class.or_else(|| stale().then_some(Omission::Stale));
        losses.extend(class.map(|class| (row, class)));
    }
    losses
}
