"""The command line: `retrograph COMMAND`.

Here is but the way in, which takes an interruption well from the start.
"""

from __future__ import annotations

from retrograph.cli_loading import interruption_ends_it


def main() -> None:
    """Loads the commands and runs the one that the arguments name."""
    with interruption_ends_it():
        from retrograph.cli_commands import commands  # noqa: PLC0415 (that takes time)
    commands()


if __name__ == "__main__":
    main()
