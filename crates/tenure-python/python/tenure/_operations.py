"""The operations of the table and their types: written from their schemas by a test of `tenure-operations`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, TypedDict, Union

from ._caller import Caller

if TYPE_CHECKING:
    from typing_extensions import NotRequired

__all__ = [
    "AppliedOp",
    "AuthorKind",
    "BeliefWithEvidence",
    "Bound",
    "Choice",
    "ChunkBounds",
    "Classification",
    "Conflict",
    "ConflictPolicy",
    "Conflicts",
    "ConstraintDocument",
    "ContradictionStatus",
    "DecayRule",
    "Decision",
    "Direction",
    "Disguise",
    "Entities",
    "EntityEntry",
    "EntityHistory",
    "EntityOp",
    "EntityOpAlias",
    "EntityOpConfirm",
    "EntityOpCreate",
    "EntityOpMark",
    "EntityOpMerge",
    "EntityOpRelate",
    "EntityOpRemoveAlias",
    "EntityOpRemoveRelation",
    "EntityOpRemoveRole",
    "EntityOpRole",
    "EntityOpSplit",
    "EntityType",
    "Explicitness",
    "FlaggedText",
    "Format",
    "GateRefusal",
    "Ground",
    "Held",
    "Imported",
    "KeptBlock",
    "Kind",
    "Layer",
    "Lifecycle",
    "Lineage",
    "Link",
    "ListedRegistry",
    "Loser",
    "LoweredAuthority",
    "MadeRegistry",
    "Mark",
    "Meaning",
    "MemoryKind",
    "Metadata",
    "Modality",
    "ObjectDocument",
    "ObjectDocument2",
    "ObjectType",
    "Op",
    "OpDraw",
    "OpEvict",
    "OpLimit",
    "OpOverride",
    "OpPromote",
    "OpReorder",
    "OpRevise",
    "OpRollback",
    "OpUse",
    "OpWrap",
    "OpWrite",
    "OutcomeDecision",
    "OutcomeKind",
    "OutcomeLine",
    "OutcomeState",
    "Outcomes",
    "Overrides",
    "PartWeights",
    "Party",
    "PendingText",
    "PermissionScope",
    "Place",
    "PlaceAfter",
    "PlaceAt",
    "PlaceBefore",
    "PlaceSteps",
    "Polarity",
    "Principal",
    "Profile",
    "ProposalShown",
    "Proposals",
    "Protection",
    "Protocol",
    "ProvenanceDocument",
    "ProvenancePart",
    "RegistryShown",
    "RelationType",
    "Resolution",
    "Resolved",
    "ResolverAction",
    "RetirementRule",
    "ReviewDecision",
    "Revised",
    "Rigidity",
    "Role",
    "SeedText",
    "SeenEntity",
    "Shown",
    "Silence",
    "Similarity",
    "SlotCardinality",
    "SourceKind",
    "Step",
    "Summary",
    "TaskType",
    "Tenant",
    "TextField",
    "TimeoutClass",
    "ToolCall",
    "Waiting",
    "WaitingKind",
    "Weakening",
    "WeakeningEnds",
    "WeakeningLoweredTo",
    "Wire",
    "WriteNote",
    "WriteNoteAtMost",
    "WriteNoteAuthorityLowered",
    "WriteNoteAwaitsConfirmation",
    "WriteNoteClaimAboutNobody",
    "WriteNoteClaimNotParsed",
    "WriteNoteEntityPending",
    "WriteNoteMadeFromItself",
    "WriteNoteMentionsCut",
    "WriteNoteMistakeRepeated",
    "WriteNoteNothingSpeaks",
    "WriteNoteOverruled",
    "WriteNoteRenewed",
    "WriteOutcome",
    "Written",
    "WrittenObject",
]


class AppliedOp(TypedDict):
    """The effect of a change."""

    kept: list[KeptBlock]
    """The blocks that a rollback left, because others wrote them."""
    lowered: list[LoweredAuthority]
    """The objects that have less authority than they asked for."""
    number: int
    """The number of the change in its log."""
    registry: str
    """The registry."""
    removed: list[str]
    """The names of the blocks that were taken out."""


AuthorKind = Literal["seed", "agent", "orchestrator"]
"""The kind of an object's author.

- ``seed``: It was there at the start.
- ``agent``: The agent wrote it.
- ``orchestrator``: The program around the agent wrote it.
"""


class BeliefWithEvidence(TypedDict):
    """A claim with its evidence."""

    at_most: NotRequired[float | None]
    """The most that it may have: what was made from other objects is at most as sure as they are."""
    claim: str
    """The claim, as it is read."""
    confidence: float
    """The confidence that the evidence gives it: one half where there is none."""
    evidence: list[Link]
    """The evidence for it and against it, by id."""
    flagged: list[FlaggedText]
    """The texts in disguise, of the object and of what it was made from: something inferred must not persist on
    them.
    """
    name: str
    """Its name."""
    object_id: str
    """The object that claims it."""
    object_type: ObjectType
    """Its type."""
    refused: NotRequired[GateRefusal | None]
    """The reason for which something inferred must not persist on this evidence."""
    revision: str
    """The revision that was read."""
    stated: float
    """The confidence that its author gave it."""
    weakened: NotRequired[Weakening | None]
    """Fate of it at the next sweep, where evidence is over that spoke for it when it was written."""


Bound = TypedDict(
    "Bound",
    {
        "from": "NotRequired[str | None]",
        "until": "NotRequired[str | None]",
    },
)
"""The time for which something held.

- ``from``: Since when; missing means unknown.
- ``until``: Until when; missing means open.
"""


class Choice(TypedDict):
    """A decision that a person may make on something that waits."""

    command: str
    """The command that makes it."""
    decision: NotRequired[ReviewDecision | None]
    """The decision; none where a command alone makes it."""
    does: str
    """Its effect."""


class ChunkBounds(TypedDict):
    """The place of a chunk in its source, in bytes, half-open."""

    end: int
    """The first byte after."""
    start: int
    """The first byte."""


Classification = Literal["public", "restricted", "confidential", "highly_restricted"]
"""The sensitivity of an object. Higher terms need more clearance.

- ``public``: For anyone.
- ``restricted``: For members; what an object without a label is.
- ``confidential``: For those who need it.
- ``highly_restricted``: For the named few.
"""


Conflict = TypedDict(
    "Conflict",
    {
        "actions": "list[ResolverAction]",
        "authorities": "NotRequired[list[int] | None]",
        "by": "NotRequired[str | None]",
        "claimed_at": "NotRequired[str | None]",
        "entity": "str",
        "first": "Party",
        "from": "NotRequired[str | None]",
        "ground": "Ground",
        "loser": "Loser",
        "merged": "NotRequired[list[str] | None]",
        "note": "NotRequired[str | None]",
        "second": "Party",
        "slot": "str",
        "status": "ContradictionStatus",
        "tx_end": "NotRequired[str | None]",
        "tx_start": "str",
        "until": "NotRequired[str | None]",
    },
)
"""A judgement on the claims of two objects on one slot.

- ``actions``: The ways to resolve it, where nothing tells the two apart or the loser is an inferred preference.
- ``authorities``: The authorities of the first and the second object, where an operator decided against the
  higher one.
- ``by``: The author of the decision.
- ``claimed_at``: The instant of which the claims of both are: of a judgement that has ended, that at which it
  was made; of a list of an instant, that one. Missing where they are those of now.
- ``entity``: The entity.
- ``first``: The object with the lower id.
- ``from``: Since when both hold; missing means unknown.
- ``ground``: The ground.
- ``loser``: The one that does not stand.
- ``merged``: The ids that the two objects name, where they are one entity only by a merge, as the caller may
  know of it.
- ``note``: The note on it.
- ``second``: The other one.
- ``slot``: The slot.
- ``status``: The judgement on the loser.
- ``tx_end``: The instant since which it is not.
- ``tx_start``: The instant since which it is so judged.
- ``until``: Until when both hold; missing means open.
"""


ConflictPolicy = Literal["protocols", "give_way", "ask"]
"""The rule for a claim of an object that meets another one which cannot hold beside it.

- ``protocols``: They are compared: authority, begin, source, confidence. What an object has that states none.
- ``give_way``: It gives way to any other, of whatever authority; of two that do, the protocols decide.
- ``ask``: Of two of equal authority neither stands until somebody decides.
"""


class Conflicts(TypedDict):
    """A page of pairs of claims that cannot both hold."""

    conflicts: list[Conflict]
    """Each with both objects, their claims, the one that does not stand, and the ground."""
    next: NotRequired[str | None]
    """The mark to ask for what comes after, where there is more."""


class ConstraintDocument(TypedDict):
    """The kind of a constraint."""

    explicitness: NotRequired[Explicitness]
    """Stated or shown. Default: ``explicit``."""
    must_cite: NotRequired[int]
    """The number of sources that a final answer must name at least, of the evidence and documents that stand in
    the request: by their name or ``source_id``. Fewer suffice where fewer stand. Default: 0.
    """
    patterns: NotRequired[list[str]]
    """Regular expressions that answers are held against: of a ``negative`` constraint none may match, of a
    ``positive`` one each must. Default: none.
    """
    polarity: NotRequired[Polarity]
    """Asks or forbids. Default: ``positive``."""
    rigidity: Rigidity
    """The rigidity: soft constraints may be relaxed."""
    schema: NotRequired[Any]
    """A JSON Schema that a final answer must be an instance of. Default: none. A constraint without a validator
    (``must_cite``, ``patterns``, ``schema``) is one that no machine can check.
    """


ContradictionStatus = Literal["clean", "disputed", "overridden", "quarantined"]
"""The store's judgement on a claim. Only ``clean`` objects are compiled.

