"""What a client accepts, by the weights of its headers (RFC 9110, section 12.5)."""

from __future__ import annotations

GRAPHQL_RESPONSE = "application/graphql-response+json"
JSON = "application/json"
EVENT_STREAM = "text/event-stream"


def negotiate(accept: str) -> str | None:
    """The media type to answer with; None where the client accepts none that we have.

    The greatest weight wins, then what is named more exactly. Of equal ones it is the type of the
    GraphQL-over-HTTP specification, whose status codes tell more, where the client knows that name.
    Who says nothing gets plain JSON; an event stream is only for who prefers it to either.
    """
    if not accept.strip():
        return JSON
    weights = read_weights(accept)
    known = GRAPHQL_RESPONSE in weights
    offers = {each: media_weight(weights, each) for each in (GRAPHQL_RESPONSE, JSON)}
    first, second = offers if known else reversed(offers)
    best = first if offers[first] >= offers[second] else second
    if accepts_stream(accept) and media_weight(weights, EVENT_STREAM) > offers[best]:
        return EVENT_STREAM
    return best if offers[best][0] > 0 else None


def prefers_html(accept: str) -> bool:
    """Whether a client names HTML, as browsers do, and would rather have it than JSON."""
    weights = read_weights(accept)
    json = max(weights.get(GRAPHQL_RESPONSE, 0.0), weights.get(JSON, 0.0))
    return weights.get("text/html", 0.0) > json


def accepts_stream(accept: str) -> bool:
    """Whether an Accept header names event streams: who takes anything expects no stream."""
    weight, exact = media_weight(read_weights(accept), EVENT_STREAM)
    return weight > 0 and exact > 0


def media_weight(weights: dict[str, float], media_type: str) -> tuple[float, int]:
    """The weight of a media type, 0 where it isn't acceptable, and how exactly it was named."""
    names = ("*/*", media_type.partition("/")[0] + "/*", media_type)
    exact = max((at for at, name in enumerate(names) if name in weights), default=None)
    return (0.0, 0) if exact is None else (weights[names[exact]], exact)


def takes_gzip(accept_encoding: str) -> bool:
    """Whether an Accept-Encoding header allows gzip."""
    weights = read_weights(accept_encoding)
    return weights.get("gzip", weights.get("x-gzip", weights.get("*", 0.0))) > 0


def read_weights(header: str) -> dict[str, float]:
    """What a header names, in lower case, each with its weight; a malformed part counts as unsaid.

    Of parameters only the weight counts. Of a name that is said twice the greater weight does.
    """
    weights: dict[str, float] = {}
    for part in header.split(","):
        name, *parameters = (each.strip().lower() for each in part.split(";"))
        said = [each[2:] for each in parameters if each.startswith("q=")]
        weight = _weight(said[0]) if said else 1.0
        if name and weight is not None:
            weights[name] = max(weight, weights.get(name, 0.0))
    return weights


def _weight(text: str) -> float | None:
    if not (text.replace(".", "", 1).isdecimal() and text.isascii() and len(text) <= 5):
        return None
    weight = float(text)
    return weight if weight <= 1 else None
