/** The operations of the table and their types: written from their schemas by a test of `tenure-operations`. */

import { Caller } from "./caller.js";
import type { WriteOptions } from "./caller.js";

/** The effect of a change. */
export interface AppliedOp {
  /** The blocks that a rollback left, because others wrote them. */
  kept: KeptBlock[];
  /** The objects that have less authority than they asked for. */
  lowered: LoweredAuthority[];
  /** The number of the change in its log. */
  number: number;
  /** The registry. */
  registry: string;
  /** The names of the blocks that were taken out. */
  removed: string[];
}

/**
 * The kind of an object's author.
 *
 * - `seed`: It was there at the start.
 * - `agent`: The agent wrote it.
 * - `orchestrator`: The program around the agent wrote it.
 */
export type AuthorKind = "seed" | "agent" | "orchestrator";

/** A claim with its evidence. */
export interface BeliefWithEvidence {
  /** The most that it may have: what was made from other objects is at most as sure as they are. */
  at_most?: number | null;
  /** The claim, as it is read. */
  claim: string;
  /** The confidence that the evidence gives it: one half where there is none. */
  confidence: number;
  /** The evidence for it and against it, by id. */
  evidence: Link[];
  /** The texts in disguise, of the object and of what it was made from: something inferred must not persist on them. */
  flagged: FlaggedText[];
  /** Its name. */
  name: string;
  /** The object that claims it. */
  object_id: string;
  /** Its type. */
  object_type: ObjectType;
  /** The reason for which something inferred must not persist on this evidence. */
  refused?: GateRefusal | null;
  /** The revision that was read. */
  revision: string;
  /** The confidence that its author gave it. */
  stated: number;
  /** Fate of it at the next sweep, where evidence is over that spoke for it when it was written. */
  weakened?: Weakening | null;
}

/** The time for which something held. */
export interface Bound {
  /** Since when; missing means unknown. */
  from?: string | null;
  /** Until when; missing means open. */
  until?: string | null;
}

/** A decision that a person may make on something that waits. */
export interface Choice {
  /** The command that makes it. */
  command: string;
  /** The decision; none where a command alone makes it. */
  decision?: ReviewDecision | null;
  /** Its effect. */
  does: string;
}

/** The place of a chunk in its source, in bytes, half-open. */
export interface ChunkBounds {
  /** The first byte after. */
  end: number;
  /** The first byte. */
  start: number;
}

/**
 * The sensitivity of an object. Higher terms need more clearance.
 *
 * - `public`: For anyone.
 * - `restricted`: For members; what an object without a label is.
 * - `confidential`: For those who need it.
 * - `highly_restricted`: For the named few.
 */
export type Classification = "public" | "restricted" | "confidential" | "highly_restricted";

/** A judgement on the claims of two objects on one slot. */
export interface Conflict {
  /** The ways to resolve it, where nothing tells the two apart or the loser is an inferred preference. */
  actions: ResolverAction[];
  /** The authorities of the first and the second object, where an operator decided against the higher one. */
  authorities?: number[] | null;
  /** The author of the decision. */
  by?: string | null;
  /**
   * The instant of which the claims of both are: of a judgement that has ended, that at which it was made; of a
   * list of an instant, that one. Missing where they are those of now.
   */
  claimed_at?: string | null;
  /** The entity. */
  entity: string;
  /** The object with the lower id. */
  first: Party;
  /** Since when both hold; missing means unknown. */
  from?: string | null;
  /** The ground. */
  ground: Ground;
  /** The one that does not stand. */
  loser: Loser;
  /** The ids that the two objects name, where they are one entity only by a merge, as the caller may know of it. */
  merged?: string[] | null;
  /** The note on it. */
  note?: string | null;
  /** The other one. */
  second: Party;
  /** The slot. */
  slot: string;
  /** The judgement on the loser. */
  status: ContradictionStatus;
  /** The instant since which it is not. */
  tx_end?: string | null;
  /** The instant since which it is so judged. */
  tx_start: string;
  /** Until when both hold; missing means open. */
  until?: string | null;
}

/**
 * The rule for a claim of an object that meets another one which cannot hold beside it.
 *
 * - `protocols`: They are compared: authority, begin, source, confidence. What an object has that states none.
 * - `give_way`: It gives way to any other, of whatever authority; of two that do, the protocols decide.
 * - `ask`: Of two of equal authority neither stands until somebody decides.
 */
export type ConflictPolicy = "protocols" | "give_way" | "ask";

/** A page of pairs of claims that cannot both hold. */
export interface Conflicts {
  /** Each with both objects, their claims, the one that does not stand, and the ground. */
  conflicts: Conflict[];
  /** The mark to ask for what comes after, where there is more. */
  next?: string | null;
}

/** The kind of a constraint. */
export interface ConstraintDocument {
  /** Stated or shown. Default: `explicit`. */
  explicitness?: Explicitness;
  /**
   * The number of sources that a final answer must name at least, of the evidence and documents that stand in the
   * request: by their name or `source_id`. Fewer suffice where fewer stand. Default: 0.
   */
  must_cite?: number;
  /**
   * Regular expressions that answers are held against: of a `negative` constraint none may match, of a `positive`
   * one each must. Default: none.
   */
  patterns?: string[];
  /** Asks or forbids. Default: `positive`. */
  polarity?: Polarity;
  /** The rigidity: soft constraints may be relaxed. */
  rigidity: Rigidity;
  /**
   * A JSON Schema that a final answer must be an instance of. Default: none. A constraint without a validator
   * (`must_cite`, `patterns`, `schema`) is one that no machine can check.
   */
  schema?: unknown;
}

/**
 * The store's judgement on a claim. Only `clean` objects are compiled.
 *
 * - `clean`: Nothing contradicts it.
 * - `disputed`: Something of equal standing contradicts it.
 * - `overridden`: Something of higher standing replaced it.
 * - `quarantined`: Set aside until someone decides.
 */
export type ContradictionStatus = "clean" | "disputed" | "overridden" | "quarantined";

/** The aging of an object: its freshness halves every `half_life_days`. Neither field is needed. */
export interface DecayRule {
  /**
   * Days in which freshness halves. Default: as the policy says of its type; a sweep of a store, which has no
   * policy, leaves it then.
   */
  half_life_days?: number | null;
  /** The freshness below which the retirement rule applies. */
  minimum_threshold?: number;
}

/**
 * The decision between two claims that cannot both hold.
 *
 * - `first`: The first stands.
 * - `second`: The second stands.
 * - `both`: Both stand.
 * - `neither`: Neither stands.
 */
export type Decision = "first" | "second" | "both" | "neither";

/**
 * The side of evidence.
 *
 * - `for`: It speaks for the claim.
 * - `against`: It speaks against it.
 */
export type Direction = "for" | "against";

/**
 * The way in which a text is not what it seems to be.
 *
 * - `hidden_characters`: Characters that are not seen, or that change the direction of text, without a lawful use
 *   where they stand.
 * - `mixed_scripts`: A word of Latin letters and of letters of another script that look like them.
 */
export type Disguise = "hidden_characters" | "mixed_scripts";

/** The entities that a reader may see. */
export interface Entities {
  /** The entities, by id. */
  entities: SeenEntity[];
}

/** An entry of the log. */
export interface EntityEntry {
  /** The instant. */
  at: string;
  /** The author of it. */
  by?: string | null;
  /** The operation. */
  does: EntityOp;
  /** The object that it came from; missing where somebody said so. */
  source?: string | null;
}

/** The log of the registry about one entity. */
export interface EntityHistory {
  /** Everything that was done to it and to what was merged into it, the oldest first. */
  entries: EntityEntry[];
}

/** An operation on the registry, as its log has it. */
export type EntityOp =
  | EntityOpCreate
  | EntityOpAlias
  | EntityOpRole
  | EntityOpRelate
  | EntityOpMerge
  | EntityOpSplit
  | EntityOpConfirm
  | EntityOpMark
  | EntityOpRemoveAlias
  | EntityOpRemoveRole
  | EntityOpRemoveRelation;

/** Another name. */
export interface EntityOpAlias {
  /** The name. */
  alias: string;
  /** The entity. */
  id: string;
  op: "alias";
}

/** A pending entity is one of its own. */
export interface EntityOpConfirm {
  /** The entity. */
  id: string;
  op: "confirm";
}

/** A new entity. */
export interface EntityOpCreate {
  /** The entities that it may be. */
  candidates?: string[];
  /** The confidence that it is one of its own. */
  confidence?: number | null;
  /** Its id. */
  id: string;
  /** Its type. */
  kind?: EntityType | null;
  /** Ids and marks. */
  metadata?: Metadata;
  /** Its canonical name. */
  name: string;
  op: "create";
  /** True if it waits for a person to say whether it is one of the candidates. */
  pending?: boolean;
  /** The project that it is of. */
  project?: string | null;
}

/** A mark: from now on this one, or none. */
export interface EntityOpMark {
  /** The entity. */
  id: string;
  /** The mark. */
  mark: Mark;
  op: "mark";
  /** The value; none takes it away. */
  value?: string | null;
}

/** One entity means another. */
export interface EntityOpMerge {
  /** The one. */
  id: string;
  /** The other. */
  into: string;
  op: "merge";
}

