//! Stage 3: how alike a mention and an entity are, in six parts, and what follows.
//!
//! The score is the weighted mean of the parts that are known. Then come limits, which no sum lifts: an automatic merge
//! (0.95) needs the whole name or a known alias, or an id that is the same; it never joins what an id, a type or a
//! tenant tells apart, and never rests on a first name or a look-alike alone.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::address::before_the_at;
use super::partial::telling_words;
use super::profile::{Bound, Metadata, Profile};
use super::registry::{check_alias, mentions};
use super::{EntityType, Resolution, skeleton};
use crate::base::error::Error;
use crate::base::num::Score;
use crate::base::time::{Interval, Position};
use crate::belief::claim::folded;
use crate::object::vocabulary::vocabulary;

/// The score from which on a mention is bound.
const BIND: Score = Score::from_millionths(950_000);
/// The score up to which it is new.
const REVIEW: Score = Score::from_millionths(700_000);
/// The score just below a merge.
const BELOW_BIND: Score = Score::from_millionths(949_999);
/// The lead that the best entity needs over the next.
const LEAD: u32 = 50_000;
/// The likeness of names below which they are different ones.
const UNLIKE: Score = Score::from_millionths(780_000);

vocabulary! {
    /// A part of a similarity.
    SimilarityPart ("part") {
        /// The names.
        Lexical = "lexical",
        /// The types.
        Kind = "kind",
        /// The project and session.
        Scope = "scope",
        /// The ids, mail addresses, paths and roles.
        Metadata = "metadata",
        /// The entities around both.
        Neighbourhood = "neighbourhood",
        /// The quality of the source, and the confidence.
        Source = "source",
    }
}

/// The weights of the six parts, which a policy states, each from 0 to 1. A similarity is the sum of the known parts by their weights
/// over the sum of these weights: the weights need not be 1 together, and what is not known counts for nothing.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct PartWeights {
    /// The names.
    pub lexical: Score,
    /// The types.
    pub kind: Score,
    /// The project and session.
    pub scope: Score,
    /// The ids, mail addresses, paths and roles.
    pub metadata: Score,
    /// The entities around both.
    pub neighbourhood: Score,
    /// The quality of the source, and the confidence.
    pub source: Score,
}

impl Default for PartWeights {
    /// Returns 0.35, 0.15, 0.15, 0.2, 0.1 and 0.05.
    fn default() -> PartWeights {
        PartWeights {
            lexical: Score::from_millionths(350_000),
            kind: Score::from_millionths(150_000),
            scope: Score::from_millionths(150_000),
            metadata: Score::from_millionths(200_000),
            neighbourhood: Score::from_millionths(100_000),
            source: Score::from_millionths(50_000),
        }
    }
}

impl PartWeights {
    /// Checks that they weigh anything.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Input`](crate::ErrorKind::Input) when all of them are 0.
    pub fn check(&self) -> Result<(), Error> {
        if self.all().iter().all(|weight| *weight == Score::ZERO) {
            return Err(Error::input("all weights of the parts are 0")
                .expected("at least one above 0, such as `lexical = 0.35`"));
        }
        Ok(())
    }

    fn all(&self) -> [Score; 6] {
        [
            self.lexical,
            self.kind,
            self.scope,
            self.metadata,
            self.neighbourhood,
            self.source,
        ]
    }
}

/// The similarity of a mention and an entity: each part that is known, and the score.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, JsonSchema)]
pub struct Similarity {
    /// The parts that are known.
    pub parts: BTreeMap<SimilarityPart, Score>,
    /// The reasons for which the score is lower than the mean of the parts.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub limits: Vec<&'static str>,
    /// The score.
    pub score: Score,
    /// The score, were its name not one that many have.
    #[serde(skip)]
    likeness: Score,
    /// True if more than its name says that it is meant.
    #[serde(skip)]
    is_told: bool,
    /// True if an id or a mark says so.
    #[serde(skip)]
    is_identified: bool,
    /// The likeness of the names.
    #[serde(skip)]
    names: Score,
    /// True if it has the whole name.
    #[serde(skip)]
    is_exact: bool,
    /// True if an id or a mark says so, and the name by which it is called is near those that are known and none of them.
    #[serde(skip)]
    is_renamed: bool,
}

