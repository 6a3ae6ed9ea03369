# SPDX-License-Identifier: Apache-2.0
"""Runs a real sentence encoder with every attention layer on the simulated NPU, and judges the result.

Exit code 0: every layer passed the precision check, the checked run found nothing and gave the same bits, and the
embeddings agree with the unmodified model's.
"""

from __future__ import annotations

import sys
import time
from dataclasses import dataclass
from typing import Any

import torch
from tqdm import tqdm

import ascend_attention
from ascend_attention import precision
from ascend_attention.cli.minilm import MiniLM, model_directory, plain_attention

# Neighbouring sentences mean nearly the same; the last two stand alone. Lengths differ, so there is padding to hide.
SENTENCES = (
    "A kitten is asleep on the sofa.",
    "The young cat naps on the couch.",
    "Shares fell sharply after the central bank raised interest rates.",
    "The stock market dropped when borrowing became more expensive, and analysts who had expected a calm week were "
    "surprised by how quickly investors moved their money into bonds.",
    "How do I bake bread without yeast?",
    "Recipe for a loaf that needs no yeast",
    "The spacecraft landed near the south pole of the Moon.",
    "A lunar probe touched down in the far south.",
    "She practised the violin for three hours every day.",
    "Each day the girl spent hours learning her instrument, the fiddle.",
    "Heavy rain has flooded the main road into the village.",
    "Matrix multiplication dominates the running time of large language models.",
)
CHECKED_LAYER = 0
# Attention in 16-bit numbers moves an embedding by its rounding, at most some 1e-3 of its length: cosine 1 - 1e-6.
# A wrong scale or visible padding moves it by a hundred times that.
LEAST_COSINE = 0.99999


@dataclass
class LayerRun:
    """One attention layer as it ran: its inputs, so that it can be judged, and its output."""

    inputs: tuple[torch.Tensor, torch.Tensor, torch.Tensor]
    arguments: dict[str, Any]
    output: torch.Tensor
    seconds: float


class NpuAttention:
    """The encoder's attention through the operator, in float16; keeps what every layer computed."""

    def __init__(self, progress: tqdm[Any]) -> None:
        self.runs: list[LayerRun] = []
        self._progress = progress

    def __call__(
        self, layer: int, query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, hidden: torch.Tensor
    ) -> torch.Tensor:
        length, heads, head_dim = query.shape[1:]
        inputs = (query.half(), key.half(), value.half())
        arguments: dict[str, Any] = {
            # A token sees every key but the padding: the same row for each query position, [batch, 1, length, length].
            "atten_mask": hidden[:, None, None, :].expand(-1, 1, length, -1).contiguous(),
            "num_query_heads": heads,
            "softmax_scale": head_dim**-0.5,
            "input_layout": "BSND",
        }
        start = time.perf_counter()
        output, _ = ascend_attention.npu_fused_infer_attention_score_v2(*inputs, **arguments)
        run = LayerRun(inputs, arguments, output, time.perf_counter() - start)
        self.runs.append(run)
        self._progress.update()
        return run.output.to(query.dtype)


def print_layers(runs: list[LayerRun], reports: list[precision.CallReport]) -> None:
    print("\nPrecision of each attention layer, float16, against float64 (peer: plain 16-bit attention)")
    print("  layer   maximum error   peer's      RMS error   peer's      verdict   simulated in")
    for layer, (run, report) in enumerate(zip(runs, reports, strict=True)):
        out = report["attention_out"]
        print(
            f"  {layer:5}   {out.max_error:13.3e}   {out.peer_max_error:.3e}   {out.rms_error:.3e}   "
            f"{out.peer_rms_error:.3e}   {'pass' if out.passed else 'FAIL':7}   {run.seconds:10.2f} s"
        )
        if not report.passed:
            print(report.table())


def print_nearest(embeddings: torch.Tensor, unmodified: torch.Tensor) -> bool:
    """Each sentence's nearest other one; whether the unmodified model agrees on all of them."""

    def nearest(vectors: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        similarity = vectors @ vectors.T
        best = similarity.fill_diagonal_(-1.0).max(1)
        return best.values, best.indices

    print("\nNearest sentences")
    similarity, index = nearest(embeddings)
    for sentence, cosine, other in zip(SENTENCES, similarity.tolist(), index.tolist(), strict=True):
        print(f"  {cosine:.3f}  {shorten(sentence):50}  ~  {shorten(SENTENCES[other])}")
    return torch.equal(index, nearest(unmodified)[1])


def shorten(sentence: str, width: int = 50) -> str:
    return sentence if len(sentence) <= width else sentence[: width - 1].rstrip() + "…"


def main() -> int:
    begin = time.perf_counter()
    encoder = MiniLM(model_directory())
    batch = encoder.tokenize(SENTENCES)
    sentences, length = batch.ids.shape
    print(
        f"MiniLM: {encoder.layers} layers, {encoder.heads} heads, head_dim {encoder.head_dim}; {sentences} sentences, "
        f"padded to {length} tokens; {torch.get_num_threads()} threads"
    )
    unmodified = encoder.encode(batch, plain_attention)

    # In a log file every update is a line of its own: few of them there.
    interval = 0.1 if sys.stderr.isatty() else 10.0
    with tqdm(total=2 * encoder.layers + 1, desc="simulating", unit="step", mininterval=interval) as progress:
        attention = NpuAttention(progress)
        with ascend_attention.simulator(mode="fast"):
            embeddings = encoder.encode(batch, attention)

        progress.set_description(f"layer {CHECKED_LAYER}, checked", refresh=False)
        run = attention.runs[CHECKED_LAYER]
        start = time.perf_counter()
        with ascend_attention.simulator(mode="checked") as checked:
            again, _ = ascend_attention.npu_fused_infer_attention_score_v2(*run.inputs, **run.arguments)
        checked_seconds = time.perf_counter() - start
        progress.update()

        progress.set_description("judging", refresh=False)
        reports = []
        for run in attention.runs:
            reports.append(precision.compare_fused_infer_attention_score_v2(run.output, *run.inputs, **run.arguments))
            progress.update()

    print_layers(attention.runs, reports)
    same = torch.equal(again, attention.runs[CHECKED_LAYER].output)
    findings = len(checked.report.findings)
    print(f"\nLayer {CHECKED_LAYER} again in checked mode, {checked_seconds:.2f} s:", end=" ")
    print(f"{findings or 'no'} findings, {'the same bits' if same else 'OTHER BITS'} as in fast mode")
    print(checked.report)

    cosine = (embeddings * unmodified).sum(1)
    print("\nCosine of the embeddings with the unmodified model's:", end=" ")
    print(f"{cosine.min():.7f} (worst), {cosine.mean():.7f} (mean)")
    agree = print_nearest(embeddings, unmodified)
    simulated = sum(run.seconds for run in attention.runs)
    print(f"\nTime: {time.perf_counter() - begin:.1f} s in all, {simulated:.1f} s of it simulated attention")

    failures = [
        *(f"layer {layer} is not precise enough" for layer, report in enumerate(reports) if not report.passed),
        *(["the checked run found something"] if findings else []),
        *(["the checked run gave other bits than the fast run"] if not same else []),
        *([f"an embedding's cosine is below {LEAST_COSINE}"] if cosine.min() < LEAST_COSINE else []),
        *(["nearest sentences differ from the unmodified model's"] if not agree else []),
    ]
    print("\nFAILED: " + "; ".join(failures) if failures else "\nAll good.")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