/** A relation to another entity. */
export interface EntityOpRelate {
  /** The entity. */
  id: string;
  op: "relate";
  /** The relation. */
  relation: RelationType;
  /** The other one. */
  to: string;
}

/** Another name is none of its names, whoever gave it. */
export interface EntityOpRemoveAlias {
  /** The name, in any case. */
  alias: string;
  /** The entity. */
  id: string;
  op: "remove_alias";
}

/** It has not a relation to another entity, whoever said so. */
export interface EntityOpRemoveRelation {
  /** The entity. */
  id: string;
  op: "remove_relation";
  /** The relation. */
  relation: RelationType;
  /** The other one. */
  to: string;
}

/** It has not a role, at any time. */
export interface EntityOpRemoveRole {
  /** The entity. */
  id: string;
  op: "remove_role";
  /** The role, in any case. */
  role: string;
}

/** A role for a time. */
export interface EntityOpRole {
  /** The time. */
  held?: Bound;
  /** The entity. */
  id: string;
  op: "role";
  /** The role description, as `the CFO`. */
  role: string;
}

/** It does not, after all. */
export interface EntityOpSplit {
  /** The one. */
  id: string;
  op: "split";
}

/**
 * The type of an entity.
 *
 * - `person`: A human being.
 * - `project`: A project.
 * - `document`: A document.
 * - `system`: A system or service.
 * - `tenant`: An organisation.
 * - `tool`: A tool.
 * - `role`: A role that somebody has at a time.
 */
export type EntityType = "person" | "project" | "document" | "system" | "tenant" | "tool" | "role";

/**
 * The explicitness of a constraint: stated or shown.
 *
 * - `explicit`: Stated.
 * - `implicit`: Shown by example.
 */
export type Explicitness = "explicit" | "implicit";

/** A text that is not what it seems to be. */
export interface FlaggedText {
  /** The way in which it is not what it seems to be. */
  disguise: Disguise;
  /** The field that it stands in. */
  field: TextField;
  /** The object that it is of, where that is one that the object was made from. */
  object_id?: string | null;
}

/**
 * The provider's format of messages.
 *
 * - `openai-chat`: `messages` of an OpenAI chat completion request.
 * - `openai-responses`: `input` items of an OpenAI responses request.
 * - `anthropic-messages`: `messages` of an Anthropic messages request.
 * - `gemini`: `contents` of a Gemini generateContent request.
 */
export type Format = "openai-chat" | "openai-responses" | "anthropic-messages" | "gemini";

/**
 * The reason for which something inferred must not persist.
 *
 * - `too_little_evidence`: Too few independent origins speak for it.
 * - `unverified_parent`: Something that it was made from is not verified.
 * - `flagged`: A text of it, or of what it was made from, is in disguise.
 * - `stated_otherwise`: A preference that somebody stated says otherwise.
 */
export type GateRefusal = "too_little_evidence" | "unverified_parent" | "flagged" | "stated_otherwise";

/**
 * The ground on which one claim stands and another does not.
 *
 * - `gave_way`: The loser's own policy: it gives way.
 * - `authority`: The higher authority.
 * - `asks`: The policy of one of the two, which leaves it to a person.
 * - `scope`: The narrower scope of two preferences.
 * - `valid_from`: The later begin of its time.
 * - `recorded`: The later begin, of a preference that holds since it was said.
 * - `source_authority`: The better source.
 * - `confidence`: The higher confidence.
 * - `tie`: Nothing tells them apart.
 * - `person`: Somebody decided so.
 */
export type Ground =
  | "gave_way"
  | "authority"
  | "asks"
  | "scope"
  | "valid_from"
  | "recorded"
  | "source_authority"
  | "confidence"
  | "tie"
  | "person";

/** The time for which something is claimed. */
export interface Held {
  /** Its begin; missing means unknown. */
  from?: string | null;
  /** Its end; missing means open. */
  until?: string | null;
}

/** The result of an import into a registry. */
export interface Imported {
  /** The number of blocks that came. */
  imported: number;
  /** The blocks that have less authority than they asked for. */
  lowered: LoweredAuthority[];
  /** The registry after it. */
  registry: Summary;
}

/** A block that a change left where it is. */
export interface KeptBlock {
  /** Its name. */
  name: string;
  /** The registry that wrote it. */
  writer: string;
}

/**
 * The kind of a registry, which decides what it may write.
 *
 * - `agent`: An agent's working registry. It writes guidance and data, nothing that commands.
 * - `orchestrator`: A registry of the program around the agents: a supervisor, a chair.
 */
export type Kind = "agent" | "orchestrator";

/**
 * The nine layers of state.
 *
 * - `session`: Dialogue of the active thread.
 * - `task`: Goals, plans and progress.
 * - `project`: Standards and terms of a project.
 * - `user`: Preferences and facts of a user.
 * - `tenant`: Policy of an organisation.
 * - `corpus`: Documents and data.
 * - `tool`: Tools and their state.
 * - `policy`: Rules of the platform.
 * - `belief`: An assumption of the system.
 */
export type Layer = "session" | "task" | "project" | "user" | "tenant" | "corpus" | "tool" | "policy" | "belief";

/**
 * The stage in the life of a stored object.
 *
 * - `active`: It may be compiled.
 * - `awaiting_confirmation`: A person is asked whether it holds; until then it is not compiled.
 * - `demoted`: Found only by retrieval.
 * - `archived`: Kept, not compiled.
 */
export type Lifecycle = "active" | "awaiting_confirmation" | "demoted" | "archived";

/** The lineage of a block: its source and its later changes. */
export interface Lineage {
  /** Seed, agent or orchestrator. */
  author: AuthorKind;
  /** The bytes of its content. */
  bytes: number;
  /** The number of counts of use since it was last used. */
  idle: number;
  /** The name it goes by. */
  name: string;
  /** Its type. */
  object_type: ObjectType;
  /** Its position, counted from 0. */
  position: number;
  /** Its priority. */
  priority: number;
  /** Its protection. */
  protection: Protection;
  /** True if others may remove it. */
  removable: boolean;
  /** The revision. */
  revision: string;
  /** The source it was read from. */
  source?: string | null;
  /** Its tags. */
  tags: string[];
  /** The run in which it was written. */
  trajectory?: string | null;
  /** The number of its uses. */
  uses: number;
  /** The registry that wrote it. */
  writer: string;
  /** The name of its revision, when it goes by another. */
  written_as?: string | null;
}

/** A link from a belief to what speaks for it or against it. */
export interface Link {
  /** Its claim, where it makes one. */
  claim?: string | null;
  /** The side. */
  direction: Direction;
  /** Its name. */
  name: string;
  /** The object. */
  object_id: string;
  /** The origins that it comes from, an address by its site; of what was inferred or derived, those of its roots. */
  origins: string[];
  /** The reason for which it does not count. */
  silent?: Silence | null;
  /** The quality of its source. */
  source_authority: number;
  /** The number of its vote: evidence that shares an origin has one together. None where it does not count. */
  vote?: number | null;
}

/** A registry that there is. */
export interface ListedRegistry {
  /** The number of its blocks. */
  blocks: number;
  /** The kind. */
  kind: Kind;
  /** Its label. */
  registry: string;
}

/**
 * The one of two that does not stand.
 *
 * - `first`: The first.
 * - `second`: The second.
 * - `both`: Neither stands.
 * - `neither`: Both stand.
 */
export type Loser = "first" | "second" | "both" | "neither";

/** An object that an operation put in with less authority than it asked for. */
export interface LoweredAuthority {
  /** The authority that it asked for. */
  asked: number;
  /** The authority that it has. */
  has: number;
  /** The object's name. */
  name: string;
}

/** A registry that was made. */
export interface MadeRegistry {
  /** The kind. */
  kind: Kind;
  /** Its label. */
  registry: string;
  /** The registries that it may write to. */
  writes_to: string[];
}

/**
 * A mark by which one entity is known.
 *
 * - `mail`: The mail address.
 * - `path`: The path or address.
 * - `document_id`: The id of the document.
 * - `record_id`: The id in the system of record.
 */
export type Mark = "mail" | "path" | "document_id" | "record_id";

/** The meaning of a mention. */
export interface Meaning {
  /**
   * The outcome; the candidates with each part of their similarity; and, where an object that says so would give
   * it, the name that the bound one has from then on (`alias`).
   */
  resolved: Resolved;
}

/**
 * The kind of a memory.
 *
 * - `session`: Of this session.
 * - `episodic`: Of an earlier run.
 * - `semantic`: A fact.
 * - `procedural`: A way of doing things.
 */
export type MemoryKind = "session" | "episodic" | "semantic" | "procedural";

/** The ids and marks of an entity or of a mention. */
export interface Metadata {
  /** The id of the document. */
  document_id?: string | null;
  /** The mail address. */
  mail?: string | null;
  /** The path or address. */
  path?: string | null;
  /** The id in the system of record. */
  record_id?: string | null;
  /** The role. */
  role?: string | null;
}

/**
 * The modality of an object's content.
 *
 * - `text`: Text.
 * - `image`: An image.
 * - `audio`: Sound.
 * - `video`: Film.
 * - `structured`: Rows, records, tables.
 */
export type Modality = "text" | "image" | "audio" | "video" | "structured";

