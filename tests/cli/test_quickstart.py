# SPDX-License-Identifier: Apache-2.0
"""The main job: a real encoder's attention on the simulated NPU passes, and a wrong kernel does not."""

from __future__ import annotations

from typing import Any

import pytest
import torch

import ascend_attention
from ascend_attention.cli import minilm, quickstart


@pytest.fixture(scope="module")
def encoder() -> minilm.MiniLM:
    return minilm.MiniLM(minilm.model_directory())


def test_quickstart_passes(capsys: pytest.CaptureFixture[str]) -> None:
    assert quickstart.main() == 0
    printed = capsys.readouterr().out
    assert printed.count(" pass ") == 6
    assert "the same bits" in printed
    assert "All good." in printed


@pytest.mark.parametrize(
    ("wrong", "text"),
    [
        ({"softmax_scale": 1.02 * 32**-0.5}, "is not precise enough"),
        ({"atten_mask": None}, "is not precise enough"),  # padding becomes visible
    ],
)
def test_quickstart_fails_on_a_wrong_result(
    wrong: dict[str, Any], text: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    operator = ascend_attention.npu_fused_infer_attention_score_v2
    monkeypatch.setattr(
        ascend_attention,
        "npu_fused_infer_attention_score_v2",
        lambda *inputs, **arguments: operator(*inputs, **{**arguments, **wrong}),
    )
    assert quickstart.main() == 1
    assert text in capsys.readouterr().out


def test_padding_does_not_change_an_embedding(encoder: minilm.MiniLM) -> None:
    short, long = quickstart.SENTENCES[0], quickstart.SENTENCES[3]
    alone = encoder.encode(encoder.tokenize([short]), minilm.plain_attention)
    padded = encoder.encode(encoder.tokenize([short, long]), minilm.plain_attention)
    torch.testing.assert_close(padded[:1], alone, rtol=1e-5, atol=1e-6)


def test_near_meanings_are_near(encoder: minilm.MiniLM) -> None:
    """The encoder itself is right: five pairs find each other, the other two sentences are far from everything."""
    embeddings = encoder.encode(encoder.tokenize(quickstart.SENTENCES), minilm.plain_attention)
    similarity = (embeddings @ embeddings.T).fill_diagonal_(-1.0)
    best = similarity.max(1)
    assert best.indices[:10].tolist() == [1, 0, 3, 2, 5, 4, 7, 6, 9, 8]
    assert best.values[:10].min() > 0.4
    assert best.values[10:].max() < 0.3