/// The comparison of two names.
struct Names {
    score: Score,
    /// True if one is the whole other, or a known alias.
    exact: bool,
    /// True if it says little of whom it means: one word, or initials.
    partial: bool,
    /// True if each of its words is one of the other's.
    in_part: bool,
    /// True if characters of other scripts stand for Latin ones.
    disguised: bool,
}

fn millionths(parts: u32) -> Score {
    Score::from_millionths(parts)
}

/// A name as it is compared with others.
#[derive(Debug)]
struct Form {
    /// The name, folded.
    name: String,
    words: Vec<String>,
    /// The words in order, with one space between two.
    sorted: String,
    /// The words with a digit.
    numbers: BTreeSet<String>,
    /// The name in Latin letters, and whether others stood for them.
    skeleton: (String, bool),
    /// Of a mail address what stands before its @: the rest is nobody's name.
    own: Option<Box<Form>>,
}

impl Form {
    fn of(name: &str) -> Form {
        let name = folded(name);
        let words: Vec<String> = name
            .split(|c: char| !c.is_alphanumeric())
            .filter(|word| !word.is_empty())
            .map(str::to_owned)
            .collect();
        let mut sorted = words.clone();
        sorted.sort_unstable();
        Form {
            sorted: sorted.join(" "),
            numbers: words
                .iter()
                .filter(|word| word.contains(|c: char| c.is_ascii_digit()))
                .cloned()
                .collect(),
            skeleton: skeleton(&name),
            own: before_the_at(&name).map(|own| Box::new(Form::of(own))),
            name,
            words,
        }
    }

    /// Returns whether letters of other scripts stand among Latin ones.
    fn is_mixed(&self) -> bool {
        self.skeleton.1 && self.name.contains(|c: char| c.is_ascii_alphabetic())
    }
}

/// The names of an entity, ready to be compared with many mentions.
#[derive(Debug)]
pub(super) struct KnownNames {
    forms: Vec<Form>,
    whole: BTreeSet<String>,
    roles: Vec<(String, Bound)>,
}

impl KnownNames {
    pub(super) fn of(entity: &Profile) -> KnownNames {
        let forms: Vec<Form> = entity.names().map(|name| Form::of(name)).collect();
        let roles = entity.roles.iter();
        KnownNames {
            whole: forms.iter().map(|form| form.name.clone()).collect(),
            forms,
            roles: roles.map(|(role, bound)| (folded(role), *bound)).collect(),
        }
    }

    /// Returns whether what a mention is called is another name, by which it would be found where these do not find it: neither a
    /// mark, nor a role, nor a known name with more around it, nor a word that many have.
    fn lacks(&self, mention: &Profile, said: &Form) -> bool {
        let marks = mention.metadata.marks();
        let is_mark = said.own.is_some() || marks.into_iter().any(|mark| folded(mark) == said.name);
        let is_role = self.roles.iter().any(|(role, _)| *role == said.name);
        let mut found = self
            .forms
            .iter()
            .filter(|form| form.words.len() > 1)
            .filter(|form| mentions(&said.name, &form.name));
        !is_mark
            && !is_role
            && !said.is_mixed()
            && found.next().is_none()
            && !telling_words([&mention.name]).is_empty()
            && check_alias(&mention.name).is_ok()
    }
}

impl Names {
    /// Names that are so alike, and no more is to be said.
    fn alike(score: Score) -> Names {
        Names {
            score,
            exact: false,
            partial: false,
            in_part: false,
            disguised: false,
        }
    }

    fn compare(mention: &Profile, said: &Form, entity: &KnownNames) -> Names {
        if !said.name.is_empty() && entity.whole.contains(&said.name) {
            return Names {
                exact: true,
                partial: said.words.len() < 2,
                disguised: said.is_mixed(),
                ..Names::alike(Score::ONE)
            };
        }
        let mut roles = entity.roles.iter().filter(|(role, _)| *role == said.name).peekable();
        if roles.peek().is_some() {
            let holds = roles.any(|(_, bound)| {
                let interval = Interval {
                    from: bound.from,
                    until: bound.until,
                };
                mention.at.map_or(bound.until.is_none(), |at| {
                    interval.locate(at) == Position::Inside
                })
            });
            return Names {
                exact: holds && mention.at.is_some(),
                ..Names::alike(if holds { Score::ONE } else { Score::ZERO })
            };
        }
        let mut best = Names::alike(Score::ZERO);
        let is_beside = said.own.is_none() && mention.metadata.mail.is_some();
        for name in &entity.forms {
            let own = name.own.as_deref().filter(|_| is_beside);
            let compared = compare(said, own.unwrap_or(name));
            if compared.score > best.score {
                best = compared;
            }
        }
        best.disguised |= said.is_mixed();
        best
    }
}