/**
 * A context object as it is published: flat, one field for each property.
 *
 * Only `content` is needed. What is left out has a stated default, so that a plain text is a valid object. The
 * rules are checked by `ObjectDocument::seal`.
 */
export interface ObjectDocument {
  /** The content in a sentence or two, by its author: stands where the content does not fit. */
  abstract?: string | null;
  /** The number of compiles that used it. */
  access_count?: number | null;
  /** Other names of what it is about. */
  aliases?: string[];
  /** The task types it applies to. Empty means all. */
  applicable_task_types?: TaskType[];
  /** The kind of author. Default: `seed`. */
  author?: AuthorKind | null;
  /** May it command? 0 platform, 1 developer, 2 user, 3 inferred memory, 4 data. Default: by type. */
  authority_level?: number | null;
  /** For a tool: what it may touch. */
  authorization_scope?: string | null;
  /** The behaviour that follows from it for the model. */
  behavioral_implication?: string | null;
  /** The entities it is about. */
  canonical_entity_ids?: string[];
  /** The confidence in the claim, from 0 to 1. Default: 1 for authority 0 to 2, 0.5 for 3 and 4. */
  confidence_score?: number | null;
  /** The rule for when another claim contradicts its own. Default: `protocols`. */
  conflict_policy?: ConflictPolicy | null;
  /** The kind of constraint. */
  constraint?: ConstraintDocument | null;
  /** The text. The only field that must not be empty (a tool call's turn may be). */
  content?: string;
  /** The store's judgement. Default: `clean`. */
  contradiction_status?: ContradictionStatus | null;
  /** The rule by which it ages. */
  decay_rule?: DecayRule | null;
  /** The objects that it was made from: what becomes of them becomes of it (see `inherit`). */
  derived_from?: string[];
  /** For a tool: JSON Schema of its arguments. */
  input_schema?: unknown;
  /**
   * The step of the task in which it was added. Who brings an object names one of the steps; what was stored with
   * another word is of no step.
   */
  inserted_in_step?: Step | null;
  /** Names of the objects without which it must not stand. */
  keep_with?: string[];
  /** The instant of the last confirmation. */
  last_confirmed?: string | null;
  /** The instant at which a compile last used it. */
  last_used?: string | null;
  /** The state layer. Default: by type; `project` for a rule. */
  layer?: Layer | null;
  /** The kind of memory. */
  memory_kind?: MemoryKind | null;
  /** The modality of its content. Default: `text`. */
  modality?: Modality | null;
  /**
   * The name by which people and other objects refer to it. Needed, unless the source gives one or there is an
   * `object_id` (see `ObjectDocument::complete`).
   */
  name?: string;
  /** The claim in normal form: `slot op value`. */
  normalized_claim?: string | null;
  /** Stable across revisions. Default: derived from tenant, origin and name. */
  object_id?: string | null;
  /** Its type. Default: `rule`. */
  object_type?: ObjectType | null;
  /** True if a budget may omit it although it is not removable or stands in a fixed tier. */
  optional?: boolean | null;
  /** Further sources that it was made from. A derived object has those of its parents. */
  origins?: string[];
  /** For a tool: JSON Schema of its result. */
  output_schema?: unknown;
  /** The content in a paragraph or two, by its author: between the abstract and the content. */
  overview?: string | null;
  /** The roles that may see it. */
  permission_scope?: PermissionScope | null;
  /** The importance that its author gives it, from 0 to 1. Default: 0.5. */
  priority?: number | null;
  /** The one project it belongs to. */
  project_id?: string | null;
  /** The protection of its text. Default: `none`. */
  protection?: Protection | null;
  /** For a tool: how it is called. Default: `function`. */
  protocol?: Protocol | null;
  /** The provenance of evidence. Mandatory for evidence and tool results. */
  provenance?: ProvenanceDocument | null;
  /** False if only its author may remove it, which also makes it mandatory. Default: true. */
  removable?: boolean | null;
  /** The rule for when it is of no more use. */
  retirement_rule?: RetirementRule | null;
  /** For a turn: who speaks. */
  role?: Role | null;
  /** The name of whoever says it, such as a message's `name`. Questions that name them find it more easily. */
  said_by?: string | null;
  /** The sensitivity. Default: `restricted`. */
  security_classification?: Classification | null;
  /** The one session it belongs to. */
  session_id?: string | null;
  /** The number of values that the claim's slot holds: one or many. */
  slot_cardinality?: SlotCardinality | null;
  /** The quality of the source, from 0 to 1. Default: 1 for authority 0 to 2, 0.5 for 3 and 4. */
  source_authority?: number | null;
  /** The origin, as a URI or a path. */
  source_origin?: string | null;
  /** The people whom it is about, by the ids that the tenant gives them. What has a subject is personal data. */
  subjects?: string[];
  /** The object that replaces it. */
  supersession_link?: string | null;
  /** Words to find it by. The tag `pii` marks personal data, as `subjects` do. */
  tags?: string[];
  /** The one task it belongs to. */
  task_id?: string | null;
  /** The tenant that owns it. Default: the tenant of the workspace that reads it. */
  tenant_id?: string | null;
  /** For a tool: how long it takes. Default: `medium`. */
  timeout_class?: TimeoutClass | null;
  /** For a tool result: the call that it answers. */
  tool_call_id?: string | null;
  /** For a turn of the assistant: the tools it calls. */
  tool_calls?: ToolCall[];
  /** The run that wrote it. */
  trajectory_id?: string | null;
  /** The instant at which the system ceased to hold it. Written by the store. */
  tx_end?: string | null;
  /** The instant at which the system came to know it. Written by the store. */
  tx_start?: string | null;
  /** The source of newer versions. */
  update_path?: string | null;
  /** The one user who may see it. */
  user_id?: string | null;
  /** The instant at which it became true in the world. Missing means unknown. */
  valid_from?: string | null;
  /** The first instant at which it is no longer true. Missing means open. */
  valid_until?: string | null;
  /** Its real-world use: a preference counts only for tasks near this text. */
  why_it_matters?: string | null;
  /**
   * For a turn, a result or a tool: the provider's own JSON that it came in, which goes back to that provider byte
   * for byte.
   */
  wire?: Wire | null;
}

/**
 * A context object as it is published: flat, one field for each property.
 *
 * Only `content` is needed. What is left out has a stated default, so that a plain text is a valid object. The
 * rules are checked by `ObjectDocument::seal`.
 */
