"""A drawing of where the ranks of the first copies sit: NVLink domains, hosts, GPUs."""

from __future__ import annotations

from collections.abc import Mapping

from racktwin.dashboard import svg
from racktwin.engine.deployment import Deployment
from racktwin.engine.seating import Holder, Seat, seats

GPU, GAP = 14.0, 2.0
ROLES = ("serve", "prefill", "decode")
EMPTY = "#e8e8e8"
DOMAINS = 4  # drawn at most, unless one copy takes more


def drawing(deployment: Deployment) -> str:
    """Domains below each other, a column per host; colour is the role, hover tells the replica."""
    cluster = deployment.cluster
    taken = _shown(deployment)
    domains = max(domain for domain, _ in taken) + 1
    hosts = cluster.gpus_per_domain // cluster.gpus_per_host
    height = cluster.gpus_per_host * (GPU + GAP) + 14
    marks = []
    for domain in range(domains):
        top = domain * height + 4
        marks.append(svg.words(0, top + 12, f"domain {domain + 1}"))
        for place in range(cluster.gpus_per_domain):
            host, gpu = divmod(place, cluster.gpus_per_host)
            x, y = 76 + host * (GPU + 3 * GAP), top + gpu * (GPU + GAP)
            marks.append(_box(x, y, taken.get((domain, place))))
    bottom = domains * height + 12
    for index, role in enumerate(deployment.pools):
        x = 76 + 110 * index
        marks.append(svg.rectangle(x, bottom - 10, 10, 10, svg.PALETTE[ROLES.index(role)]))
        marks.append(svg.words(x + 14, bottom, role))
    width = max(420.0, 76 + hosts * (GPU + 3 * GAP) + 10)
    return svg.drawing(width, bottom + 8, marks, "seats of the ranks")


def _shown(deployment: Deployment) -> Mapping[Seat, Holder]:
    """Seats of as many copies as the drawn domains hold, at least one."""
    taken = seats(deployment, 1)
    for copies in range(2, deployment.copies + 1):
        more = seats(deployment, copies)
        if max(domain for domain, _ in more) >= DOMAINS:
            break
        taken = more
    return taken


def _box(x: float, y: float, holder: Holder | None) -> str:
    if holder is None:
        return svg.rectangle(x, y, GPU, GPU, EMPTY, "free")
    copy, role, replica = holder
    colour = svg.PALETTE[ROLES.index(role)] + ("" if copy % 2 == 0 else "90")
    return svg.rectangle(x, y, GPU, GPU, colour, f"copy {copy + 1}, {role} replica {replica + 1}")
