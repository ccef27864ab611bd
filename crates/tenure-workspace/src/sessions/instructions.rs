//! The agent's own instructions among a session's messages: messages of the system, and blocks that a client put into
//! messages of the user. They stand on, whole, when their messages leave.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use tenure::object::{ObjectType, Protection, Role};
use tenure::time::Instant;
use tenure::wire::{ClientBlock, client_blocks};
use tenure::{Error, ObjectDocument, World};

use super::{Session, Turn};

/// With how many newer instructions of its kind one is compared, at most: hostile messages may be many.
const COMPARED: usize = 16;
/// The marks around a count of tokens.
const TOKEN_COUNTER: (&str, &str) = ("<total_tokens>", "</total_tokens>");
/// The bytes of a token, about.
const BYTES: u64 = 4;
/// The tokens of a byte at most, with the margin of a bounded count.
const PER_BYTE: u64 = 2;

/// The place of an instruction among the messages.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct InstructionPlace {
    pub(super) turn: u64,
    pub(super) part: u32,
    /// Its bytes in the text of the part; none where it is all of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) bytes: Option<(usize, usize)>,
}

/// An instruction: a message of the system, or a block in a message of the user.
#[derive(Clone, Debug)]
pub(super) struct Instruction {
    pub(super) place: InstructionPlace,
    pub(super) document: ObjectDocument,
    block: Option<ClientBlock>,
}

impl Instruction {
    /// The instruction at a place; none where it was erased.
    pub(super) fn at(place: &InstructionPlace, objects: &[ObjectDocument]) -> Option<Instruction> {
        let object = objects.get(place.part as usize)?;
        if is_erased(object) {
            return None;
        }
        let Some((start, end)) = place.bytes else {
            return Some(Instruction {
                place: place.clone(),
                document: object.clone(),
                block: None,
            });
        };
        let text = object.content.get(start..end)?;
        let block = client_blocks(text).into_iter().next();
        Some(Instruction::of_block(place.clone(), text, block))
    }

    /// A block stands as words of the user, as it is: it gains no rank by standing longer.
    fn of_block(place: InstructionPlace, text: &str, block: Option<ClientBlock>) -> Instruction {
        let start = place.bytes.map_or(0, |(start, _)| start);
        let name = format!("t{}.{}.{start}", place.turn, place.part);
        let mut document = ObjectDocument::named(name, text);
        document.object_type = Some(ObjectType::Turn);
        document.role = Some(Role::User);
        document.protection = Some(Protection::Verbatim);
        Instruction {
            place,
            document,
            block,
        }
    }

    /// Returns whether the system says it.
    pub(super) fn is_systems(&self) -> bool {
        self.document.role == Some(Role::System)
    }

    /// The kind and source that a newer one must have to replace this one.
    fn key(&self) -> (bool, &str, &str) {
        let block = self.block.as_ref();
        match block {
            Some(block) => (false, block.kind, &block.source),
            None => {
                let mut says = lines(&self.document.content).filter(|line| !is_token_count(line));
                (
                    self.is_systems(),
                    says.next().unwrap_or(TOKEN_COUNTER.0),
                    "",
                )
            }
        }
    }

    fn is_replaced_by(&self, newer: &Instruction) -> bool {
        let (own, text) = (&self.document.content, &newer.document.content);
        match (&self.block, &newer.block) {
            (Some(block), Some(newer)) => block.is_replaced_by(own, newer, text),
            // All of it is said again; of two counts the newer one holds.
            (None, None) => {
                let says: BTreeSet<&str> = lines(text).collect();
                let counts = says.iter().any(|line| is_token_count(line));
                lines(own).all(|line| says.contains(line) || counts && is_token_count(line))
            }
            _ => false,
        }
    }

    /// Its cost in tokens, about.
    fn cost(&self, world: &World) -> u64 {
        u64::from(world.price(&self.document.content)) + super::AROUND
    }
}

/// Returns whether a line is nothing but a client's count of the tokens that are left (Claude Code sends one with each
/// step).
fn is_token_count(line: &str) -> bool {
    let (open, close) = TOKEN_COUNTER;
    line.strip_prefix(open)
        .and_then(|rest| rest.strip_suffix(close))
        .is_some_and(|count| !count.contains('<'))
}

