"""What is fitted: the public traces, and what stands in their workloads beside the figures."""

from __future__ import annotations

from typing import Literal

import msgspec


class Sample(msgspec.Struct, frozen=True, kw_only=True):
    """One trace to fit.

    file: its name in the folder. classes: quantiles of input lengths that get answers of their
    own. turns: how sessions are found: by shared prefix blocks, as recorded, or not at all.
    step: of the rate profile, s; 0 for an even rate. resolution: of the time stamps, s.
    rate: requests/s, where the sample is too small to tell.
    """

    file: str
    title: str
    source: str
    date: str
    note: str
    classes: int = 4
    turns: Literal["none", "prefix", "recorded"] = "none"
    step: float = 0.0
    resolution: float = 0.0
    rate: float = 0.0
    context: int = 0


AZURE = "Azure LLM inference traces 2023 (CC-BY-4.0), Patel et al., Splitwise, ISCA 2024"
MOONCAKE = "Mooncake traces (Apache-2.0), Qin et al., FAST 2025"
SAMPLES = {
    "azure-code-2023": Sample(
        file="AzureLLMInferenceTrace_code.csv",
        title="Azure LLM inference, code completion, one hour",
        source=AZURE,
        date="2023-11-16",
        note="the rate of each minute is kept, with a pause of 217 s; no prefixes are recorded",
        step=60.0,
    ),
    "azure-conv-2023": Sample(
        file="AzureLLMInferenceTrace_conv.csv",
        title="Azure LLM inference, conversation, one hour",
        source=AZURE,
        date="2023-11-16",
        note="the rate of each minute is kept; no prefixes are recorded",
        step=60.0,
    ),
    "mooncake-conversation": Sample(
        file="mooncake_conversation_2500.jsonl",
        title="Mooncake conversation, 2,500 requests",
        source=MOONCAKE,
        date="2025-02",
        note="sessions are found by shared prefixes; time stamps come in steps of 3 s and are "
        "spread; pauses run from arrival to arrival, for completions are not recorded",
        turns="prefix",
        resolution=3.0,
    ),
    "mooncake-synthetic": Sample(
        file="mooncake_synthetic_1500.jsonl",
        title="Mooncake synthetic mix of long documents and short questions, 1,500 requests",
        source=MOONCAKE,
        date="2025-02",
        note="sessions are found by shared prefixes; pauses run from arrival to arrival",
        turns="prefix",
    ),
    "agentic-coding": Sample(
        file="dynamo_pi_agent_request_trace.jsonl.gz",
        title="A coding agent and three sub-agents, 16 requests",
        source="request trace of an agent session in NVIDIA Dynamo (Apache-2.0)",
        date="2026-05-19",
        note="4 sessions with tool calls of milliseconds: the form is measured, the sample is "
        "small, the rate of 1 request/s is assumed; a wait of 72 s for sub-agents is left out, "
        "since they are sessions of their own, and so is a first request of 15 tokens",
        classes=1,
        turns="recorded",
        rate=1.0,
    ),
    "sharegpt": Sample(
        file="sharegpt_lengths_300.csv",
        title="ShareGPT lengths, 300 requests",
        source="a public file of ShareGPT lengths and arrivals; its origin is not recorded",
        date="2025",
        note="answers of 512 tokens and more only",
        classes=1,
    ),
    "servegen-deepseek-r1": Sample(
        file="servegen_deepseek_r1_excerpt.tgz",
        title="ServeGen DeepSeek-R1, 20 clients of Alibaba Cloud over a day",
        source="ServeGen client set, Xiang et al., NSDI 2026",
        date="2025-05",
        note="an excerpt of the clients; the mix of clients is that of the whole day at any "
        "hour, while reading the set itself keeps it hour by hour",
        classes=8,
        step=600.0,
    ),
}
