"""From any Hugging Face config.json to one `Architecture` and the precision of its weights."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import Any

import msgspec

from racktwin.finding import BadInput, Finding
from racktwin.models.architecture import Architecture, Layer, Recurrent
from racktwin.models.fields import HIDDEN, Fields, shown
from racktwin.models.precision import Precision
from racktwin.models.quantization import read_precision
from racktwin.models.read_attention import read_mixers
from racktwin.models.read_feedforward import read_feedforwards
from racktwin.models.read_hybrid import read_blocks, read_pattern
from racktwin.models.read_vision import read_vision

LARGEST_FILE = 16 * 2**20  # bytes; the longest known config.json has 3.1e6
LARGEST_INDEX = 2**28  # bytes; a few hundred thousand tensor names have 5e7
HEAD = re.compile(rb'"(?:[\w.]{0,200}\.)?(?:lm_head|head|embed_out|output)\.q?weight')
EMBEDDING = re.compile(rb"embed|wte|word_embeddings")
NOT_DECODERS = (
    *("bert", "roberta", "xlm-roberta", "distilbert", "deberta-v2", "clip", "siglip", "vit"),
    *("wav2vec2", "hubert", "whisper"),
)
NESTED = ("text_config", "llm_config", "language_config")
DEEPEST = 4096  # layers
TIED_FAMILIES = ("gemma", "gpt2", "opt", "bloom", "falcon", "starcoder2", "cohere")


class Reading(msgspec.Struct, frozen=True):
    """What a config.json says, and remarks on what was odd in it."""

    architecture: Architecture
    precision: Precision
    notes: tuple[Finding, ...] = ()


def read(
    config: Any, quant: Any = None, name: str = "", head_stored: bool | None = None
) -> Reading:
    """Architecture and checkpoint precision of `config`; `quant` is its hf_quant_config.

    head_stored: whether the checkpoint's index lists an output head, when it is known.
    Raises one BadInput with everything that is wrong.
    """
    findings: list[Finding] = []
    whole = Fields(config, findings)
    if not findings:
        _refuse_other_kinds(whole)
    if findings:
        raise BadInput(findings, name or "config.json")
    text = next((found for key in NESTED if (found := whole.section(key))), whole)
    architecture = _architecture(whole, text, name, head_stored)
    precision = read_precision(whole, text, quant, architecture)
    if any(not finding.note for finding in findings):
        raise BadInput(_once(findings), name or "config.json")
    return Reading(architecture, precision, tuple(findings))


def _once(findings: list[Finding]) -> list[Finding]:
    """The findings without repetition, the first hundred."""
    return list(dict.fromkeys(findings))[:100]


def _refuse_other_kinds(fields: Fields) -> None:
    """Objects that are not the config of a decoder."""
    if fields.has("quantization", "quant_algo") and not fields.has("hidden_size", *NESTED):
        fields.fault("", "this is a hf_quant_config; give the config.json it stands beside")
    elif fields.text("model_type") in NOT_DECODERS:
        fields.fault("model_type", f"{fields.text('model_type')} is not a language model")
    elif fields.flag("is_encoder_decoder"):
        fields.fault("is_encoder_decoder", "encoder-decoder models are not covered")
    elif not fields.values:
        fields.fault("", "the object is empty")


def _architecture(whole: Fields, text: Fields, name: str, head_stored: bool | None) -> Architecture:
    layers = _layers(text)
    if not layers:
        text.fault("num_hidden_layers", "the config describes no layers")
    states = [key for key in text.values if key.startswith(("mamba_", "ssm_")) and text.has(key)]
    if states and not any(isinstance(layer.mixer, Recurrent) for layer in layers):
        text.fault(states[0], "names state-space layers, but no key says which layers they are")
    family = text.text("model_type")
    outside = whole.flag("tie_word_embeddings", default=family.startswith(TIED_FAMILIES))
    tied = text.flag("tie_word_embeddings", default=outside)
    if head_stored is False and not tied:
        text.note(
            "tie_word_embeddings",
            "false, but the checkpoint stores no lm_head; counted as one matrix with the embedding",
        )
        tied = True
    return Architecture(
        name=name or text.text("model_type", default="model"),
        hidden=text.integer(*HIDDEN),
        vocab=text.integer("vocab_size", "padded_vocab_size"),
        layers=layers,
        context=text.integer(
            "max_position_embeddings",
            "max_seq_len",
            "n_positions",
            "seq_length",
            "n_ctx",
            default=2048,
        ),
        tied=tied,
        mtp=_drafts(text, layers),
        vision=read_vision(whole),
        streams=text.integer("hc_mult", default=1, high=64),
    )


def _layers(text: Fields) -> tuple[Layer, ...]:
    if text.has("hybrid_override_pattern") or (
        text.has("layers_block_type") and text.text("model_type") == "nemotron_h"
    ):
        return read_pattern(text)
    count = text.integer("num_hidden_layers", "n_layer", "num_layers", "n_layers", high=DEEPEST)
    if text.has("block_configs"):
        return read_blocks(text, count)
    mixers = read_mixers(text, count)
    feeds = read_feedforwards(text, count)
    return tuple(Layer(mixer, feed) for mixer, feed in zip(mixers, feeds, strict=False))


def _drafts(text: Fields, layers: tuple[Layer, ...]) -> tuple[Layer, ...]:
    """Multi-token-prediction layers: shaped like the last main layer unless described."""
    if text.has("mtp_hybrid_override_pattern", "mtp_layers_block_type"):
        return read_pattern(text, "mtp_")
    count = text.integer(
        "num_nextn_predict_layers",
        "mtp_num_hidden_layers",
        "num_mtp_modules",
        default=0,
        low=0,
        high=64,
    )
    if not layers or not count:
        return ()
    ratios = text.values.get("compress_ratios")
    if isinstance(ratios, list) and len(ratios) >= len(layers) + count:
        mixers = read_mixers(text, len(layers) + count)[-count:]
        return tuple(Layer(mixer, layers[-1].feedforward) for mixer in mixers)
    return layers[-1:] * count


def load(path: Path) -> tuple[Any, Any, bool | None]:
    """(config, hf_quant_config, whether the weights' index lists a head) of a config.json.

    path: the file, or a folder that holds one. The last two are None when there is no such file.
    """
    file = path / "config.json" if os.path.isdir(path) else path
    quant = file.with_name(file.name.replace("config.json", "hf_quant_config.json"))
    index = file.with_name("model.safetensors.index.json")
    beside = quant if "hf_quant" not in file.name and os.path.isfile(quant) else None
    return _parse(file), _parse(beside) if beside else None, _head_stored(index)


def _head_stored(index: Path) -> bool | None:
    """Whether the index of the weights names an output head; None when there is no such index."""
    try:
        if index.stat().st_size > LARGEST_INDEX:
            return None
        raw = index.read_bytes()
    except OSError:
        return None
    return bool(HEAD.search(raw)) if EMBEDDING.search(raw) else None


def _parse(file: Path) -> Any:
    source = str(file)
    try:
        size = file.stat().st_size
        if file.exists() and not file.is_file():
            raise BadInput([Finding("file", "is no regular file")], source)
        if size > LARGEST_FILE:
            message = f"{size / 1e6:.0f} MB is no config.json; at most {LARGEST_FILE / 1e6:.0f} MB"
            raise BadInput([Finding("file", message)], source)
        return json.loads(file.read_bytes())
    except OSError as error:
        raise BadInput([Finding("file", f"cannot be read: {error.strerror}")], source) from None
    except RecursionError:
        raise BadInput([Finding("file", "nested too deeply")], source) from None
    except json.JSONDecodeError as error:
        raise BadInput([Finding("file", f"not JSON: {error.msg}", error.lineno)], source) from None
    except (ValueError, UnicodeDecodeError) as error:
        raise BadInput([Finding("file", f"not JSON: {shown(str(error))}")], source) from None
