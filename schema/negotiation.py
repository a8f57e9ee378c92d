"""Which media type an answer takes, by what the client accepts."""

from __future__ import annotations

GRAPHQL_RESPONSE = "application/graphql-response+json"
JSON = "application/json"

_RANGES = {
    GRAPHQL_RESPONSE: GRAPHQL_RESPONSE,
    JSON: JSON,
    "application/*": JSON,
    "*/*": JSON,
}


def negotiate(accept: str | None) -> str | None:
    """The media type to answer with; None where the client accepts none that we have.

    The greatest weight wins; of equal ones the type of the GraphQL-over-HTTP specification, whose
    status codes tell more. Who says nothing gets plain JSON.
    """
    if not accept or not accept.strip():
        return JSON
    offers = [_offer(part) for part in accept.split(",")]
    acceptable = [offer for offer in offers if offer is not None and offer[0] > 0]
    if not acceptable:
        return None
    return max(acceptable, key=lambda offer: (offer[0], offer[1] == GRAPHQL_RESPONSE))[1]


def _offer(part: str) -> tuple[float, str] | None:
    """The weight and the media type that one part of an Accept header asks for."""
    name, *parameters = (each.strip().lower() for each in part.split(";"))
    media_type = _RANGES.get(name)
    if media_type is None:
        return None
    weights = [each[2:] for each in parameters if each.startswith("q=")]
    return (_weight(weights[0]) if weights else 1.0), media_type


def _weight(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return 0.0
