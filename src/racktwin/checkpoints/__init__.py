"""Weights on disk: safetensors read safely, quantized shard by shard, and what that cost them."""

from racktwin.checkpoints.checkpoint import Checkpoint, open_checkpoint
from racktwin.checkpoints.conversion import Wish, quantize_checkpoint
from racktwin.checkpoints.inspection import inspect

__all__ = ["Checkpoint", "Wish", "inspect", "open_checkpoint", "quantize_checkpoint"]
