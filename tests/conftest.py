"""How Hypothesis searches: at its leisure, and the same way each time where CI runs."""

from __future__ import annotations

import os

from hypothesis import HealthCheck, settings

# No deadline: the machine may be busy, and no test asserts a wall time.
settings.register_profile("default", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("ci", settings.get_profile("default"), derandomize=True)
settings.load_profile("ci" if os.environ.get("CI") else "default")
