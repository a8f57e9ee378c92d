"""JSON of a request is bounded in depth, whatever it is made of."""

from __future__ import annotations

import pytest

from retrograph.schema.wire import MAX_LEVELS, NotJson, embedded, read_json, write_json


@pytest.mark.parametrize(("begin", "end"), [("[", "]"), ('{"a":', "}")])
@pytest.mark.parametrize("core", ["1", "1e999999"])
def test_what_is_nested_too_deeply_is_refused(begin: str, end: str, core: str) -> None:
    def nested(levels: int) -> str:
        return begin * levels + core + end * levels

    assert read_json(nested(MAX_LEVELS)) == read_json(nested(MAX_LEVELS).encode())
    for levels in (MAX_LEVELS + 1, 900, 100_000):
        for text in (nested(levels), nested(levels).encode()):
            with pytest.raises(NotJson, match="nested deeper than 400 levels; flatten it"):
                read_json(text)


def test_what_is_wide_is_not_deep() -> None:
    assert read_json("[" + "[]," * 10_000 + "{}]") == [*([[]] * 10_000), {}]


def test_json_in_a_text_of_another_type_is_embedded_as_well() -> None:
    text = type("Word", (str,), {})('{"a":1}')
    assert write_json({"doc": embedded(text)}) == b'{"doc":{"a":1}}'
