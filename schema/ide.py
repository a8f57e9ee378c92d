"""GraphiQL for browsers: a page and its files, all of them from this package.

The files' addresses hold a hash over all of them, so that they may be kept for ever; the page,
which names them, may not. Nothing is loaded from elsewhere, and the page's policy forbids it.
"""

from __future__ import annotations

import gzip
import hashlib
from collections.abc import Awaitable, Callable
from functools import cache
from pathlib import Path
from string import Template

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from retrograph.schema.negotiation import prefers_html, takes_gzip

Answer = Callable[[Request], Awaitable[Response]]

FOLDER = Path(__file__).parent / "graphiql"
POLICY = (
    "default-src 'none'; script-src 'self'; connect-src 'self'; img-src 'self' data:; "
    "font-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
    # The bundle's dialogs put style elements of their own into the page.
    "style-src 'self' 'unsafe-inline'"
)
_GUARDS = {"x-content-type-options": "nosniff", "referrer-policy": "no-referrer"}
_GZIP = b"\x1f\x8b"
_FOR_EVER = "public, max-age=31536000, immutable"
_TYPES = {
    ".js": "text/javascript",
    ".css": "text/css",
    ".graphql": "application/graphql",
    ".txt": "text/plain",
}


def with_page(answer: Answer) -> Answer:
    """What answers GraphQL, but gives the page to a browser that asks for no operation."""

    async def answer_or_page(request: Request) -> Response:
        wanted = request.method in {"GET", "HEAD"} and "query" not in request.query_params
        if wanted and prefers_html(request.headers.get("accept", "")):
            return _page()
        return await answer(request)

    return answer_or_page


def page_routes() -> list[Route]:
    """The routes of the page's files, and the way to it from the root."""
    return [Route("/", _to_page), Route("/graphiql/{version}/{name}", _file)]


async def _to_page(_: Request) -> Response:
    return RedirectResponse("graphql", headers={"cache-control": "no-cache"})


def _page() -> Response:
    text = Template((FOLDER / "index.html").read_text()).substitute(version=version())
    headers = {"content-security-policy": POLICY, "cache-control": "no-cache", "vary": "accept"}
    return Response(text, media_type="text/html", headers=headers | _GUARDS)


async def _file(request: Request) -> Response:
    """A file of the page, by its name and the version that the page named."""
    name, known = request.path_params["name"], request.path_params["version"] == version()
    content = _files().get(name) if known else None
    if content is None:
        raise HTTPException(404, "There is no such file.")
    headers = {"cache-control": _FOR_EVER, "vary": "accept-encoding"} | _GUARDS
    if content[:2] == _GZIP:
        if takes_gzip(request.headers.get("accept-encoding", "")):
            headers["content-encoding"] = "gzip"
        else:
            content = gzip.decompress(content)
    return Response(content, media_type=_TYPES[Path(name).suffix], headers=headers)


@cache
def version() -> str:
    """A hash over all files, which changes with each of them."""
    digest = hashlib.sha256()
    for name, content in sorted(_files().items()):
        digest.update(f"{name} {len(content)} ".encode() + content)
    return digest.hexdigest()[:16]


@cache
def _files() -> dict[str, bytes]:
    """What is served, by name; most of it packed."""
    files = [*FOLDER.glob("vendor/*"), *FOLDER.glob("*.*")]
    served = [file for file in files if file.suffix in {".gz", *_TYPES}]
    return {file.name.removesuffix(".gz"): file.read_bytes() for file in served}