- ``clean``: Nothing contradicts it.
- ``disputed``: Something of equal standing contradicts it.
- ``overridden``: Something of higher standing replaced it.
- ``quarantined``: Set aside until someone decides.
"""


class DecayRule(TypedDict, total=False):
    """The aging of an object: its freshness halves every ``half_life_days``. Neither field is needed."""

    half_life_days: float | None
    """Days in which freshness halves. Default: as the policy says of its type; a sweep of a store, which has no
    policy, leaves it then.
    """
    minimum_threshold: float
    """The freshness below which the retirement rule applies."""


Decision = Literal["first", "second", "both", "neither"]
"""The decision between two claims that cannot both hold.

- ``first``: The first stands.
- ``second``: The second stands.
- ``both``: Both stand.
- ``neither``: Neither stands.
"""


Direction = Literal["for", "against"]
"""The side of evidence.

- ``for``: It speaks for the claim.
- ``against``: It speaks against it.
"""


Disguise = Literal["hidden_characters", "mixed_scripts"]
"""The way in which a text is not what it seems to be.

- ``hidden_characters``: Characters that are not seen, or that change the direction of text, without a lawful
  use where they stand.
- ``mixed_scripts``: A word of Latin letters and of letters of another script that look like them.
"""


class Entities(TypedDict):
    """The entities that a reader may see."""

    entities: list[SeenEntity]
    """The entities, by id."""


class EntityEntry(TypedDict):
    """An entry of the log."""

    at: str
    """The instant."""
    by: NotRequired[str | None]
    """The author of it."""
    does: EntityOp
    """The operation."""
    source: NotRequired[str | None]
    """The object that it came from; missing where somebody said so."""


class EntityHistory(TypedDict):
    """The log of the registry about one entity."""

    entries: list[EntityEntry]
    """Everything that was done to it and to what was merged into it, the oldest first."""


EntityOp: TypeAlias = Union[
    "EntityOpCreate",
    "EntityOpAlias",
    "EntityOpRole",
    "EntityOpRelate",
    "EntityOpMerge",
    "EntityOpSplit",
    "EntityOpConfirm",
    "EntityOpMark",
    "EntityOpRemoveAlias",
    "EntityOpRemoveRole",
    "EntityOpRemoveRelation",
]
"""An operation on the registry, as its log has it."""


class EntityOpAlias(TypedDict):
    """Another name."""

    alias: str
    """The name."""
    id: str
    """The entity."""
    op: Literal["alias"]


class EntityOpConfirm(TypedDict):
    """A pending entity is one of its own."""

    id: str
    """The entity."""
    op: Literal["confirm"]


class EntityOpCreate(TypedDict):
    """A new entity."""

    candidates: NotRequired[list[str]]
    """The entities that it may be."""
    confidence: NotRequired[float | None]
    """The confidence that it is one of its own."""
    id: str
    """Its id."""
    kind: NotRequired[EntityType | None]
    """Its type."""
    metadata: NotRequired[Metadata]
    """Ids and marks."""
    name: str
    """Its canonical name."""
    op: Literal["create"]
    pending: NotRequired[bool]
    """True if it waits for a person to say whether it is one of the candidates."""
    project: NotRequired[str | None]
    """The project that it is of."""


class EntityOpMark(TypedDict):
    """A mark: from now on this one, or none."""

    id: str
    """The entity."""
    mark: Mark
    """The mark."""
    op: Literal["mark"]
    value: NotRequired[str | None]
    """The value; none takes it away."""


class EntityOpMerge(TypedDict):
    """One entity means another."""

    id: str
    """The one."""
    into: str
    """The other."""
    op: Literal["merge"]


class EntityOpRelate(TypedDict):
    """A relation to another entity."""

    id: str
    """The entity."""
    op: Literal["relate"]
    relation: RelationType
    """The relation."""
    to: str
    """The other one."""


class EntityOpRemoveAlias(TypedDict):
    """Another name is none of its names, whoever gave it."""

    alias: str
    """The name, in any case."""
    id: str
    """The entity."""
    op: Literal["remove_alias"]


class EntityOpRemoveRelation(TypedDict):
    """It has not a relation to another entity, whoever said so."""

    id: str
    """The entity."""
    op: Literal["remove_relation"]
    relation: RelationType
    """The relation."""
    to: str
    """The other one."""


class EntityOpRemoveRole(TypedDict):
    """It has not a role, at any time."""

    id: str
    """The entity."""
    op: Literal["remove_role"]
    role: str
    """The role, in any case."""


class EntityOpRole(TypedDict):
    """A role for a time."""

    held: NotRequired[Bound]
    """The time."""
    id: str
    """The entity."""
    op: Literal["role"]
    role: str
    """The role description, as ``the CFO``."""


class EntityOpSplit(TypedDict):
    """It does not, after all."""

    id: str
    """The one."""
    op: Literal["split"]


EntityType = Literal["person", "project", "document", "system", "tenant", "tool", "role"]
"""The type of an entity.

- ``person``: A human being.
- ``project``: A project.
- ``document``: A document.
- ``system``: A system or service.
- ``tenant``: An organisation.
- ``tool``: A tool.
- ``role``: A role that somebody has at a time.
"""


Explicitness = Literal["explicit", "implicit"]
"""The explicitness of a constraint: stated or shown.

- ``explicit``: Stated.
- ``implicit``: Shown by example.
"""


class FlaggedText(TypedDict):
    """A text that is not what it seems to be."""

    disguise: Disguise
    """The way in which it is not what it seems to be."""
    field: TextField
    """The field that it stands in."""
    object_id: NotRequired[str | None]
    """The object that it is of, where that is one that the object was made from."""


Format = Literal["openai-chat", "openai-responses", "anthropic-messages", "gemini"]
"""The provider's format of messages.

- ``openai-chat``: ``messages`` of an OpenAI chat completion request.
- ``openai-responses``: ``input`` items of an OpenAI responses request.
- ``anthropic-messages``: ``messages`` of an Anthropic messages request.
- ``gemini``: ``contents`` of a Gemini generateContent request.
"""


GateRefusal = Literal["too_little_evidence", "unverified_parent", "flagged", "stated_otherwise"]
"""The reason for which something inferred must not persist.

- ``too_little_evidence``: Too few independent origins speak for it.
- ``unverified_parent``: Something that it was made from is not verified.
- ``flagged``: A text of it, or of what it was made from, is in disguise.
- ``stated_otherwise``: A preference that somebody stated says otherwise.
"""


Ground = Literal[
    "gave_way",
    "authority",
    "asks",
    "scope",
    "valid_from",
    "recorded",
    "source_authority",
    "confidence",
    "tie",
    "person",
]
"""The ground on which one claim stands and another does not.

- ``gave_way``: The loser's own policy: it gives way.
- ``authority``: The higher authority.
- ``asks``: The policy of one of the two, which leaves it to a person.
- ``scope``: The narrower scope of two preferences.
- ``valid_from``: The later begin of its time.
- ``recorded``: The later begin, of a preference that holds since it was said.
- ``source_authority``: The better source.
- ``confidence``: The higher confidence.
- ``tie``: Nothing tells them apart.
- ``person``: Somebody decided so.
"""


Held = TypedDict(
    "Held",
    {
        "from": "NotRequired[str | None]",
        "until": "NotRequired[str | None]",
    },
)
"""The time for which something is claimed.

- ``from``: Its begin; missing means unknown.
- ``until``: Its end; missing means open.
"""


class Imported(TypedDict):
    """The result of an import into a registry."""

    imported: int
    """The number of blocks that came."""
    lowered: list[LoweredAuthority]
    """The blocks that have less authority than they asked for."""
    registry: Summary
    """The registry after it."""


class KeptBlock(TypedDict):
    """A block that a change left where it is."""

    name: str
    """Its name."""
    writer: str
    """The registry that wrote it."""


Kind = Literal["agent", "orchestrator"]
"""The kind of a registry, which decides what it may write.

- ``agent``: An agent's working registry. It writes guidance and data, nothing that commands.
- ``orchestrator``: A registry of the program around the agents: a supervisor, a chair.
"""


Layer = Literal["session", "task", "project", "user", "tenant", "corpus", "tool", "policy", "belief"]
"""The nine layers of state.

- ``session``: Dialogue of the active thread.
- ``task``: Goals, plans and progress.
- ``project``: Standards and terms of a project.
- ``user``: Preferences and facts of a user.
- ``tenant``: Policy of an organisation.
- ``corpus``: Documents and data.
- ``tool``: Tools and their state.
- ``policy``: Rules of the platform.
- ``belief``: An assumption of the system.
"""


Lifecycle = Literal["active", "awaiting_confirmation", "demoted", "archived"]
"""The stage in the life of a stored object.

