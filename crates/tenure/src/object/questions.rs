//! The eight questions that every object answers: by what its author said, or by what its type says of all.

use schemars::JsonSchema;
use serde::Serialize;

use super::ObjectId;
use super::document::{LOCAL_TENANT, default_authority};
use super::revision::{ContextObject, Revision, Scope};
use super::vocabulary::{
    Classification, ConflictPolicy, ObjectType, Question, RetirementRule, SourceKind,
};

/// The answer of an object to one of the eight questions.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, JsonSchema)]
pub struct Answer {
    /// The question.
    pub question: Question,
    /// The answer, in words.
    pub answer: String,
    /// True if the object says so itself; else its type says it of all.
    pub own: bool,
}

/// An object with the questions that it leaves to its type.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, JsonSchema)]
pub struct Audited {
    /// Its id.
    pub object_id: ObjectId,
    /// Its name.
    pub name: String,
    /// Its type, whose answers they are.
    pub object_type: ObjectType,
    /// The kind of its source.
    pub source_kind: SourceKind,
    /// The questions that it does not answer itself, with the answers of its type; empty if it answers all eight.
    pub by_type: Vec<Answer>,
}

impl Audited {
    /// The view of an object.
    pub fn of(object: &ContextObject) -> Audited {
        let revision = object.revision();
        let mut by_type = revision.answers();
        by_type.retain(|answer| !answer.own);
        Audited {
            object_id: revision.object_id(),
            name: object.name().to_owned(),
            object_type: revision.object_type(),
            source_kind: revision.source_kind(),
            by_type,
        }
    }
}

impl Revision {
    /// The answers to the eight questions, in their order. What an object says of itself that its type says anyway
    /// counts as its type's, since a revision does not keep the difference.
    ///
    /// ```
    /// use tenure::object::{ObjectDocument, Question};
    /// let object = ObjectDocument::rule("units", "Report pressure in pascal.").seal()?;
    /// let answers = object.revision().answers();
    /// assert_eq!(answers.len(), Question::ALL.len());
    /// assert_eq!(answers[6].answer, "protocols");
    /// assert!(answers.iter().all(|answer| !answer.own));
    /// # Ok::<(), tenure::Error>(())
    /// ```
    pub fn answers(&self) -> Vec<Answer> {
        Question::ALL
            .iter()
            .map(|question| {
                let own = self.own_answer(*question);
                Answer {
                    question: *question,
                    own: own.is_some(),
                    answer: own.unwrap_or_else(|| self.answer_of_type(*question)),
                }
            })
            .collect()
    }

    fn own_answer(&self, question: Question) -> Option<String> {
        let rare = self.rare();
        match question {
            Question::Scope => scope(self.scope(), self.classification()),
            Question::Source => {
                let found = self.provenance().and_then(|found| found.source_id.as_deref());
                self.origins().next().or(found).map(str::to_owned)
            }
            Question::Authority => {
                let default = default_authority(self.object_type(), self.role());
                let level = self.authority_level();
                (level != default).then(|| level.to_string())
            }
            Question::Lifespan => {
                let valid = self.valid();
                let from = valid.from.map(|from| format!("from {from}"));
                let until = valid.until.map(|until| format!("until {until}"));
                let half = self
                    .decay_rule()
                    .and_then(|rule| rule.half_life_days)
                    .map(|days| format!("half as fresh every {days} days"));
                joined([from, until, half])
            }
            Question::RelevanceCondition => {
                let types: Vec<String> = rare.task_types.iter().map(ToString::to_string).collect();
                let types = (!types.is_empty()).then(|| format!("tasks: {}", types.join(", ")));
                joined([types, rare.why_it_matters.clone()])
            }
            Question::UpdatePath => rare.update_path.clone(),
            Question::ConflictPolicy => self.conflict_policy().map(|own| own.to_string()),
            Question::RetirementRule => self.retirement_rule().map(|own| own.to_string()),
        }
    }

