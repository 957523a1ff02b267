"""DeepSeek sparse attention: the indexer that picks the tokens a query attends to.

DeepSeek-V3.2 report (arXiv:2512.02556): per query and cached token, `heads` fp8 dot products of
width `head_dim`, then the top_k of their weighted sum.
"""

from __future__ import annotations

import numpy as np

from racktwin.kernels.roofline import Sizes, Work, work

_SCALE_BYTES = 4.0  # one fp32 scale a cached key


def indexer_work(
    batch: Sizes, tokens: Sizes, context: Sizes, heads: int, head_dim: int, compute: str
) -> Work:
    """Scores of `tokens` queries of `batch` sequences against `context` cached keys each."""
    new, cached = np.asarray(tokens, float), np.asarray(context, float)
    pairs = new * cached
    moved = cached * (head_dim + _SCALE_BYTES) * (new > 0) + new * heads * head_dim
    scores = 2 * 4.0 * pairs  # fp32 scores written by the product, read by the selection
    return work(batch * 2.0 * heads * head_dim * pairs, batch * (moved + scores), compute)