- ``active``: It may be compiled.
- ``awaiting_confirmation``: A person is asked whether it holds; until then it is not compiled.
- ``demoted``: Found only by retrieval.
- ``archived``: Kept, not compiled.
"""


class Lineage(TypedDict):
    """The lineage of a block: its source and its later changes."""

    author: AuthorKind
    """Seed, agent or orchestrator."""
    bytes: int
    """The bytes of its content."""
    idle: int
    """The number of counts of use since it was last used."""
    name: str
    """The name it goes by."""
    object_type: ObjectType
    """Its type."""
    position: int
    """Its position, counted from 0."""
    priority: float
    """Its priority."""
    protection: Protection
    """Its protection."""
    removable: bool
    """True if others may remove it."""
    revision: str
    """The revision."""
    source: NotRequired[str | None]
    """The source it was read from."""
    tags: list[str]
    """Its tags."""
    trajectory: NotRequired[str | None]
    """The run in which it was written."""
    uses: int
    """The number of its uses."""
    writer: str
    """The registry that wrote it."""
    written_as: NotRequired[str | None]
    """The name of its revision, when it goes by another."""


class Link(TypedDict):
    """A link from a belief to what speaks for it or against it."""

    claim: NotRequired[str | None]
    """Its claim, where it makes one."""
    direction: Direction
    """The side."""
    name: str
    """Its name."""
    object_id: str
    """The object."""
    origins: list[str]
    """The origins that it comes from, an address by its site; of what was inferred or derived, those of its
    roots.
    """
    silent: NotRequired[Silence | None]
    """The reason for which it does not count."""
    source_authority: float
    """The quality of its source."""
    vote: NotRequired[int | None]
    """The number of its vote: evidence that shares an origin has one together. None where it does not count."""


class ListedRegistry(TypedDict):
    """A registry that there is."""

    blocks: int
    """The number of its blocks."""
    kind: Kind
    """The kind."""
    registry: str
    """Its label."""


Loser = Literal["first", "second", "both", "neither"]
"""The one of two that does not stand.

- ``first``: The first.
- ``second``: The second.
- ``both``: Neither stands.
- ``neither``: Both stand.
"""


class LoweredAuthority(TypedDict):
    """An object that an operation put in with less authority than it asked for."""

    asked: int
    """The authority that it asked for."""
    has: int
    """The authority that it has."""
    name: str
    """The object's name."""


class MadeRegistry(TypedDict):
    """A registry that was made."""

    kind: Kind
    """The kind."""
    registry: str
    """Its label."""
    writes_to: list[str]
    """The registries that it may write to."""


Mark = Literal["mail", "path", "document_id", "record_id"]
"""A mark by which one entity is known.

- ``mail``: The mail address.
- ``path``: The path or address.
- ``document_id``: The id of the document.
- ``record_id``: The id in the system of record.
"""


class Meaning(TypedDict):
    """The meaning of a mention."""

    resolved: Resolved
    """The outcome; the candidates with each part of their similarity; and, where an object that says so would
    give it, the name that the bound one has from then on (``alias``).
    """


MemoryKind = Literal["session", "episodic", "semantic", "procedural"]
"""The kind of a memory.

- ``session``: Of this session.
- ``episodic``: Of an earlier run.
- ``semantic``: A fact.
- ``procedural``: A way of doing things.
"""


class Metadata(TypedDict, total=False):
    """The ids and marks of an entity or of a mention."""

    document_id: str | None
    """The id of the document."""
    mail: str | None
    """The mail address."""
    path: str | None
    """The path or address."""
    record_id: str | None
    """The id in the system of record."""
    role: str | None
    """The role."""


Modality = Literal["text", "image", "audio", "video", "structured"]
"""The modality of an object's content.

- ``text``: Text.
- ``image``: An image.
- ``audio``: Sound.
- ``video``: Film.
- ``structured``: Rows, records, tables.
"""


class ObjectDocument(TypedDict, total=False):
    """A context object as it is published: flat, one field for each property.

    Only ``content`` is needed. What is left out has a stated default, so that a plain text is a valid object.
    The rules are checked by ``ObjectDocument::seal``.
    """

    abstract: str | None
    """The content in a sentence or two, by its author: stands where the content does not fit."""
    access_count: int | None
    """The number of compiles that used it."""
    aliases: list[str]
    """Other names of what it is about."""
    applicable_task_types: list[TaskType]
    """The task types it applies to. Empty means all."""
    author: AuthorKind | None
    """The kind of author. Default: ``seed``."""
    authority_level: int | None
    """May it command? 0 platform, 1 developer, 2 user, 3 inferred memory, 4 data. Default: by type."""
    authorization_scope: str | None
    """For a tool: what it may touch."""
    behavioral_implication: str | None
    """The behaviour that follows from it for the model."""
    canonical_entity_ids: list[str]
    """The entities it is about."""
    confidence_score: float | None
    """The confidence in the claim, from 0 to 1. Default: 1 for authority 0 to 2, 0.5 for 3 and 4."""
    conflict_policy: ConflictPolicy | None
    """The rule for when another claim contradicts its own. Default: ``protocols``."""
    constraint: ConstraintDocument | None
    """The kind of constraint."""
    content: str
    """The text. The only field that must not be empty (a tool call's turn may be)."""
    contradiction_status: ContradictionStatus | None
    """The store's judgement. Default: ``clean``."""
    decay_rule: DecayRule | None
    """The rule by which it ages."""
    derived_from: list[str]
    """The objects that it was made from: what becomes of them becomes of it (see ``inherit``)."""
    input_schema: Any
    """For a tool: JSON Schema of its arguments."""
    inserted_in_step: Step | None
    """The step of the task in which it was added. Who brings an object names one of the steps; what was stored
    with another word is of no step.
    """
    keep_with: list[str]
    """Names of the objects without which it must not stand."""
    last_confirmed: str | None
    """The instant of the last confirmation."""
    last_used: str | None
    """The instant at which a compile last used it."""
    layer: Layer | None
    """The state layer. Default: by type; ``project`` for a rule."""
    memory_kind: MemoryKind | None
    """The kind of memory."""
    modality: Modality | None
    """The modality of its content. Default: ``text``."""
    name: str
    """The name by which people and other objects refer to it. Needed, unless the source gives one or there is an
    ``object_id`` (see ``ObjectDocument::complete``).
    """
    normalized_claim: str | None
    """The claim in normal form: ``slot op value``."""
    object_id: str | None
    """Stable across revisions. Default: derived from tenant, origin and name."""
    object_type: ObjectType | None
    """Its type. Default: ``rule``."""
    optional: bool | None
    """True if a budget may omit it although it is not removable or stands in a fixed tier."""
    origins: list[str]
    """Further sources that it was made from. A derived object has those of its parents."""
    output_schema: Any
    """For a tool: JSON Schema of its result."""
    overview: str | None
    """The content in a paragraph or two, by its author: between the abstract and the content."""
    permission_scope: PermissionScope | None
    """The roles that may see it."""
    priority: float | None
    """The importance that its author gives it, from 0 to 1. Default: 0.5."""
    project_id: str | None
    """The one project it belongs to."""
    protection: Protection | None
    """The protection of its text. Default: ``none``."""
    protocol: Protocol | None
    """For a tool: how it is called. Default: ``function``."""
    provenance: ProvenanceDocument | None
    """The provenance of evidence. Mandatory for evidence and tool results."""
    removable: bool | None
    """False if only its author may remove it, which also makes it mandatory. Default: true."""
    retirement_rule: RetirementRule | None
    """The rule for when it is of no more use."""
    role: Role | None
    """For a turn: who speaks."""
    said_by: str | None
    """The name of whoever says it, such as a message's ``name``. Questions that name them find it more easily."""
    security_classification: Classification | None
    """The sensitivity. Default: ``restricted``."""
    session_id: str | None
    """The one session it belongs to."""
    slot_cardinality: SlotCardinality | None
    """The number of values that the claim's slot holds: one or many."""
    source_authority: float | None
    """The quality of the source, from 0 to 1. Default: 1 for authority 0 to 2, 0.5 for 3 and 4."""
    source_origin: str | None
    """The origin, as a URI or a path."""
    subjects: list[str]
    """The people whom it is about, by the ids that the tenant gives them. What has a subject is personal data."""
    supersession_link: str | None
    """The object that replaces it."""
    tags: list[str]
    """Words to find it by. The tag ``pii`` marks personal data, as ``subjects`` do."""
    task_id: str | None
    """The one task it belongs to."""
    tenant_id: str | None
    """The tenant that owns it. Default: the tenant of the workspace that reads it."""
    timeout_class: TimeoutClass | None
    """For a tool: how long it takes. Default: ``medium``."""
    tool_call_id: str | None
    """For a tool result: the call that it answers."""
    tool_calls: list[ToolCall]
    """For a turn of the assistant: the tools it calls."""
    trajectory_id: str | None
    """The run that wrote it."""
    tx_end: str | None
    """The instant at which the system ceased to hold it. Written by the store."""
    tx_start: str | None
    """The instant at which the system came to know it. Written by the store."""
    update_path: str | None
    """The source of newer versions."""
    user_id: str | None
    """The one user who may see it."""
    valid_from: str | None
    """The instant at which it became true in the world. Missing means unknown."""
    valid_until: str | None
    """The first instant at which it is no longer true. Missing means open."""
    why_it_matters: str | None
    """Its real-world use: a preference counts only for tasks near this text."""
    wire: Wire | None
    """For a turn, a result or a tool: the provider's own JSON that it came in, which goes back to that provider
    byte for byte.
    """