export interface ObjectDocument2 {
  /** The content in a sentence or two, by its author: stands where the content does not fit. */
  abstract?: string | null;
  /** The number of compiles that used it. */
  access_count?: number | null;
  /** Other names of what it is about. */
  aliases?: string[];
  /** The task types it applies to. Empty means all. */
  applicable_task_types?: TaskType[];
  /** The kind of author. Default: `seed`. */
  author?: AuthorKind | null;
  /** May it command? 0 platform, 1 developer, 2 user, 3 inferred memory, 4 data. Default: by type. */
  authority_level?: number | null;
  /** For a tool: what it may touch. */
  authorization_scope?: string | null;
  /** The behaviour that follows from it for the model. */
  behavioral_implication?: string | null;
  /** The entities it is about. */
  canonical_entity_ids?: string[];
  /** The confidence in the claim, from 0 to 1. Default: 1 for authority 0 to 2, 0.5 for 3 and 4. */
  confidence_score?: number | null;
  /** The rule for when another claim contradicts its own. Default: `protocols`. */
  conflict_policy?: ConflictPolicy | null;
  /** The kind of constraint. */
  constraint?: ConstraintDocument | null;
  /** The text. The only field that must not be empty (a tool call's turn may be). */
  content?: string;
  /** The store's judgement. Default: `clean`. */
  contradiction_status?: ContradictionStatus | null;
  /** The rule by which it ages. */
  decay_rule?: DecayRule | null;
  /** The objects that it was made from: what becomes of them becomes of it (see `inherit`). */
  derived_from?: string[];
  /** For a tool: JSON Schema of its arguments. */
  input_schema?: unknown;
  /**
   * The step of the task in which it was added. Who brings an object names one of the steps; what was stored with
   * another word is of no step.
   */
  inserted_in_step?: Step | null;
  /** Names of the objects without which it must not stand. */
  keep_with?: string[];
  /** The instant of the last confirmation. */
  last_confirmed?: string | null;
  /** The instant at which a compile last used it. */
  last_used?: string | null;
  /** The state layer. Default: by type; `project` for a rule. */
  layer?: Layer | null;
  /** The kind of memory. */
  memory_kind?: MemoryKind | null;
  /** The modality of its content. Default: `text`. */
  modality?: Modality | null;
  /**
   * The name by which people and other objects refer to it. Needed, unless the source gives one or there is an
   * `object_id` (see `ObjectDocument::complete`).
   */
  name?: string;
  /** The claim in normal form: `slot op value`. */
  normalized_claim?: string | null;
  /** Stable across revisions. Default: derived from tenant, origin and name. */
  object_id?: string | null;
  /** Its type. Default: `rule`. */
  object_type?: ObjectType | null;
  /** True if a budget may omit it although it is not removable or stands in a fixed tier. */
  optional?: boolean | null;
  /** Further sources that it was made from. A derived object has those of its parents. */
  origins?: string[];
  /** For a tool: JSON Schema of its result. */
  output_schema?: unknown;
  /** The content in a paragraph or two, by its author: between the abstract and the content. */
  overview?: string | null;
  /** The roles that may see it. */
  permission_scope?: PermissionScope | null;
  /** The importance that its author gives it, from 0 to 1. Default: 0.5. */
  priority?: number | null;
  /** The one project it belongs to. */
  project_id?: string | null;
  /** The protection of its text. Default: `none`. */
  protection?: Protection | null;
  /** For a tool: how it is called. Default: `function`. */
  protocol?: Protocol | null;
  /** The provenance of evidence. Mandatory for evidence and tool results. */
  provenance?: ProvenanceDocument | null;
  /** False if only its author may remove it, which also makes it mandatory. Default: true. */
  removable?: boolean | null;
  /** The rule for when it is of no more use. */
  retirement_rule?: RetirementRule | null;
  /** For a turn: who speaks. */
  role?: Role | null;
  /** The name of whoever says it, such as a message's `name`. Questions that name them find it more easily. */
  said_by?: string | null;
  /** The sensitivity. Default: `restricted`. */
  security_classification?: Classification | null;
  /** The one session it belongs to. */
  session_id?: string | null;
  /** The number of values that the claim's slot holds: one or many. */
  slot_cardinality?: SlotCardinality | null;
  /** The quality of the source, from 0 to 1. Default: 1 for authority 0 to 2, 0.5 for 3 and 4. */
  source_authority?: number | null;
  /** The origin, as a URI or a path. */
  source_origin?: string | null;
  /** The people whom it is about, by the ids that the tenant gives them. What has a subject is personal data. */
  subjects?: string[];
  /** The object that replaces it. */
  supersession_link?: string | null;
  /** Words to find it by. The tag `pii` marks personal data, as `subjects` do. */
  tags?: string[];
  /** The one task it belongs to. */
  task_id?: string | null;
  /** The tenant that owns it. Default: the tenant of the workspace that reads it. */
  tenant_id?: string | null;
  /** For a tool: how long it takes. Default: `medium`. */
  timeout_class?: TimeoutClass | null;
  /** For a tool result: the call that it answers. */
  tool_call_id?: string | null;
  /** For a turn of the assistant: the tools it calls. */
  tool_calls?: ToolCall[];
  /** The run that wrote it. */
  trajectory_id?: string | null;
  /** The instant at which the system ceased to hold it. Written by the store. */
  tx_end?: string | null;
  /** The instant at which the system came to know it. Written by the store. */
  tx_start?: string | null;
  /** The source of newer versions. */
  update_path?: string | null;
  /** The one user who may see it. */
  user_id?: string | null;
  /** The instant at which it became true in the world. Missing means unknown. */
  valid_from?: string | null;
  /** The first instant at which it is no longer true. Missing means open. */
  valid_until?: string | null;
  /** Its real-world use: a preference counts only for tasks near this text. */
  why_it_matters?: string | null;
  /**
   * For a turn, a result or a tool: the provider's own JSON that it came in, which goes back to that provider byte
   * for byte.
   */
  wire?: Wire | null;
}

/**
 * The type of an object. The first eight are the core's; the rest hold what a payload needs besides.
 *
 * - `preference`: A preference: a way that someone likes things done.
 * - `identity_fact`: A fact about who someone is.
 * - `project_decision`: Something a project settled.
 * - `retrieved_passage`: Text found by retrieval.
 * - `policy_rule`: A rule of the platform, the tenant or the project.
 * - `tool_schema`: A tool that the model may call.
 * - `inferred_belief`: Something the system concluded.
 * - `actionable_constraint`: Something the output must satisfy.
 * - `rule`: An instruction block, as a seed file or a Markdown file holds it.
 * - `turn`: One message of a conversation.
 * - `tool_result`: The result of a tool.
 * - `checkpoint`: A summary of earlier turns.
 * - `outcome`: A verified result or correction.
 * - `artifact`: A whole document or source file.
 * - `media`: An image, a sound or a film.
 * - `task_state`: The state of a task.
 */
export type ObjectType =
  | "preference"
  | "identity_fact"
  | "project_decision"
  | "retrieved_passage"
  | "policy_rule"
  | "tool_schema"
  | "inferred_belief"
  | "actionable_constraint"
  | "rule"
  | "turn"
  | "tool_result"
  | "checkpoint"
  | "outcome"
  | "artifact"
  | "media"
  | "task_state";

/** A change of a registry. Callers name blocks by `Address`; the log, which outlives a session, by `BlockId`. */
export type Op =
  | OpWrite
  | OpDraw
  | OpRevise
  | OpPromote
  | OpReorder
  | OpOverride
  | OpEvict
  | OpRollback
  | OpUse
  | OpWrap
  | OpLimit;

/** Puts in a seed of a library. Only the host does: `Registries::draw`. */
export interface OpDraw {
  /** The place. */
  at: Place;
  /** Its key in the library. */
  from: string;
  /** The object. */
  object: ObjectDocument2;
  op: "draw";
}

/** Takes blocks out for good. */
export interface OpEvict {
  /** The blocks. */
  blocks: string[];
  /** True if the author means it, although the block is not removable. */
  force?: boolean;
  op: "evict";
}

/**
 * Sets how many bytes of text the registry should hold at most. Above it every report says so; nothing is evicted
 * unasked.
 */
export interface OpLimit {
  /** The bytes; no limit when left out. */
  bytes?: number | null;
  op: "limit";
}

/** Gives a block another name, priority or protection than its object has. */
export interface OpOverride {
  /** The block. */
  block: string;
  op: "override";
  /** The values; they replace earlier ones. */
  overrides: Overrides;
}

/** Moves blocks, as one unit, in the order given. */
export interface OpPromote {
  /** The blocks. */
  blocks: string[];
  op: "promote";
  /** The place. */
  to: Place;
}

/** Puts blocks on the places that they hold together, in the order given. */
export interface OpReorder {
  /** The blocks. All of them is a permutation of the registry. */
  blocks: string[];
  op: "reorder";
}

/**
 * Gives a block another content. An agent may revise its own blocks; what a seed or an orchestrator says is
 * immutable.
 */
export interface OpRevise {
  /** The block. */
  block: string;
  /** The new object. It keeps the block's name, place and author. */
  object: ObjectDocument2;
  op: "revise";
}

/** Takes out every block that the caller wrote in this run, removable or not. */
export interface OpRollback {
  op: "rollback";
  /** The run. */
  trajectory: string;
}

/** Counts a use of each of these blocks. */
export interface OpUse {
  /** The blocks. */
  blocks: string[];
  op: "use";
}

/** Sets the texts before and after all blocks. Nothing takes one away. */
export interface OpWrap {
  op: "wrap";
  /** Before. */
  prefix?: ObjectDocument2 | null;
  /** After. */
  suffix?: ObjectDocument2 | null;
}

/** Puts in an object that an agent or an orchestrator wrote. */
export interface OpWrite {
  /** The place. Steps make no sense here. */
  at: Place;
  /** The object. */
  object: ObjectDocument2;
  op: "write";
}

/**
 * The decision of a person on an outcome.
 *
 * - `accept`: A proposal holds: it is compiled from now on.
 * - `reject`: A proposal does not hold.
 * - `withdraw`: An accepted one holds no more.
 */
export type OutcomeDecision = "accept" | "reject" | "withdraw";

/**
 * The kind of an outcome.
 *
 * - `outcome`: A result that was verified.
 * - `correction`: A correction of a mistake.
 */
export type OutcomeKind = "outcome" | "correction";

/** An outcome, and what was done with it. */
export interface OutcomeLine {
  /** Its content. */
  content: string;
  /** The instant of that decision. */
  decided_at?: string | null;
  /** The person who decided last. */
  decided_by?: string | null;
  /** The kind. */
  kind: OutcomeKind;
  /** Its name. */
  name: string;
  /** The object. */
  object_id: string;
  /** The instant of the proposal. */
  proposed_at: string;
  /** The author of the proposal. */
  proposed_by?: string | null;
  /** The record of the compile that it is of. */
  record?: string | null;
  /** The number of times that the mistake was made again after the correction was accepted. */
  repeats: number;
  /** The stage that it is in. */
  state: OutcomeState;
}

/**
 * The state of an outcome that was proposed.
 *
 * - `proposed`: A person is asked; it is not compiled.
 * - `accepted`: A person accepted it; it is compiled.
 * - `rejected`: A person rejected it; it is not compiled.
 * - `withdrawn`: A person withdrew it after it was accepted; it is compiled no more.
 */
export type OutcomeState = "proposed" | "accepted" | "rejected" | "withdrawn";

/** The outcomes that the reader may see. */
export interface Outcomes {
  /**
   * Each with its state, who proposed and who decided, when, for which compile, and how often the mistake was
   * repeated.
   */
  outcomes: OutcomeLine[];
}

/** The values that a registry gives an object in the place of its revision's. `None` leaves the revision's. */
export interface Overrides {
  /** Another name. */
  name?: string | null;
  /** Another priority. */
  priority?: number | null;
  /** Another protection. */
  protection?: Protection | null;
  /** True if anyone but its author may remove it. */
  removable?: boolean | null;
}

