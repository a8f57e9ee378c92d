"""How tokens are counted: by the built-in estimate, or by an encoding of tiktoken."""

from __future__ import annotations

from retrograph.rules.errors import ConfigurationError
from retrograph.rules.tokens import TokenCounter, estimate_tokens

ESTIMATE = "estimate"


def find_counter(name: str) -> TokenCounter:
    """The counter of that name: `estimate`, or an encoding of tiktoken such as `o200k_base`.

    Raises `ConfigurationError` where tiktoken isn't installed or can't load the encoding.
    """
    if name == ESTIMATE:
        return estimate_tokens
    try:
        import tiktoken  # noqa: PLC0415 (an extra)
    except ImportError:
        raise ConfigurationError(
            f"To count tokens by {name}, install the extra tokens; or count by `{ESTIMATE}`.",
            path=("tokens",),
        ) from None
    try:
        encoding = tiktoken.get_encoding(name)
    except Exception as error:
        # The library raises what its name check, its disk and its download raise.
        raise ConfigurationError(
            f"tiktoken can't load the encoding {name}: {error}. Give one that it knows, and that "
            f"it has stored or may download; or count by `{ESTIMATE}`.",
            path=("tokens",),
        ) from error
    # What looks like a control token in a tool's answer is text.
    return lambda text: len(encoding.encode(text, disallowed_special=()))
