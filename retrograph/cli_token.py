"""The command that issues tokens for development."""

from __future__ import annotations

import re
from collections.abc import Sequence

import click

from retrograph.authentication import make_token
from retrograph.cli_options import takes_settings
from retrograph.resolvers.scope import Role
from retrograph.rules.errors import InvalidInput
from retrograph.rules.instant import SECOND
from retrograph.rules.limits import check_id
from retrograph.schema.claims import EVERY_FLEET
from retrograph.schema.identity import Identity
from retrograph.settings import Settings
from retrograph.storage.clock import system_clock

MAX_DAYS = 366
_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86_400}


class Fleet(click.ParamType[int | None]):
    """A fleet's id, or `*` for all (None)."""

    name = "fleet"

    def convert(
        self,
        value: str,
        param: click.Parameter | None,  # noqa: ARG002 (click's signature)
        ctx: click.Context | None,  # noqa: ARG002
    ) -> int | None:
        """Raises `InvalidInput` for what is neither."""
        return None if value == EVERY_FLEET else check_id(value, ("fleet",))


class Duration(click.ParamType[int]):
    """A time such as 90s, 30m, 12h or 7d, in microseconds."""

    name = "duration"

    def convert(
        self,
        value: str | int,
        param: click.Parameter | None,  # noqa: ARG002 (click's signature)
        ctx: click.Context | None,  # noqa: ARG002
    ) -> int:
        """Raises `InvalidInput` for another text, and for more than a year."""
        if isinstance(value, int):
            return value
        match = re.fullmatch(r"([1-9][0-9]{0,8})([smhd])", value)
        seconds = int(match[1]) * _UNITS[match[2]] if match else 0
        if not 0 < seconds <= MAX_DAYS * _UNITS["d"]:
            wanted = f"Give a time such as 30m, 12h or 7d, of at most {MAX_DAYS}d."
            raise InvalidInput(wanted, path=("expires",))
        return seconds * SECOND


@click.command("token")
@click.option(
    "--fleet",
    "fleets",
    type=Fleet(),
    multiple=True,
    default=(EVERY_FLEET,),
    metavar="ID",
    help="A fleet to hold; may be repeated. Default: * (all).",
)
@click.option(
    "--role",
    "roles",
    type=click.Choice(Role, case_sensitive=False),
    multiple=True,
    default=(Role.AUDITOR,),
    help="A role to have; may be repeated. Default: AUDITOR, who only reads.",
)
@click.option(
    "--expires",
    type=Duration(),
    default="12h",
    metavar="TIME",
    help="For how long it counts: 30m, 12h, 7d.  [default: 12h]",
)
@takes_settings("tenant", "jwt_secret", "jwt_secret_file", "jwt_issuer", "jwt_audience")
def print_token(
    settings: Settings, fleets: tuple[int | None, ...], roles: tuple[Role, ...], expires: int
) -> None:
    """Print a token for development, signed with the server's secret."""
    until = system_clock() + expires
    identity = Identity(settings.tenant, _held(fleets), frozenset(roles), until)
    click.echo(make_token(settings, identity))


def _held(fleets: Sequence[int | None]) -> frozenset[int] | None:
    """The fleets to hold; raises `InvalidInput` where all of them stand beside some."""
    named = frozenset(each for each in fleets if each is not None)
    if None not in fleets:
        return named
    if named:
        raise InvalidInput(
            f"`{EVERY_FLEET}` stands for every fleet; name it alone, or name only ids.",
            path=("fleet",),
        )
    return None
