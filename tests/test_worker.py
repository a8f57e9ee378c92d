"""The worker: it judges by a program or a webhook, dependencies first, and ends well."""

from __future__ import annotations

import json
import shlex
import signal
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from itertools import count
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from retrograph import cli_judges, cli_work
from retrograph.cli_judges import command_judge
from retrograph.cli_work import Worker
from retrograph.resolvers.scope import Role, Scope
from retrograph.resolvers.tasks import list_decisions, list_tasks
from retrograph.storage.store import Store, open_store
from retrograph.storage.task_records import DecisionRecord, TaskStatus
from tests.clock import ManualClock
from tests.command import PATIENCE, process, refused, retrograph
from tests.memory import Memory
from tests.resolvers.files import edge, invalidate, node, text

SECOND = 1_000_000
"""In microseconds."""

GRAPH = text(
    (
        *(node(key) for key in "abcd"),
        edge("a", "b", "DERIVED_FROM"),
        edge("b", "c", "DERIVED_FROM"),
        edge("b", "d", "SUPPORTED_BY"),
        invalidate("a", "a slip"),
    )
)


@pytest.fixture
def graph(tmp_path: Path) -> Path:
    """b, c and d are to be judged, b first."""
    path = tmp_path / "memory.db"
    retrograph("import", "-", "--database", path, stdin=GRAPH)
    return path


def python(code: str) -> str:
    """A command that runs this code, with what it is told in `task`."""
    whole = f"import json, sys, time, os\ntask = json.load(sys.stdin)\n{code}"
    return shlex.join([sys.executable, "-c", whole])


def answering(**answer: object) -> str:
    return python(f"print(json.dumps({answer!r}))")


@contextmanager
def scope(graph: Path) -> Iterator[Scope]:
    store = open_store(str(graph))
    try:
        yield Scope(store, 1, None, frozenset(Role))
    finally:
        store.close()


def decisions(graph: Path) -> list[DecisionRecord]:
    """Oldest first."""
    with scope(graph) as mine:
        return list_decisions(mine, 1, None, 50).rows[::-1]


def statuses(graph: Path) -> list[str]:
    with scope(graph) as mine:
        return [each.status.name for each in list_tasks(mine, 1, None, None, 50).rows]


def work(graph: Path, *words: str) -> Any:
    return retrograph("worker", "--database", graph, "--once", *words)


def test_it_judges_until_nothing_is_ready_dependencies_first(graph: Path, tmp_path: Path) -> None:
    sheets = tmp_path / "sheets"
    judge = python(
        f"open({str(sheets)!r}, 'a').write(json.dumps(task) + '\\n')\n"
        "print(json.dumps({'outcome': 'VERIFIED', 'note': 'seen', 'by': 'us', 'evidence': ['x']}))"
    )
    done = work(graph, "--exec", judge, "--name", "first", "--concurrency", "2")
    assert done.exit_code == 0, done.stderr
    assert sorted(done.stdout.splitlines()) == [f"VERIFIED {key}: seen" for key in "bcd"]
    told = [json.loads(line) for line in sheets.read_text().splitlines()]
    assert told[0]["node"]["key"] == "b"
    assert (told[0]["reason"], told[0]["path"]) == ("a slip", ["a", "b"])
    (source,) = told[0]["sources"]
    assert (source["type"], source["node"]["validity"]) == ("DERIVED_FROM", "INVALID")
    found = decisions(graph)
    assert {(each.worker, each.decided_by, each.note) for each in found} == {
        ("first", "us", "seen")
    }
    assert found[0].evidence == ("x",)
    assert work(graph, "--exec", judge).stdout == ""


@pytest.mark.parametrize(
    ("judge", "note"),
    [
        (python("print('oops', file=sys.stderr); sys.exit(3)"), "exit code 3: oops"),
        (python("print('VERIFIED')"), "no JSON"),
        (python("print('[]')"), "no JSON object with an outcome"),
        (answering(outcome="MAYBE"), "none of VERIFIED, REFUTED, ERROR"),
        (answering(outcome="VERIFIED", unchanged="yes"), "unchanged another type"),
        (answering(outcome="VERIFIED", verdict=1), "'verdict', which nobody asks for"),
        (answering(outcome="VERIFIED", confidence=7), "0 to 1"),
        (answering(outcome="VERIFIED", evidence=[1]), "Give a string"),
        (answering(outcome="ERROR", note="the model is down"), "the model is down"),
        (python("print('x' * 2_000_000)"), "more than 1,000,000 bytes"),
        (python("while True: print('x' * 9_999)"), "more than 1,000,000 bytes"),
        ("/nowhere/to/be/found", "can't be started"),
    ],
    ids=range(12),
)
def test_what_is_no_judgement_is_an_error_with_a_note(graph: Path, judge: str, note: str) -> None:
    done = work(graph, "--exec", judge)
    assert done.exit_code == 0, done.stderr
    assert done.stdout.startswith("ERROR b: ")
    assert note in done.stdout
    (decided,) = decisions(graph)
    assert (decided.kind.name, note in (decided.note or "")) == ("ERROR", True)
    assert statuses(graph)[0] == "BACKING_OFF"


