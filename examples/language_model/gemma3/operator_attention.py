# SPDX-License-Identifier: Apache-2.0
"""Attention by npu_fused_infer_attention_score_v2, called as a serving engine calls it.

Prompts are computed from their own keys (dense, padded to the longest), later tokens from a paged cache. Rule numbers
(FIA-C...) are those of docs/constraints.md. Padding and unwritten rows of the cache hold NaN, and unused entries of the
block table ids that do not exist: nothing may look at them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch

import ascend_attention
from ascend_attention import golden
from gemma3.attention import Step, Windows

BLOCK = 128  # tokens per block of the cache; allowed for every query length (FIA-C59, FIA-C60)
GARBAGE = (-1, 2**31 - 1)  # in unused entries of the block table

# (query, key, value, **other arguments of the operator) -> attention_out
Operator = Callable[..., torch.Tensor]


def simulated(query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, **arguments: Any) -> torch.Tensor:
    """The operator: its kernel on the simulated NPU."""
    results: tuple[torch.Tensor, torch.Tensor]
    results = ascend_attention.npu_fused_infer_attention_score_v2(query, key, value, **arguments)
    return results[0]


def golden_model(query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, **arguments: Any) -> torch.Tensor:
    """The same call computed by the golden model in NumPy, rounded where a device rounds."""

    def array(tensor: torch.Tensor) -> Any:  # NumPy has no bfloat16: the golden model takes its bits as uint16
        if tensor.dtype == torch.bfloat16:
            return tensor.contiguous().view(torch.int16).numpy().view("uint16")
        return tensor.numpy()

    given = {name: array(value) if isinstance(value, torch.Tensor) else value for name, value in arguments.items()}
    out, _ = golden.fused_infer_attention_score_v2(array(query), array(key), array(value), **given, dtype_flow="device")
    if query.dtype == torch.bfloat16:
        return torch.from_numpy(out.view("int16")).view(torch.bfloat16)
    return torch.from_numpy(out)


class BlockTable:
    """Which blocks of the cache hold which tokens. Blocks are handed out in a shuffled order, as after hours of use."""

    def __init__(self, sequences: int, capacity: int, seed: int = 0) -> None:
        columns = -(-capacity // BLOCK)
        self.blocks = sequences * columns
        self._free = torch.randperm(self.blocks, generator=torch.Generator().manual_seed(seed)).tolist()
        self._used: list[list[int]] = [[] for _ in range(sequences)]

    def reserve(self, ends: Sequence[int]) -> None:
        """Makes room for ends[b] tokens of each sequence b."""
        for used, end in zip(self._used, ends, strict=True):
            while len(used) * BLOCK < end:
                used.append(self._free.pop())

    def slots(self, sequence: int, positions: range) -> list[int]:
        """Rows of the cache, counted through all blocks, of a sequence's tokens."""
        return [self._used[sequence][position // BLOCK] * BLOCK + position % BLOCK for position in positions]

    def entries(self, first: Sequence[int], ends: Sequence[int]) -> torch.Tensor:
        """The operator's block_table: for sequence b its blocks from number first[b] to that of token ends[b] - 1."""
        rows = [used[begin : -(-end // BLOCK)] for used, begin, end in zip(self._used, first, ends, strict=True)]
        columns = max(1, *(len(row) for row in rows))
        padded = [row + [GARBAGE[b % 2]] * (columns - len(row)) for b, row in enumerate(rows)]
        return torch.tensor(padded, dtype=torch.int32)


@dataclass(frozen=True)
class _Call:
    """How this step's layers of one kind call the operator."""

    paged: bool
    arguments: dict[str, Any]


class OperatorAttention:
    """Paged attention through ``operator``. Layers of one window share their arguments within a step."""

    def __init__(
        self,
        operator: Operator,
        *,
        layers: int,
        windows: Windows,
        heads: int,
        key_heads: int,
        head_dim: int,
        dtype: torch.dtype,
        sequences: int,
        capacity: int,
    ) -> None:
        self.dtype = dtype
        self.calls = 0
        self._operator, self._windows = operator, windows
        self._table = BlockTable(sequences, capacity)
        # [blocks, tokens, key_heads * head_dim] is the form that goes with BSND queries (FIA-C64).
        shape = (2, layers, self._table.blocks, BLOCK, key_heads * head_dim)
        self._keys, self._values = torch.full(shape, torch.nan, dtype=dtype)
        self._common = {
            "num_query_heads": heads,
            "num_key_value_heads": key_heads,
            "softmax_scale": head_dim**-0.5,
            "input_layout": "BSND",
        }
        # Modes 3 and 4 want this mask: a promise about positions that the operator does not read.
        self._promise = torch.ones(2048, 2048, dtype=torch.bool).triu(1)

    def begin(self, step: Step) -> None:
        self._table.reserve(step.ends)
        self._slots = torch.tensor([slot for b, span in enumerate(step.spans) for slot in self._table.slots(b, span)])
        self._taken = torch.arange(step.rows) < torch.tensor(step.counts)[:, None]  # of [batch, rows], by a token
        self._step = step
        self._prepared: dict[int | None, _Call] = {}

    def attend(self, layer: int, query: torch.Tensor, key: torch.Tensor, value: torch.Tensor) -> torch.Tensor:
        keys, values = self._keys[layer], self._values[layer]
        keys.flatten(0, 1)[self._slots] = key.flatten(1)
        values.flatten(0, 1)[self._slots] = value.flatten(1)
        window = self._windows(layer)
        if window not in self._prepared:
            self._prepared[window] = self._prepare(window)
        call = self._prepared[window]
        if not call.paged:
            keys, values = self._padded(key), self._padded(value)
        self.calls += 1
        return self._operator(self._padded(query), keys, values, **call.arguments)[self._taken]

    def _padded(self, tokens: torch.Tensor) -> torch.Tensor:
        """[tokens, heads, head_dim] -> [batch, rows, heads, head_dim], the layout BSND."""
        padded = tokens.new_full((*self._taken.shape, *tokens.shape[1:]), torch.nan)
        padded[self._taken] = tokens
        return padded

    def _prepare(self, window: int | None) -> _Call:
        step = self._step
        if step.rows == 1:
            arguments = self._one_token(window)
        elif not any(step.starts):
            arguments = {"actual_seq_qlen": step.counts, "actual_seq_kvlen": step.counts, **self._band(window)}
        else:
            arguments = {"actual_seq_qlen": step.counts, **self._cached(self._first_seen(window)), **self._band(window)}
        return _Call("block_table" in arguments, {**self._common, **arguments})

    def _band(self, window: int | None) -> dict[str, Any]:
        """Causal, or the last ``window`` keys. Both count from the last query and the last key of each sequence."""
        if window is None:
            return {"sparse_mode": 3, "atten_mask": self._promise}
        return {"sparse_mode": 4, "pre_tokens": window - 1, "next_tokens": 0, "atten_mask": self._promise}

    def _first_seen(self, window: int | None) -> list[int]:
        """The first key that each sequence's first new token sees."""
        return [0 if window is None else max(0, start + 1 - window) for start in self._step.starts]

    def _cached(self, first: Sequence[int]) -> dict[str, Any]:
        """The cache from the block that holds key first[b] on: what lies before is not seen, and not even named."""
        skipped = [key // BLOCK for key in first]
        return {
            "block_table": self._table.entries(skipped, self._step.ends),
            "block_size": BLOCK,
            "actual_seq_kvlen": [end - block * BLOCK for end, block in zip(self._step.ends, skipped, strict=True)],
        }

    def _one_token(self, window: int | None) -> dict[str, Any]:
        """One query row sees every key, whatever sparse_mode says (FIA-C42, FIA-C51): the window is made otherwise.

        Blocks that have left it are left out of the table. The first that stays may begin with keys that have left: a
        mask hides them. Its columns are those of the table (FIA-C46, FIA-C56).
        """
        first = self._first_seen(window)
        arguments = self._cached(first)
        if window is not None:
            columns = torch.arange(arguments["block_table"].shape[1] * BLOCK)
            hidden = columns < torch.tensor([key % BLOCK for key in first])[:, None]
            arguments["atten_mask"] = hidden[:, None, None, :]
        return arguments
