"""The text that a model is given of its working memory.

Every line that follows a heading begins with `-`, or with `~` for a summary; what goes on over
several lines is indented, so that no text passes for a heading. Leaving something out, or
shortening an observation, never makes the text longer.
"""

from __future__ import annotations

from collections.abc import Iterator

from retrograph.rules.canonical_json import canonical_json
from retrograph.rules.working_memory import (
    Hypothesis,
    Observation,
    Register,
    WorkingMemory,
    line,
)

_INDENT = "  "


def render(memory: WorkingMemory) -> str:
    """The prompt block: goal, sub-goal, hypotheses, registers, observations; empty of nothing."""
    sections = (
        ("Goal", [] if memory.goal is None else [f"- {_indented(memory.goal)}"]),
        ("Sub-goal", [] if memory.sub_goal is None else [f"- {_indented(memory.sub_goal)}"]),
        ("Hypotheses", list(_tree(memory.hypotheses))),
        ("Registers", [_register(each) for each in memory.registers]),
        ("Observations", [_observation(each) for each in memory.observations]),
    )
    shown = [text for title, lines in sections if lines for text in (f"# {title}", *lines)]
    return "".join(f"{text}\n" for text in shown)


def _register(register: Register) -> str:
    pin = " (pinned)" if register.pinned else ""
    return f"- {_indented(register.name)}{pin} = {canonical_json(register.value)}"


def _observation(observed: Observation) -> str:
    sign = "~" if observed.summary else "-"
    return f"{sign} {observed.number} {_indented(observed.tool)}: {_indented(observed.text)}"


def _tree(hypotheses: tuple[Hypothesis, ...]) -> Iterator[str]:
    """A line each, children below their parents, in the order in which they were first given."""
    found = {each.id: each for each in hypotheses}
    places = {id: place for place, id in enumerate(found)}
    lines = {each.id: line(found, each)[::-1] for each in hypotheses}
    ordered = sorted(hypotheses, key=lambda each: [places[id] for id in lines[each.id]])
    for each in ordered:
        sure = "" if each.confidence is None else f" {canonical_json(each.confidence)}"
        head = f"{_INDENT * (len(lines[each.id]) - 1)}- [{each.status.name}{sure}]"
        yield f"{head} {_indented(each.id)}: {_indented(each.text)}"


def _indented(text: str) -> str:
    # Whatever ends a line is not printable.
    return text if text.isprintable() else f"\n{_INDENT}".join(text.splitlines())
