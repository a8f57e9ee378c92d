"""An export goes to where it is told to, whole or not at all, and never over the database."""

from __future__ import annotations

import gzip
import os
import stat
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from retrograph.rules.errors import DatabaseUnavailable
from tests.command import refused, retrograph
from tests.resolvers.files import node, text

ENDINGS = ("", "-wal", "-shm", "-journal")


@pytest.fixture(autouse=True)
def database(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A database with a node in it, in the working folder."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("RETROGRAPH_DATABASE", "memory.db")
    assert retrograph("import", "-", stdin=text([node("a", payload="x")])).exit_code == 0
    return tmp_path / "memory.db"


@pytest.fixture
def data() -> bytes:
    """What an export gives."""
    return retrograph("export").stdout_bytes


def by_its_name(part: Path) -> Path:
    return Path(part.name)


def by_its_whole_path(part: Path) -> Path:
    return part


def by_a_symbolic_link(part: Path) -> Path:
    Path("link").symlink_to(part)
    return Path("link")


def by_two_links(part: Path) -> Path:
    Path("link").symlink_to(part)
    Path("folder").symlink_to(".")
    return Path("folder/link")


@pytest.mark.parametrize("name", [by_its_name, by_its_whole_path, by_a_symbolic_link, by_two_links])
@pytest.mark.parametrize("ending", ENDINGS)
def test_the_database_is_never_written_over(
    database: Path, data: bytes, name: Callable[[Path], Path], ending: str
) -> None:
    file = name(database.with_name(database.name + ending))
    for url in ("memory.db", "sqlite:///memory.db", f"sqlite:///{database}"):
        said = refused("CONFIGURATION", "export", "-o", file, "--database", url)
        assert said == f"{file} belongs to the database itself; name another file."
    assert retrograph("export").stdout_bytes == data


def test_the_database_is_known_by_another_name_of_its_own(database: Path, data: bytes) -> None:
    Path("hard").hardlink_to(database)
    Path("soft").symlink_to(database)
    refused("CONFIGURATION", "export", "-o", "hard")
    for ending in ENDINGS:
        refused("CONFIGURATION", "export", "-o", f"memory.db{ending}", "--database", "soft")
    assert retrograph("export", "--database", "hard").stdout_bytes == data


def test_a_database_with_the_name_of_an_unfinished_file_stays(database: Path, data: bytes) -> None:
    database.rename("out.partial")
    retrograph("export", "-o", "out", "--database", "out.partial")
    assert Path("out").read_bytes() == data
    assert retrograph("export", "--database", "out.partial").stdout_bytes == data


def test_a_file_is_replaced_at_once_when_the_export_is_complete(data: bytes) -> None:
    Path("out").write_bytes(b"old")
    Path("out").chmod(0o640)
    with Path("out").open("rb") as opened_before:
        assert retrograph("export", "-o", "out").exit_code == 0
        assert opened_before.read() == b"old"
    assert Path("out").read_bytes() == data
    assert stat.S_IMODE(Path("out").stat().st_mode) == 0o640


@pytest.mark.parametrize("name", ["out", "out.gz"])
def test_an_export_that_fails_leaves_the_file_as_it_was(
    database: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    def break_off(*_: object) -> Iterator[bytes]:
        yield b"{}\n" * 100_000
        yield b"{}\n"
        assert Path(name).read_bytes() == b"old"
        raise DatabaseUnavailable("The disk is gone.")

    Path(name).write_bytes(b"old")
    monkeypatch.setattr("retrograph.cli_data.export_graph", break_off)
    refused("DATABASE_UNAVAILABLE", "export", "-o", name)
    assert Path(name).read_bytes() == b"old"
    assert {path.name for path in database.parent.iterdir()} == {"memory.db", name}
    refused("DATABASE_UNAVAILABLE", "export", "-o", "new")
    assert not Path("new").exists()


@pytest.mark.parametrize("there", [True, False])
def test_a_link_is_followed(data: bytes, there: bool) -> None:
    Path("folder").mkdir()
    if there:
        Path("folder/out").write_bytes(b"old")
    Path("link").symlink_to("folder/out")
    assert retrograph("export", "-o", "link").exit_code == 0
    assert Path("link").readlink() == Path("folder/out")
    assert Path("folder/out").read_bytes() == data
    assert [path.name for path in Path("folder").iterdir()] == ["out"]


def read_end(pipe: str) -> int:
    """Opens a new pipe for reading, whether or not somebody ever writes to it."""
    os.mkfifo(pipe)
    return os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)


@pytest.mark.parametrize("name", ["pipe", "pipe.gz", "link"])
def test_what_is_no_regular_file_is_written_to_as_it_stands(data: bytes, name: str) -> None:
    Path("link").symlink_to("pipe")
    with open(read_end("pipe" if name == "link" else name), "rb") as reader:
        assert retrograph("export", "-o", name).exit_code == 0
        said = reader.read()
    assert (gzip.decompress if name.endswith(".gz") else bytes)(said) == data
    assert stat.S_ISFIFO(Path(name).stat().st_mode)


def test_a_pipe_whose_reader_leaves_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    def leave(*_: object) -> Iterator[bytes]:
        yield b"{}\n"
        os.close(reader)
        yield b"{}\n" * 100_000

    reader = read_end("pipe")
    monkeypatch.setattr("retrograph.cli_data.export_graph", leave)
    said = refused("OUTPUT_FAILED", "export", "-o", "pipe")
    assert said == "pipe can't be written: Broken pipe. Name another file."


@pytest.mark.parametrize("name", [".", "no/such/folder", "loop", "memory.db/out"])
def test_a_place_where_nothing_can_be_written_is_said(data: bytes, name: str) -> None:
    Path("loop").symlink_to("loop")
    said = refused("OUTPUT_FAILED", "export", "-o", name)
    assert said.startswith(f"{name} can't be written: ")
    assert retrograph("export").stdout_bytes == data
