"""Formats: every kind of trace that is read, and how its contents are told from the others'."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import msgspec

from racktwin.finding import BadInput, Finding
from racktwin.serving.traces import agent, aiperf, mooncake, parquet, servegen, table, vllm_bench
from racktwin.serving.traces.batch import Batch
from racktwin.serving.traces.reading import Reading
from racktwin.serving.traces.source import Source

LOOKED_AT = 20  # lines searched for a JSON object
Batches = Callable[[Source, Reading], Iterator[Batch]]


class Format(msgspec.Struct, frozen=True):
    """A kind of trace: its name, what stands in it, what reads it.

    columns: names in its header; keys: of its first JSON object; magic: its first bytes.
    """

    name: str
    looks: str
    batches: Batches
    columns: frozenset[str] = frozenset()
    keys: frozenset[str] = frozenset()
    magic: bytes = b""


def _table(kind: str, name: str, looks: str) -> Format:
    columns = frozenset(table.KINDS[kind].needed)
    return Format(name, looks, partial(table.batches, kind=kind), columns=columns)


def _json(name: str, looks: str, batches: Batches, *keys: str) -> Format:
    return Format(name, looks, batches, keys=frozenset(keys))


FORMATS = (
    _table("azure", "Azure LLM", "TIMESTAMP,ContextTokens,GeneratedTokens"),
    _table("burstgpt", "BurstGPT", "Timestamp,Model,Request tokens,Response tokens,..."),
    _table(
        "lengths", "plain table", "arrival_s,input_tokens,output_tokens[,session,priority,class]"
    ),
    _json(
        "Mooncake",
        '{"timestamp": ms, "input_length": n, "output_length": n, "hash_ids": [...]}',
        mooncake.batches,
        "input_length",
        "output_length",
    ),
    _json(
        "agent sessions",
        '{"timestamp": ms, "event": {"schema": "dynamo.request.trace.v1", ...}}',
        agent.batches,
        "event",
    ),
    _json(
        "AIPerf records",
        '{"metadata": {"request_start_ns": ...}, "metrics": {...}}',
        aiperf.batches,
        "metadata",
        "metrics",
    ),
    _json(
        "AIPerf summary",
        '{"request_count": {...}, "input_sequence_length": {...}, ...}',
        aiperf.summary,
        "request_count",
        "input_sequence_length",
    ),
    _json(
        "vLLM benchmark",
        '{"completed": n, "total_input_tokens": n, "input_lens": [...], ...}',
        vllm_bench.batches,
        "completed",
        "total_input_tokens",
    ),
    Format(
        "racktwin Parquet", "columns arrival, input, output, ...", parquet.batches, magic=b"PAR1"
    ),
)
SERVEGEN = Format("ServeGen clients", "chunk-N-trace.csv, chunk-N-dataset.json", servegen.batches)


def recognise(source: Source) -> Format:
    """The format of a file, by its contents; BadInput that shows the known ones for another."""
    if source.is_folder or source.is_tar:
        return SERVEGEN
    if not source.head.strip():
        raise source.fault("is empty")
    first = source.head.lstrip().partition(b"\n")[0]
    columns, keys = set(table.header(first)), _keys(source)
    for each in FORMATS:
        if each.magic and source.head.startswith(each.magic):
            return each
        if (each.columns and each.columns <= columns) or (each.keys and each.keys <= keys):
            return each
    shown = first[:60].decode("utf-8", "replace").strip()
    findings = [Finding("trace", f"is in no known format; it begins with {shown!r}")]
    for each in (*FORMATS, SERVEGEN):
        findings.append(Finding(each.name, each.looks, note=True))
    raise BadInput(findings, str(source.path))


def _keys(source: Source) -> set[str]:
    """Keys of the first JSON object: on one of the first lines, or the whole file."""
    if not source.head.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"{"):
        return set()
    for line in source.head.splitlines()[:LOOKED_AT]:
        if keys := _decoded(line):
            return keys
    return _decoded(source.whole())


def _decoded(text: bytes) -> set[str]:
    try:
        return set(msgspec.json.decode(text, type=dict[str, Any]))
    except (msgspec.MsgspecError, ValueError, RecursionError):
        return set()