/// The lines of a text of the system, without the marks of a reminder.
fn lines(text: &str) -> impl Iterator<Item = &str> {
    text.lines()
        .map(|line| {
            let said = line.trim();
            let opened = said.strip_prefix("<system-reminder>").unwrap_or(said);
            opened.strip_suffix("</system-reminder>").unwrap_or(opened).trim()
        })
        .filter(|line| !line.is_empty())
}

/// Of these instructions, in order, those whose place no newer one takes.
pub(super) fn newest(all: Vec<Instruction>) -> Vec<Instruction> {
    let mut kept: Vec<Instruction> = Vec::new();
    let mut newer: BTreeMap<(bool, String, String), Vec<usize>> = BTreeMap::new();
    for one in all.into_iter().rev() {
        let (systems, kind, source) = one.key();
        let same = newer.entry((systems, kind.to_owned(), source.to_owned())).or_default();
        let mut compared = same.iter().rev().take(COMPARED).filter_map(|at| kept.get(*at));
        if !compared.any(|newer| one.is_replaced_by(newer)) {
            same.push(kept.len());
            kept.push(one);
        }
    }
    kept.reverse();
    kept
}

pub(super) fn is_erased(object: &ObjectDocument) -> bool {
    // What was erased held at no time.
    object.valid_until == Some(Instant::from_micros(0))
}

impl Session {
    /// The instructions of all messages, in order, of which any newer one may take the place of an older.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Unavailable`](tenure::ErrorKind::Unavailable) when the store cannot be reached.
    pub(super) fn instructions(&self) -> Result<Vec<Instruction>, Error> {
        let mut all = self.standing.clone();
        all.retain(|one| !self.is_judged(one.place.turn));
        // What is judged no more stands again.
        let returned = self
            .mark
            .judged
            .iter()
            .map(|one| one.turn)
            .filter(|turn| *turn < self.mark.from && !self.is_judged(*turn));
        for turn in returned {
            all.extend(Turn::new(turn, self.message(turn)?).instructions());
        }
        all.sort_by_key(|one| one.place.turn);
        if self.is_of_old_form() {
            // An epoch that began before instructions stood on: they are in the log.
            self.each_message(&mut |number, message| {
                if number < self.mark.from && !self.is_judged(number) {
                    all.extend(Turn::new(number, message).instructions());
                }
                Ok(())
            })?;
        }
        all.extend(self.turns.iter().flat_map(Turn::instructions));
        Ok(all)
    }

    /// Returns whether its epoch began before instructions stood on, with summaries that spoke as the user.
    pub(super) fn is_of_old_form(&self) -> bool {
        self.mark.standing.is_none() && !self.frontier.checkpoints().is_empty()
    }

    /// The cost of the instructions in its messages, estimated without counting.
    pub(super) fn instructions_about(&self) -> u64 {
        let before = self.standing.iter().map(|one| one.document.content.len());
        let among = self.turns.iter().map(Turn::instructions_size);
        let bytes: usize = before.chain(among).sum();
        bytes as u64 / BYTES
    }

    /// Returns whether the instructions in its messages cost no more than this.
    ///
    /// # Errors
    ///
    /// As [`Session::instructions`].
    pub(crate) fn instructions_fit(&self, most: u64, world: &World) -> Result<bool, Error> {
        // Few have so much text that its tokens are to be counted.
        let most_tokens = (self.instructions_about() + 1) * BYTES * PER_BYTE;
        if most_tokens <= most && !self.is_of_old_form() {
            return Ok(true);
        }
        let stand = newest(self.instructions()?);
        let tokens: u64 = stand.iter().map(|one| one.cost(world)).sum();
        Ok(tokens <= most)
    }
}

impl Turn {
    /// The blocks that a client put into it, each with its part.
    pub(super) fn blocks(&self) -> &[(u32, ClientBlock)] {
        self.blocks.get_or_init(|| {
            (0u32..)
                .zip(&self.entry.objects)
                .filter(|(_, object)| is_users(object))
                .flat_map(|(part, object)| {
                    client_blocks(&object.content).into_iter().map(move |block| (part, block))
                })
                .collect()
        })
    }

