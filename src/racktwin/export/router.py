"""What stands in front of the replicas of one copy: their addresses and the router's files."""

from __future__ import annotations

from racktwin.engine.deployment import Deployment
from racktwin.export.group import Group
from racktwin.export.script import PORT, ROUTER_PORT, Flag, comment, script

# the routers of SGLang and vLLM have one root and one set of words; power_of_two asks two
# replicas and takes the one with fewer requests outstanding
POLICIES = {
    "least_outstanding": "power_of_two",
    "round_robin": "round_robin",
    "cache_aware": "cache_aware",
}
BOOTSTRAP_PORT = 8998  # where SGLang's decode servers meet a prefill server


def addresses(group: Group) -> list[str]:
    """'prefill-0:8000' and so on: the name of every replica's first host, and its port."""
    replicas = range(group.pool.replicas)
    return [f"{group.role}-{each}:{PORT + group.span.slot(each)}" for each in replicas]


def router(
    deployment: Deployment, groups: list[Group], command: str, disaggregated: str, head: str
) -> str:
    """A script that starts `command`, the router of SGLang or vLLM.

    disaggregated: the flag (and its words) that turns prefill and decode pools on.
    """
    flags: dict[str, Flag] = {
        "--host": "0.0.0.0",
        "--port": ROUTER_PORT,
        "--policy": POLICIES[deployment.router],
    }
    lines = []
    for group in groups:
        urls = [f"http://{each}" for each in addresses(group)]
        if group.role == "serve":
            lines += ["args+=(--worker-urls", *(f"  {url}" for url in urls), ")"]
        else:
            ports = [f" {BOOTSTRAP_PORT + group.span.slot(each)}" for each in range(len(urls))]
            tails = ports if group.role == "prefill" and "sglang" in command else [""] * len(urls)
            pairs = zip(urls, tails, strict=True)
            lines += ["args+=(", *(f"  --{group.role} {url}{tail}" for url, tail in pairs), ")"]
    if deployment.serve is None:
        lines.insert(0, f"args+=({disaggregated})")
    return script(
        [head, "One for each copy; names of replicas: README.txt."], [], command, flags, lines
    )


def nginx(group: Group, *, least: bool) -> str:
    """An nginx configuration over the replicas of one pool."""
    servers = [f"        server {each};" for each in addresses(group)]
    lines = [
        comment("nginx -c nginx.conf: one for each copy (nginx.org/en/docs/http/load_balancing)"),
        "events {}",
        "http {",
        f"    upstream {group.role} {{",
        *(["        least_conn;"] if least else []),
        *servers,
        "    }",
        "    server {",
        f"        listen {ROUTER_PORT};",
        "        location / {",
        f"            proxy_pass http://{group.role};",
        "            proxy_buffering off;",
        "            proxy_read_timeout 1h;",
        "        }",
        "    }",
        "}",
        "",
    ]
    return "\n".join(lines)
