"""The files of others that the package carries: which they are, and how they are renewed.

They come from the packages that `tests/node/package-lock.json` names. `make graphiql` writes them.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from pathlib import Path

from tests.missing import NODE
from tests.shared import ROOT

FOLDER = ROOT / "schema" / "graphiql" / "vendor"
PACKAGES = NODE / "node_modules"
LICENSES = "LICENSES.txt"

_FILES = (
    "graphiql/graphiql.min.js",
    "graphiql/graphiql.min.css",
    "react/umd/react.production.min.js",
    "react-dom/umd/react-dom.production.min.js",
)
_FONTS = """\
Fonts inside graphiql.min.css, each with its notices in its own metadata:
Roboto (Apache License 2.0) and Fira Code (SIL Open Font License 1.1)"""
_ROOTS = ("graphiql", "react", "react-dom", "graphql-ws")
"""What is carried, with all that is bundled in it."""


def wanted() -> dict[str, bytes]:
    """What the installed packages give, by the name it is stored under."""
    files = {f"{Path(name).name}.gz": (PACKAGES / name).read_bytes() for name in _FILES}
    return files | {LICENSES: _licenses().encode()}


def held() -> dict[str, bytes]:
    """What the package carries, unpacked."""
    files = {path: path.read_bytes() for path in FOLDER.iterdir()}
    return {p.name: gzip.decompress(b) if p.suffix == ".gz" else b for p, b in files.items()}


def renew() -> None:
    """Writes the files anew: packed, and the same bytes for the same content."""
    for path in FOLDER.iterdir():
        path.unlink()
    for name, content in wanted().items():
        packed = name.endswith(".gz")
        (FOLDER / name).write_bytes(gzip.compress(content, 9, mtime=0) if packed else content)


def _licenses() -> str:
    """The notices of all that the bundle was made of, by the versions installed beside it."""
    texts = [_FONTS]
    for folder in sorted(_bundled()):
        about = json.loads((folder / "package.json").read_text())
        head = f"{about['name']} {about['version']} ({about.get('license', 'see below')})"
        notices = [path.read_text().strip() for path in _notices(folder)]
        texts.append("\n\n".join([head, *notices]))
    return f"\n\n{'-' * 78}\n\n".join(texts) + "\n"


def _notices(folder: Path) -> Iterator[Path]:
    """The files in which a package states its licence."""
    for path in sorted(folder.iterdir()):
        if path.is_file() and path.name.lower().startswith(("license", "licence", "copying")):
            yield path


def _bundled() -> set[Path]:
    found: set[Path] = set()
    waiting = list(_ROOTS)
    while waiting:
        folder = PACKAGES / waiting.pop()
        if folder.is_dir() and folder not in found and "@types" not in folder.parts:
            found.add(folder)
            about = json.loads((folder / "package.json").read_text())
            waiting += about.get("dependencies", {})
    return found


if __name__ == "__main__":
    renew()