fn compare(said: &Form, name: &Form) -> Names {
    let plain = Names::alike;
    let ((seen, one), (known, other)) = (&said.skeleton, &name.skeleton);
    if (*one || *other) && seen == known {
        return Names {
            disguised: true,
            ..plain(millionths(900_000))
        };
    }
    // Versions, years and numbers tell apart what is named alike.
    if said.numbers != name.numbers {
        return plain(millionths(500_000));
    }
    let (ours, theirs) = (&said.words, &name.words);
    if ours.is_empty() || theirs.is_empty() {
        return plain(Score::ZERO);
    }
    if said.sorted == name.sorted {
        return plain(millionths(940_000));
    }
    let fits = |few: &[String], many: &[String]| {
        few.iter().all(|short| {
            many.iter().any(|long| {
                short == long || (short.chars().count() == 1 && long.starts_with(short.as_str()))
            })
        })
    };
    let whole_word = ours.iter().any(|word| word.chars().count() > 1 && theirs.contains(word));
    if whole_word && (fits(ours, theirs) || fits(theirs, ours)) {
        return Names {
            partial: true,
            in_part: ours.iter().all(|word| theirs.contains(word)),
            ..plain(millionths(850_000))
        };
    }
    let initials = |words: &[String]| -> String {
        words.iter().filter_map(|word| word.chars().next()).collect()
    };
    let short = |one: &[String], other: &[String]| {
        one.len() == 1 && other.len() > 1 && one.concat() == initials(other)
    };
    if short(ours, theirs) || short(theirs, ours) {
        return Names {
            partial: true,
            ..plain(millionths(800_000))
        };
    }
    // Long texts are no names.
    if [said, name].iter().any(|form| form.sorted.len() > 512) {
        return plain(Score::ZERO);
    }
    let likeness = strsim::jaro_winkler(&said.name, &name.name)
        .max(strsim::jaro_winkler(&said.sorted, &name.sorted));
    let scaled = (likeness - 0.6).max(0.0) / 0.4 * 0.92;
    plain(Score::clamped(scaled))
}

/// The comparison of ids and marks.
struct Marks {
    score: Option<Score>,
    /// True if an id is the same.
    same: bool,
    /// True if the mail address is the same.
    same_mail: bool,
    /// True if an id of the document or the record is another.
    other_id: bool,
    /// True if a mail address, its domain, a path or a role is another.
    differs: bool,
}

/// Compares the marks of a mention with those of an entity. An address that is a name is a mark, too: who has both has both
/// addresses.
fn marks((mention, said): (&Metadata, &Form), (entity, known): (&Metadata, &KnownNames)) -> Marks {
    let compared = |a: &Option<String>, b: &Option<String>| match (a, b) {
        (Some(a), Some(b)) => Some(folded(a) == folded(b)),
        _ => None,
    };
    let record = compared(&mention.record_id, &entity.record_id);
    let document = compared(&mention.document_id, &entity.document_id);
    let path = compared(&mention.path, &entity.path);
    let said_mail = mention.mail.clone().or_else(|| said.own.is_some().then(|| said.name.clone()));
    let mail = match &said_mail {
        Some(mail) if known.whole.contains(&folded(mail)) => Some(true),
        mail => compared(mail, &entity.mail),
    };
    let role = compared(&mention.role, &entity.role);
    let domain = |mail: &Option<String>| {
        let mail = folded(mail.as_deref()?);
        Some(mail.rsplit_once('@')?.1.to_owned())
    };
    let domains = compared(&domain(&said_mail), &domain(&entity.mail));
    let other_id = record == Some(false) || document == Some(false);
    let same = !other_id && (record == Some(true) || document == Some(true) || path == Some(true));
    let same_mail = !other_id && mail == Some(true);
    let score = if other_id {
        Some(Score::ZERO)
    } else if same || same_mail {
        Some(Score::ONE)
    } else {
        let weak = [
            mail.map(|_| match domains {
                Some(true) => 500_000,
                _ => 100_000,
            }),
            path.map(|_| 200_000),
            role.map(|same| if same { 900_000 } else { 300_000 }),
        ];
        weak.into_iter().flatten().min().map(millionths)
    };
    Marks {
        score,
        same,
        same_mail,
        other_id,
        differs: mail == Some(false) || path == Some(false) || role == Some(false),
    }
}

