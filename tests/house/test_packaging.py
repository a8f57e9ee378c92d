"""What is installed is what stands in the checkout, in every way of installing it."""

from __future__ import annotations

import subprocess
import sys
import sysconfig
import tomllib
import zipfile
from pathlib import Path

import pytest

from tests.house.files import ROOMS, copy_checkout, product_modules, project_files
from tests.shared import ROOT

# Without the site's start-up files, so that no other installation of the project is found first.
IMPORT = """
import site, sys
site.addsitedir(sys.argv[1])
sys.path.append(sys.argv[2])
import retrograph, retrograph.rules, retrograph.schema, retrograph.resolvers
import retrograph.storage, retrograph.sql
for name in ("retrograph", "retrograph.schema", "retrograph.sql"):
    print(sys.modules[name].__file__)
"""


def run(*command: str | Path, cwd: Path) -> str:
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def pip(*words: str | Path, cwd: Path) -> None:
    run(sys.executable, "-m", "pip", "--disable-pip-version-check", *words, cwd=cwd)


def places(site: Path, cwd: Path) -> list[Path]:
    purelib = sysconfig.get_path("purelib")
    printed = run(sys.executable, "-S", "-P", "-c", IMPORT, site, purelib, cwd=cwd)
    return [Path(line).resolve() for line in printed.splitlines()]


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return copy_checkout(tmp_path_factory.mktemp("copy"))


@pytest.fixture(scope="module")
def wheel(copy: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    pip("wheel", "--no-deps", "--no-build-isolation", "--wheel-dir", folder, ".", cwd=copy)
    (made,) = folder.glob("*.whl")
    return made


def test_the_package_list_equals_the_tree() -> None:
    table = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]
    folders = {p.parent for p in product_modules() if p.name == "__init__.py"}
    inside = {".".join(f.parts) for f in folders if f.parts[0] == "retrograph"}
    beside = {".".join(("retrograph", *f.parts)) for f in folders if f.parts[0] != "retrograph"}
    assert sorted(table["packages"]) == sorted(inside | beside)
    mapping = {"retrograph": "retrograph"} | {
        name: name.removeprefix("retrograph.") for name in beside if name.count(".") == 1
    }
    assert table["package-dir"] == mapping


def test_every_module_lies_in_a_listed_package() -> None:
    homeless = [p for p in product_modules() if not (ROOT / p.parent / "__init__.py").exists()]
    assert homeless == []


@pytest.mark.parametrize("room", ["schema", "resolvers", "storage", "sql"])
def test_the_rooms_are_relative_links(room: str) -> None:
    link = ROOT / "retrograph" / room
    assert link.is_symlink()
    assert link.readlink() == Path("..") / room


def test_the_wheel_holds_every_file_of_the_product(wheel: Path) -> None:
    beside = {"schema", "resolvers", "storage", "sql"}
    files = [p for p in project_files() if p.parts[0] in ROOMS and (ROOT / p).is_file()]
    wanted = {(Path("retrograph") / p if p.parts[0] in beside else p).as_posix() for p in files}
    with zipfile.ZipFile(wheel) as archive:
        held = {name for name in archive.namelist() if ".dist-info/" not in name}
    assert held == wanted


def test_the_wheel_can_be_imported(wheel: Path, tmp_path: Path) -> None:
    pip("install", "--no-deps", "--target", tmp_path / "site", wheel, cwd=tmp_path)
    found = places(tmp_path / "site", tmp_path)
    assert all(path.is_relative_to(tmp_path / "site" / "retrograph") for path in found)


def test_the_editable_install_points_into_the_checkout(copy: Path, tmp_path: Path) -> None:
    prefix = tmp_path / "prefix"
    words = ("--no-deps", "--no-build-isolation", "--ignore-installed", "--prefix", prefix)
    pip("install", *words, "--editable", copy, cwd=tmp_path)
    site = sysconfig.get_path("purelib", vars={"base": str(prefix)})
    wanted = [copy / room / "__init__.py" for room in ("retrograph", "schema", "sql")]
    assert places(Path(site), tmp_path) == [path.resolve() for path in wanted]