def test_what_takes_too_long_is_ended_with_all_that_it_has_started(
    graph: Path, tmp_path: Path
) -> None:
    begun = tmp_path / "begun"
    judge = python(
        "import subprocess\n"
        f"child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep({PATIENCE})'])\n"
        f"open({str(begun)!r}, 'w').write(str(child.pid))\ntime.sleep({PATIENCE})"
    )
    done = work(graph, "--exec", judge, "--timeout", "4")
    assert "no answer within 4 seconds" in done.stdout
    child = Path("/proc") / begun.read_text()
    until = time.monotonic() + PATIENCE
    while child.exists() and "Z" not in (child / "stat").read_text().split()[2]:
        assert time.monotonic() < until
        time.sleep(0.01)


def test_no_shell_reads_the_command(graph: Path, tmp_path: Path) -> None:
    trap = tmp_path / "trap"
    judge = answering(outcome="VERIFIED") + f" ; touch {trap} $(touch {trap}) | touch {trap}"
    assert work(graph, "--exec", judge).stdout.count("VERIFIED") == 3
    assert not trap.exists()


@contextmanager
def webhook(status: int, answer: bytes, **headers: str) -> Iterator[tuple[str, list[Any]]]:
    """A server that answers every POST so, and what it was sent."""
    sent: list[Any] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            sent.append(json.loads(self.rfile.read(int(self.headers["content-length"]))))
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(answer)

        def log_message(self, *_: object) -> None:
            pass

    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}/judge", sent
        finally:
            server.shutdown()
            thread.join()


def test_a_webhook_judges(graph: Path) -> None:
    answer = b'{"outcome": "VERIFIED", "unchanged": true}'
    with webhook(200, answer) as (url, sent):
        assert work(graph, "--url", url).stdout == "VERIFIED b\n"
    assert [each["node"]["key"] for each in sent] == ["b"], "the others were restored with it"
    kinds = [each.kind.name for each in decisions(graph)]
    assert sorted(kinds) == ["RESTORED_BY_CUTOFF", "RESTORED_BY_CUTOFF", "VERIFIED"]


@pytest.mark.parametrize("status", [500, 404, 302])
def test_a_webhook_that_refuses_or_leads_elsewhere_is_an_error(graph: Path, status: int) -> None:
    with webhook(status, b"", location="/elsewhere") as (url, sent):
        assert f"HTTP Error {status}" in work(graph, "--url", url).stdout
    assert len(sent) == 1


def test_a_webhook_that_answers_with_another_status_than_200_does_not_judge(graph: Path) -> None:
    with webhook(201, b'{"outcome": "VERIFIED"}') as (url, _):
        assert "HTTP status 201" in work(graph, "--url", url).stdout


def test_a_webhook_has_its_time_for_the_whole_of_its_answer(
    monkeypatch: pytest.MonkeyPatch, graph: Path
) -> None:
    monkeypatch.setattr(cli_judges, "monotonic", count(step=61).__next__)
    with webhook(200, b'{"outcome": "VERIFIED"}') as (url, _):
        assert "no answer within 60 seconds" in work(graph, "--url", url).stdout


@pytest.mark.parametrize("words", [(), ("--exec", "true", "--url", "http://x")])
def test_exactly_one_judge_is_named(graph: Path, words: tuple[str, ...]) -> None:
    done = work(graph, *words)
    assert (done.exit_code, "exactly one" in done.stderr) == (2, True)


@pytest.mark.parametrize(
    "words",
    [
        *(("--exec", words) for words in (" ", "'")),
        *(("--url", url) for url in ("file:///etc/passwd", "x", "http://[", "http://h:99999/")),
        *(("--url", f"http://127.0.0.1:{rest}") for rest in ("abc/", "9191/é", "9191/a b")),
    ],
)
def test_a_judge_that_cannot_be_is_refused(graph: Path, words: tuple[str, ...]) -> None:
    assert words[0] in refused("CONFIGURATION", "worker", "--database", graph, *words)


