"""Finds upcasters: those that installed packages offer, and those of the module that is set."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points

from retrograph.rules.errors import ConfigurationError
from retrograph.rules.upcasting import Upcaster, Upcasters

GROUP = "retrograph.upcasters"
"""The group of entry points, each of which names an iterable of `Upcaster`."""
ATTRIBUTE = "UPCASTERS"
"""What is taken of a module that is named alone."""


def load_upcasters(module: str | None) -> Upcasters:
    """The upcasters of all entry points and of `module`, `package.module` or `module:attribute`.

    Raises `ConfigurationError` for what can't be loaded, is no upcaster, or doesn't fit together.
    """
    places = list(entry_points(group=GROUP))
    if module is not None:
        name = module if ":" in module else f"{module}:{ATTRIBUTE}"
        places.append(EntryPoint(module, name, GROUP))
    return Upcasters(each for place in places for each in _loaded(place))


def _loaded(place: EntryPoint) -> Iterator[Upcaster]:
    found = _attribute(place)
    if not isinstance(found, Iterable):
        raise _refused(place, "is no list of upcasters")
    for each in found:
        if not isinstance(each, Upcaster):
            raise _refused(place, f"holds {each!r:.80}, which is no Upcaster")
        yield each


def _attribute(place: EntryPoint) -> object:
    try:
        import_module(place.module)  # what fails here is the module's own fault
        found: object = place.load()
    except Exception as error:
        raise _refused(place, f"can't be loaded: {type(error).__name__}: {error}") from error
    return found


def _refused(place: EntryPoint, why: str) -> ConfigurationError:
    return ConfigurationError(f"The upcasters {place.value} {why}.")