    /// The answer that its type gives for all that have none of their own.
    fn answer_of_type(&self, question: Question) -> String {
        let object_type = self.object_type();
        let said = matches!(
            object_type,
            ObjectType::Turn | ObjectType::ToolResult | ObjectType::TaskState
        );
        let derived = matches!(
            object_type,
            ObjectType::InferredBelief | ObjectType::Checkpoint
        );
        let text = match question {
            Question::Scope => "its tenant, all who may see what is restricted",
            Question::Source => return format!("unknown; of kind {}", self.source_kind()),
            Question::Authority => return self.authority_level().to_string(),
            Question::Lifespan if said => "its session",
            Question::Lifespan if derived => "as long as what it was made from",
            Question::Lifespan => "until it is revised or retracted; the policy ages its type",
            Question::RelevanceCondition => match object_type {
                ObjectType::Rule
                | ObjectType::PolicyRule
                | ObjectType::ActionableConstraint
                | ObjectType::TaskState => "every task",
                ObjectType::ToolSchema => "steps of the task that are near it",
                _ => "tasks that are near it",
            },
            Question::UpdatePath if said => "none: what was said stays",
            Question::UpdatePath if derived => "it is made again from what it was made from",
            Question::UpdatePath => "whoever writes it again",
            Question::ConflictPolicy => return ConflictPolicy::Protocols.to_string(),
            Question::RetirementRule => return RetirementRule::Archive.to_string(),
        };
        text.to_owned()
    }
}

fn scope(scope: &Scope, class: Classification) -> Option<String> {
    let named = |what: &str, id: Option<&str>| id.map(|id| format!("{what} {id}"));
    let roles = |what: &str, roles: &[Box<str>]| {
        (!roles.is_empty()).then(|| format!("{what} {}", roles.join(", ")))
    };
    let tenant = (*scope.tenant != *LOCAL_TENANT).then_some(&*scope.tenant);
    joined([
        named("tenant", tenant),
        named("user", scope.user.as_deref()),
        named("project", scope.project.as_deref()),
        named("session", scope.session.as_deref()),
        named("task", scope.task.as_deref()),
        roles("roles", &scope.allow_roles),
        roles("not roles", &scope.deny_roles),
        (class != Classification::Restricted).then(|| class.to_string()),
    ])
}

fn joined<const N: usize>(parts: [Option<String>; N]) -> Option<String> {
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    (!parts.is_empty()).then(|| parts.join("; "))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use crate::object::{Authority, ConflictPolicy, ObjectDocument, ObjectType, Question, Role};

    #[test]
    fn every_type_answers_every_question() {
        for object_type in ObjectType::ALL {
            let document = json!({
                "name": "a", "content": "text", "object_type": object_type,
                "provenance": { "retrieved_at": "2026-01-02", "source_id": "manual.pdf" },
            });
            let mut document: ObjectDocument = serde_json::from_value(document).unwrap();
            document.role = (*object_type == ObjectType::Turn).then_some(Role::User);
            let result = *object_type == ObjectType::ToolResult;
            document.tool_call_id = result.then(|| "c".to_owned());
            let object = document.seal().unwrap();
            let answers = object.revision().answers();
            let asked: Vec<Question> = answers.iter().map(|answer| answer.question).collect();
            assert_eq!(asked, Question::ALL);
            for answer in &answers {
                let is_own = answer.question == Question::Source;
                assert_eq!(answer.own, is_own, "{object_type} {answer:?}");
                assert!(!answer.answer.is_empty(), "{object_type} {answer:?}");
            }
        }
    }

    #[test]
    fn what_an_object_says_itself_is_its_own() {
        let document = json!({
            "name": "office", "content": "The office is in Denver.", "object_type": "identity_fact",
            "user_id": "ada", "permission_scope": { "allow_roles": ["clerk", "lead"] },
            "security_classification": "public", "source_origin": "notes.md", "authority_level": 3,
            "valid_from": "2026-06-06", "decay_rule": { "half_life_days": 90.0 },
            "applicable_task_types": ["data_extraction"], "why_it_matters": "For letters.",
            "update_path": "notes.md", "conflict_policy": "give_way", "retirement_rule": "hard_delete",
        });
        let document: ObjectDocument = serde_json::from_value(document).unwrap();
        let object = document.seal().unwrap();
        let answers = object.revision().answers();
        assert!(answers.iter().all(|answer| answer.own), "{answers:?}");
        let said: Vec<&str> = answers.iter().map(|answer| &*answer.answer).collect();
        assert_eq!(
            said,
            [
                "user ada; roles clerk, lead; public",
                "notes.md",
                &Authority::Memory.to_string(),
                "from 2026-06-06T00:00:00Z; half as fresh every 90 days",
                "tasks: data_extraction; For letters.",
                "notes.md",
                "give_way",
                "hard_delete",
            ]
        );
        // It is read back from the form in which a store keeps it.
        let again = object.to_document().unwrap();
        assert_eq!(again.conflict_policy, Some(ConflictPolicy::GiveWay));
        assert_eq!(
            again.seal().unwrap().revision().id(),
            object.revision().id()
        );
    }
}