class ObjectDocument2(TypedDict, total=False):
    """A context object as it is published: flat, one field for each property.

    Only ``content`` is needed. What is left out has a stated default, so that a plain text is a valid object.
    The rules are checked by ``ObjectDocument::seal``.
    """

    abstract: str | None
    """The content in a sentence or two, by its author: stands where the content does not fit."""
    access_count: int | None
    """The number of compiles that used it."""
    aliases: list[str]
    """Other names of what it is about."""
    applicable_task_types: list[TaskType]
    """The task types it applies to. Empty means all."""
    author: AuthorKind | None
    """The kind of author. Default: ``seed``."""
    authority_level: int | None
    """May it command? 0 platform, 1 developer, 2 user, 3 inferred memory, 4 data. Default: by type."""
    authorization_scope: str | None
    """For a tool: what it may touch."""
    behavioral_implication: str | None
    """The behaviour that follows from it for the model."""
    canonical_entity_ids: list[str]
    """The entities it is about."""
    confidence_score: float | None
    """The confidence in the claim, from 0 to 1. Default: 1 for authority 0 to 2, 0.5 for 3 and 4."""
    conflict_policy: ConflictPolicy | None
    """The rule for when another claim contradicts its own. Default: ``protocols``."""
    constraint: ConstraintDocument | None
    """The kind of constraint."""
    content: str
    """The text. The only field that must not be empty (a tool call's turn may be)."""
    contradiction_status: ContradictionStatus | None
    """The store's judgement. Default: ``clean``."""
    decay_rule: DecayRule | None
    """The rule by which it ages."""
    derived_from: list[str]
    """The objects that it was made from: what becomes of them becomes of it (see ``inherit``)."""
    input_schema: Any
    """For a tool: JSON Schema of its arguments."""
    inserted_in_step: Step | None
    """The step of the task in which it was added. Who brings an object names one of the steps; what was stored
    with another word is of no step.
    """
    keep_with: list[str]
    """Names of the objects without which it must not stand."""
    last_confirmed: str | None
    """The instant of the last confirmation."""
    last_used: str | None
    """The instant at which a compile last used it."""
    layer: Layer | None
    """The state layer. Default: by type; ``project`` for a rule."""
    memory_kind: MemoryKind | None
    """The kind of memory."""
    modality: Modality | None
    """The modality of its content. Default: ``text``."""
    name: str
    """The name by which people and other objects refer to it. Needed, unless the source gives one or there is an
    ``object_id`` (see ``ObjectDocument::complete``).
    """
    normalized_claim: str | None
    """The claim in normal form: ``slot op value``."""
    object_id: str | None
    """Stable across revisions. Default: derived from tenant, origin and name."""
    object_type: ObjectType | None
    """Its type. Default: ``rule``."""
    optional: bool | None
    """True if a budget may omit it although it is not removable or stands in a fixed tier."""
    origins: list[str]
    """Further sources that it was made from. A derived object has those of its parents."""
    output_schema: Any
    """For a tool: JSON Schema of its result."""
    overview: str | None
    """The content in a paragraph or two, by its author: between the abstract and the content."""
    permission_scope: PermissionScope | None
    """The roles that may see it."""
    priority: float | None
    """The importance that its author gives it, from 0 to 1. Default: 0.5."""
    project_id: str | None
    """The one project it belongs to."""
    protection: Protection | None
    """The protection of its text. Default: ``none``."""
    protocol: Protocol | None
    """For a tool: how it is called. Default: ``function``."""
    provenance: ProvenanceDocument | None
    """The provenance of evidence. Mandatory for evidence and tool results."""
    removable: bool | None
    """False if only its author may remove it, which also makes it mandatory. Default: true."""
    retirement_rule: RetirementRule | None
    """The rule for when it is of no more use."""
    role: Role | None
    """For a turn: who speaks."""
    said_by: str | None
    """The name of whoever says it, such as a message's ``name``. Questions that name them find it more easily."""
    security_classification: Classification | None
    """The sensitivity. Default: ``restricted``."""
    session_id: str | None
    """The one session it belongs to."""
    slot_cardinality: SlotCardinality | None
    """The number of values that the claim's slot holds: one or many."""
    source_authority: float | None
    """The quality of the source, from 0 to 1. Default: 1 for authority 0 to 2, 0.5 for 3 and 4."""
    source_origin: str | None
    """The origin, as a URI or a path."""
    subjects: list[str]
    """The people whom it is about, by the ids that the tenant gives them. What has a subject is personal data."""
    supersession_link: str | None
    """The object that replaces it."""
    tags: list[str]
    """Words to find it by. The tag ``pii`` marks personal data, as ``subjects`` do."""
    task_id: str | None
    """The one task it belongs to."""
    tenant_id: str | None
    """The tenant that owns it. Default: the tenant of the workspace that reads it."""
    timeout_class: TimeoutClass | None
    """For a tool: how long it takes. Default: ``medium``."""
    tool_call_id: str | None
    """For a tool result: the call that it answers."""
    tool_calls: list[ToolCall]
    """For a turn of the assistant: the tools it calls."""
    trajectory_id: str | None
    """The run that wrote it."""
    tx_end: str | None
    """The instant at which the system ceased to hold it. Written by the store."""
    tx_start: str | None
    """The instant at which the system came to know it. Written by the store."""
    update_path: str | None
    """The source of newer versions."""
    user_id: str | None
    """The one user who may see it."""
    valid_from: str | None
    """The instant at which it became true in the world. Missing means unknown."""
    valid_until: str | None
    """The first instant at which it is no longer true. Missing means open."""
    why_it_matters: str | None
    """Its real-world use: a preference counts only for tasks near this text."""
    wire: Wire | None
    """For a turn, a result or a tool: the provider's own JSON that it came in, which goes back to that provider
    byte for byte.
    """


ObjectType = Literal[
    "preference",
    "identity_fact",
    "project_decision",
    "retrieved_passage",
    "policy_rule",
    "tool_schema",
    "inferred_belief",
    "actionable_constraint",
    "rule",
    "turn",
    "tool_result",
    "checkpoint",
    "outcome",
    "artifact",
    "media",
    "task_state",
]
"""The type of an object. The first eight are the core's; the rest hold what a payload needs besides.

- ``preference``: A preference: a way that someone likes things done.
- ``identity_fact``: A fact about who someone is.
- ``project_decision``: Something a project settled.
- ``retrieved_passage``: Text found by retrieval.
- ``policy_rule``: A rule of the platform, the tenant or the project.
- ``tool_schema``: A tool that the model may call.
- ``inferred_belief``: Something the system concluded.
- ``actionable_constraint``: Something the output must satisfy.
- ``rule``: An instruction block, as a seed file or a Markdown file holds it.
- ``turn``: One message of a conversation.
- ``tool_result``: The result of a tool.
- ``checkpoint``: A summary of earlier turns.
- ``outcome``: A verified result or correction.
- ``artifact``: A whole document or source file.
- ``media``: An image, a sound or a film.
- ``task_state``: The state of a task.
"""


Op: TypeAlias = Union[
    "OpWrite",
    "OpDraw",
    "OpRevise",
    "OpPromote",
    "OpReorder",
    "OpOverride",
    "OpEvict",
    "OpRollback",
    "OpUse",
    "OpWrap",
    "OpLimit",
]
"""A change of a registry. Callers name blocks by ``Address``; the log, which outlives a session, by ``BlockId``."""


OpDraw = TypedDict(
    "OpDraw",
    {
        "at": "Place",
        "from": "str",
        "object": "ObjectDocument2",
        "op": 'Literal["draw"]',
    },
)
"""Puts in a seed of a library. Only the host does: ``Registries::draw``.

- ``at``: The place.
- ``from``: Its key in the library.
- ``object``: The object.
"""


class OpEvict(TypedDict):
    """Takes blocks out for good."""

    blocks: list[str]
    """The blocks."""
    force: NotRequired[bool]
    """True if the author means it, although the block is not removable."""
    op: Literal["evict"]


class OpLimit(TypedDict):
    """Sets how many bytes of text the registry should hold at most. Above it every report says so; nothing is
    evicted unasked.
    """

    bytes: NotRequired[int | None]
    """The bytes; no limit when left out."""
    op: Literal["limit"]


class OpOverride(TypedDict):
    """Gives a block another name, priority or protection than its object has."""

    block: str
    """The block."""
    op: Literal["override"]
    overrides: Overrides
    """The values; they replace earlier ones."""


class OpPromote(TypedDict):
    """Moves blocks, as one unit, in the order given."""

    blocks: list[str]
    """The blocks."""
    op: Literal["promote"]
    to: Place
    """The place."""


class OpReorder(TypedDict):
    """Puts blocks on the places that they hold together, in the order given."""

    blocks: list[str]
    """The blocks. All of them is a permutation of the registry."""
    op: Literal["reorder"]


class OpRevise(TypedDict):
    """Gives a block another content. An agent may revise its own blocks; what a seed or an orchestrator says is
    immutable.
    """

    block: str
    """The block."""
    object: ObjectDocument2
    """The new object. It keeps the block's name, place and author."""
    op: Literal["revise"]


class OpRollback(TypedDict):
    """Takes out every block that the caller wrote in this run, removable or not."""

    op: Literal["rollback"]
    trajectory: str
    """The run."""


class OpUse(TypedDict):
    """Counts a use of each of these blocks."""

    blocks: list[str]
    """The blocks."""
    op: Literal["use"]


class OpWrap(TypedDict):
    """Sets the texts before and after all blocks. Nothing takes one away."""

    op: Literal["wrap"]
    prefix: NotRequired[ObjectDocument2 | None]
    """Before."""
    suffix: NotRequired[ObjectDocument2 | None]
    """After."""


class OpWrite(TypedDict):
    """Puts in an object that an agent or an orchestrator wrote."""

    at: Place
    """The place. Steps make no sense here."""
    object: ObjectDocument2
    """The object."""
    op: Literal["write"]


OutcomeDecision = Literal["accept", "reject", "withdraw"]
"""The decision of a person on an outcome.

- ``accept``: A proposal holds: it is compiled from now on.
- ``reject``: A proposal does not hold.
- ``withdraw``: An accepted one holds no more.
"""