/**
 * The weights of the six parts, which a policy states, each from 0 to 1. A similarity is the sum of the known parts
 * by their weights over the sum of these weights: the weights need not be 1 together, and what is not known counts
 * for nothing.
 */
export interface PartWeights {
  /** The types. */
  kind?: number;
  /** The names. */
  lexical?: number;
  /** The ids, mail addresses, paths and roles. */
  metadata?: number;
  /** The entities around both. */
  neighbourhood?: number;
  /** The project and session. */
  scope?: number;
  /** The quality of the source, and the confidence. */
  source?: number;
}

/** One of the two objects of a conflict. */
export interface Party {
  /** Its claims on the slot, as they are read: those of the instant that the conflict names, or of now. */
  claims: string[];
  /** Its name. */
  name: string;
  /** Its id. */
  object_id: string;
  /** The time of each of them, in the same order. */
  valid: Held[];
}

/** A text that a decision is about. */
export interface PendingText {
  /** The stage of its life: what is believed is `active`. */
  lifecycle: Lifecycle;
  /** Its name. */
  name: string;
  /** The object. */
  object_id: string;
  /** The text. */
  text: string;
}

/** The roles that may see an object. */
export interface PermissionScope {
  /** The caller needs one of these. Empty means that any role will do. */
  allow_roles?: string[];
  /** The caller must have none of these. */
  deny_roles?: string[];
}

/**
 * The place for blocks.
 *
 * - `front`: Before all others.
 * - `back`: After all others.
 */
export type Place = "front" | "back" | PlaceAt | PlaceSteps | PlaceBefore | PlaceAfter;

/** Right after this block. */
export interface PlaceAfter {
  after: string;
}

/** So that the first of them stands here, counted from 0, once all are moved. */
export interface PlaceAt {
  at: number;
}

/** Right before this block. */
export interface PlaceBefore {
  before: string;
}

/** So many places towards the front, or, when negative, towards the back; no further than the end. */
export interface PlaceSteps {
  steps: number;
}

/**
 * The polarity of a constraint: it asks or forbids.
 *
 * - `positive`: It asks.
 * - `negative`: It forbids.
 */
export type Polarity = "positive" | "negative";

/** On whose behalf a compile runs. What is not granted here is denied. */
export interface Principal {
  /** The most sensitive class that may be seen. Default: `public`. */
  clearance?: Classification;
  /** The web origins whose memory may be read (scheme, host and port). */
  origins?: string[];
  /** True if objects tagged `pii` may be seen. */
  pii_authorized?: boolean;
  /** The project. */
  project?: string | null;
  /** The roles. */
  roles?: string[];
  /** The session. */
  session?: string | null;
  /** The task. */
  task?: string | null;
  /** The tenant. Default: `local`. */
  tenant?: string;
  /** The user. */
  user?: string | null;
}

/** Everything that is known of an entity, or of a mention where it stands. */
export interface Profile {
  /** Other names. */
  aliases?: string[];
  /** Of a mention: the instant of which it speaks. */
  at?: string | null;
  /** The confidence in it. */
  confidence?: number | null;
  /** Of a mention: the entities that its session spoke of before. */
  earlier?: string[];
  /** The type. */
  kind?: EntityType | null;
  /** Ids and marks. */
  metadata?: Metadata;
  /** The name. */
  name?: string;
  /** The ids of the entities around it. */
  neighbours?: string[];
  /** The project, where it is of one. */
  project?: string | null;
  /** Role descriptions, each with the time for which it held. */
  roles?: [string, Bound][];
  /** The quality of its source. */
  source_authority?: number | null;
  /** The tenant. */
  tenant?: string;
}

/** Something that waits for a person, with all that a decision needs. */
export interface ProposalShown {
  /** The decisions that there are. */
  choices: Choice[];
  /** The two claims. */
  conflict?: Conflict | null;
  /** The entity, with those that it may be. */
  entity?: SeenEntity | null;
  /** The claim of the object, with the evidence for it and against it. */
  evidence?: BeliefWithEvidence | null;
  /** The outcome, with who proposed it. */
  outcome?: OutcomeLine | null;
  /** The entry, as the list has it. */
  proposal: Waiting;
  /** The texts of its objects: what is believed, and what waits. */
  says: PendingText[];
}

/** Everything that waits for a person. */
export interface Proposals {
  /** Each with its kind, its name, the object or the entity, since when it waits, and the command that decides it. */
  proposals: Waiting[];
}

/**
 * The protection of an object's text.
 *
 * - `none`: Not at all.
 * - `pinned`: First in its section while the section's minimum allows.
 * - `verbatim`: Only its full form, or a pointer to it.
 */
export type Protection = "none" | "pinned" | "verbatim";

/**
 * The protocol of a tool.
 *
 * - `function`: The provider's own function calling.
 * - `mcp`: Model Context Protocol.
 * - `json_rpc`: JSON-RPC.
 * - `grpc`: gRPC.
 */
export type Protocol = "function" | "mcp" | "json_rpc" | "grpc";

/**
 * The provenance of evidence. The fields stand in the order of their names, as canonical JSON has them; so do those
 * of every part of an object.
 */
export interface ProvenanceDocument {
  /** The quality of the source. */
  authority?: number | null;
  /** The place in the source. */
  chunk?: ChunkBounds | null;
  /** The digest of the source's bytes: what says which state of a file was read, as an instant does elsewhere. */
  digest?: string | null;
  /** The query and strategy that found it. */
  lineage?: string | null;
  /** The package that somebody chose it with: the id. */
  package?: string | null;
  /** The relevance that the retriever gave it. */
  relevance?: number | null;
  /** The instant at which it was fetched. */
  retrieved_at?: string | null;
  /** The document, record or endpoint. */
  source_id?: string | null;
  /**
   * The kind of source. It gives no authority; `web` and `tool` make what states none data, `agent` memory.
   * Default: by what is known of it.
   */
  source_kind?: SourceKind | null;
  /** The parts of these that nobody knows: who says so leaves nothing open. */
  unknown?: ProvenancePart[];
}

/**
 * A part of the provenance of evidence that its author may not know.
 *
 * - `authority`: The quality of the source.
 * - `chunk`: The place in the source.
 * - `lineage`: The query and strategy that found it.
 * - `relevance`: The relevance that the retriever gave it.
 */
export type ProvenancePart = "authority" | "chunk" | "lineage" | "relevance";

/** A registry with its blocks. */
export interface RegistryShown {
  /** The blocks, in order, each with where it comes from. */
  blocks: Lineage[];
  /** The registries that it may write to. */
  references: string[];
  /** Its numbers. */
  summary: Summary;
}

/**
 * The relation of one entity to another.
 *
 * - `parent`: It holds the other.
 * - `child`: It is held by the other.
 * - `sibling`: Both have one parent.
 * - `cross_reference`: It mentions the other.
 * - `same_as`: Both are one.
 */
export type RelationType = "parent" | "child" | "sibling" | "cross_reference" | "same_as";

/**
 * The outcome of a resolution.
 *
 * - `bind`: The mention means this entity.
 * - `review`: A person or a system of record has to say.
 * - `new`: It means an entity that is not known yet.
 */
export type Resolution = "bind" | "review" | "new";

/** The outcome for a mention: what it is bound to, or which entities it may mean. */
export interface Resolved {
  /**
   * The name that the bound one has from now on: an id or a mark says that it is meant, it is called by a name that
   * is near those that are known, and nobody else may be called so.
   */
  alias?: string | null;
  /** The entities that it may mean, the likeliest first; of one that is bound, that one alone. */
  candidates: [string, Similarity][];
  /** The outcome. */
  outcome: Resolution;
}

/**
 * A way in which a conflict can be resolved without asking the model: what knows best goes first.
 *
 * - `system_of_record`: A look at the system of record that one of them comes from (`provenance.source_kind`), or
 *   at the place that it is kept up to date from (`update_path`).
 * - `tool_lookup`: Another look by the tool that one of them comes from: a result of it, or what
 *   `provenance.source_kind` says so of.
 * - `user_question`: A question to the user.
 */
export type ResolverAction = "system_of_record" | "tool_lookup" | "user_question";

/**
 * The rule for an object that is no longer of use.
 *
 * - `archive`: Kept, not compiled.
 * - `hard_delete`: Erased.
 * - `demote_to_archival`: Found only by retrieval.
 * - `trigger_user_confirmation`: The user is asked.
 */
export type RetirementRule = "archive" | "hard_delete" | "demote_to_archival" | "trigger_user_confirmation";

/**
 * The decision of a person on what waits for one.
 *
 * - `accept`: Do what is proposed.
 * - `reject`: Do not do what is proposed.
 * - `hold`: Neither, until somebody decides again: of two claims, neither is compiled.
 * - `confirm`: It holds: of an object that waits, whatever is proposed of it. So an erasure is declined.
 * - `retract`: It does not hold: of an object that waits, whatever is proposed of it. So what was to be erased is
 *   retracted.
 */
export type ReviewDecision = "accept" | "reject" | "hold" | "confirm" | "retract";

/** A belief, and the write that revised it. */
export interface Revised {
  /** The claim with its evidence. */
  belief: BeliefWithEvidence;
  /** The write: the version, the instant and the objects that it touched. */
  written: Written;
}

