# SPDX-License-Identifier: MIT
"""A ranking as the page of `hew serve` reads it. Of a large fleet it has only the first services and hosts."""

from dataclasses import replace
from typing import Any

from hew.model.fleet import FleetState, Rollout, ServiceState
from hew.views.fleet_document import fleet_document, rollout_document

MOST_SERVICES = 300
MOST_HOSTS = 100  # that have another setting than the rest


def ranking_page(state: FleetState, error: str) -> dict[str, Any]:
    """The first services, and how many there are; `error`: why this is not newer."""
    services = tuple(_short(one) for one in state.services[:MOST_SERVICES])
    document = fleet_document(replace(state, services=services))
    return {"ranking": document, "services": len(state.services), "most_hosts": MOST_HOSTS, "error": error}


def _short(one: ServiceState) -> ServiceState:
    return replace(one, mixed=tuple(replace(mixed, others=mixed.others[:MOST_HOSTS]) for mixed in one.mixed))


def rollout_page(rollout: Rollout) -> dict[str, Any]:
    """Before and after, with the first hosts that have not picked the setting up, and how many there are."""
    document = rollout_document(replace(rollout, missing=rollout.missing[:MOST_HOSTS]))
    return {"rollout": document, "missing": len(rollout.missing)}
