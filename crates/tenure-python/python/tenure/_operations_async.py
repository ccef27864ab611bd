"""The operations of the table for ``async`` programs: written from their schemas by a test of `tenure-operations`."""

from __future__ import annotations

from collections.abc import Sequence

from ._caller import AsyncCaller
from ._operations import (
    Confirmation,
    ObjectDocument,
    OutcomeDecision,
    OutcomeKind,
    OutcomeState,
    Outcomes,
    Principal,
    Proposals,
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

    async def list_proposals(self, *, principal: Principal | None = None) -> Proposals:
        """List what waits for a person, each with the command that decides it: none of it is compiled.

        Proposed outcomes, what was inferred or is too old and awaits confirmation, entities that may be others,
        claims that cannot both hold, and objects that were made from something that has changed.

        :param principal: On whose behalf it is read: a principal as a compile takes it, no more than the
            caller is.
        """
        value: Proposals = await self._call("listProposals", {"principal": principal})
        return value

    async def decide_proposal(
        self,
        *,
        object: str,
        decision: Confirmation,
        revision: str | None = None,
        key: str | None = None,
    ) -> Written:
        """Confirm or retract what was inferred or is too old.

        With keys, it takes that of a user with the role ``reviewer``, and only what the reviewer may see is decided on.

        :param object: The id or the name of the object.
        :param decision: The decision.
        :param revision: The one revision that is decided on, where several wait [default: all that waits].
        :param key: The idempotency key: with the same one, the same write happens once.
        """
        form = {
            "object": object,
            "decision": decision,
            "revision": revision,
        }
        value: Written = await self._call("decideProposal", form, key)
        return value