/**
 * The rigidity of a constraint: it may be relaxed or not.
 *
 * - `hard`: Never.
 * - `soft`: It may be relaxed when the policy says so.
 */
export type Rigidity = "hard" | "soft";

/**
 * The speaker of a turn.
 *
 * - `system`: The platform or developer.
 * - `user`: The person.
 * - `assistant`: The model.
 */
export type Role = "system" | "user" | "assistant";

/** The text of a file. */
export interface SeedText {
  /** The file's path: its end says the format, and the rest is the name of a block that has none of its own. */
  path: string;
  /** The text. */
  text: string;
}

/** An entity as somebody may see it. */
export interface SeenEntity {
  /** The entities that it may be. */
  candidates: string[];
  /** Its id. */
  id: string;
  /** The entities that were merged into it. */
  merged: string[];
  /** True if it waits for a person. */
  pending: boolean;
  /** Everything that is known of it. */
  profile: Profile;
  /** Its relations, each with the other entity. */
  relations: [RelationType, string][];
}

/** A claim with its evidence. */
export interface Shown {
  /** The claim, the confidence that was stated and the one that the evidence gives, and each link. */
  belief: BeliefWithEvidence;
}

/**
 * The reason for which a piece of evidence does not count.
 *
 * - `over`: It is over, and the claim is not.
 * - `not_for_all`: Not everyone may see it who may see the claim.
 * - `one_sided`: Nothing but their confidence tells it and the claim apart, and the claim does not count against
 *   it.
 */
export type Silence = "over" | "not_for_all" | "one_sided";

/** The similarity of a mention and an entity: each part that is known, and the score. */
export interface Similarity {
  /** The reasons for which the score is lower than the mean of the parts. */
  limits: string[];
  /** The parts that are known. */
  parts: Record<string, number>;
  /** The score. */
  score: number;
}

/**
 * The number of values that a claim's slot holds at once.
 *
 * - `single`: One.
 * - `multiple`: Any number.
 */
export type SlotCardinality = "single" | "multiple";

/**
 * The kind of source that something comes from. No kind gives authority or trust.
 *
 * - `developer`: The platform or the developer: instruction files, seed libraries, tools.
 * - `user`: A person: what they said, want or decided.
 * - `system_of_record`: The system that has the last word on its subject, such as the personnel system.
 * - `document`: A file, a document, a record of another system.
 * - `tool`: The result of a tool.
 * - `agent`: The agent: what it said, concluded, or made from other objects.
 * - `web`: A page of the web, or what was made from one.
 * - `mail`: A message of a mailbox, or what was made from one.
 */
export type SourceKind = "developer" | "user" | "system_of_record" | "document" | "tool" | "agent" | "web" | "mail";

/**
 * The step of the agent's loop.
 *
 * - `plan`: Deciding what to do.
 * - `act`: Doing it.
 * - `verify`: Checking that it worked.
 * - `critique`: Judging how good it is.
 * - `repair`: Mending it.
 * - `commit`: Making it final.
 */
export type Step = "plan" | "act" | "verify" | "critique" | "repair" | "commit";

/** A registry in a few numbers. */
export interface Summary {
  /** The number of blocks by their kind of author. */
  authors: Record<string, number>;
  /** The number of blocks. */
  blocks: number;
  /** The bytes of their contents. */
  bytes: number;
  /** Agent or orchestrator. */
  kind: Kind;
  /** The label. */
  label: string;
  /** The soft limit of these bytes. */
  limit?: number | null;
  /** The number of operations that made this state. */
  operations: number;
  /** By how many bytes the contents are above it. */
  over_limit?: number | null;
  /** The text before all blocks. */
  prefix?: string | null;
  /** The number of blocks that every principal may remove. */
  removable: number;
  /** The text after all blocks. */
  suffix?: string | null;
}

/**
 * The kind of work a task is.
 *
 * - `code_generation`: Writing code.
 * - `analytical_reporting`: Reporting on data.
 * - `data_extraction`: Getting data out of documents.
 * - `system_orchestration`: Driving other systems.
 */
export type TaskType = "code_generation" | "analytical_reporting" | "data_extraction" | "system_orchestration";

/**
 * The field of an object that a text stands in.
 *
 * - `content`: The text itself.
 * - `abstract`: The content in a sentence or two.
 * - `overview`: The content in a paragraph or two.
 * - `name`: The name that it goes by: it labels what it says.
 * - `normalized_claim`: Its claim, which stands for it where nothing follows from it.
 * - `behavioral_implication`: The behaviour that follows from it, which stands in its place.
 * - `why_it_matters`: Its purpose, for templates of guidance.
 * - `provenance`: The source of evidence, and the query that found it: attributes of its frame.
 * - `tool_call_id`: The call that a result answers.
 * - `tool_calls`: The calls of a turn: their ids, names and arguments.
 * - `input_schema`: The JSON Schema of a tool's arguments.
 * - `output_schema`: The JSON Schema of a tool's result.
 * - `authorization_scope`: The resources that a tool may touch.
 * - `constraint`: The JSON Schema of a constraint, which the answer may be asked for in.
 * - `wire`: The provider's own message, which goes back as it came.
 */
export type TextField =
  | "content"
  | "abstract"
  | "overview"
  | "name"
  | "normalized_claim"
  | "behavioral_implication"
  | "why_it_matters"
  | "provenance"
  | "tool_call_id"
  | "tool_calls"
  | "input_schema"
  | "output_schema"
  | "authorization_scope"
  | "constraint"
  | "wire";

/**
 * The usual duration of a tool's calls.
 *
 * - `fast`: Well under a second.
 * - `medium`: Seconds.
 * - `slow`: Minutes.
 */
export type TimeoutClass = "fast" | "medium" | "slow";

/** A call of a tool in a turn of the assistant. */
export interface ToolCall {
  /** The arguments: a JSON value, or the provider's text kept as it is. */
  arguments?: unknown;
  /** The id that the result refers to. */
  id: string;
  /** The tool. */
  name: string;
}

/** Something that waits for a person. */
export interface Waiting {
  /**
   * A command that decides it. Where it names `FILE.json`, that is the object as it is to read now, with its
   * `object_id`; `"$USER"` is who decides.
   */
  decide: string;
  /** The id of the entity. */
  entity?: string | null;
  /** Its id: the object's, the entity's, or of a conflict those of both objects (`FIRST/SECOND`). */
  id: string;
  /** Its kind. */
  kind: WaitingKind;
  /** The name. */
  name: string;
  /** The object. */
  object_id?: string | null;
  /** The type of the object. */
  object_type?: ObjectType | null;
  /**
   * The other object, of a conflict; of what is stale, the one that has changed; of what was judged along with
   * another, that one; of what was inferred, a preference that says otherwise, which it would take the place of.
   */
  other_id?: string | null;
  /** The name of that preference. */
  other_name?: string | null;
  /** The commands that decide it otherwise. */
  otherwise: string[];
  /**
   * The revisions of an object that wait: each can be decided on by itself, and without a word on it all of them
   * are.
   */
  revisions: string[];
  /** The rule for when the object is of no more use: `hard_delete` proposes that it is erased. */
  rule?: RetirementRule | null;
  /** The instant since which it waits, where that is known. */
  since?: string | null;
  /** The text of each of them. */
  texts: string[];
  /** The reason for which what was inferred, or was made from something that waits, waits as things stand now. */
  why?: GateRefusal | null;
}

/**
 * The kind of what waits for a person.
 *
 * - `outcome`: An outcome or a correction, which a person accepts or rejects.
 * - `inferred`: Something that was inferred, which a person accepts or rejects.
 * - `confirmation`: An object that is too old by its own rule, of which a person says whether it holds still.
 * - `erasure`: An object that its own rule would have erased.
 * - `entity`: An entity of which a person says which one it is.
 * - `conflict`: Two claims of which a person says which one stands.
 * - `stale`: An object that was made from something that has changed since: it is to be made anew.
 * - `judged`: An object that was judged along with what it was made from, which is clean again.
 * - `weakened`: A belief of which evidence is over: the next sweep lowers it, or ends it.
 */
export type WaitingKind =
  | "outcome"
  | "inferred"
  | "confirmation"
  | "erasure"
  | "entity"
  | "conflict"
  | "stale"
  | "judged"
  | "weakened";

/** Remains of a belief once evidence for it is over. */
export type Weakening = WeakeningLoweredTo | WeakeningEnds;

/** The instant at which it ends: nothing is left that speaks for it. */
export interface WeakeningEnds {
  ends: string;
}

/** The confidence to which it is lowered. */
export interface WeakeningLoweredTo {
  lowered_to: number;
}

/**
 * The provider's own message that an object came in: its bytes, and which part of it the object is. The fields
 * stand in the order of their names, as canonical JSON has them.
 */
export interface Wire {
  /** SHA-256 of the message's bytes: what its parts know each other by. */
  digest: string;
  /** The format of the message. */
  format: Format;
  /**
   * The message as it came; with the first part only. Of several items that are one turn of the model, all, with
   * commas between.
   */
  message?: string | null;
  /** The part of the message that the object is, counted from 0. */
  part: number;
  /** The number of its parts. */
  parts: number;
}

