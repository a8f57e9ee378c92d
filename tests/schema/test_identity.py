"""Who asks over HTTP: a token or 401, and what its roles allow."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from retrograph.app import create_app
from retrograph.resolvers.scope import Role, Scope
from retrograph.storage.store import Store
from tests.memory import Memory
from tests.schema.serving import Answer, Served, listening, serving
from tests.schema.tokens import bearer, sign, tokens

VIEWER = "{ viewer { tenantId fleetIds roles expiresAt } }"


@pytest.fixture
def guarded(store: Store) -> Iterator[Served]:
    """The store behind an application that asks for tokens."""
    store.write_all(2, [5, 6], lambda _: None)
    with serving(create_app(store, identify=tokens())) as running:
        yield running


def ask(served: Served, query: str, **headers: str) -> Answer:
    response = served.client.post("/graphql", json={"query": query}, headers=headers)
    return Answer(response.status_code, response.json())


def test_the_token_says_who_asks(guarded: Served) -> None:
    answer = ask(guarded, VIEWER, **bearer(tenant="2", fleets=["6", "7"], exp=4_000_000_000))
    assert answer.data["viewer"] == {
        "tenantId": "2",
        "fleetIds": ["6"],
        "roles": ["AUDITOR", "CONTROLLER", "WORKER", "ADMIN"],
        "expiresAt": "2096-10-02T07:06:40.000000Z",
    }
    assert ask(guarded, "{ nodes(fleetId: 6) { asOf } }", **bearer(tenant=2, fleets=[6])).data
    assert ask(guarded, "{ nodes(fleetId: 5) { asOf } }", **bearer(tenant=2, fleets=[6])).code == (
        "NOT_FOUND"
    )


def test_who_needs_no_token_has_none_that_expires(served: Served) -> None:
    assert served.ask("{ viewer { expiresAt } }").data == {"viewer": {"expiresAt": None}}


@pytest.mark.parametrize(
    ("given", "challenge"),
    [
        *(
            (given, 'Bearer realm="retrograph"')
            for given in (None, "", "Basic YTpi", "Digest a=b", "Bearers x", f"{sign()}")
        ),
        *(
            (given, 'Bearer realm="retrograph", error="invalid_token"')
            for given in ("Bearer", "bearer ", "Bearer x")
        ),
        (f"Bearer {sign(exp=1)}", 'Bearer realm="retrograph", error="invalid_token"'),
    ],
)
def test_without_a_token_that_counts_nothing_is_answered(
    guarded: Served, given: str | None, challenge: str
) -> None:
    headers = {} if given is None else {"authorization": given}
    for response in (
        guarded.client.post("/graphql", json={"query": VIEWER}, headers=headers),
        guarded.client.get("/graphql", headers=headers),
    ):
        assert response.status_code == 401
        assert response.headers["www-authenticate"] == challenge
        (error,) = response.json()["errors"]
        assert error["extensions"]["code"] == "UNAUTHENTICATED"
        assert response.json().keys() == {"errors"}


def test_of_two_tokens_none_is_chosen(guarded: Served) -> None:
    for first, second in ((sign(), "other"), ("other", sign()), (sign(), sign())):
        given = [("authorization", f"Bearer {each}") for each in (first, second)]
        response = guarded.client.post("/graphql", json={"query": VIEWER}, headers=given)
        assert response.status_code == 401
        assert "one token" in response.json()["errors"][0]["message"]


def test_the_scheme_may_be_in_any_case(guarded: Served) -> None:
    for scheme in ("bearer", "BEARER", "Bearer "):
        assert ask(guarded, VIEWER, authorization=f"{scheme} {sign()}").data


def test_what_the_roles_do_not_allow_is_refused_before_it_is_tried(guarded: Served) -> None:
    put = "mutation { putNodes(input: {fleetId: 999, nodes: []}) { __typename } }"
    answer = ask(guarded, put, **bearer(roles=["AUDITOR", "WORKER"]))
    assert (answer.status, answer.code, answer.body["data"]) == (200, "FORBIDDEN", None)
    assert answer.error["path"] == ["putNodes"]
    both = "{ viewer { tenantId } nodes(fleetId: 1) { asOf } __typename }"
    assert ask(guarded, both, **bearer(roles=[])).code == "FORBIDDEN"
    assert ask(guarded, "{ viewer { tenantId } __typename }", **bearer(roles=[])).data


def test_health_needs_no_token(guarded: Served) -> None:
    for path in ("live", "ready"):
        assert guarded.client.get(f"/health/{path}").status_code == 200


@pytest.mark.parametrize("roles", [*([role.name] for role in Role), []], ids=str)
def test_a_subscription_takes_a_role_that_reads(store: Store, roles: list[str]) -> None:
    app = create_app(store, identify=tokens())
    with listening(app) as server, server.socket(begun=False) as socket:
        socket.say({"type": "connection_init", "payload": bearer(roles=roles)})
        assert socket.hear() == {"type": "connection_ack"}
        socket.subscribe("s", 'subscription { events(fleetId: 1, after: "0-0") { cursor } }')
        if roles:
            memory = Memory(Scope(store, 1, None, frozenset(Role)))
            memory.plant("n")
            memory.fell("n")
            assert socket.next("s")["data"]["events"]["cursor"]
        else:
            message = socket.hear()
            assert (message["type"], message["id"]) == ("error", "s")
            assert message["payload"][0]["extensions"]["code"] == "FORBIDDEN"
