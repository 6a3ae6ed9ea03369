# SPDX-License-Identifier: Apache-2.0
"""What a model needs of attention, and attention in plain torch."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import torch

Windows = Callable[[int], int | None]  # layer -> how many keys a token sees, itself included; None: all before it


@dataclass(frozen=True)
class Step:
    """The tokens that go through the model together: counts[b] new ones of sequence b, after starts[b] earlier ones.

    Tensors of a step have the new tokens of all sequences along their first axis, one sequence after the other.
    """

    starts: tuple[int, ...]
    counts: tuple[int, ...]

    @property
    def rows(self) -> int:
        """Of the sequence with the most new tokens."""
        return max(self.counts)

    @property
    def ends(self) -> tuple[int, ...]:
        return tuple(start + count for start, count in zip(self.starts, self.counts, strict=True))

    @property
    def spans(self) -> list[range]:
        """The new tokens' positions in their sequences."""
        return [range(start, end) for start, end in zip(self.starts, self.ends, strict=True)]


class Attention(Protocol):
    """Attention with a memory: keys and values of earlier steps are kept."""

    @property
    def dtype(self) -> torch.dtype:
        """Of queries, keys, values and results."""

    def begin(self, step: Step) -> None:
        """What follows, up to the next call, is this step's layers."""

    def attend(self, layer: int, query: torch.Tensor, key: torch.Tensor, value: torch.Tensor) -> torch.Tensor:
        """query [tokens, heads, head_dim], key and value [tokens, key_heads, head_dim] -> as query."""


class PlainAttention:
    """The formula in torch: explicit masks, float32 scores and softmax, one rounding at the end."""

    def __init__(self, windows: Windows, scale: float, dtype: torch.dtype) -> None:
        self.dtype = dtype
        self._windows, self._scale = windows, scale
        self._memory: dict[tuple[int, int], tuple[torch.Tensor, torch.Tensor]] = {}  # by layer and sequence

    def begin(self, step: Step) -> None:
        self._step = step

    def attend(self, layer: int, query: torch.Tensor, key: torch.Tensor, value: torch.Tensor) -> torch.Tensor:
        counts = list(self._step.counts)
        new = zip(query.split(counts), key.split(counts), value.split(counts), strict=True)
        return torch.cat([self._attend_one(layer, sequence, *tensors) for sequence, tensors in enumerate(new)])

    def _attend_one(
        self, layer: int, sequence: int, query: torch.Tensor, key: torch.Tensor, value: torch.Tensor
    ) -> torch.Tensor:
        if (layer, sequence) in self._memory:
            keys, values = self._memory[layer, sequence]
            key, value = torch.cat((keys, key)), torch.cat((values, value))
        self._memory[layer, sequence] = key, value
        group = query.shape[1] // key.shape[1]
        keys, values = (tensor.float().repeat_interleave(group, 1) for tensor in (key, value))

        row = torch.arange(len(key) - len(query), len(key))[:, None]
        column = torch.arange(len(key))
        window = self._windows(layer)
        seen = column <= row if window is None else (column <= row) & (column > row - window)
        scores = torch.einsum("ind,jnd->nij", query.float(), keys) * self._scale
        weights = scores.masked_fill(~seen, -torch.inf).softmax(-1)
        return torch.einsum("nij,jnd->ind", weights, values).to(self.dtype)
