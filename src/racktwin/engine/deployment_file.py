"""deployment.yaml -> Deployment. Keys, units and defaults: docs/reference/deployment.md."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TypeVar

import msgspec

from racktwin import catalog, hardware
from racktwin.catalog.bounds import Count
from racktwin.catalog.document import Node
from racktwin.catalog.shape import Reader
from racktwin.engine.deployment import ROUTERS, SCHEDULERS, SCOPES, Deployment, Pool
from racktwin.engine.deployment_check import (
    cluster_findings,
    engine_findings,
    model_findings,
)
from racktwin.engine.epoch import Epoch
from racktwin.engine.epochs import epoch
from racktwin.engine.offload import Offload, offload_findings
from racktwin.engine.pool_keys import PoolKeys, pool
from racktwin.finding import BadInput, Finding, unknown
from racktwin.hardware import Cluster
from racktwin.models import Model, Precision, model
from racktwin.models.formats import FORMATS
from racktwin.models.precision import PARTS
from racktwin.units import Fraction, Price

MOST_NAME = 4096  # characters of a path
LONGEST = 40  # characters of a wrong word that are repeated
ROLES = ("serve", "prefill", "decode")
HEAD = ("model", "cluster", "engine", "precision", "memory_fraction", "scheduler")
KEYS = (*HEAD, *ROLES, "router", "router_scope", "offload", "copies")
CACHES = ("bf16", "fp16", "fp8", "nvfp4")
T = TypeVar("T")


class ClusterKeys(msgspec.Struct, frozen=True, kw_only=True):
    """A cluster at another size or price ($/GPU/h) than its own file says."""

    extends: str
    racks: Count | None = None
    nodes: Count | None = None
    price: Price | None = None


def read_deployment(
    path: str | Path, engine: str | None = None
) -> tuple[Deployment, tuple[Finding, ...]]:
    """The deployment described in the file at `path`, and notes; BadInput with every finding.

    engine: another one than the file's.
    """
    node = catalog.read(path)
    if engine is not None:
        node = Node({**node.value, "engine": Node(engine, node.file, 0)}, node.file, node.line)
    document = _Document(node, Path(path))
    deployment = document.deployment()
    findings = sorted(dict.fromkeys(document.reader.findings), key=lambda each: each.line or 0)
    if deployment is None or not all(each.note for each in findings):
        raise BadInput(findings, str(path))
    return deployment, tuple(findings)


class _Document:
    """One file being read; faults collect in `reader.findings`."""

    def __init__(self, node: Node, path: Path) -> None:
        self.node, self.folder = node, path.resolve().parent
        self.reader = Reader(node.file)

    def deployment(self) -> Deployment | None:
        """The whole, or None where any part of it is missing."""
        for key, child in self.node.value.items():
            if key not in KEYS:
                self.fault(key[:LONGEST], unknown(key, key[:LONGEST], KEYS).message, child)
        named = self.named("model", model)
        engine = self.named("engine", epoch)
        cluster = self.cluster()
        precision = self.precision(named) if named else None
        pools = self.pools(named, engine)
        copies = self.value("copies", Count, 1)
        router = self.choice("router", ROUTERS)
        scope = self.choice("router_scope", SCOPES)
        fraction, scheduler = self.fraction(), self.scheduler(engine)
        offload = self.value("offload", Offload, Offload())
        if cluster is not None and offload is not None:
            self.note(offload_findings(offload, cluster))
        if named is not None and pools:
            self.note(named.notes, "model")
            self.note(model_findings(pools, named, precision or named.precision))
            self.note(engine_findings(pools, named, engine) if engine else ())
        if cluster is not None and copies is not None and pools:
            self.note(cluster_findings(pools, copies, cluster))
        if not (named and cluster and engine and precision):
            return None
        if not (copies and router and scope and pools):
            return None
        if offload is None:
            return None
        return Deployment(
            model=named,
            cluster=cluster,
            engine=engine,
            precision=precision,
            router=router,
            router_scope=scope,
            copies=copies,
            memory_fraction=fraction,
            scheduler=scheduler,
            offload=offload,
            **pools,
        )

    def fault(self, key: str, message: str, node: Node | None = None) -> None:
        self.reader.findings.append(Finding(key, message, (node.line or None) if node else None))

    def note(self, findings: Iterable[Finding], under: str = "") -> None:
        """Take over findings about the deployment, with the line of what they are about."""
        for each in findings:
            line, node = None, self.node
            for word in (under or each.key).split("."):
                below = node.get(word)
                if below is None:
                    break
                line, node = below.line, below
            found = msgspec.structs.replace(each, line=line)
            self.reader.findings.append(
                msgspec.structs.replace(found, key=f"{under}.{each.key}") if under else found
            )

    def value(self, key: str, shape: type[T], default: T) -> T | None:
        """A plain value, or None after a fault."""
        node = self.node.get(key)
        found: T | None = default if node is None else self.reader.value(node, shape, key)
        return found

    def fraction(self) -> float | None:
        """The share of memory given, or None for the engine's own."""
        node = self.node.get("memory_fraction")
        found = None if node is None else self.reader.value(node, Fraction, "memory_fraction")
        if found == 0:
            self.fault("memory_fraction", "0 leaves no memory; expected more than 0 to 1", node)
        return found

    def scheduler(self, engine: Epoch | None) -> str:
        """One of the engine's schedulers, or '' for its default."""
        node = self.node.get("scheduler")
        if node is None or engine is None:
            return ""
        own = tuple(name for name, of in SCHEDULERS.items() if of == engine.engine)
        if not own:
            self.fault("scheduler", f"{engine.name} leaves no choice; leave the key out", node)
            return ""
        return self.choice("scheduler", own) or ""

    def choice(self, key: str, words: tuple[str, ...]) -> str | None:
        """One of `words`, the first where the key is absent."""
        node = self.node.get(key)
        if node is None:
            return words[0]
        if node.value in words:
            return str(node.value)
        self.fault(key, unknown(key, str(node.plain())[:LONGEST], words).message, node)
        return None

    def named(self, key: str, load: Callable[[str], T]) -> T | None:
        """What a name or a path stands for."""
        node = self.node.get(key)
        if node is None:
            self.fault(key, "is missing")
            return None
        return self.loaded(key, node, load)

    def loaded(self, key: str, node: Node, load: Callable[[str], T]) -> T | None:
        """What the text at `node` stands for."""
        name = node.value
        if not isinstance(name, str) or not name.strip() or not name.isprintable():
            shown = "a mapping" if isinstance(name, dict) else repr(node.plain())[:LONGEST]
            self.fault(key, f"expected a name or a path, found {shown}", node)
            return None
        if len(name) > MOST_NAME:
            self.fault(key, f"expected a name or a path, found {len(name):,} characters", node)
            return None
        try:
            return load(self.path(name))
        except BadInput as error:
            for each in error.findings:
                inside = error.source not in ("", "catalog")
                where = f"{error.source}: {each}" if inside else each.message
                self.fault(key, where, node)

        except OSError as error:
            self.fault(key, f"cannot be read: {error.strerror}", node)
        return None

    def path(self, name: str) -> str:
        """`name`, or where it lies if it is a path: relative ones start at this file."""
        below = self.folder / os.path.expanduser(name)
        is_file = name.endswith((".json", ".yaml", ".yml")) or name.startswith((".", "~", "/"))
        return str(below) if is_file or ("/" in name and os.path.exists(below)) else name

    def cluster(self) -> Cluster | None:
        """A cluster by name or path, or a mapping of `ClusterKeys`."""
        node = self.node.get("cluster")
        if node is None or not isinstance(node.value, dict):
            return self.named("cluster", hardware.cluster)
        keys = self.reader.value(node, ClusterKeys, "cluster")
        if keys is None:
            return None

        def sized(name: str) -> Cluster:
            found = hardware.cluster(name, racks=keys.racks, nodes=keys.nodes)
            if keys.price is None:
                return found
            note = f"given in {Path(self.node.file).name}"
            return msgspec.structs.replace(found, price=keys.price, price_note=note)

        return self.loaded("cluster", node.value["extends"], sized)

    def precision(self, of: Model) -> Precision | None:
        """The model's own precision, a preset's, or one part by part."""
        node = self.node.get("precision")
        if node is None:
            return of.precision
        if not isinstance(node.value, dict):
            return self.loaded("precision", node, of.at)
        weights = node.get("weights")
        base = self.loaded("precision.weights", weights, of.at) if weights else of.precision
        parts = {}
        for key, child in node.value.items():
            words = CACHES if key == "kv" else tuple(FORMATS)
            path = f"precision.{key}"
            if key == "weights":
                continue
            if key not in (*PARTS, "kv", "state"):
                self.fault(
                    path, unknown(key, key, ("weights", "kv", "state", *PARTS)).message, child
                )
            elif child.value in words:
                parts[key] = child.value
            else:
                self.fault(path, unknown(key, str(child.plain())[:LONGEST], words).message, child)
        return msgspec.structs.replace(base, **parts) if base else None

    def pools(self, of: Model | None, engine: Epoch | None) -> dict[str, Pool]:
        """The pools by role; empty after a fault in any of them."""
        given = [role for role in ROLES if self.node.get(role) is not None]
        if "serve" in given and len(given) > 1:
            text = "stands beside prefill or decode; give serve alone, or prefill and decode"
            self.fault("serve", text, self.node.get("serve"))
        elif not given:
            self.fault("serve", "is missing; give serve, or prefill and decode")
        elif len(given) == 1 and given != ["serve"]:
            other = "decode" if given == ["prefill"] else "prefill"
            self.fault(other, f"is missing; {given[0]} needs it (or give serve alone)")
        read = {role: self.reader.value(self.node.value[role], PoolKeys, role) for role in given}
        if None in read.values() or of is None:
            return {}
        return {role: pool(keys, of, engine, role, self.note) for role, keys in read.items()}
