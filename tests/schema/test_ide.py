"""GraphiQL: given to browsers alone, out of this package alone, working with the net closed."""

from __future__ import annotations

import gzip
import json
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from graphql import GraphQLSchema, OperationDefinitionNode, build_schema, parse, validate

from retrograph.app import create_app
from retrograph.resolvers.demo import make_demo
from retrograph.resolvers.scope import Role, Scope
from retrograph.rules.errors import Unauthenticated
from retrograph.rules.instant import format_instant
from retrograph.schema.identity import Identity
from retrograph.schema.middleware import HttpOptions
from retrograph.schema.schema import sdl
from retrograph.storage.clock import system_clock
from retrograph.storage.store import Store, open_store
from tests import vendored
from tests.memory import Memory
from tests.missing import browser, node_script
from tests.schema.serving import Served, listening, serving, sqlite_store
from tests.shared import ROOT

BROWSER = "text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,*/*;q=0.8"
"""What browsers say that they accept."""
TABS = (ROOT / "schema" / "graphiql" / "tabs.graphql").read_text()
DAY = 24 * 3_600_000_000
"""Microseconds."""
SECONDS = 180
"""After which the browser is taken to hang."""


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    """No engine matters here: a file for all tests."""
    with sqlite_store(tmp_path_factory.mktemp("ide")) as opened:
        yield opened


@pytest.fixture(scope="module")
def served(store: Store) -> Iterator[Served]:
    """The application with its page."""
    with serving(create_app(store)) as running:
        yield running


def page(served: Served) -> httpx.Response:
    return served.client.get("/graphql", headers={"accept": BROWSER})


def addresses(text: str) -> list[str]:
    return re.findall(r'(?:src|href)="([^"]+)"', text)


def files(served: Served) -> list[str]:
    return [each for each in addresses(page(served).text) if not each.startswith("data:")]


def test_a_browser_that_asks_for_no_operation_gets_the_page(served: Served) -> None:
    answer = page(served)
    assert answer.status_code == 200
    assert answer.headers["content-type"] == "text/html; charset=utf-8"
    assert "accept" in answer.headers["vary"].lower()
    assert answer.headers["cache-control"] == "no-cache"
    assert answer.headers["x-content-type-options"] == "nosniff"
    root = served.client.get("/", headers={"accept": BROWSER})
    assert (root.status_code, root.headers["location"]) == (307, "graphql")


@pytest.mark.parametrize(
    "accept",
    [
        None,
        "*/*",
        "application/json",
        "application/graphql-response+json, application/json;q=0.9, text/html;q=0.8",
        "application/json, text/html",
        "text/html;q=0, */*",
    ],
)
def test_who_does_not_prefer_html_gets_json(served: Served, accept: str | None) -> None:
    headers = {} if accept is None else {"accept": accept}
    for query in ("", "?query={__typename}"):
        answer = served.client.get(f"/graphql{query}", headers=headers)
        assert "json" in answer.headers["content-type"]


def test_an_operation_is_answered_whoever_asks(served: Served) -> None:
    headers = {"accept": BROWSER}
    asked = served.client.get("/graphql", params={"query": "{__typename}"}, headers=headers)
    assert asked.json()["data"] == {"__typename": "Query"}
    told = served.client.post("/graphql", json={"query": "{__typename}"}, headers=headers)
    assert told.json()["data"] == {"__typename": "Query"}


def test_the_policy_lets_the_page_reach_nobody_else(served: Served) -> None:
    policy = dict(
        part.split(" ", 1) for part in page(served).headers["content-security-policy"].split("; ")
    )
    assert policy["default-src"] == "'none'"
    assert policy["script-src"] == policy["connect-src"] == "'self'"
    assert policy["frame-ancestors"] == policy["base-uri"] == "'none'"
    assert not any(re.search(r"https?:|\*", sources) for sources in policy.values())
    assert all(each.startswith(("graphiql/", "data:")) for each in addresses(page(served).text))