/** A note on an object that was written. */
export type WriteNote =
  | WriteNoteClaimNotParsed
  | WriteNoteClaimAboutNobody
  | WriteNoteEntityPending
  | WriteNoteMentionsCut
  | WriteNoteAwaitsConfirmation
  | WriteNoteAuthorityLowered
  | WriteNoteOverruled
  | WriteNoteMadeFromItself
  | WriteNoteRenewed
  | WriteNoteMistakeRepeated
  | WriteNoteNothingSpeaks
  | WriteNoteAtMost;

/** Its evidence would give it more, but it was made from other objects, and is at most as sure as they are. */
export interface WriteNoteAtMost {
  code: "at_most";
  /** The most that it may have. */
  confidence: number;
}

/**
 * It has less authority than it asked for: nothing has more than what it was made from, and a rule that an agent
 * wrote or that was found on the web is data.
 */
export interface WriteNoteAuthorityLowered {
  /** The authority that it has. */
  authority: number;
  code: "authority_lowered";
  /** The authority that it asked for. */
  declared: number;
}

/**
 * It was inferred, and waits for a person: what speaks for it is not enough for it to be believed by itself, or a
 * stated preference says otherwise.
 */
export interface WriteNoteAwaitsConfirmation {
  code: "awaits_confirmation";
  /**
   * The texts that are `flagged`: of the object, and of what it was made from as far as everyone may see that who
   * may see the object.
   */
  flagged?: FlaggedText[];
  /** The reason: `too_little_evidence`, `unverified_parent`, `flagged` or `stated_otherwise`. */
  why: string;
}

/** Its `normalized_claim` names nobody and nothing that it is about: it contradicts no other. */
export interface WriteNoteClaimAboutNobody {
  code: "claim_about_nobody";
}

/** Its `normalized_claim` is no claim that can be compared with others: it takes part in no settlement. */
export interface WriteNoteClaimNotParsed {
  code: "claim_not_parsed";
  /** The reason. */
  why: string;
}

/** A name in it may mean one of several entities: it waits for a person to say which. */
export interface WriteNoteEntityPending {
  code: "entity_pending";
}

/**
 * A circle: what it was made from leads back to it, at once or by way of others, and what becomes of one of them
 * becomes of all.
 */
export interface WriteNoteMadeFromItself {
  code: "made_from_itself";
}

/**
 * It names more than one write resolves: it has names of which the registry of entities learns nothing by this
 * write.
 */
export interface WriteNoteMentionsCut {
  code: "mentions_cut";
}

/** It is the correction of a mistake that was made again, and stays as it is: the repeat was counted. */
export interface WriteNoteMistakeRepeated {
  code: "mistake_repeated";
  /** The number of times so far. */
  repeats: number;
}

/** Nothing speaks for its claim or against it: its confidence stays as it is stated. */
export interface WriteNoteNothingSpeaks {
  code: "nothing_speaks";
}

/** It has the authority of the platform or the developer, and does not stand by an operator's decision. */
export interface WriteNoteOverruled {
  /** The authority that it has. */
  authority: number;
  /** The authority of the other. */
  by: number;
  code: "overruled";
}

/** It did not wait for a person: it counts as confirmed now. */
export interface WriteNoteRenewed {
  code: "renewed";
}

/**
 * The effect of a write on one object.
 *
 * - `created`: It is new.
 * - `revised`: It has another revision, or is believed for another time.
 * - `unchanged`: It was so already.
 * - `judged`: It is judged otherwise, or believed no more.
 * - `erased`: Nothing is left of it.
 */
export type WriteOutcome = "created" | "revised" | "unchanged" | "judged" | "erased";

/** The result of a write. */
export interface Written {
  /** The instant in transaction time at which it took effect. */
  at: string;
  /**
   * True where all that was asked for was so already: of entities, revised beliefs, judgements, decisions between
   * claims and retractions.
   */
  nothing_changed?: boolean;
  /** The objects that it touched. */
  objects: WrittenObject[];
  /** The tenant's version after it: a later read may ask for at least this one. */
  version: number;
}

/** An object that was written. */
export interface WrittenObject {
  /** Its name; not that of what was erased. */
  name?: string | null;
  /** A note on what was written. */
  note?: WriteNote | null;
  /** Its id. */
  object_id: string;
  /** The effect. */
  outcome: WriteOutcome;
  /** Its revision now. */
  revision?: string | null;
}

/** What {@link Tenant.listOutcomes} takes. */
export interface ListOutcomesOptions {
  /** Only those in this state: proposed, accepted, rejected or withdrawn. */
  state?: OutcomeState;
  /** On whose behalf it is read: a principal as a compile takes it, no more than the caller is. */
  principal?: Principal;
}

/** What {@link Tenant.proposeOutcome} takes. */
export interface ProposeOutcomeOptions {
  /** The text, as the model is to read it. */
  content?: string;
  /** A name for it [default: made from the text]. */
  name?: string;
  /** The mistake that it corrects, in words: the same words again are a repeat. */
  mistake?: string;
  /** The record of the compile that it is of. */
  record?: string;
  /**
   * An object that it was made from (may be repeated): it is trusted no more, and shown to no more people, than
   * that.
   */
  derivedFrom?: string[];
  /** The one user who may see it [default: all]. */
  user?: string;
  /** The one project that it is for [default: all]. */
  project?: string;
  /** A whole object, in the place of its text, name, sources, user and project. */
  object?: ObjectDocument;
  /** The kind, as `mistake` says it anyway: a correction corrects a mistake, and an outcome does not. */
  kind?: OutcomeKind;
}

/** What {@link Tenant.decideOutcome} takes. */
export interface DecideOutcomeOptions {
  /** The id or the name of the outcome. */
  outcome: string;
  /** The decision. */
  decision: OutcomeDecision;
  /** The person who decides; with a key, its user. */
  by?: string;
}

/** What {@link Tenant.repeatMistake} takes. */
export interface RepeatMistakeOptions {
  /** The id or the name of the correction. */
  outcome: string;
  /** The record of the compile after which it was made again. */
  record?: string;
}

/** What {@link Tenant.listProposals} takes. */
export interface ListProposalsOptions {
  /** Only those of this kind: outcome, inferred, confirmation, erasure, entity, conflict, stale, judged or weakened. */
  kind?: WaitingKind;
  /** On whose behalf it is read: a principal as a compile takes it, no more than the caller is. */
  principal?: Principal;
}

/** What {@link Tenant.getProposal} takes. */
export interface GetProposalOptions {
  /** The id of the entry, or the id or the name of an object of it. */
  object: string;
  /** The kind of the entry, where several are of the object. */
  kind?: WaitingKind;
  /** On whose behalf it is read: a principal as a compile takes it, no more than the caller is. */
  principal?: Principal;
}

/** What {@link Tenant.decideProposal} takes. */
export interface DecideProposalOptions {
  /** The id of the entry, or the id or the name of an object of it. */
  object: string;
  /** The decision. */
  decision: ReviewDecision;
  /** The kind of the entry, where several are of the object. */
  kind?: WaitingKind;
  /** The one revision that is decided on, where several wait [default: all that waits]. */
  revision?: string;
  /**
   * Of a conflict, the claims that stand: first, second or both. The first is the object that is named, or the
   * first of the id.
   */
  stands?: Decision;
  /** Of an entity, the one that it is [default: one of its own]. */
  sameAs?: string;
  /** Of a conflict, a note on the decision. */
  note?: string;
  /** Of an outcome, the person who decides; with a key, its user. */
  by?: string;
  /** The instant since which it waits, as it was shown: what has changed since is not decided on. */
  since?: string;
}

/** What {@link Tenant.listConflicts} takes. */
export interface ListConflictsOptions {
  /** Only those in which nothing says which stands. */
  unresolved?: boolean;
  /** Only those about the entity of this id, or about one that is merged with it. */
  entity?: string;
  /** Only those on this slot. */
  slot?: string;
  /** Those of this instant in transaction time [default: now]. */
  asOf?: string;
  /** The most pairs, up to 1000 [default: 100]. */
  limit?: number;
  /** Only those behind this place: `next` of the page before. */
  after?: string;
  /** The id or the name of one object, with `second`. */
  first?: string;
  /** The id or the name of the other object. */
  second?: string;
  /** On whose behalf it is read: a principal as a compile takes it, no more than the caller is. */
  principal?: Principal;
}

/** What {@link Tenant.resolveConflict} takes. */
export interface ResolveConflictOptions {
  /** The id or the name of the one object. */
  first: string;
  /** The id or the name of the other. */
  second: string;
  /** The one that stands: first, second, both or neither. */
  stands: Decision;
  /** A note on the decision. */
  note?: string;
}

/** What {@link Tenant.getBelief} takes. */
export interface GetBeliefOptions {
  /** The id or the name of the object. */
  object: string;
  /** On whose behalf it is read: a principal as a compile takes it, no more than the caller is. */
  principal?: Principal;
}

/** What {@link Tenant.reviseBelief} takes. */
export interface ReviseBeliefOptions {
  /** The id or the name of the object. */
  object: string;
  /** On whose behalf it is shown: a principal as a compile takes it, no more than the caller is. */
  principal?: Principal;
}