OutcomeKind = Literal["outcome", "correction"]
"""The kind of an outcome.

- ``outcome``: A result that was verified.
- ``correction``: A correction of a mistake.
"""


class OutcomeLine(TypedDict):
    """An outcome, and what was done with it."""

    content: str
    """Its content."""
    decided_at: NotRequired[str | None]
    """The instant of that decision."""
    decided_by: NotRequired[str | None]
    """The person who decided last."""
    kind: OutcomeKind
    """The kind."""
    name: str
    """Its name."""
    object_id: str
    """The object."""
    proposed_at: str
    """The instant of the proposal."""
    proposed_by: NotRequired[str | None]
    """The author of the proposal."""
    record: NotRequired[str | None]
    """The record of the compile that it is of."""
    repeats: int
    """The number of times that the mistake was made again after the correction was accepted."""
    state: OutcomeState
    """The stage that it is in."""


OutcomeState = Literal["proposed", "accepted", "rejected", "withdrawn"]
"""The state of an outcome that was proposed.

- ``proposed``: A person is asked; it is not compiled.
- ``accepted``: A person accepted it; it is compiled.
- ``rejected``: A person rejected it; it is not compiled.
- ``withdrawn``: A person withdrew it after it was accepted; it is compiled no more.
"""


class Outcomes(TypedDict):
    """The outcomes that the reader may see."""

    outcomes: list[OutcomeLine]
    """Each with its state, who proposed and who decided, when, for which compile, and how often the mistake was
    repeated.
    """


class Overrides(TypedDict, total=False):
    """The values that a registry gives an object in the place of its revision's. ``None`` leaves the revision's."""

    name: str | None
    """Another name."""
    priority: float | None
    """Another priority."""
    protection: Protection | None
    """Another protection."""
    removable: bool | None
    """True if anyone but its author may remove it."""


class PartWeights(TypedDict, total=False):
    """The weights of the six parts, which a policy states, each from 0 to 1. A similarity is the sum of the
    known parts by their weights over the sum of these weights: the weights need not be 1 together, and what
    is not known counts for nothing.
    """

    kind: float
    """The types."""
    lexical: float
    """The names."""
    metadata: float
    """The ids, mail addresses, paths and roles."""
    neighbourhood: float
    """The entities around both."""
    scope: float
    """The project and session."""
    source: float
    """The quality of the source, and the confidence."""


class Party(TypedDict):
    """One of the two objects of a conflict."""

    claims: list[str]
    """Its claims on the slot, as they are read: those of the instant that the conflict names, or of now."""
    name: str
    """Its name."""
    object_id: str
    """Its id."""
    valid: list[Held]
    """The time of each of them, in the same order."""


class PendingText(TypedDict):
    """A text that a decision is about."""

    lifecycle: Lifecycle
    """The stage of its life: what is believed is ``active``."""
    name: str
    """Its name."""
    object_id: str
    """The object."""
    text: str
    """The text."""


class PermissionScope(TypedDict, total=False):
    """The roles that may see an object."""

    allow_roles: list[str]
    """The caller needs one of these. Empty means that any role will do."""
    deny_roles: list[str]
    """The caller must have none of these."""


Place: TypeAlias = Union['Literal["front"]', 'Literal["back"]', "PlaceAt", "PlaceSteps", "PlaceBefore", "PlaceAfter"]
"""The place for blocks.

- ``front``: Before all others.
- ``back``: After all others.
"""


class PlaceAfter(TypedDict):
    """Right after this block."""

    after: str


class PlaceAt(TypedDict):
    """So that the first of them stands here, counted from 0, once all are moved."""

    at: int


class PlaceBefore(TypedDict):
    """Right before this block."""

    before: str


class PlaceSteps(TypedDict):
    """So many places towards the front, or, when negative, towards the back; no further than the end."""

    steps: int


Polarity = Literal["positive", "negative"]
"""The polarity of a constraint: it asks or forbids.

- ``positive``: It asks.
- ``negative``: It forbids.
"""


class Principal(TypedDict, total=False):
    """On whose behalf a compile runs. What is not granted here is denied."""

    clearance: Classification
    """The most sensitive class that may be seen. Default: ``public``."""
    origins: list[str]
    """The web origins whose memory may be read (scheme, host and port)."""
    pii_authorized: bool
    """True if objects tagged ``pii`` may be seen."""
    project: str | None
    """The project."""
    roles: list[str]
    """The roles."""
    session: str | None
    """The session."""
    task: str | None
    """The task."""
    tenant: str
    """The tenant. Default: ``local``."""
    user: str | None
    """The user."""


class Profile(TypedDict, total=False):
    """Everything that is known of an entity, or of a mention where it stands."""

    aliases: list[str]
    """Other names."""
    at: str | None
    """Of a mention: the instant of which it speaks."""
    confidence: float | None
    """The confidence in it."""
    earlier: list[str]
    """Of a mention: the entities that its session spoke of before."""
    kind: EntityType | None
    """The type."""
    metadata: Metadata
    """Ids and marks."""
    name: str
    """The name."""
    neighbours: list[str]
    """The ids of the entities around it."""
    project: str | None
    """The project, where it is of one."""
    roles: list[list[str | Bound]]
    """Role descriptions, each with the time for which it held."""
    source_authority: float | None
    """The quality of its source."""
    tenant: str
    """The tenant."""


class ProposalShown(TypedDict):
    """Something that waits for a person, with all that a decision needs."""

    choices: list[Choice]
    """The decisions that there are."""
    conflict: NotRequired[Conflict | None]
    """The two claims."""
    entity: NotRequired[SeenEntity | None]
    """The entity, with those that it may be."""
    evidence: NotRequired[BeliefWithEvidence | None]
    """The claim of the object, with the evidence for it and against it."""
    outcome: NotRequired[OutcomeLine | None]
    """The outcome, with who proposed it."""
    proposal: Waiting
    """The entry, as the list has it."""
    says: list[PendingText]
    """The texts of its objects: what is believed, and what waits."""


class Proposals(TypedDict):
    """Everything that waits for a person."""

    proposals: list[Waiting]
    """Each with its kind, its name, the object or the entity, since when it waits, and the command that decides
    it.
    """


Protection = Literal["none", "pinned", "verbatim"]
"""The protection of an object's text.

- ``none``: Not at all.
- ``pinned``: First in its section while the section's minimum allows.
- ``verbatim``: Only its full form, or a pointer to it.
"""


Protocol = Literal["function", "mcp", "json_rpc", "grpc"]
"""The protocol of a tool.

- ``function``: The provider's own function calling.
- ``mcp``: Model Context Protocol.
- ``json_rpc``: JSON-RPC.
- ``grpc``: gRPC.
"""


class ProvenanceDocument(TypedDict, total=False):
    """The provenance of evidence. The fields stand in the order of their names, as canonical JSON has them; so
    do those of every part of an object.
    """

    authority: float | None
    """The quality of the source."""
    chunk: ChunkBounds | None
    """The place in the source."""
    digest: str | None
    """The digest of the source's bytes: what says which state of a file was read, as an instant does elsewhere."""
    lineage: str | None
    """The query and strategy that found it."""
    package: str | None
    """The package that somebody chose it with: the id."""
    relevance: float | None
    """The relevance that the retriever gave it."""
    retrieved_at: str | None
    """The instant at which it was fetched."""
    source_id: str | None
    """The document, record or endpoint."""
    source_kind: SourceKind | None
    """The kind of source. It gives no authority; ``web`` and ``tool`` make what states none data, ``agent`` memory.
    Default: by what is known of it.
    """
    unknown: list[ProvenancePart]
    """The parts of these that nobody knows: who says so leaves nothing open."""


ProvenancePart = Literal["authority", "chunk", "lineage", "relevance"]
"""A part of the provenance of evidence that its author may not know.

- ``authority``: The quality of the source.
- ``chunk``: The place in the source.
- ``lineage``: The query and strategy that found it.
- ``relevance``: The relevance that the retriever gave it.
"""


class RegistryShown(TypedDict):
    """A registry with its blocks."""

    blocks: list[Lineage]
    """The blocks, in order, each with where it comes from."""
    references: list[str]
    """The registries that it may write to."""
    summary: Summary
    """Its numbers."""


RelationType = Literal["parent", "child", "sibling", "cross_reference", "same_as"]
"""The relation of one entity to another.

- ``parent``: It holds the other.
- ``child``: It is held by the other.
- ``sibling``: Both have one parent.
- ``cross_reference``: It mentions the other.
- ``same_as``: Both are one.
"""


Resolution = Literal["bind", "review", "new"]
"""The outcome of a resolution.

- ``bind``: The mention means this entity.
- ``review``: A person or a system of record has to say.
- ``new``: It means an entity that is not known yet.
"""


class Resolved(TypedDict):
    """The outcome for a mention: what it is bound to, or which entities it may mean."""

    alias: NotRequired[str | None]
    """The name that the bound one has from now on: an id or a mark says that it is meant, it is called by a name
    that is near those that are known, and nobody else may be called so.
    """
    candidates: list[list[str | Similarity]]
    """The entities that it may mean, the likeliest first; of one that is bound, that one alone."""
    outcome: Resolution
    """The outcome."""


ResolverAction = Literal["system_of_record", "tool_lookup", "user_question"]
"""A way in which a conflict can be resolved without asking the model: what knows best goes first.

- ``system_of_record``: A look at the system of record that one of them comes from (``provenance.source_kind``),
  or at the place that it is kept up to date from (``update_path``).
- ``tool_lookup``: Another look by the tool that one of them comes from: a result of it, or what
  ``provenance.source_kind`` says so of.
- ``user_question``: A question to the user.
"""


