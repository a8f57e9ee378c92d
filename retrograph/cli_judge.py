"""The demo's judge as a program: it is started for each task, so it loads little."""

from __future__ import annotations

import sys

import click
import orjson

from retrograph.cli_output import standard_output
from retrograph.resolvers.demo_judge import judge_by_rules
from retrograph.rules.errors import ConfigurationError


@click.command("demo-judge")
def demo_judge() -> None:
    """Judge one task on the standard input by simple rules, as the demo's worker does."""
    if sys.stdin is None:
        raise ConfigurationError("The standard input is closed; give it a task.")
    try:
        answer = judge_by_rules(orjson.loads(sys.stdin.buffer.read()))
    except (orjson.JSONDecodeError, KeyError, TypeError) as error:
        raise ConfigurationError("The standard input holds no task.") from error
    standard_output().write(orjson.dumps(answer))