/** What {@link Tenant.listEntities} takes. */
export interface ListEntitiesOptions {
  /** Only those that wait for a person; `false`: only others. */
  pending?: boolean;
  /** Only those of this type: person, project, document, system, tenant, tool or role. */
  kind?: EntityType;
  /** On whose behalf it is read: a principal as a compile takes it, no more than the caller is. */
  principal?: Principal;
}

/** What {@link Tenant.changeEntities} takes. */
export interface ChangeEntitiesOptions {
  /** The operations, in order: all of it, or nothing. */
  operations: EntityOp[];
  /**
   * The id or the name of the object that it comes from: it acts only for who may see that [default: somebody says
   * so].
   */
  source?: string;
}

/** What {@link Tenant.getEntityHistory} takes. */
export interface GetEntityHistoryOptions {
  /** The entity's id. */
  id: string;
}

/** What {@link Tenant.resolveEntity} takes. */
export interface ResolveEntityOptions {
  /** Everything known of it. The tenant is the caller's. */
  mention: Profile;
  /** The weights of the parts [default: those that the tenant's writes take]. */
  weights?: PartWeights;
}

/** What {@link Tenant.createRegistry} takes. */
export interface CreateRegistryOptions {
  /** Its label. */
  label: string;
  /** The kind: an agent's writes guidance and data, an orchestrator's also rules and tools. */
  kind: Kind;
  /** A registry that it may write to (may be repeated). */
  writesTo?: string[];
}

/** What {@link Tenant.getRegistry} takes. */
export interface GetRegistryOptions {
  /** The registry's label. */
  label: string;
}

/** What {@link Tenant.applyOp} takes. */
export interface ApplyOpOptions {
  /** The registry's label. */
  label: string;
  /** The operation. Its blocks are named by their names; its objects are the tenant's. */
  operation: Op;
  /** The registry on whose behalf it is done [default: the one that is changed]. */
  actor?: string;
}

/** What {@link Tenant.importBlocks} takes. */
export interface ImportBlocksOptions {
  /** The registry's label; where there is none, it is made. */
  label: string;
  /** Objects, which are the tenant's. */
  objects?: ObjectDocument[];
  /** Texts of seed files, behind the objects. */
  documents?: SeedText[];
  /** The names of the blocks that are wanted [default: all]. */
  blocks?: string[];
}

/** A tenant of a store, whose owner calls the operations. `Store.tenant` opens one. */
export class Tenant extends Caller {
  /**
   * List the outcomes and corrections: who proposed and who decided what, when, and for which compile.
   *
   * A caller is shown what it may see; a reviewer, what users of its tenant, project and clearance proposed.
   */
  async listOutcomes(given: ListOutcomesOptions = {}): Promise<Outcomes> {
    return this.call("listOutcomes", given, ["state", "principal"]);
  }

  /**
   * Propose an outcome or a correction: it is kept, and not compiled until a person accepts it.
   *
   * A correction of a mistake that an accepted one corrects already is counted as a repeat of it instead.
   */
  async proposeOutcome(given: ProposeOutcomeOptions = {}, options: WriteOptions = {}): Promise<Written> {
    const fields = [
      "content",
      "name",
      "mistake",
      "record",
      "derived_from",
      "user",
      "project",
      "object",
      "kind",
    ];
    return this.call("proposeOutcome", given, fields, options);
  }

  /**
   * Accept, reject or withdraw an outcome: an accepted one is compiled from the next request on.
   *
   * A running session gets it behind what was sent; from the next epoch on it stands in the section `karma`. A
   * withdrawn one is compiled no more. With keys, it takes that of a user with the role `reviewer`.
   */
  async decideOutcome(given: DecideOutcomeOptions, options: WriteOptions = {}): Promise<Written> {
    return this.call("decideOutcome", given, ["outcome", "decision", "by"], options);
  }

  /** Count that a corrected mistake was made again. */
  async repeatMistake(given: RepeatMistakeOptions, options: WriteOptions = {}): Promise<Written> {
    return this.call("repeatMistake", given, ["outcome", "record"], options);
  }

  /**
   * List what waits for a person, each with the command that decides it: none of it is compiled.
   *
   * Proposed outcomes, what was inferred or is too old and awaits confirmation, entities that may be others, claims
   * that cannot both hold, and objects that were made from something that has changed.
   */
  async listProposals(given: ListProposalsOptions = {}): Promise<Proposals> {
    return this.call("listProposals", given, ["kind", "principal"]);
  }

  /** Show something that waits for a person: what it says, its evidence, what each decision does. */
  async getProposal(given: GetProposalOptions): Promise<ProposalShown> {
    return this.call("getProposal", given, ["object", "kind", "principal"]);
  }

  /**
   * Decide on something that waits for a person.
   *
   * `review show` says what each decision does. Only what one may see is decided on. With keys, outcomes and what
   * awaits confirmation take that of a user with the role `reviewer`, conflicts one that may resolve them, all else
   * an operator's.
   */
  async decideProposal(given: DecideProposalOptions, options: WriteOptions = {}): Promise<Written> {
    const fields = [
      "object",
      "decision",
      "kind",
      "revision",
      "stands",
      "same_as",
      "note",
      "by",
      "since",
    ];
    return this.call("decideProposal", given, fields, options);
  }

  /**
   * List the pairs of claims that cannot both hold, and which of the two stands.
   *
   * What loses by its source is disputed, as both are where neither stands; all else that loses is overridden. A
   * policy that quarantines what higher authority overrides acts in its own compiles: their traces say quarantined,
   * the list does not. With `first` and `second`, it lists all that was ever judged of those two objects.
   */
  async listConflicts(given: ListConflictsOptions = {}): Promise<Conflicts> {
    const fields = [
      "unresolved",
      "entity",
      "slot",
      "as_of",
      "limit",
      "after",
      "first",
      "second",
      "principal",
    ];
    return this.call("listConflicts", given, fields);
  }

  /**
   * Decide which of two claims that cannot both hold stands.
   *
   * The decision goes before authority, time and source, and stays as long as both objects claim what was decided
   * between. Decisions that go round in a circle are refused, and so is one after which no claim on the slot
   * stands. With keys, it takes an operator's, or that of a user with a role that the server names.
   */
  async resolveConflict(given: ResolveConflictOptions, options: WriteOptions = {}): Promise<Written> {
    return this.call("resolveConflict", given, ["first", "second", "stands", "note"], options);
  }

  /**
   * Show a claim with the evidence for it and against it.
   *
   * Evidence that shares an origin has one vote. An address counts by its site, what was inferred by what it was
   * made from. What does not count says why. On behalf of a caller, what that caller may see counts, and nothing
   * else is shown.
   */
  async getBelief(given: GetBeliefOptions): Promise<Shown> {
    return this.call("getBelief", given, ["object", "principal"]);
  }

  /**
   * Write the confidence that the evidence gives a claim into it.
   *
   * Independent evidence has one vote each, by the quality of its source. Where nothing changes, nothing is
   * written. What was inferred needs two votes. Claims that only their confidence tells apart are revised at once.
   * On behalf of a caller, the answer shows the evidence that this caller may see; all of it counts.
   */
  async reviseBelief(given: ReviseBeliefOptions, options: WriteOptions = {}): Promise<Revised> {
    return this.call("reviseBelief", given, ["object", "principal"], options);
  }

  /** List the entities, with their names. */
  async listEntities(given: ListEntitiesOptions = {}): Promise<Entities> {
    return this.call("listEntities", given, ["pending", "kind", "principal"]);
  }

  /** Add, name, mark, relate, merge and split entities, and take names, marks and relations away. */
  async changeEntities(given: ChangeEntitiesOptions, options: WriteOptions = {}): Promise<Written> {
    return this.call("changeEntities", given, ["operations", "source"], options);
  }

  /** Show everything that was ever done to an entity. */
  async getEntityHistory(given: GetEntityHistoryOptions): Promise<EntityHistory> {
    return this.call("getEntityHistory", given, ["id"]);
  }

  /**
   * Show which entity a mention means, with each part of the similarity.
   *
   * From 0.95 on a name is bound, up to 0.7 it is new; between, it waits for a person.
   */
  async resolveEntity(given: ResolveEntityOptions): Promise<Meaning> {
    return this.call("resolveEntity", given, ["mention", "weights"]);
  }

  /** List the registries. */
  async listRegistries(): Promise<ListedRegistry[]> {
    return this.call("listRegistries", {}, []);
  }

  /** Make a registry. */
  async createRegistry(given: CreateRegistryOptions, options: WriteOptions = {}): Promise<MadeRegistry> {
    return this.call("createRegistry", given, ["label", "kind", "writes_to"], options);
  }

  /** Show a registry with its blocks, in order. */
  async getRegistry(given: GetRegistryOptions): Promise<RegistryShown> {
    return this.call("getRegistry", given, ["label"]);
  }

  /** Change a registry by an operation. */
  async applyOp(given: ApplyOpOptions, options: WriteOptions = {}): Promise<AppliedOp> {
    return this.call("applyOp", given, ["label", "operation", "actor"], options);
  }

  /** Put objects, or what texts hold, into a registry behind its blocks: all of them, or none. */
  async importBlocks(given: ImportBlocksOptions, options: WriteOptions = {}): Promise<Imported> {
    return this.call("importBlocks", given, ["label", "objects", "documents", "blocks"], options);
  }
}