def test_every_file_may_be_kept_for_ever_and_comes_packed_or_not(served: Served) -> None:
    names = files(served)
    assert len(names) == 6
    for name in names:
        packed = served.client.get(f"/{name}", headers={"accept-encoding": "br, gzip"})
        plain = served.client.get(f"/{name}", headers={"accept-encoding": "gzip;q=0"})
        assert packed.content == plain.content
        assert "content-encoding" not in plain.headers
        assert packed.headers["content-type"].startswith(("text/javascript", "text/css"))
        assert packed.headers["cache-control"] == "public, max-age=31536000, immutable"
        assert packed.headers["x-content-type-options"] == "nosniff"
        assert "accept-encoding" in packed.headers["vary"].lower()
        if "min." in name:
            assert packed.headers["content-encoding"] == "gzip"


def test_an_old_version_or_another_name_is_no_file(served: Served) -> None:
    version = files(served)[0].split("/")[1]
    names = (f"graphiql/{version}/index.html", "graphiql/0123/page.js", f"graphiql/{version}/..")
    for name in names:
        answer = served.client.get(f"/{name}")
        assert answer.status_code == 404
        assert answer.json()["errors"][0]["extensions"]["code"] == "NOT_FOUND"


def test_it_can_be_left_out(store: Store) -> None:
    with serving(create_app(store, http=HttpOptions(graphiql=False))) as served:
        assert "json" in served.client.get("/graphql?query={__typename}").headers["content-type"]
        assert page(served).headers["content-type"].startswith("application/")
        assert served.client.get("/").status_code == 404
        assert served.client.get("/graphiql/0123/page.js").status_code == 404


def test_the_files_are_those_of_the_packages() -> None:
    node_script("graphiql.mjs")
    held, wanted = vendored.held(), vendored.wanted()
    assert sorted(held) == sorted(wanted)
    assert [name for name in wanted if held[name] != wanted[name]] == [], "run `make graphiql`"


def test_what_is_packed_is_packed_alike_each_time() -> None:
    for path in vendored.FOLDER.glob("*.gz"):
        assert path.read_bytes()[4:8] == bytes(4), "no time in it"
        assert gzip.decompress(path.read_bytes())


def operations() -> dict[str, OperationDefinitionNode]:
    found = [each for each in parse(TABS).definitions if isinstance(each, OperationDefinitionNode)]
    return {each.name.value: each for each in found if each.name}


def test_every_tab_is_valid() -> None:
    schema: GraphQLSchema = build_schema(sdl())
    assert validate(schema, parse(TABS)) == []
    assert len(operations()) == len(re.split(r"\n\n(?=# )", TABS.strip())) == 6


def test_the_tabs_say_something_about_the_demo(tmp_path: Path) -> None:
    now = system_clock()
    make_demo(tmp_path / "demo.db", now)
    store = open_store(str(tmp_path / "demo.db"))
    then = format_instant(now - 3 * DAY)
    given = {"HealthThen": {"asOf": then}, "Changes": {"from": then}}
    with serving(create_app(store)) as served:
        for name, operation in operations().items():
            if name != "Live":
                assert operation.loc
                query = TABS[operation.loc.start : operation.loc.end]
                said = json.dumps(served.ask(query, **given.get(name, {})).data)
                assert said.count('"key"') > 1, name
    store.close()


async def identify(token: str | None) -> Identity:
    if token != "for-browsers":
        raise Unauthenticated("Send a token.")
    return Identity(1, None, frozenset(Role))


def test_it_runs_in_a_browser_with_the_net_closed(tmp_path: Path) -> None:
    script, chromium = node_script("graphiql.mjs"), browser()
    with sqlite_store(tmp_path) as store, listening(create_app(store, identify=identify)) as server:
        memory = Memory(Scope(store, 1, None, frozenset(Role)))
        memory.plant("decision:9001", "rule:vat", "witness")
        origin = "http://{}:{}".format(*server.address)
        done = subprocess.run(
            [*script, origin, chromium, "for-browsers"],
            capture_output=True,
            text=True,
            check=False,
            timeout=SECONDS,
        )
    assert done.returncode == 0, done.stderr
    seen = json.loads(done.stdout)
    assert seen["errors"] == []
    assert seen["foreign"] == []
    assert (seen["status"], seen["address"]) == (200, f"{origin}/graphql")
    assert seen["tabs"] == list(operations())
    assert all('"data"' in answer for answer in seen["answers"].values())
    assert '"errors"' not in json.dumps(seen["answers"])
    assert '"key": "witness"' in seen["event"]
    assert '"reason": "Seen live"' in seen["event"]
