"""The operations of the table for ``async`` programs: written from their schemas by a test of `tenure-operations`."""

from __future__ import annotations

from collections.abc import Sequence

from ._caller import AsyncCaller
from ._operations import (
    AppliedOp,
    Conflicts,
    Decision,
    Entities,
    EntityHistory,
    EntityOp,
    EntityType,
    Imported,
    Kind,
    ListedRegistry,
    MadeRegistry,
    Meaning,
    ObjectDocument,
    Op,
    OutcomeDecision,
    OutcomeKind,
    OutcomeState,
    Outcomes,
    PartWeights,
    Principal,
    Profile,
    ProposalShown,
    Proposals,
    RegistryShown,
    ReviewDecision,
    Revised,
    SeedText,
    Shown,
    WaitingKind,
    Written,
)


class AsyncTenant(AsyncCaller):
    """As :class:`tenure.Tenant`: each operation runs in a thread of its own. :func:`tenure.aio.tenant` opens one."""

    async def list_outcomes(
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
        form = {
            "state": state,
            "principal": principal,
        }
        value: Outcomes = await self._call("listOutcomes", form)
        return value

    async def propose_outcome(
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
        value: Written = await self._call("proposeOutcome", form, key)
        return value

    async def decide_outcome(
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
        value: Written = await self._call("decideOutcome", form, key)
        return value

    async def repeat_mistake(
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
        form = {
            "outcome": outcome,
            "record": record,
        }
        value: Written = await self._call("repeatMistake", form, key)
        return value

    async def list_proposals(
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
        form = {
            "kind": kind,
            "principal": principal,
        }
        value: Proposals = await self._call("listProposals", form)
        return value

    async def get_proposal(
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
        value: ProposalShown = await self._call("getProposal", form)
        return value

    async def decide_proposal(
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
        value: Written = await self._call("decideProposal", form, key)
        return value

    async def list_conflicts(
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
        value: Conflicts = await self._call("listConflicts", form)
        return value

    async def resolve_conflict(
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
        value: Written = await self._call("resolveConflict", form, key)
        return value

    async def get_belief(self, *, object: str, principal: Principal | None = None) -> Shown:
        """Show a claim with the evidence for it and against it.

        Evidence that shares an origin has one vote. An address counts by its site, what was inferred by what it was
        made from. What does not count says why. On behalf of a caller, what that caller may see counts, and nothing
        else is shown.

        :param object: The id or the name of the object.
        :param principal: On whose behalf it is read: a principal as a compile takes it, no more than the
            caller is.
        """
        value: Shown = await self._call("getBelief", {"object": object, "principal": principal})
        return value

    async def revise_belief(
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
        value: Revised = await self._call("reviseBelief", form, key)
        return value

    async def list_entities(
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
        value: Entities = await self._call("listEntities", form)
        return value

    async def change_entities(
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
        value: Written = await self._call("changeEntities", form, key)
        return value

    async def get_entity_history(self, *, id: str) -> EntityHistory:
        """Show everything that was ever done to an entity.

        :param id: The entity's id.
        """
        value: EntityHistory = await self._call("getEntityHistory", {"id": id})
        return value

    async def resolve_entity(
        self,
        *,
        mention: Profile,
        weights: PartWeights | None = None,
    ) -> Meaning:
        """Show which entity a mention means, with each part of the similarity.

        From 0.95 on a name is bound, up to 0.7 it is new; between, it waits for a person.

        :param mention: Everything known of it. The tenant is the caller's.
        :param weights: The weights of the parts [default: those that the tenant's writes take].
        """
        form = {
            "mention": mention,
            "weights": weights,
        }
        value: Meaning = await self._call("resolveEntity", form)
        return value

    async def list_registries(self) -> list[ListedRegistry]:
        """List the registries."""
        value: list[ListedRegistry] = await self._call("listRegistries", {})
        return value

    async def create_registry(
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
        value: MadeRegistry = await self._call("createRegistry", form, key)
        return value

    async def get_registry(self, *, label: str) -> RegistryShown:
        """Show a registry with its blocks, in order.

        :param label: The registry's label.
        """
        value: RegistryShown = await self._call("getRegistry", {"label": label})
        return value

    async def apply_op(
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
        value: AppliedOp = await self._call("applyOp", form, key)
        return value

    async def import_blocks(
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
        value: Imported = await self._call("importBlocks", form, key)
        return value
