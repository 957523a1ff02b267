"""The image encoder: operators by hand, its share of tensor ranks, nothing below a bound."""

from __future__ import annotations

import numpy as np
import pytest

from racktwin import hardware
from racktwin.engine.encoder import Encoder
from racktwin.engine.epochs import epoch
from racktwin.engine.step import Step
from racktwin.models import Layout, model
from racktwin.models.architecture import Vision
from racktwin.models.operators import AllReduce, Gemm
from racktwin.models.vision import encoder_work, patches

SMALL = Vision(layers=3, hidden=64, heads=4, intermediate=256, patch=8, merge=2)


def made(name: str, tensor: int = 1, on: str = "azure-nd-h100-v5") -> Encoder:
    named = model(name)
    layout = Layout(tensor=tensor)
    cluster = hardware.cluster(on)
    return Encoder(Step(named.architecture, layout, named.at("bf16"), cluster, epoch("vllm")))


def test_operators_by_hand() -> None:
    work = encoder_work(SMALL, 512, 1, "bf16")
    gemms = {(each.n, each.k): n for each, n in work.patches.items() if isinstance(each, Gemm)}
    # queries, keys, values; output; up; down, of each layer; and one patch of 8 x 8 x 3 colours
    assert gemms == {(192, 64): 3, (64, 64): 3, (256, 64): 3, (64, 256): 3, (64, 192): 1}
    # 2 x 2 patches become one token: through a layer as wide, then to the model's width
    assert work.tokens == {
        Gemm("encoder", 256, 256, "bf16"): 1,
        Gemm("encoder", 512, 256, "bf16"): 1,
    }
    assert patches(SMALL, 100) == 400
    assert (work.layers, work.heads, work.head_dim, work.ranks) == (3, 4, 16, 1)


def test_ranks_share_the_encoder_where_it_divides() -> None:
    two = encoder_work(SMALL, 512, 2, "bf16")
    assert (two.ranks, two.heads) == (2, 2)
    assert two.patches[Gemm("encoder", 96, 64, "bf16")] == 3
    assert two.patches[AllReduce(128, 2)] == 6
    assert encoder_work(SMALL, 512, 3, "bf16").ranks == 1  # four heads on three ranks


def test_work_is_the_arithmetic_of_its_matrices() -> None:
    """Qwen3-VL: 27 layers of 1,152 x (4 x 1,152 + 2 x 4,304), twice per patch; below the peak."""
    encoder = made("qwen3-vl-235b")
    tokens = np.array([64.0, 1024.0, 4096.0])
    matrices = 27 * 2.0 * 1152 * (4 * 1152 + 2 * 4304) * 4 * tokens
    attention = 27 * 4.0 * 1152 * (4 * tokens) ** 2
    peak = float(encoder.step.cluster.chip.peak["bf16"])
    found = encoder.cost(1, tokens).seconds
    assert (found > (matrices + attention) / peak).all()
    assert (found < 8 * (matrices + attention) / peak + 5e-3).all()


def test_more_and_larger_images_take_longer() -> None:
    encoder = made("qwen2.5-vl-72b", 4)
    assert (np.diff(encoder.cost([1, 2, 8], 500).seconds) > 0).all()
    assert (np.diff(encoder.cost(1, [16, 256, 1024]).seconds) > 0).all()
    one, four = encoder.cost([1, 4], [4096, 1024]).seconds
    assert four < one  # as many patches, which attend to fewer


def test_every_part_names_its_evidence() -> None:
    told = made("qwen3-vl-235b").cost(1, 1024).evidence
    assert {each.kind for known in told.values() for each in known} == {"measured"}
    assert next(iter(told["encoder attention"])).name.startswith("h100_sxm encoder attention")


@pytest.mark.parametrize(("name", "merge"), [("llama-4-scout", 2), ("qwen3-vl-235b", 2)])
def test_patches_of_a_token(name: str, merge: int) -> None:
    """Llama 4: pixel_shuffle_ratio 0.5; Qwen3-VL: spatial_merge_size 2."""
    vision = model(name).architecture.vision
    assert vision is not None
    assert vision.merge == merge