RetirementRule = Literal["archive", "hard_delete", "demote_to_archival", "trigger_user_confirmation"]
"""The rule for an object that is no longer of use.

- ``archive``: Kept, not compiled.
- ``hard_delete``: Erased.
- ``demote_to_archival``: Found only by retrieval.
- ``trigger_user_confirmation``: The user is asked.
"""


ReviewDecision = Literal["accept", "reject", "hold", "confirm", "retract"]
"""The decision of a person on what waits for one.

- ``accept``: Do what is proposed.
- ``reject``: Do not do what is proposed.
- ``hold``: Neither, until somebody decides again: of two claims, neither is compiled.
- ``confirm``: It holds: of an object that waits, whatever is proposed of it. So an erasure is declined.
- ``retract``: It does not hold: of an object that waits, whatever is proposed of it. So what was to be erased
  is retracted.
"""


class Revised(TypedDict):
    """A belief, and the write that revised it."""

    belief: BeliefWithEvidence
    """The claim with its evidence."""
    written: Written
    """The write: the version, the instant and the objects that it touched."""


Rigidity = Literal["hard", "soft"]
"""The rigidity of a constraint: it may be relaxed or not.

- ``hard``: Never.
- ``soft``: It may be relaxed when the policy says so.
"""


Role = Literal["system", "user", "assistant"]
"""The speaker of a turn.

- ``system``: The platform or developer.
- ``user``: The person.
- ``assistant``: The model.
"""


class SeedText(TypedDict):
    """The text of a file."""

    path: str
    """The file's path: its end says the format, and the rest is the name of a block that has none of its own."""
    text: str
    """The text."""


class SeenEntity(TypedDict):
    """An entity as somebody may see it."""

    candidates: list[str]
    """The entities that it may be."""
    id: str
    """Its id."""
    merged: list[str]
    """The entities that were merged into it."""
    pending: bool
    """True if it waits for a person."""
    profile: Profile
    """Everything that is known of it."""
    relations: list[list[RelationType | str]]
    """Its relations, each with the other entity."""


class Shown(TypedDict):
    """A claim with its evidence."""

    belief: BeliefWithEvidence
    """The claim, the confidence that was stated and the one that the evidence gives, and each link."""


Silence = Literal["over", "not_for_all", "one_sided"]
"""The reason for which a piece of evidence does not count.

- ``over``: It is over, and the claim is not.
- ``not_for_all``: Not everyone may see it who may see the claim.
- ``one_sided``: Nothing but their confidence tells it and the claim apart, and the claim does not count against
  it.
"""


class Similarity(TypedDict):
    """The similarity of a mention and an entity: each part that is known, and the score."""

    limits: list[str]
    """The reasons for which the score is lower than the mean of the parts."""
    parts: dict[str, float]
    """The parts that are known."""
    score: float
    """The score."""


SlotCardinality = Literal["single", "multiple"]
"""The number of values that a claim's slot holds at once.

- ``single``: One.
- ``multiple``: Any number.
"""


SourceKind = Literal["developer", "user", "system_of_record", "document", "tool", "agent", "web", "mail"]
"""The kind of source that something comes from. No kind gives authority or trust.

- ``developer``: The platform or the developer: instruction files, seed libraries, tools.
- ``user``: A person: what they said, want or decided.
- ``system_of_record``: The system that has the last word on its subject, such as the personnel system.
- ``document``: A file, a document, a record of another system.
- ``tool``: The result of a tool.
- ``agent``: The agent: what it said, concluded, or made from other objects.
- ``web``: A page of the web, or what was made from one.
- ``mail``: A message of a mailbox, or what was made from one.
"""


Step = Literal["plan", "act", "verify", "critique", "repair", "commit"]
"""The step of the agent's loop.

- ``plan``: Deciding what to do.
- ``act``: Doing it.
- ``verify``: Checking that it worked.
- ``critique``: Judging how good it is.
- ``repair``: Mending it.
- ``commit``: Making it final.
"""


class Summary(TypedDict):
    """A registry in a few numbers."""

    authors: dict[str, int]
    """The number of blocks by their kind of author."""
    blocks: int
    """The number of blocks."""
    bytes: int
    """The bytes of their contents."""
    kind: Kind
    """Agent or orchestrator."""
    label: str
    """The label."""
    limit: NotRequired[int | None]
    """The soft limit of these bytes."""
    operations: int
    """The number of operations that made this state."""
    over_limit: NotRequired[int | None]
    """By how many bytes the contents are above it."""
    prefix: NotRequired[str | None]
    """The text before all blocks."""
    removable: int
    """The number of blocks that every principal may remove."""
    suffix: NotRequired[str | None]
    """The text after all blocks."""


TaskType = Literal["code_generation", "analytical_reporting", "data_extraction", "system_orchestration"]
"""The kind of work a task is.

- ``code_generation``: Writing code.
- ``analytical_reporting``: Reporting on data.
- ``data_extraction``: Getting data out of documents.
- ``system_orchestration``: Driving other systems.
"""


TextField = Literal[
    "content",
    "abstract",
    "overview",
    "name",
    "normalized_claim",
    "behavioral_implication",
    "why_it_matters",
    "provenance",
    "tool_call_id",
    "tool_calls",
    "input_schema",
    "output_schema",
    "authorization_scope",
    "constraint",
    "wire",
]
"""The field of an object that a text stands in.

- ``content``: The text itself.
- ``abstract``: The content in a sentence or two.
- ``overview``: The content in a paragraph or two.
- ``name``: The name that it goes by: it labels what it says.
- ``normalized_claim``: Its claim, which stands for it where nothing follows from it.
- ``behavioral_implication``: The behaviour that follows from it, which stands in its place.
- ``why_it_matters``: Its purpose, for templates of guidance.
- ``provenance``: The source of evidence, and the query that found it: attributes of its frame.
- ``tool_call_id``: The call that a result answers.
- ``tool_calls``: The calls of a turn: their ids, names and arguments.
- ``input_schema``: The JSON Schema of a tool's arguments.
- ``output_schema``: The JSON Schema of a tool's result.
- ``authorization_scope``: The resources that a tool may touch.
- ``constraint``: The JSON Schema of a constraint, which the answer may be asked for in.
- ``wire``: The provider's own message, which goes back as it came.
"""


TimeoutClass = Literal["fast", "medium", "slow"]
"""The usual duration of a tool's calls.

- ``fast``: Well under a second.
- ``medium``: Seconds.
- ``slow``: Minutes.
"""


class ToolCall(TypedDict):
    """A call of a tool in a turn of the assistant."""

    arguments: NotRequired[Any]
    """The arguments: a JSON value, or the provider's text kept as it is."""
    id: str
    """The id that the result refers to."""
    name: str
    """The tool."""


class Waiting(TypedDict):
    """Something that waits for a person."""

    decide: str
    """A command that decides it. Where it names ``FILE.json``, that is the object as it is to read now, with its
    ``object_id``; ``"$USER"`` is who decides.
    """
    entity: NotRequired[str | None]
    """The id of the entity."""
    id: str
    """Its id: the object's, the entity's, or of a conflict those of both objects (``FIRST/SECOND``)."""
    kind: WaitingKind
    """Its kind."""
    name: str
    """The name."""
    object_id: NotRequired[str | None]
    """The object."""
    object_type: NotRequired[ObjectType | None]
    """The type of the object."""
    other_id: NotRequired[str | None]
    """The other object, of a conflict; of what is stale, the one that has changed; of what was judged along with
    another, that one; of what was inferred, a preference that says otherwise, which it would take the place
    of.
    """
    other_name: NotRequired[str | None]
    """The name of that preference."""
    otherwise: list[str]
    """The commands that decide it otherwise."""
    revisions: list[str]
    """The revisions of an object that wait: each can be decided on by itself, and without a word on it all of
    them are.
    """
    rule: NotRequired[RetirementRule | None]
    """The rule for when the object is of no more use: ``hard_delete`` proposes that it is erased."""
    since: NotRequired[str | None]
    """The instant since which it waits, where that is known."""
    texts: list[str]
    """The text of each of them."""
    why: NotRequired[GateRefusal | None]
    """The reason for which what was inferred, or was made from something that waits, waits as things stand now."""


WaitingKind = Literal[
    "outcome",
    "inferred",
    "confirmation",
    "erasure",
    "entity",
    "conflict",
    "stale",
    "judged",
    "weakened",
]
"""The kind of what waits for a person.

- ``outcome``: An outcome or a correction, which a person accepts or rejects.
- ``inferred``: Something that was inferred, which a person accepts or rejects.
- ``confirmation``: An object that is too old by its own rule, of which a person says whether it holds still.
- ``erasure``: An object that its own rule would have erased.
- ``entity``: An entity of which a person says which one it is.
- ``conflict``: Two claims of which a person says which one stands.
- ``stale``: An object that was made from something that has changed since: it is to be made anew.
- ``judged``: An object that was judged along with what it was made from, which is clean again.
- ``weakened``: A belief of which evidence is over: the next sweep lowers it, or ends it.
"""


Weakening: TypeAlias = Union["WeakeningLoweredTo", "WeakeningEnds"]
"""Remains of a belief once evidence for it is over."""


class WeakeningEnds(TypedDict):
    """The instant at which it ends: nothing is left that speaks for it."""

    ends: str


class WeakeningLoweredTo(TypedDict):
    """The confidence to which it is lowered."""

    lowered_to: float