@pytest.mark.parametrize("end", [signal.SIGTERM, signal.SIGINT])
def test_it_ends_what_it_has_begun_and_claims_no_more(
    graph: Path, tmp_path: Path, end: signal.Signals
) -> None:
    begun, go = tmp_path / "begun", tmp_path / "go"
    judge = python(
        f"open({str(begun)!r}, 'w').close()\n"
        f"while not os.path.exists({str(go)!r}): time.sleep(0.01)\n"
        "print(json.dumps({'outcome': 'VERIFIED'}))"
    )
    with process("worker", "--database", graph, "--exec", judge) as worker:
        until = time.monotonic() + PATIENCE
        while not begun.exists():
            assert time.monotonic() < until
            time.sleep(0.01)
        worker.send_signal(end)
        go.touch()
        told, complaint = worker.communicate(timeout=PATIENCE)
    assert (worker.returncode, told, complaint) == (0, "VERIFIED b\n", "")
    assert statuses(graph) == ["VERIFIED", "READY", "READY"]


def test_a_lease_lasts_as_long_as_the_judgement(
    monkeypatch: pytest.MonkeyPatch, store: Store, clock: ManualClock
) -> None:
    monkeypatch.setattr(cli_work, "LEASE_SECONDS", 1)
    memory = Memory(Scope(store, 1, None, frozenset(Role)))
    memory.plant("a", "b")
    memory.link("a DERIVED_FROM b")
    memory.fell("a")

    def ask(told: bytes) -> bytes:
        until = time.monotonic() + PATIENCE
        for _ in range(3):
            before = clock.advance(SECOND * 9 // 10)
            while (task().due_at or 0) <= before + SECOND // 2:
                assert time.monotonic() < until
                time.sleep(0.01)
        return b'{"outcome": "VERIFIED"}'

    def task() -> Any:
        return list_tasks(memory.scope, 1, None, None, 1).rows[0]

    told: list[str] = []
    Worker(memory.scope, 1, "w", ask, 1, told.append).run(once=True)
    assert told == ["VERIFIED b"]
    assert task().status is TaskStatus.VERIFIED


def test_a_lease_lasts_though_other_judgements_end_meanwhile(
    monkeypatch: pytest.MonkeyPatch, store: Store
) -> None:
    monkeypatch.setattr(cli_work, "LEASE_SECONDS", 3600)
    monkeypatch.setattr(cli_work, "monotonic", count(step=1200).__next__)
    memory = Memory(Scope(store, 1, None, frozenset(Role)))
    memory.plant("a", "slow", "b", "c")
    memory.link("a DERIVED_FROM slow", "a DERIVED_FROM b", "a DERIVED_FROM c")
    memory.fell("a")

    def leased_until() -> int | None:
        return list_tasks(memory.scope, 1, None, None, 1).rows[0].due_at

    def ask(told: bytes) -> bytes:
        if json.loads(told)["node"]["key"] == "slow":
            before, until = leased_until(), time.monotonic() + PATIENCE
            while leased_until() == before:
                assert time.monotonic() < until
                time.sleep(0.01)
        return b'{"outcome": "VERIFIED"}'

    told: list[str] = []
    Worker(memory.scope, 1, "w", ask, 2, told.append).run(once=True)
    assert sorted(told) == ["VERIFIED b", "VERIFIED c", "VERIFIED slow"]


def test_a_judgement_that_comes_too_late_is_told_and_changes_nothing(
    store: Store, clock: ManualClock
) -> None:
    memory = Memory(Scope(store, 1, None, frozenset(Role)))
    memory.plant("a", "b")
    memory.link("a DERIVED_FROM b")
    memory.fell("a")

    def ask(_: bytes) -> bytes:
        memory.fell("b")
        return b'{"outcome": "VERIFIED"}'

    told: list[str] = []
    Worker(memory.scope, 1, "w", ask, 1, told.append).run(once=True)
    assert told[0].startswith("TASK_CANCELLED b: ")
    assert memory.sick() == {"a": "INVALID", "b": "INVALID"}


def test_a_command_is_told_the_task_and_answers() -> None:
    ask = command_judge(python("print(json.dumps(task))"), PATIENCE)
    assert json.loads(ask(b'{"x": [1, "\xc3\xbc"]}')) == {"x": [1, "ü"]}
