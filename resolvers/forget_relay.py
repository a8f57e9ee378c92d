"""Forgets a relay that runs no more, so that nothing waits for it any longer."""

from __future__ import annotations

from retrograph.resolvers.lead import LEASE_SECONDS, Lead
from retrograph.rules.errors import NotFound
from retrograph.rules.stream_errors import RelayRuns
from retrograph.storage.store import Store


def forget_relay(store: Store, name: str) -> None:
    """Forgets how far a relay has come in every fleet: one of its name would begin anew.

    Raises `NotFound` where no relay of that name has begun, `RelayRuns` while its lease lasts.
    """
    fleets = {
        tenant_id: [
            each.fleet_id
            for each in store.relay_progress(tenant_id, name)
            if each.position is not None
        ]
        for tenant_id in store.tenant_ids()
    }
    if not any(fleets.values()):
        raise NotFound(f"There is no relay {name!r}; `retrograph relays list` names all.")
    lead = Lead(store, name)
    try:
        for tenant_id, begun in fleets.items():
            if not (lead.held() and store.forget_relay(tenant_id, lead.lease, begun)):
                lead.lose()
                raise RelayRuns(
                    f"The relay {name!r} runs. End it first; one that was killed counts as ended "
                    f"after {LEASE_SECONDS} seconds."
                )
    finally:
        lead.resign()
