"""Vectors: float32 from base64 or numbers; what has no direction or no end is refused."""

from __future__ import annotations

import struct
from base64 import b64encode

import pytest

from retrograph.rules.embedding import MAX_DIMENSION, check_dimension, dimension_of, read_vector
from retrograph.rules.errors import InvalidInput


def base64(*numbers: float) -> str:
    return b64encode(struct.pack(f"<{len(numbers)}f", *numbers)).decode()


def test_both_spellings_are_the_same_bytes() -> None:
    assert read_vector([1, -2.5, 0]) == read_vector(base64(1, -2.5, 0))
    assert read_vector([0.1]) == struct.pack("<f", 0.1)
    assert dimension_of(read_vector([1] * MAX_DIMENSION)) == MAX_DIMENSION


NAN, INFINITE = float("nan"), float("inf")


@pytest.mark.parametrize(
    "value",
    [
        None, 5, {}, [], "", [[1]], [True], ["1"], [None], "§", "AAAA", "AAA", [0, 0],
        base64(0, -0.0), [NAN], [INFINITE], [1e39], [10**400], [1e-50], base64(1, NAN),
        base64(-INFINITE),
        [1] * (MAX_DIMENSION + 1), base64(*[1] * (MAX_DIMENSION + 1)),
    ],
)  # fmt: skip
def test_bad_vectors_are_refused(value: object) -> None:
    with pytest.raises(InvalidInput) as caught:
        read_vector(value, ("input", "embedding"))
    assert caught.value.path == ("input", "embedding")


def test_another_dimension_has_a_code_of_its_own() -> None:
    check_dimension(read_vector([1, 2]), 2)
    with pytest.raises(InvalidInput) as caught:
        check_dimension(read_vector([1, 2]), 3)
    assert caught.value.code == "WRONG_DIMENSION"