class Wire(TypedDict):
    """The provider's own message that an object came in: its bytes, and which part of it the object is. The
    fields stand in the order of their names, as canonical JSON has them.
    """

    digest: str
    """SHA-256 of the message's bytes: what its parts know each other by."""
    format: Format
    """The format of the message."""
    message: NotRequired[str | None]
    """The message as it came; with the first part only. Of several items that are one turn of the model, all,
    with commas between.
    """
    part: int
    """The part of the message that the object is, counted from 0."""
    parts: int
    """The number of its parts."""


WriteNote: TypeAlias = Union[
    "WriteNoteClaimNotParsed",
    "WriteNoteClaimAboutNobody",
    "WriteNoteEntityPending",
    "WriteNoteMentionsCut",
    "WriteNoteAwaitsConfirmation",
    "WriteNoteAuthorityLowered",
    "WriteNoteOverruled",
    "WriteNoteMadeFromItself",
    "WriteNoteRenewed",
    "WriteNoteMistakeRepeated",
    "WriteNoteNothingSpeaks",
    "WriteNoteAtMost",
]
"""A note on an object that was written."""


class WriteNoteAtMost(TypedDict):
    """Its evidence would give it more, but it was made from other objects, and is at most as sure as they are."""

    code: Literal["at_most"]
    confidence: float
    """The most that it may have."""


class WriteNoteAuthorityLowered(TypedDict):
    """It has less authority than it asked for: nothing has more than what it was made from, and a rule that an
    agent wrote or that was found on the web is data.
    """

    authority: int
    """The authority that it has."""
    code: Literal["authority_lowered"]
    declared: int
    """The authority that it asked for."""


class WriteNoteAwaitsConfirmation(TypedDict):
    """It was inferred, and waits for a person: what speaks for it is not enough for it to be believed by itself,
    or a stated preference says otherwise.
    """

    code: Literal["awaits_confirmation"]
    flagged: NotRequired[list[FlaggedText]]
    """The texts that are ``flagged``: of the object, and of what it was made from as far as everyone may see that
    who may see the object.
    """
    why: str
    """The reason: ``too_little_evidence``, ``unverified_parent``, ``flagged`` or ``stated_otherwise``."""


class WriteNoteClaimAboutNobody(TypedDict):
    """Its ``normalized_claim`` names nobody and nothing that it is about: it contradicts no other."""

    code: Literal["claim_about_nobody"]


class WriteNoteClaimNotParsed(TypedDict):
    """Its ``normalized_claim`` is no claim that can be compared with others: it takes part in no settlement."""

    code: Literal["claim_not_parsed"]
    why: str
    """The reason."""


class WriteNoteEntityPending(TypedDict):
    """A name in it may mean one of several entities: it waits for a person to say which."""

    code: Literal["entity_pending"]


class WriteNoteMadeFromItself(TypedDict):
    """A circle: what it was made from leads back to it, at once or by way of others, and what becomes of one of
    them becomes of all.
    """

    code: Literal["made_from_itself"]


class WriteNoteMentionsCut(TypedDict):
    """It names more than one write resolves: it has names of which the registry of entities learns nothing by
    this write.
    """

    code: Literal["mentions_cut"]


class WriteNoteMistakeRepeated(TypedDict):
    """It is the correction of a mistake that was made again, and stays as it is: the repeat was counted."""

    code: Literal["mistake_repeated"]
    repeats: int
    """The number of times so far."""


class WriteNoteNothingSpeaks(TypedDict):
    """Nothing speaks for its claim or against it: its confidence stays as it is stated."""

    code: Literal["nothing_speaks"]


class WriteNoteOverruled(TypedDict):
    """It has the authority of the platform or the developer, and does not stand by an operator's decision."""

    authority: int
    """The authority that it has."""
    by: int
    """The authority of the other."""
    code: Literal["overruled"]


class WriteNoteRenewed(TypedDict):
    """It did not wait for a person: it counts as confirmed now."""

    code: Literal["renewed"]


WriteOutcome = Literal["created", "revised", "unchanged", "judged", "erased"]
"""The effect of a write on one object.

- ``created``: It is new.
- ``revised``: It has another revision, or is believed for another time.
- ``unchanged``: It was so already.
- ``judged``: It is judged otherwise, or believed no more.
- ``erased``: Nothing is left of it.
"""


class Written(TypedDict):
    """The result of a write."""

    at: str
    """The instant in transaction time at which it took effect."""
    nothing_changed: NotRequired[bool]
    """True where all that was asked for was so already: of entities, revised beliefs, judgements, decisions
    between claims and retractions.
    """
    objects: list[WrittenObject]
    """The objects that it touched."""
    version: int
    """The tenant's version after it: a later read may ask for at least this one."""


class WrittenObject(TypedDict):
    """An object that was written."""

    name: NotRequired[str | None]
    """Its name; not that of what was erased."""
    note: NotRequired[WriteNote | None]
    """A note on what was written."""
    object_id: str
    """Its id."""
    outcome: WriteOutcome
    """The effect."""
    revision: NotRequired[str | None]
    """Its revision now."""


