"""The flags that README and docs tell of are those of the commands that they tell them of."""

from __future__ import annotations

import re

import click

from retrograph.cli_commands import commands
from tests.shared import ROOT

PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
README = PAGES[0].read_text()
TABLE = README[README.index("\n### Settings\n") : README.index("\n## Engines\n")]
DOCUMENTED = set(re.findall(r"^\| `(--[\w-]+)`", TABLE, re.MULTILINE))
ELSEWHERE = {"--fleet", "--webhook", "--webhook-secret", "--webhook-secret-file"}
"""What the table tells of other commands alone."""
NOT_DEMO = {"--jwks"}
"""The demo prints a token, which no set of public keys can sign."""
TYPED = re.compile(r"(?:^|[\s/`(])retrograph ((?:[a-z]+ )*[^`|;()&\n]*)", re.MULTILINE)


def flags(command: click.Command) -> set[str]:
    known = [each for option in command.params for each in option.opts + option.secondary_opts]
    return {each for each in known if each.startswith("--")}


def command_of(words: list[str]) -> click.Command | None:
    """The command that words begin with, if there is one."""
    found: click.Command | None = commands
    for word in words:
        if not isinstance(found, click.Group):
            break
        found = found.get_command(click.Context(found), word)
    return None if isinstance(found, click.Group) else found


def flags_of(name: str) -> set[str]:
    found = command_of([name])
    assert found is not None
    return flags(found)


def told() -> list[tuple[str, set[str], set[str]]]:
    """Page and line, the flags in it, and those of its command, wherever a page types one."""
    found = []
    for page in PAGES:
        for line in TYPED.findall(page.read_text().replace("\\\n", " ")):
            command = command_of(line.split())
            if command is not None:
                bare = re.sub(r"'[^']*'|\"[^\"]*\"", "", line)
                given = set(re.findall(r"(?:^|\s)(--[a-z][\w-]*)", bare))
                found.append((f"{page.name}: retrograph {line}", given, flags(command)))
    return found


def test_a_server_takes_every_setting_of_the_table_but_those_of_other_commands() -> None:
    serve, demo, relay = map(flags_of, ("serve", "demo", "relay"))
    assert len(DOCUMENTED) > 30
    assert DOCUMENTED - serve == ELSEWHERE
    assert serve <= DOCUMENTED
    assert DOCUMENTED - demo == ELSEWHERE | NOT_DEMO
    assert ELSEWHERE - {"--fleet"} <= relay


def test_a_command_takes_the_flags_that_the_pages_give_it() -> None:
    lines = told()
    assert {"--redis-streams", "--jwks", "--dry-run"} <= set().union(*(each[1] for each in lines))
    assert [line for line, given, taken in lines if not given <= taken] == []
