//! The table of the API: every operation with the handler that answers it.

use axum::routing::{delete, get, post, put};
use tenure_workspace::memory_files::MemoryCommand;

use super::parameters::{
    AFTER, AFTER_INSTANT, AFTER_MESSAGE, AFTER_PAGE, AFTER_RECORD, AS_OF, FORM, FORMAT, IF_MATCH,
    IF_NEWER, IF_NONE, IF_STATE, LIMIT, MODEL, OBJECT, ONCE, POINTER, PRINCIPAL, RECORD, SEARCH,
    SESSION, SOURCE_KIND, SUBJECT, VALID_AT,
};
use super::*;

/// Everything that there is.
pub(super) fn table() -> Vec<Routed> {
    let mut table = by_hand();
    table.extend(tenure_operations::table().iter().map(operations::routed));
    table
}

fn operation(
    method: &'static str,
    path: &'static str,
    id: &'static str,
    summary: &'static str,
) -> Operation {
    let is_read = method == "get" || READS.contains(&id);
    Operation {
        method,
        path,
        id,
        summary: summary.into(),
        operator: false,
        effect: if is_read {
            Effect::Reads
        } else {
            Effect::Writes
        },
        parameters: &[],
        fields: Vec::new(),
        body: None,
        answer: openapi::anything,
        status: 200,
    }
}

fn operators(
    method: &'static str,
    path: &'static str,
    id: &'static str,
    summary: &'static str,
) -> Operation {
    Operation {
        operator: true,
        ..operation(method, path, id, summary)
    }
}

