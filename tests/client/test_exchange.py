"""What is tried again: only what may help, and only where it is safe."""

from __future__ import annotations

import json
from collections.abc import Iterator

import httpx
import pytest

from retrograph.client import (
    InternalError,
    NotFound,
    Unauthenticated,
    Unavailable,
    Unreachable,
    jobs,
)
from tests.client.speaking import speaking

URL = "http://memory.example/graphql"
QUERY = "{ viewer { tenantId } }"
MUTATION = "mutation { pinNode(input: {}) { __typename } }"
DATA = {"viewer": {"tenantId": "1"}}

Step = httpx.Response | type[httpx.TransportError]


def answered(**body: object) -> httpx.Response:
    return httpx.Response(200, json=body)


def failed(code: str, status: int = 200) -> httpx.Response:
    error = {"message": "No.", "extensions": {"code": code}}
    return httpx.Response(status, json={"errors": [error]})


class Script:
    """Answers as it was told, one step after another; remembers what was asked."""

    def __init__(self, *steps: Step) -> None:
        self._steps: Iterator[Step] = iter(steps)
        self.asked: list[httpx.Request] = []

    def __call__(self, request: httpx.Request) -> httpx.Response:
        self.asked.append(request)
        step = next(self._steps)
        if isinstance(step, httpx.Response):
            return httpx.Response(step.status_code, headers=step.headers, content=step.content)
        raise step("lost")


PASSING: list[Step] = [
    httpx.ConnectError,
    httpx.ConnectTimeout,
    httpx.ReadTimeout,
    httpx.RemoteProtocolError,
    *(httpx.Response(status, text="busy") for status in (429, 502, 503, 504)),
    failed("DATABASE_LOCKED"),
    failed("DATABASE_UNAVAILABLE", 503),
]
UNDONE: list[Step] = [httpx.ConnectError, httpx.ConnectTimeout, httpx.Response(429, text="busy")]
UNKNOWN: list[Step] = [step for step in PASSING if not (isinstance(step, type) and step in UNDONE)]


@pytest.mark.parametrize("step", PASSING)
def test_a_query_is_tried_again(kind: str, step: Step) -> None:
    script = Script(step, step, answered(data=DATA))
    with speaking(kind, URL, handler=script) as speaker:
        assert speaker.execute(QUERY) == DATA
        assert speaker.slept == [1, 2]
    assert len({request.content for request in script.asked}) == 1


@pytest.mark.parametrize("step", PASSING)
def test_it_gives_up_in_the_end(kind: str, step: Step) -> None:
    script = Script(*[step] * 5)
    with speaking(kind, URL, handler=script) as speaker:
        with pytest.raises((Unreachable, Unavailable)):
            speaker.execute(QUERY)
        assert speaker.slept == [1, 2, 4]
    assert len(script.asked) == 4


@pytest.mark.parametrize("step", UNDONE)
def test_a_mutation_that_cannot_have_been_done_is_tried_again(kind: str, step: Step) -> None:
    with speaking(kind, URL, handler=Script(step, answered(data=DATA))) as speaker:
        assert speaker.execute(MUTATION) == DATA
        assert speaker.slept == [1]


@pytest.mark.parametrize(
    "step", [httpx.ReadTimeout, httpx.RemoteProtocolError, httpx.Response(503, text="busy")]
)
def test_a_mutation_that_may_have_been_done_is_not(kind: str, step: Step) -> None:
    script = Script(step, answered(data=DATA))
    with speaking(kind, URL, handler=script) as speaker:
        with pytest.raises(Unreachable):
            speaker.execute(f"# a comment\n{MUTATION}")
        assert speaker.slept == []
    assert len(script.asked) == 1


def test_a_mutation_with_a_key_of_its_own_is_tried_again(kind: str) -> None:
    run = {
        "id": "7",
        "status": "APPLIED",
        "reason": "No",
        "effect": "INVALID",
        "impactCount": 1,
        "executedAt": "2026-05-01T09:30:00.123456Z",
    }
    script = Script(httpx.ReadTimeout, answered(data={"invalidate": run}))
    with speaking(kind, URL, handler=script) as speaker:
        assert speaker.run(jobs.invalidate(1, "a", "No")).id == 7
    keys = [
        json.loads(each.content)["variables"]["input"]["idempotencyKey"] for each in script.asked
    ]
    assert len(keys) == 2
    assert len(set(keys)) == 1


@pytest.mark.parametrize(
    ("answer", "error"),
    [
        (failed("NOT_FOUND"), NotFound),
        (failed("INTERNAL_ERROR", 500), InternalError),
        (httpx.Response(404, text="<html>"), Unreachable),
        (httpx.Response(307, headers={"location": "/elsewhere"}), Unreachable),
        (httpx.Response(200, text="[1]"), Unreachable),
        (answered(data=None), Unreachable),
        (httpx.Response(200, content=b"\xff"), Unreachable),
    ],
)
def test_what_would_be_the_same_again_is_not_tried(
    kind: str, answer: httpx.Response, error: type[Exception]
) -> None:
    script = Script(answer)
    with speaking(kind, URL, handler=script) as speaker, pytest.raises(error):
        speaker.execute(QUERY)
    assert len(script.asked) == 1


@pytest.mark.parametrize(("told", "waited"), [("3", 3.0), ("9000", 8.0), ("0", 1.0), ("soon", 1.0)])
def test_it_waits_as_long_as_it_was_asked_to(kind: str, told: str, waited: float) -> None:
    busy = httpx.Response(503, headers={"retry-after": told})
    with speaking(kind, URL, handler=Script(busy, answered(data=DATA))) as speaker:
        speaker.execute(QUERY)
        assert speaker.slept == [waited]


def test_each_request_carries_the_token_of_its_moment(kind: str) -> None:
    tokens = iter(["first", "second"])
    script = Script(httpx.ConnectError, answered(data=DATA))
    with speaking(kind, URL, lambda: next(tokens), script) as speaker:
        speaker.execute(QUERY)
    sent = [request.headers["authorization"] for request in script.asked]
    assert sent == ["Bearer first", "Bearer second"]
    plain = Script(answered(data=DATA))
    with speaking(kind, URL, handler=plain) as speaker:
        speaker.execute(QUERY)
    assert "authorization" not in plain.asked[0].headers


def test_the_newline_of_a_file_is_no_part_of_its_token(kind: str) -> None:
    script = Script(answered(data=DATA))
    with speaking(kind, URL, "first=\n", script) as speaker:
        speaker.execute(QUERY)
    assert script.asked[0].headers["authorization"] == "Bearer first="


@pytest.mark.parametrize("token", ["", " ", "se\ncret", "se cret", "s\u00e9cret"])
def test_what_can_be_no_token_is_neither_sent_nor_quoted(kind: str, token: str) -> None:
    script = Script()
    with speaking(kind, URL, token, script) as speaker, pytest.raises(Unauthenticated) as caught:
        speaker.execute(QUERY)
    assert "cret" not in str(caught.value)
    assert (script.asked, speaker.slept) == ([], [])


def test_a_number_that_json_lacks_is_refused_before_it_is_sent(kind: str) -> None:
    script = Script()
    with speaking(kind, URL, handler=script) as speaker, pytest.raises(ValueError, match="JSON"):
        speaker.run(jobs.put_nodes(1, [{"key": "a", "confidence": float("nan")}]))
    assert script.asked == []