class Tenant(Caller):
    """A tenant of a store, whose owner calls the operations. :meth:`tenure.Store.tenant` opens one."""

    def list_outcomes(
        self,
        *,
        state: OutcomeState | None = None,
        principal: Principal | None = None,
    ) -> Outcomes:
        """List the outcomes and corrections: who proposed and who decided what, when, and for which compile.

        A caller is shown what it may see; a reviewer, what users of its tenant, project and clearance proposed.

        :param state: Only those in this state: proposed, accepted, rejected or withdrawn.
        :param principal: On whose behalf it is read: a principal as a compile takes it, no more than the
            caller is.
        """
        value: Outcomes = self._call("listOutcomes", {"state": state, "principal": principal})
        return value

    def propose_outcome(
        self,
        *,
        content: str | None = None,
        name: str | None = None,
        mistake: str | None = None,
        record: str | None = None,
        derived_from: Sequence[str] | None = None,
        user: str | None = None,
        project: str | None = None,
        object: ObjectDocument | None = None,
        kind: OutcomeKind | None = None,
        key: str | None = None,
    ) -> Written:
        """Propose an outcome or a correction: it is kept, and not compiled until a person accepts it.

        A correction of a mistake that an accepted one corrects already is counted as a repeat of it instead.

        :param content: The text, as the model is to read it.
        :param name: A name for it [default: made from the text].
        :param mistake: The mistake that it corrects, in words: the same words again are a repeat.
        :param record: The record of the compile that it is of.
        :param derived_from: An object that it was made from (may be repeated): it is trusted no more, and
            shown to no more people, than that.
        :param user: The one user who may see it [default: all].
        :param project: The one project that it is for [default: all].
        :param object: A whole object, in the place of its text, name, sources, user and project.
        :param kind: The kind, as ``mistake`` says it anyway: a correction corrects a mistake, and an outcome
            does not.
        :param key: The idempotency key: with the same one, the same write happens once.
        """
        form = {
            "content": content,
            "name": name,
            "mistake": mistake,
            "record": record,
            "derived_from": derived_from,
            "user": user,
            "project": project,
            "object": object,
            "kind": kind,
        }
        value: Written = self._call("proposeOutcome", form, key)
        return value

    def decide_outcome(
        self,
        *,
        outcome: str,
        decision: OutcomeDecision,
        by: str | None = None,
        key: str | None = None,
    ) -> Written:
        """Accept, reject or withdraw an outcome: an accepted one is compiled from the next request on.

        A running session gets it behind what was sent; from the next epoch on it stands in the section ``karma``. A
        withdrawn one is compiled no more. With keys, it takes that of a user with the role ``reviewer``.

        :param outcome: The id or the name of the outcome.
        :param decision: The decision.
        :param by: The person who decides; with a key, its user.
        :param key: The idempotency key: with the same one, the same write happens once.
        """
        form = {
            "outcome": outcome,
            "decision": decision,
            "by": by,
        }
        value: Written = self._call("decideOutcome", form, key)
        return value

    def repeat_mistake(
        self,
        *,
        outcome: str,
        record: str | None = None,
        key: str | None = None,
    ) -> Written:
        """Count that a corrected mistake was made again.

        :param outcome: The id or the name of the correction.
        :param record: The record of the compile after which it was made again.
        :param key: The idempotency key: with the same one, the same write happens once.
        """
        value: Written = self._call("repeatMistake", {"outcome": outcome, "record": record}, key)
        return value

    def list_proposals(
        self,
        *,
        kind: WaitingKind | None = None,
        principal: Principal | None = None,
    ) -> Proposals:
        """List what waits for a person, each with the command that decides it: none of it is compiled.

        Proposed outcomes, what was inferred or is too old and awaits confirmation, entities that may be others,
        claims that cannot both hold, and objects that were made from something that has changed.

        :param kind: Only those of this kind: outcome, inferred, confirmation, erasure, entity, conflict,
            stale, judged or weakened.
        :param principal: On whose behalf it is read: a principal as a compile takes it, no more than the
            caller is.
        """
        value: Proposals = self._call("listProposals", {"kind": kind, "principal": principal})
        return value

    def get_proposal(
        self,
        *,
        object: str,
        kind: WaitingKind | None = None,
        principal: Principal | None = None,
    ) -> ProposalShown:
        """Show something that waits for a person: what it says, its evidence, what each decision does.

        :param object: The id of the entry, or the id or the name of an object of it.
        :param kind: The kind of the entry, where several are of the object.
        :param principal: On whose behalf it is read: a principal as a compile takes it, no more than the
            caller is.
        """
        form = {
            "object": object,
            "kind": kind,
            "principal": principal,
        }
        value: ProposalShown = self._call("getProposal", form)
        return value

    def decide_proposal(
        self,
        *,
        object: str,
        decision: ReviewDecision,
        kind: WaitingKind | None = None,
        revision: str | None = None,
        stands: Decision | None = None,
        same_as: str | None = None,
        note: str | None = None,
        by: str | None = None,
        since: str | None = None,
        key: str | None = None,
    ) -> Written:
        """Decide on something that waits for a person.

        ``review show`` says what each decision does. Only what one may see is decided on. With keys, outcomes and what
        awaits confirmation take that of a user with the role ``reviewer``, conflicts one that may resolve them, all
        else an operator's.

        :param object: The id of the entry, or the id or the name of an object of it.
        :param decision: The decision.
        :param kind: The kind of the entry, where several are of the object.
        :param revision: The one revision that is decided on, where several wait [default: all that waits].
        :param stands: Of a conflict, the claims that stand: first, second or both. The first is the object
            that is named, or the first of the id.
        :param same_as: Of an entity, the one that it is [default: one of its own].
        :param note: Of a conflict, a note on the decision.
        :param by: Of an outcome, the person who decides; with a key, its user.
        :param since: The instant since which it waits, as it was shown: what has changed since is not decided
            on.
        :param key: The idempotency key: with the same one, the same write happens once.
        """
        form = {
            "object": object,
            "decision": decision,
            "kind": kind,
            "revision": revision,
            "stands": stands,
            "same_as": same_as,
            "note": note,
            "by": by,
            "since": since,
        }
        value: Written = self._call("decideProposal", form, key)
        return value

    def list_conflicts(
        self,
        *,
        unresolved: bool | None = None,
        entity: str | None = None,
        slot: str | None = None,
        as_of: str | None = None,
        limit: int | None = None,
        after: str | None = None,
        first: str | None = None,
        second: str | None = None,
        principal: Principal | None = None,
    ) -> Conflicts:
        """List the pairs of claims that cannot both hold, and which of the two stands.

        What loses by its source is disputed, as both are where neither stands; all else that loses is overridden. A
        policy that quarantines what higher authority overrides acts in its own compiles: their traces say
        quarantined, the list does not. With ``first`` and ``second``, it lists all that was ever judged of those two
        objects.

        :param unresolved: Only those in which nothing says which stands.
        :param entity: Only those about the entity of this id, or about one that is merged with it.
        :param slot: Only those on this slot.
        :param as_of: Those of this instant in transaction time [default: now].
        :param limit: The most pairs, up to 1000 [default: 100].
        :param after: Only those behind this place: ``next`` of the page before.
        :param first: The id or the name of one object, with ``second``.
        :param second: The id or the name of the other object.
        :param principal: On whose behalf it is read: a principal as a compile takes it, no more than the
            caller is.
        """
        form = {
            "unresolved": unresolved,
            "entity": entity,
            "slot": slot,
            "as_of": as_of,
            "limit": limit,
            "after": after,
            "first": first,
            "second": second,
            "principal": principal,
        }
        value: Conflicts = self._call("listConflicts", form)
        return value

    def resolve_conflict(
        self,
        *,
        first: str,
        second: str,
        stands: Decision,
        note: str | None = None,
        key: str | None = None,
    ) -> Written:
        """Decide which of two claims that cannot both hold stands.

        The decision goes before authority, time and source, and stays as long as both objects claim what was decided
        between. Decisions that go round in a circle are refused, and so is one after which no claim on the slot
        stands. With keys, it takes an operator's, or that of a user with a role that the server names.

        :param first: The id or the name of the one object.
        :param second: The id or the name of the other.
        :param stands: The one that stands: first, second, both or neither.
        :param note: A note on the decision.
        :param key: The idempotency key: with the same one, the same write happens once.
        """
        form = {
            "first": first,
            "second": second,
            "stands": stands,
            "note": note,
        }
        value: Written = self._call("resolveConflict", form, key)
        return value

    def get_belief(self, *, object: str, principal: Principal | None = None) -> Shown:
        """Show a claim with the evidence for it and against it.

        Evidence that shares an origin has one vote. An address counts by its site, what was inferred by what it was
        made from. What does not count says why. On behalf of a caller, what that caller may see counts, and nothing
        else is shown.

        :param object: The id or the name of the object.
        :param principal: On whose behalf it is read: a principal as a compile takes it, no more than the
            caller is.
        """
        value: Shown = self._call("getBelief", {"object": object, "principal": principal})
        return value

    def revise_belief(
        self,
        *,
        object: str,
        principal: Principal | None = None,
        key: str | None = None,
    ) -> Revised:
        """Write the confidence that the evidence gives a claim into it.

        Independent evidence has one vote each, by the quality of its source. Where nothing changes, nothing is
        written. What was inferred needs two votes. Claims that only their confidence tells apart are revised at once.
        On behalf of a caller, the answer shows the evidence that this caller may see; all of it counts.

        :param object: The id or the name of the object.
        :param principal: On whose behalf it is shown: a principal as a compile takes it, no more than the
            caller is.
        :param key: The idempotency key: with the same one, the same write happens once.
        """
        form = {
            "object": object,
            "principal": principal,
        }
        value: Revised = self._call("reviseBelief", form, key)
        return value

    def list_entities(
        self,
        *,
        pending: bool | None = None,
        kind: EntityType | None = None,
        principal: Principal | None = None,
    ) -> Entities:
        """List the entities, with their names.

        :param pending: Only those that wait for a person; ``false``: only others.
        :param kind: Only those of this type: person, project, document, system, tenant, tool or role.
        :param principal: On whose behalf it is read: a principal as a compile takes it, no more than the
            caller is.
        """
        form = {
            "pending": pending,
            "kind": kind,
            "principal": principal,
        }
        value: Entities = self._call("listEntities", form)
        return value

    def change_entities(
        self,
        *,
        operations: Sequence[EntityOp],
        source: str | None = None,
        key: str | None = None,
    ) -> Written:
        """Add, name, mark, relate, merge and split entities, and take names, marks and relations away.

        :param operations: The operations, in order: all of it, or nothing.
        :param source: The id or the name of the object that it comes from: it acts only for who may see that
            [default: somebody says so].
        :param key: The idempotency key: with the same one, the same write happens once.
        """
        form = {
            "operations": operations,
            "source": source,
        }
        value: Written = self._call("changeEntities", form, key)
        return value

    def get_entity_history(self, *, id: str) -> EntityHistory:
        """Show everything that was ever done to an entity.

        :param id: The entity's id.
        """
        value: EntityHistory = self._call("getEntityHistory", {"id": id})
        return value

    def resolve_entity(self, *, mention: Profile, weights: PartWeights | None = None) -> Meaning:
        """Show which entity a mention means, with each part of the similarity.

        From 0.95 on a name is bound, up to 0.7 it is new; between, it waits for a person.

        :param mention: Everything known of it. The tenant is the caller's.
        :param weights: The weights of the parts [default: those that the tenant's writes take].
        """
        value: Meaning = self._call("resolveEntity", {"mention": mention, "weights": weights})
        return value

    def list_registries(self) -> list[ListedRegistry]:
        """List the registries."""
        value: list[ListedRegistry] = self._call("listRegistries", {})
        return value

    def create_registry(
        self,
        *,
        label: str,
        kind: Kind,
        writes_to: Sequence[str] | None = None,
        key: str | None = None,
    ) -> MadeRegistry:
        """Make a registry.

        :param label: Its label.
        :param kind: The kind: an agent's writes guidance and data, an orchestrator's also rules and tools.
        :param writes_to: A registry that it may write to (may be repeated).
        :param key: The idempotency key: with the same one, the same write happens once.
        """
        form = {
            "label": label,
            "kind": kind,
            "writes_to": writes_to,
        }
        value: MadeRegistry = self._call("createRegistry", form, key)
        return value

    def get_registry(self, *, label: str) -> RegistryShown:
        """Show a registry with its blocks, in order.

        :param label: The registry's label.
        """
        value: RegistryShown = self._call("getRegistry", {"label": label})
        return value

    def apply_op(
        self,
        *,
        label: str,
        operation: Op,
        actor: str | None = None,
        key: str | None = None,
    ) -> AppliedOp:
        """Change a registry by an operation.

        :param label: The registry's label.
        :param operation: The operation. Its blocks are named by their names; its objects are the tenant's.
        :param actor: The registry on whose behalf it is done [default: the one that is changed].
        :param key: The idempotency key: with the same one, the same write happens once.
        """
        form = {
            "label": label,
            "operation": operation,
            "actor": actor,
        }
        value: AppliedOp = self._call("applyOp", form, key)
        return value

    def import_blocks(
        self,
        *,
        label: str,
        objects: Sequence[ObjectDocument] | None = None,
        documents: Sequence[SeedText] | None = None,
        blocks: Sequence[str] | None = None,
        key: str | None = None,
    ) -> Imported:
        """Put objects, or what texts hold, into a registry behind its blocks: all of them, or none.

        :param label: The registry's label; where there is none, it is made.
        :param objects: Objects, which are the tenant's.
        :param documents: Texts of seed files, behind the objects.
        :param blocks: The names of the blocks that are wanted [default: all].
        :param key: The idempotency key: with the same one, the same write happens once.
        """
        form = {
            "label": label,
            "objects": objects,
            "documents": documents,
            "blocks": blocks,
        }
        value: Imported = self._call("importBlocks", form, key)
        return value