/// Compares a mention, where it stands, with an entity of this id.
pub fn similarity(
    mention: &Profile,
    id: &str,
    entity: &Profile,
    weights: &PartWeights,
) -> Similarity {
    let names = KnownNames::of(entity);
    let said = Form::of(&mention.name);
    similarity_of((mention, &said), (id, entity, &names), weights)
}

fn similarity_of(
    (mention, said): (&Profile, &Form),
    (id, entity, called): (&str, &Profile, &KnownNames),
    weights: &PartWeights,
) -> Similarity {
    let mut names = Names::compare(mention, said, called);
    let marks = marks((&mention.metadata, said), (&entity.metadata, called));
    let earlier = mention.earlier.contains(id);
    // Who was named in full is called by a part of that name.
    if earlier && names.in_part {
        names.exact = true;
        names.score = Score::ONE;
    }
    let kind = match (mention.kind, entity.kind) {
        (Some(one), Some(other)) => Some(one == other),
        _ => None,
    };
    let scope = match (&mention.project, &entity.project) {
        _ if earlier => Score::ONE,
        (Some(one), Some(other)) if one == other => Score::ONE,
        (None, None) => Score::ONE,
        (Some(_), Some(_)) => millionths(200_000),
        _ => millionths(800_000),
    };
    let around = (!mention.neighbours.is_empty() && !entity.neighbours.is_empty()).then(|| {
        let shared = mention.neighbours.intersection(&entity.neighbours).count();
        let fewer = mention.neighbours.len().min(entity.neighbours.len());
        Score::clamped(shared as f64 / fewer as f64)
    });
    let trust = |profile: &Profile| {
        let unknown = || Score::ONE;
        profile
            .source_authority
            .unwrap_or_else(unknown)
            .times(profile.confidence.unwrap_or_else(unknown))
    };
    // An address that stands alone is an id: as a name it says nothing.
    let mail = mention.metadata.mail.as_deref();
    let is_alone = said.own.is_some() && mail.is_none_or(|mail| folded(mail) == said.name);
    let lexical = (names.exact || !is_alone || !marks.same_mail).then_some(names.score);
    let parts = [
        lexical,
        kind.map(|same| if same { Score::ONE } else { Score::ZERO }),
        Some(scope),
        marks.score,
        around,
        Some(trust(mention).min(trust(entity))),
    ];
    let all = SimilarityPart::ALL.iter().zip(parts).zip(weights.all());
    let known: Vec<(SimilarityPart, Score, Score)> = all
        .filter_map(|((part, score), weight)| Some((*part, score?, weight)))
        .collect();
    let (mut sum, mut weight) = (0u64, 0u64);
    for (_, score, counts) in &known {
        sum += u64::from(score.millionths()) * u64::from(counts.millionths());
        weight += u64::from(counts.millionths());
    }
    let mean = sum.checked_div(weight).unwrap_or(0);
    let mut score = millionths(u32::try_from(mean).unwrap_or(u32::MAX));
    let is_person =
        mention.kind == Some(EntityType::Person) || entity.kind == Some(EntityType::Person);
    let near = around.is_some_and(|share| share >= Score::HALF);
    // A mailbox may be shared: a name beside its address has to be near as well.
    let is_near = names.score >= UNLIKE;
    let identified =
        (marks.same || (marks.same_mail && (is_alone || is_near))) && kind != Some(false);
    if identified {
        score = score.max(BIND);
    }
    let mut limits = Vec::new();
    let mut limit = |applies: bool, most: Score, why: &'static str| {
        if applies && score > most {
            score = most;
            limits.push(why);
        }
    };
    limit(
        mention.tenant != entity.tenant,
        Score::ZERO,
        "another tenant",
    );
    limit(kind == Some(false), REVIEW, "another type");
    limit(marks.other_id, REVIEW, "another id");
    limit(!identified && !is_near, REVIEW, "another name");
    limit(
        !identified && !names.exact,
        BELOW_BIND,
        "not the whole name",
    );
    limit(names.disguised, BELOW_BIND, "look-alike characters");
    limit(
        !identified && marks.differs,
        BELOW_BIND,
        "another mail address, path or role",
    );
    let elsewhere = scope < millionths(500_000);
    limit(!identified && elsewhere, BELOW_BIND, "another project");
    let apart = around == Some(Score::ZERO);
    limit(!identified && apart, BELOW_BIND, "no neighbour in common");
    let likeness = score;
    let vague = !identified && is_person && names.partial && !earlier && !near;
    if vague && score > BELOW_BIND {
        score = BELOW_BIND;
        limits.push("a name that many have");
    }
    Similarity {
        parts: known.into_iter().map(|(part, score, _)| (part, score)).collect(),
        limits,
        score,
        likeness,
        is_told: identified || earlier || near,
        is_identified: identified,
        names: names.score,
        is_exact: names.exact,
        is_renamed: identified && is_near && !names.exact && called.lacks(mention, said),
    }
}