/// The operations that are no entry of the table of operations.
fn by_hand() -> Vec<Routed> {
    vec![
        (
            Operation {
                body: Some(openapi::shape::<compile::Call>),
                answer: openapi::outcome,
                ..operation(
                    "post",
                    "/api/v1/compile",
                    "compile",
                    "Compile objects and a task into a payload that fits the budget",
                )
            },
            post(compile::compile),
        ),
        (
            Operation {
                body: Some(openapi::shape::<compile::Question>),
                ..operation(
                    "post",
                    "/api/v1/explain",
                    "explain",
                    "Say how a compile comes to its result: its trace, or why an object is in or out",
                )
            },
            post(compile::explain),
        ),
        (
            Operation {
                body: Some(openapi::shape::<words::Pair>),
                answer: openapi::shape::<tenure::inspect::Diff>,
                ..operation(
                    "post",
                    "/api/v1/diff",
                    "diff",
                    "Compare two traces by section and object",
                )
            },
            post(words::diff),
        ),
        (
            Operation {
                body: Some(openapi::shape::<query::Query>),
                answer: openapi::shape::<tenure_workspace::archive::Found>,
                ..operation(
                    "post",
                    "/api/v1/query",
                    "query",
                    "Find passages that say something about a question: what answers the tool `query_archive`",
                )
            },
            post(query::query),
        ),
        (
            Operation {
                body: Some(openapi::shape::<packages::Activated>),
                answer: openapi::shape::<packages::Activation>,
                ..operation(
                    "post",
                    "/api/v1/packages/activate",
                    "activatePackage",
                    "Give the items of a package that its reader may see, as Markdown and as objects",
                )
            },
            post(packages::activate),
        ),
        (
            Operation {
                body: Some(openapi::shape::<packages::Pair>),
                answer: openapi::shape::<tenure::package::PackageDiff>,
                ..operation(
                    "post",
                    "/api/v1/packages/diff",
                    "diffPackages",
                    "Compare two packages item by item",
                )
            },
            post(packages::diff),
        ),
        (
            Operation {
                body: Some(openapi::shape::<packages::Compared>),
                ..operation(
                    "post",
                    "/api/v1/packages/explain",
                    "explainPackage",
                    "Say whence each item of a package is, and what became of it in the texts that are sent",
                )
            },
            post(packages::explain),
        ),
        (
            Operation {
                body: Some(openapi::shape::<packages::Merging>),
                answer: openapi::shape::<packages::Merged>,
                ..operation(
                    "post",
                    "/api/v1/packages/merge",
                    "mergePackages",
                    "Put packages together, and name where they disagree",
                )
            },
            post(packages::merge),
        ),
        (
            Operation {
                body: Some(openapi::shape::<MemoryCommand>),
                answer: openapi::shape::<memory::Told>,
                ..operation(
                    "post",
                    "/api/v1/memory",
                    "runMemoryTool",
                    "Do what a call of a provider's memory tool says, over files that are kept in the store",
                )
            },
            post(memory::run),
        ),
        (
            Operation {
                body: Some(openapi::shape::<words::Text>),
                answer: openapi::shape::<words::Counted>,
                ..operation(
                    "post",
                    "/api/v1/tokens",
                    "countTokens",
                    "Count the tokens of a text",
                )
            },
            post(words::tokens),
        ),
        (
            Operation {
                body: Some(openapi::shape::<condense::Long>),
                answer: openapi::shape::<tenure_workspace::CondensationReport>,
                ..operation(
                    "post",
                    "/api/v1/condense",
                    "condense",
                    "Make a text fit a number of tokens by the least harmful means",
                )
            },
            post(condense::condense),
        ),
        (
            Operation {
                parameters: &[POINTER],
                answer: openapi::shape::<condense::Original>,
                ..operators(
                    "get",
                    "/api/v1/originals/{pointer}",
                    "getOriginal",
                    "Read back the original of what was condensed",
                )
            },
            get(condense::original),
        ),
        (
            Operation {
                body: Some(openapi::shape::<bodies::Checked>),
                ..operation(
                    "post",
                    "/api/v1/check",
                    "check",
                    "List the rules of its provider that a request's body breaks, or the constraints that an answer breaks",
                )
            },
            post(bodies::check),
        ),
        (
            Operation {
                body: Some(openapi::shape::<bodies::Linted>),
                answer: openapi::shape::<tenure::inspect::LintReport>,
                ..operation(
                    "post",
                    "/api/v1/lint",
                    "lint",
                    "List what is wrong with instructions: implicit, opposed, repeated and unchecked constraints",
                )
            },
            post(bodies::lint),
        ),
        (
            Operation {
                body: Some(openapi::shape::<bodies::Planned>),
                ..operation(
                    "post",
                    "/api/v1/cache/plan",
                    "planCache",
                    "Plan what a provider's cache does with a request",
                )
            },
            post(bodies::plan_cache),
        ),
        (
            Operation {
                body: Some(openapi::shape::<bodies::Successive>),
                answer: openapi::shape::<tenure::cache::Explanation>,
                ..operation(
                    "post",
                    "/api/v1/cache/explain",
                    "explainCache",
                    "Explain how much of a request a provider's cache has after the one before",
                )
            },
            post(bodies::explain_cache),
        ),
        (
            Operation {
                body: Some(openapi::shape::<compile::Call>),
                answer: openapi::shape::<tenure_workspace::GateReport>,
                ..operation(
                    "post",
                    "/api/v1/gate",
                    "gate",
                    "Say which objects a request's gate lets pass, the nearest first",
                )
            },
            post(shares::gate),
        ),
        (
            Operation {
                body: Some(openapi::shape::<shares::Allocation>),
                ..operation(
                    "post",
                    "/api/v1/allocate",
                    "allocate",
                    "Share a budget among sections or claims, and say how others would be shared",
                )
            },
            post(shares::allocate),
        ),
        (
            operation(
                "get",
                "/api/v1/models",
                "listModels",
                "List the models that are known",
            ),
            get(words::models),
        ),
        (
            Operation {
                parameters: &[MODEL],
                ..operation(
                    "get",
                    "/api/v1/models/{name}",
                    "getModel",
                    "Show what is known of a model",
                )
            },
            get(words::model),
        ),
        (
            Operation {
                body: Some(openapi::shape::<records::Again>),
                ..operators(
                    "post",
                    "/api/v1/replay",
                    "replay",
                    "Make a recorded compile again, and say what that proves",
                )
            },
            post(records::replay),
        ),
        (
            Operation {
                parameters: &[LIMIT, AFTER_RECORD],
                answer: openapi::shape::<records::Page>,
                ..operation(
                    "get",
                    "/api/v1/records",
                    "listRecords",
                    "List the newest records: all for an operator, for a user those of what they asked",
                )
            },
            get(records::list),
        ),
        (
            Operation {
                parameters: &[RECORD, FORM],
                ..operation(
                    "get",
                    "/api/v1/records/{record}",
                    "getRecord",
                    "Show a record of a compile or of an exchange, as far as its reader may see it",
                )
            },
            get(records::show),
        ),
        (
            Operation {
                parameters: &[RECORD],
                body: Some(openapi::shape::<labels::Mattered>),
                answer: openapi::shape::<labels::Chosen>,
                ..operators(
                    "post",
                    "/api/v1/records/{record}/labels",
                    "labelRecord",
                    "Say which candidates of a compile mattered, and learn how well it chose",
                )
            },
            post(labels::label),
        ),
        (
            Operation {
                parameters: &[LIMIT, AFTER, AS_OF, SEARCH, SOURCE_KIND, PRINCIPAL],
                answer: openapi::shape::<objects::Page>,
                ..operation(
                    "get",
                    "/api/v1/objects",
                    "listObjects",
                    "List the objects that are believed, as far as their reader may see them",
                )
            },
            get(objects::list),
        ),
        (
            Operation {
                parameters: &[ONCE],
                body: Some(openapi::shape::<objects::Writes>),
                answer: openapi::shape::<tenure_store::Written>,
                ..operators(
                    "post",
                    "/api/v1/objects",
                    "putObjects",
                    "Write objects: all of them, or none",
                )
            },
            post(objects::put_all),
        ),
        (
            Operation {
                parameters: &[OBJECT, AS_OF, VALID_AT, PRINCIPAL, IF_NEWER],
                ..operation(
                    "get",
                    "/api/v1/objects/{object}",
                    "getObject",
                    "Show what is believed of an object, as far as its reader may see it",
                )
            },
            get(objects::show),
        ),
        (
            Operation {
                parameters: &[OBJECT, IF_MATCH, IF_NONE, ONCE],
                body: Some(openapi::shape::<tenure::ObjectDocument>),
                answer: openapi::shape::<tenure_store::Written>,
                ..operators(
                    "put",
                    "/api/v1/objects/{object}",
                    "putObject",
                    "Write an object",
                )
            },
            put(objects::put),
        ),
        (
            Operation {
                parameters: &[OBJECT, IF_MATCH, ONCE],
                answer: openapi::shape::<tenure_store::Written>,
                ..operators(
                    "delete",
                    "/api/v1/objects/{object}",
                    "retractObject",
                    "Say that an object, and what was made from it, is believed no more; its history stays",
                )
            },
            delete(objects::retract),
        ),
        (
            Operation {
                parameters: &[OBJECT, ONCE],
                body: Some(openapi::shape::<objects::Judgement>),
                answer: openapi::shape::<tenure_store::Written>,
                ..operators(
                    "post",
                    "/api/v1/objects/{object}/judgement",
                    "judgeObject",
                    "Judge what is believed of an object: only what is clean is compiled",
                )
            },
            post(objects::judge),
        ),
        (
            Operation {
                parameters: &[LIMIT, AFTER, PRINCIPAL],
                answer: openapi::shape::<objects::Audit>,
                ..operation(
                    "get",
                    "/api/v1/audit",
                    "auditObjects",
                    "List the objects with the questions of tenure that each leaves to its type",
                )
            },
            get(objects::audit),
        ),
        (
            Operation {
                parameters: &[OBJECT, LIMIT, AFTER_INSTANT, PRINCIPAL],
                answer: openapi::shape::<objects::History>,
                ..operation(
                    "get",
                    "/api/v1/objects/{object}/history",
                    "getHistory",
                    "Show everything that was ever believed of an object, as far as its reader may see it now",
                )
            },
            get(objects::history),
        ),
        (
            Operation {
                parameters: &[SUBJECT],
                ..operators(
                    "get",
                    "/api/v1/subjects/{subject}",
                    "getSubject",
                    "Show what is kept of a person: objects about them, what was made from these, and their own objects, sessions and records",
                )
            },
            get(erase::subject),
        ),
        (
            Operation {
                parameters: &[ONCE],
                body: Some(openapi::shape::<erase::Erasure>),
                ..operators(
                    "post",
                    "/api/v1/erase",
                    "erase",
                    "Erase objects, what is about a person, or a session; of a person it says what is theirs and left",
                )
            },
            post(erase::erase),
        ),
        (
            Operation {
                parameters: &[LIMIT, AFTER_PAGE],
                answer: openapi::shape::<sessions::Page>,
                ..operation(
                    "get",
                    "/api/v1/sessions",
                    "listSessions",
                    "List the sessions: all for an operator, for a user their own",
                )
            },
            get(sessions::list),
        ),
        (
            Operation {
                parameters: &[ONCE],
                body: Some(openapi::shape::<sessions::New>),
                answer: openapi::shape::<sessions::Added>,
                ..operation(
                    "post",
                    "/api/v1/sessions",
                    "createSession",
                    "Begin a session, with messages where there are some already",
                )
            },
            post(sessions::create),
        ),
        (
            Operation {
                parameters: &[SESSION, LIMIT, AFTER_MESSAGE, IF_NEWER],
                ..operation(
                    "get",
                    "/api/v1/sessions/{session}",
                    "getSession",
                    "Show a session: its messages, and the summaries that stand for the oldest",
                )
            },
            get(sessions::show),
        ),
        (
            Operation {
                parameters: &[SESSION, IF_STATE, ONCE],
                body: Some(openapi::shape::<sessions::Spoken>),
                answer: openapi::shape::<sessions::Added>,
                ..operation(
                    "post",
                    "/api/v1/sessions/{session}/messages",
                    "appendMessages",
                    "Add messages to a session: all of them, or none",
                )
            },
            post(sessions::append),
        ),
        (
            Operation {
                parameters: &[SESSION, IF_STATE],
                body: Some(openapi::shape::<sessions::Turn>),
                answer: openapi::outcome,
                ..operation(
                    "post",
                    "/api/v1/sessions/{session}/compile",
                    "compileSession",
                    "Compile the next request of a session",
                )
            },
            post(sessions::compile),
        ),
        (
            Operation {
                parameters: &[SESSION],
                body: Some(openapi::shape::<sessions::Back>),
                ..operation(
                    "post",
                    "/api/v1/sessions/{session}/rehydrate",
                    "rehydrate",
                    "Give messages of a session back as they were said",
                )
            },
            post(sessions::rehydrate),
        ),
        (
            Operation {
                parameters: &[SESSION, IF_STATE],
                body: Some(openapi::shape::<sessions::Summary>),
                ..operation(
                    "post",
                    "/api/v1/sessions/{session}/checkpoint",
                    "checkpoint",
                    "Put summaries in the place of all but the newest messages",
                )
            },
            post(sessions::checkpoint),
        ),
        (
            Operation {
                parameters: &[SESSION, IF_STATE],
                body: Some(openapi::shape::<sessions::Pin>),
                answer: openapi::shape::<sessions::Pinned>,
                ..operation(
                    "post",
                    "/api/v1/sessions/{session}/pin",
                    "pin",
                    "Make a message outlive every compaction",
                )
            },
            post(sessions::pin),
        ),
        (
            Operation {
                parameters: &[SESSION, IF_STATE],
                body: Some(openapi::shape::<sessions::Pin>),
                answer: openapi::shape::<sessions::Pinned>,
                ..operation(
                    "post",
                    "/api/v1/sessions/{session}/unpin",
                    "unpin",
                    "Let a message go that was pinned",
                )
            },
            post(sessions::unpin),
        ),
        (
            Operation {
                parameters: &[SESSION, IF_STATE],
                body: Some(openapi::shape::<sessions::MessageJudgement>),
                answer: openapi::shape::<sessions::JudgedMessages>,
                ..operators(
                    "post",
                    "/api/v1/sessions/{session}/judgement",
                    "judgeMessages",
                    "Quarantine or retract messages of a session, or take that back: what is judged is compiled and summarised no more",
                )
            },
            post(sessions::judge),
        ),
        (
            Operation {
                parameters: &[SESSION, IF_STATE],
                body: Some(openapi::shape::<sessions::Lesson>),
                answer: openapi::shape::<sessions::Learned>,
                ..operation(
                    "post",
                    "/api/v1/sessions/{session}/learn",
                    "learn",
                    "Read a provider's error: where it says how long a request may be, the next compile keeps to it",
                )
            },
            post(sessions::learn),
        ),
        (
            Operation {
                parameters: &[SESSION, FORMAT, IF_NEWER],
                ..operation(
                    "get",
                    "/api/v1/sessions/{session}/export",
                    "exportSession",
                    "Give the messages of a session as a provider takes them, which is what a session begins with elsewhere",
                )
            },
            get(sessions::export),
        ),
    ]
}
