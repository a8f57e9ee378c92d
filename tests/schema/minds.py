"""What agents have in mind and have learned, planted with a text in every place that takes one."""

from __future__ import annotations

from retrograph.resolvers.compact import compact_fleet
from retrograph.resolvers.episodes import relate_entities
from retrograph.resolvers.working_memory import update_working_memory
from retrograph.rules.entity import RelationType
from retrograph.rules.reflection import Proof, TerminalStatus
from retrograph.rules.working_memory import Hypothesis, Observed, RegisterWrite, Update
from tests.episodes import Episodes
from tests.memory import Memory, ref


def bear_in_mind(memory: Memory, mark: str) -> None:
    """Fills the working memory of a session with a text."""
    update = Update(
        goal=mark,
        sub_goal=mark,
        hypotheses=[Hypothesis("h", mark)],
        registers=[RegisterWrite("r", mark)],
        observations=[Observed("t", mark)],
    )
    update_working_memory(memory.scope, memory.fleet, "session", update)
    learn_from(Episodes(memory), mark)


def learn_from(episodes: Episodes, mark: str) -> None:
    """Leaves episodes with a text everywhere: one active, one waiting, two merged, one retired."""
    told = {"trigger": mark, "resolution": mark, "context": mark}
    basis, more = [ref("root"), ref("last")], {"reflection": told, "metadata": {"text": mark}}
    proof = Proof(mark, TerminalStatus.SUCCEEDED, mark)
    ids = []
    for vector in ([1, 0], [0, 1], [0, 1], [-1, 0]):
        stored = episodes.store(vector, mark, agent=mark, execution=mark, node=ref("last"), **more)
        ids.append(episodes.promote(stored.id, proof).id)
    compact_fleet(episodes.memory.scope, episodes.memory.fleet)
    episodes.retire(ids[-1], reason=mark, by=mark)
    episodes.store([1, 1], mark, based_on=basis, **more)
    related = [(mark, f"{mark} too", RelationType.RELATED_TO)]
    relate_entities(episodes.memory.scope, episodes.memory.fleet, related)
