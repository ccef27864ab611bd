//! What operations take beside their bodies: in the path, in the query, in headers.

/// Something that an operation takes beside its body.
pub(super) struct Parameter {
    pub(super) name: &'static str,
    pub(super) place: &'static str,
    pub(super) says: &'static str,
    pub(super) takes: Takes,
}

/// What a parameter may be.
pub(super) enum Takes {
    Text,
    /// How many.
    Count,
    Instant,
    /// The id of an object.
    Id,
    /// One of these words.
    OneOf(&'static [&'static str]),
    /// A text of this form, a regular expression.
    Form(&'static str),
}

pub(super) const fn parameter(
    name: &'static str,
    place: &'static str,
    says: &'static str,
) -> Parameter {
    Parameter {
        name,
        place,
        says,
        takes: Takes::Text,
    }
}

impl Parameter {
    const fn taking(self, takes: Takes) -> Parameter {
        Parameter { takes, ..self }
    }
}

pub(super) const OBJECT: Parameter = parameter(
    "object",
    "path",
    "The object's id, or its name where only one has it",
);
pub(super) const SUBJECT: Parameter = parameter(
    "subject",
    "path",
    "The person, as `subjects` of objects or the user of sessions and requests name them",
);
pub(super) const MODEL: Parameter = parameter("name", "path", "The model's name");
pub(super) const RECORD: Parameter = parameter("record", "path", "The record's id");
pub(super) const FORM: Parameter =
    parameter("form", "query", "record, principle, prefill, otlp or prov").taking(Takes::OneOf(&[
        "record",
        "principle",
        "prefill",
        "otlp",
        "prov",
    ]));
pub(super) const POINTER: Parameter = parameter("pointer", "path", "The id in the pointer to it");
pub(super) const SESSION: Parameter = parameter("session", "path", "The session's id")
    .taking(Takes::Form("^[A-Za-z0-9_.:-]{1,128}$"));
pub(super) const AFTER_MESSAGE: Parameter = parameter(
    "after",
    "query",
    "Only messages after this one: `next` of the page before",
)
.taking(Takes::Form("^t[0-9]{1,15}$"));
pub(super) const AFTER_PAGE: Parameter = parameter(
    "after",
    "query",
    "Only what comes after this: `next` of the page before",
);
pub(super) const AFTER_RECORD: Parameter =
    AFTER_PAGE.taking(Takes::Form("^[0-9]{4}-[0-9:TZ.-]{6,30}/.{1,256}$"));
pub(super) const FORMAT: Parameter = parameter(
    "format",
    "query",
    "Whose form the messages get; the one that the session came in, unless it is said",
)
.taking(Takes::OneOf(&[
    "openai-chat",
    "openai-responses",
    "anthropic-messages",
    "gemini",
]));
pub(super) const IF_STATE: Parameter = parameter(
    "If-Match",
    "header",
    "Write only to this state of it: the ETag of what was read",
)
.taking(Takes::Form("^\"[0-9]{1,15}\"$"));
pub(super) const LIMIT: Parameter =
    parameter("limit", "query", "At most so many, up to 1000").taking(Takes::Count);
pub(super) const AFTER: Parameter = parameter(
    "after",
    "query",
    "Only what comes after this: `next` of the page before",
)
.taking(Takes::Id);
pub(super) const AFTER_INSTANT: Parameter = parameter(
    "after",
    "query",
    "Only what was opened after this instant: `next` of the page before",
)
.taking(Takes::Instant);
pub(super) const AS_OF: Parameter =
    parameter("as_of", "query", "What was believed at this instant").taking(Takes::Instant);
pub(super) const SEARCH: Parameter = parameter(
    "search",
    "query",
    "Only objects in which every one of these words stands, archived and demoted ones included; not with `as_of`",
);
pub(super) const SOURCE_KIND: Parameter = parameter(
    "source_kind",
    "query",
    "Only objects whose source is of this kind: what is known of it goes before what its provenance says; not with `search`",
)
.taking(Takes::OneOf(&[
    "developer",
    "user",
    "system_of_record",
    "document",
    "tool",
    "agent",
    "web",
]));
pub(super) const PRINCIPAL: Parameter = parameter(
    "principal",
    "query",
    "On whose behalf it is read: a principal as a compile takes it, as JSON, no more than the key grants. Default: an \
     operator's key reads past the access lists of objects, another what it grants",
);
pub(super) const VALID_AT: Parameter = parameter(
    "valid_at",
    "query",
    "What is held to be true at this instant",
)
.taking(Takes::Instant);
pub(super) const IF_MATCH: Parameter = parameter(
    "If-Match",
    "header",
    "Write only over this revision: the ETag of what was read or written, of which the part before the dot counts",
)
.taking(Takes::Form("^\"sha256:[0-9a-f]{64}([.][0-9a-f]{16})?\"$"));
pub(super) const IF_NONE: Parameter = parameter(
    "If-None-Match",
    "header",
    "`*`: write only what is not there yet",
)
.taking(Takes::OneOf(&["*"]));
pub(super) const IF_NEWER: Parameter = parameter(
    "If-None-Match",
    "header",
    "Answer only if it is not what this names any more: the ETag of what was read, or several",
);
pub(super) const ONCE: Parameter = parameter(
    "Idempotency-Key",
    "header",
    "A key that makes the write happen once, however often it is sent",
)
.taking(Takes::Form("^[!-~]{1,256}$"));
