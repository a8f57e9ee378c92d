"""The ways of MariaDB that the exam of all engines can't ask for by name."""

from __future__ import annotations

from datetime import UTC, datetime
from random import Random

import pytest

from retrograph.rules.instant import EPOCH, MICROSECOND
from retrograph.storage.mariadb.profile import MariadbProfile


@pytest.fixture
def profile(url: str) -> MariadbProfile:
    return MariadbProfile(url)


def test_a_pinned_instant_is_exact_to_the_microsecond(profile: MariadbProfile) -> None:
    random, last = Random(1), (2**31 - 1) * 1_000_000 - 1
    instants = [1_000_000, 1_124_222_294_528_035, last]
    instants += [random.randrange(1_000_000, last) for _ in range(5_000)]
    with profile.writer().connect() as connection:
        for instant in instants:
            profile.pin(connection, instant)
            now: datetime = connection.exec_driver_sql("SELECT NOW(6)").scalar_one()
            assert (now.replace(tzinfo=UTC) - EPOCH) // MICROSECOND == instant
    profile.close()


def test_a_pin_does_not_outlive_its_transaction(profile: MariadbProfile) -> None:
    with profile.writer().begin() as connection:
        profile.pin(connection, 1_000_000)
        session = connection.exec_driver_sql("SELECT CONNECTION_ID()").scalar_one()
    with profile.writer().begin() as connection:
        assert connection.exec_driver_sql("SELECT CONNECTION_ID()").scalar_one() == session
        assert connection.exec_driver_sql("SELECT YEAR(NOW())").scalar_one() > 2000
    profile.close()