/// The outcome for a mention: what it is bound to, or which entities it may mean.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, JsonSchema)]
pub struct Resolved {
    /// The outcome.
    pub outcome: Resolution,
    /// The entities that it may mean, the likeliest first; of one that is bound, that one alone.
    pub candidates: Vec<(String, Similarity)>,
    /// The name that the bound one has from now on: an id or a mark says that it is meant, it is called by a name that is near
    /// those that are known, and nobody else may be called so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub alias: Option<String>,
}

/// Resolves a mention among candidates: it is bound to the one that is at least 0.95 like it, and enough more than the
/// next; between that and 0.70 it waits for a person; otherwise it is new. What an id or a mark says is put in doubt by another
/// that has it, too, or has the whole name, and by nothing else.
pub fn resolve<'e>(
    mention: &Profile,
    candidates: impl IntoIterator<Item = (&'e str, &'e Profile)>,
    weights: &PartWeights,
) -> Resolved {
    let candidates = candidates
        .into_iter()
        .map(|(id, entity)| (id, entity, Arc::new(KnownNames::of(entity))));
    resolve_known(mention, candidates, weights)
}

/// Resolves among candidates whose names are ready to be compared.
pub(super) fn resolve_known<'e>(
    mention: &Profile,
    candidates: impl IntoIterator<Item = (&'e str, &'e Profile, Arc<KnownNames>)>,
    weights: &PartWeights,
) -> Resolved {
    let said = Form::of(&mention.name);
    let mut alike: Vec<(String, Similarity)> = Vec::new();
    let mut called_so = 0;
    for (id, entity, names) in candidates {
        let found = similarity_of((mention, &said), (id, entity, &names), weights);
        called_so += usize::from(found.names >= UNLIKE);
        if found.score > REVIEW {
            alike.push((id.to_owned(), found));
        }
    }
    alike.sort_by(|(one_id, one), (other_id, other)| {
        (other.score, one_id).cmp(&(one.score, other_id))
    });
    let best = alike.first().map(|(_, best)| best);
    let is_identified = best.is_some_and(|best| best.is_identified);
    // A name that many have says no less of the next one than of the best, where the name is all that tells.
    let is_told = best.is_some_and(|best| best.is_told);
    let rivals = alike
        .iter()
        .skip(1)
        .map(|(_, found)| found)
        .filter(|found| !is_identified || found.is_identified || found.is_exact);
    let next = rivals
        .map(|found| {
            let likeness = if is_told { found.score } else { found.likeness };
            likeness.millionths()
        })
        .max()
        .unwrap_or(0);
    let outcome = match best {
        None => Resolution::New,
        Some(best) if best.score >= BIND && best.score.millionths() >= next + LEAD => {
            Resolution::Bind
        }
        Some(_) => Resolution::Review,
    };
    let is_bound = outcome == Resolution::Bind;
    let is_renamed = best.is_some_and(|best| best.is_renamed);
    let alias = (is_bound && is_renamed && called_so == 1).then(|| mention.name.clone());
    if is_bound {
        alike.truncate(1);
    }
    Resolved {
        outcome,
        candidates: alike,
        alias,
    }
}
