"""A drawing of where the ranks of one copy sit: racks, trays in them, GPUs in those."""

from __future__ import annotations

from racktwin.dashboard import svg
from racktwin.engine.deployment import Deployment
from racktwin.planning.packing import seats

GPU, GAP, TRAY = 12.0, 2.0, 16.0
ROLES = ("serve", "prefill", "decode")
EMPTY = "#e8e8e8"
ROW = 10  # domains in a row


def drawing(deployment: Deployment) -> str:
    """NVLink domains side by side; each line is a host; colour is the role, hover the replica."""
    cluster = deployment.cluster
    taken = seats(deployment)
    domains = max(domain for domain, _ in taken) + 1
    hosts = cluster.gpus_per_domain // cluster.gpus_per_host
    width = cluster.gpus_per_host * (GPU + GAP) + 24
    height = hosts * TRAY + 34
    marks = []
    for domain in range(domains):
        left = (domain % ROW) * width + 10
        top = (domain // ROW) * height + 22
        marks.append(svg.words(left, top - 8, f"domain {domain + 1}", style="small"))
        for place in range(cluster.gpus_per_domain):
            host, gpu = divmod(place, cluster.gpus_per_host)
            role, replica = taken.get((domain, place), ("", 0))
            colour = svg.PALETTE[ROLES.index(role)] if role else EMPTY
            title = f"{role} replica {replica + 1}" if role else "free for other copies"
            x, y = left + gpu * (GPU + GAP), top + host * TRAY
            marks.append(svg.rectangle(x, y, GPU, GPU, colour, title))
    rows = -(-domains // ROW)
    bottom = rows * height + 20
    for index, role in enumerate(deployment.pools):
        x = 10 + 120 * index
        marks.append(svg.rectangle(x, bottom - 10, 10, 10, svg.PALETTE[ROLES.index(role)]))
        marks.append(svg.words(x + 14, bottom, role))
    total = max(380.0, min(domains, ROW) * width + 20)
    return svg.drawing(total, bottom + 8, marks, "seats of the ranks")