    /// The instructions in it, in order.
    pub(super) fn instructions(&self) -> Vec<Instruction> {
        let mut found = Vec::new();
        for (part, object) in (0u32..).zip(&self.entry.objects) {
            let place = |bytes| InstructionPlace {
                turn: self.number,
                part,
                bytes,
            };
            if is_erased(object) {
                continue;
            }
            if is_systems(object) {
                found.push(Instruction {
                    place: place(None),
                    document: object.clone(),
                    block: None,
                });
            }
            let blocks = self.blocks().iter().filter(|(of, block)| *of == part && block.stands);
            for (_, block) in blocks {
                let bytes = (block.bytes.start, block.bytes.end);
                if let Some(text) = object.content.get(block.bytes.clone()) {
                    found.push(Instruction::of_block(
                        place(Some(bytes)),
                        text,
                        Some(block.clone()),
                    ));
                }
            }
        }
        found
    }

    /// The length of the instructions in it, in bytes.
    fn instructions_size(&self) -> usize {
        let systems: usize = self
            .entry
            .objects
            .iter()
            .filter(|object| is_systems(object))
            .map(|object| object.content.len())
            .sum();
        let blocks = self.blocks().iter().filter(|(_, block)| block.stands);
        systems + blocks.map(|(_, block)| block.bytes.len()).sum::<usize>()
    }

    /// The user's own words in a part of it: the text without the blocks for which `is_out` holds.
    pub(super) fn without(&self, part: u32, is_out: &dyn Fn(&ClientBlock) -> bool) -> String {
        let text = self
            .entry
            .objects
            .get(part as usize)
            .map_or("", |object| object.content.as_str());
        let mut words = String::with_capacity(text.len());
        let mut at = 0;
        for (_, block) in self.blocks().iter().filter(|(of, block)| *of == part && is_out(block)) {
            words.push_str(text.get(at..block.bytes.start).unwrap_or_default());
            at = block.bytes.end;
        }
        words.push_str(text.get(at..).unwrap_or_default());
        words
    }
}

/// Returns whether the system says something in it.
fn is_systems(object: &ObjectDocument) -> bool {
    object.object_type == Some(ObjectType::Turn)
        && object.role == Some(Role::System)
        && !object.content.trim().is_empty()
}

/// Returns whether it is words of the user, and nothing that a tool returned.
pub(super) fn is_users(object: &ObjectDocument) -> bool {
    object.object_type == Some(ObjectType::Turn) && object.role.unwrap_or(Role::User) == Role::User
}

#[cfg(test)]
mod tests {
    use super::*;

    fn instruction(turn: u64, text: &str) -> Instruction {
        let mut document = ObjectDocument::named(format!("t{turn}.0"), text);
        document.role = Some(Role::System);
        let place = InstructionPlace {
            turn,
            part: 0,
            bytes: None,
        };
        Instruction {
            place,
            document,
            block: None,
        }
    }

    #[test]
    fn of_a_clients_counts_of_tokens_the_newest_stands() {
        let texts = [
            "<total_tokens>900 tokens left</total_tokens>",
            "Pump 3 takes at most 40 kPa.",
            "<system-reminder>\n<total_tokens>800 tokens left</total_tokens>\n</system-reminder>",
            "Pump 4 takes at most 40 kPa.",
            "<total_tokens>700 tokens left</total_tokens> Stop at 600.",
            "<total_tokens>600 tokens left</total_tokens>",
            "The task tools haven't been used recently.\n\n<total_tokens>500 tokens left</total_tokens>",
            "The task tools haven't been used recently.\n\n<total_tokens>400 tokens left</total_tokens>",
            "The task tools haven't been used recently.\nPump 5 takes at most 40 kPa.",
            "<system-reminder>\nThe task tools haven't been used recently.\n</system-reminder>",
        ];
        let all = (1..).zip(texts).map(|(turn, text)| instruction(turn, text)).collect();
        let stand: Vec<u64> = newest(all).iter().map(|one| one.place.turn).collect();
        assert_eq!(stand, [2, 4, 5, 6, 8, 9, 10]);
    }
}
