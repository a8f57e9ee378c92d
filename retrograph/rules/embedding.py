"""Embeddings: float32 vectors, little-endian, of 1 to 4,096 dimensions."""

from __future__ import annotations

from base64 import b64decode
from binascii import Error

import numpy as np

from retrograph.rules.errors import FieldPath, InvalidInput

MAX_DIMENSION = 4_096

_STORED = np.dtype("<f4")


def read_vector(value: object, field: FieldPath = ("embedding",)) -> bytes:
    """The float32 bytes of a vector, from base64 of these or from a list of numbers.

    Refused with `InvalidInput`: no vector, more than 4,096 dimensions, NaN, infinite values and
    numbers beyond a float32, and the zero vector, which has no direction.
    """
    vector = _decoded(value, field) if isinstance(value, str) else _listed(value, field)
    if not 1 <= len(vector) <= MAX_DIMENSION:
        raise InvalidInput(f"Give 1 to {MAX_DIMENSION:,} dimensions.", path=field)
    if not np.isfinite(vector).all():
        raise InvalidInput("A component is NaN, or beyond a float32; give finite ones.", path=field)
    if not vector.any():
        raise InvalidInput("The zero vector has no direction; give another.", path=field)
    return vector.tobytes()


def check_dimension(vector: bytes, dimension: int, field: FieldPath = ("embedding",)) -> None:
    """Refuses a vector of another dimension than its domain's, with the code WRONG_DIMENSION."""
    given = dimension_of(vector)
    if given != dimension:
        raise InvalidInput(
            f"The vector has {given:,} dimensions, the domain {dimension:,}; embed it by the model "
            "of the domain, or name another domain.",
            path=field,
            code="WRONG_DIMENSION",
        )


def dimension_of(vector: bytes) -> int:
    """How many components these bytes hold."""
    return len(vector) // _STORED.itemsize


def _decoded(text: str, field: FieldPath) -> np.ndarray[tuple[int], np.dtype[np.float32]]:
    try:
        stored = b64decode(text, validate=True)
    except (Error, ValueError) as error:
        raise InvalidInput(
            "Give base64 of little-endian float32 numbers, or a list of numbers.", path=field
        ) from error
    if len(stored) % _STORED.itemsize:
        raise InvalidInput(
            "The bytes are no whole number of float32 numbers; give 4 for each.", path=field
        )
    return np.frombuffer(stored, _STORED)


def _listed(value: object, field: FieldPath) -> np.ndarray[tuple[int], np.dtype[np.float32]]:
    if not isinstance(value, list | tuple) or not all(map(_is_number, value)):
        raise InvalidInput(
            "Give a list of numbers, or base64 of little-endian float32 numbers.", path=field
        )
    try:
        wide = np.array(value, np.float64)
    except OverflowError:
        wide = np.array([np.inf])
    with np.errstate(over="ignore", under="ignore"):
        return wide.astype(_STORED)


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
