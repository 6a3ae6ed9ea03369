# SPDX-License-Identifier: Apache-2.0
"""The decoder of Gemma 3 (text), written out in plain torch.

Everything but the attention is float32. Queries, keys, values and what the attention returns are 16-bit, as they are on
an NPU and in its cache.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F

from gemma3.attention import Attention, Step

LAYER_WEIGHTS = (
    "attn_norm", "attn_q", "attn_k", "attn_v", "attn_q_norm", "attn_k_norm", "attn_output", "post_attention_norm",
    "ffn_norm", "ffn_gate", "ffn_up", "ffn_down", "post_ffw_norm",
)  # fmt: skip


@dataclass(frozen=True)
class Config:
    layers: int
    width: int
    heads: int
    key_heads: int
    head_dim: int
    window: int
    epsilon: float
    rope_base: float
    # The same in every Gemma 3 model, and not in its files.
    window_rope_base: float = 10000.0
    global_every: int = 6

    @classmethod
    def from_metadata(cls, metadata: Mapping[str, Any]) -> Config:
        """Of a GGUF file."""
        if metadata["general.architecture"] != "gemma3":
            raise ValueError(f"the file holds a {metadata['general.architecture']} model, not a gemma3 one")
        if "gemma3.rope.scaling.factor" in metadata:
            raise ValueError("models with scaled positions (4B and larger) are not written out here")
        return cls(
            layers=metadata["gemma3.block_count"],
            width=metadata["gemma3.embedding_length"],
            heads=metadata["gemma3.attention.head_count"],
            key_heads=metadata["gemma3.attention.head_count_kv"],
            head_dim=metadata["gemma3.attention.key_length"],
            window=metadata["gemma3.attention.sliding_window"],
            epsilon=metadata["gemma3.attention.layer_norm_rms_epsilon"],
            rope_base=metadata["gemma3.rope.freq_base"],
        )

    def window_of(self, layer: int) -> int | None:
        """How many keys a token of this layer sees, itself included; None: all before it."""
        return None if (layer + 1) % self.global_every == 0 else self.window

    def weight_names(self) -> list[str]:
        """Names of the tensors in a GGUF file."""
        layers = [f"blk.{layer}.{name}.weight" for layer in range(self.layers) for name in LAYER_WEIGHTS]
        return ["token_embd.weight", *layers, "output_norm.weight"]


class Gemma3:
    """The model. ``weights`` are float32 tensors by their names in a GGUF file."""

    def __init__(self, config: Config, weights: Mapping[str, torch.Tensor]) -> None:
        self.config = config
        self._weights = {name: weights[name] for name in config.weight_names()}

    @torch.inference_mode()
    def forward(self, ids: torch.Tensor, step: Step, attention: Attention) -> torch.Tensor:
        """ids int64 [tokens] of the step -> states [tokens, width]."""
        positions = torch.tensor([position for span in step.spans for position in span])
        rotations = {
            True: _rotation(positions, self.config.head_dim, self.config.window_rope_base),
            False: _rotation(positions, self.config.head_dim, self.config.rope_base),
        }
        attention.begin(step)
        states: torch.Tensor = F.embedding(ids, self._weights["token_embd.weight"]) * self.config.width**0.5
        for layer in range(self.config.layers):
            rotation = rotations[self.config.window_of(layer) is not None]
            attended = self._attend(layer, self._norm(f"blk.{layer}.attn_norm", states), rotation, attention)
            states = states + self._norm(f"blk.{layer}.post_attention_norm", attended)
            inner = self._feed_forward(layer, self._norm(f"blk.{layer}.ffn_norm", states))
            states = states + self._norm(f"blk.{layer}.post_ffw_norm", inner)
        return states

    @torch.inference_mode()
    def logits(self, states: torch.Tensor) -> torch.Tensor:
        """states [..., width] -> [..., vocabulary]."""
        logits: torch.Tensor = F.linear(self._norm("output_norm", states), self._weights["token_embd.weight"])
        return logits

    def _attend(
        self, layer: int, states: torch.Tensor, rotation: tuple[torch.Tensor, torch.Tensor], attention: Attention
    ) -> torch.Tensor:
        query, key, value = (
            self._linear(f"blk.{layer}.attn_{part}", states).unflatten(-1, (-1, self.config.head_dim))
            for part in ("q", "k", "v")
        )
        query = _rotated(self._norm(f"blk.{layer}.attn_q_norm", query), rotation)
        key = _rotated(self._norm(f"blk.{layer}.attn_k_norm", key), rotation)
        context = attention.attend(layer, *(tensor.to(attention.dtype) for tensor in (query, key, value)))
        return self._linear(f"blk.{layer}.attn_output", context.flatten(-2).float())

    def _feed_forward(self, layer: int, states: torch.Tensor) -> torch.Tensor:
        gate = F.gelu(self._linear(f"blk.{layer}.ffn_gate", states), approximate="tanh")
        return self._linear(f"blk.{layer}.ffn_down", gate * self._linear(f"blk.{layer}.ffn_up", states))

    def _linear(self, name: str, states: torch.Tensor) -> torch.Tensor:
        return F.linear(states, self._weights[f"{name}.weight"])

    def _norm(self, name: str, states: torch.Tensor) -> torch.Tensor:
        weight = self._weights[f"{name}.weight"]  # the file's weights hold the "1 +" of Gemma's formula
        return F.rms_norm(states, weight.shape, weight, self.config.epsilon)


def _rotation(positions: torch.Tensor, head_dim: int, base: float) -> tuple[torch.Tensor, torch.Tensor]:
    """Cosines and sines [tokens, 1, head_dim / 2]."""
    frequencies = base ** (-torch.arange(0, head_dim, 2) / head_dim)
    angles = positions[:, None, None] * frequencies
    return angles.cos(), angles.sin()


def _rotated(states: torch.Tensor, rotation: tuple[torch.Tensor, torch.Tensor]) -> torch.Tensor:
    cosine, sine = rotation
    first, second = states.chunk(2, -1)
    return torch.cat((first * cosine - second * sine, second * cosine + first * sine), -1)
