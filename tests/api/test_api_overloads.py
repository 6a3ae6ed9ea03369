# SPDX-License-Identifier: Apache-2.0
"""The torch operators' other overloads: lengths in tensors, and lists of key and value tensors."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch._dynamo.testing import CompileCounterWithBackend
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.fx.experimental.symbolic_shapes import DimDynamic, ShapeEnv, StatelessSymbolicContext

import ascend_attention
from ascend_attention import AttentionError
from ascend_attention import torch_ops as torch_ops  # registers the operators

NAMES = ("npu_fused_infer_attention_score_v2", "npu_prompt_flash_attention", "block_sparse_attention_v2")
FIA = NAMES[0]
function = ascend_attention.npu_fused_infer_attention_score_v2


def packet(name: str) -> Any:
    return getattr(torch.ops.ascend_attention, name)


def key_lengths(name: str) -> str:
    return "actual_seq_kvlen" if name == FIA else "actual_seq_lengths_kv"


def arguments(name: str, **changes: Any) -> dict[str, Any]:
    generator = torch.Generator().manual_seed(3)
    query, key, value = (torch.randn(2, 2, 16, 32, generator=generator).half() for _ in range(3))
    heads = {"num_query_heads" if name == FIA else "num_heads": 2}
    return {"query": query, "key": key, "value": value, "input_layout": "BNSD", **heads, **changes}


def listed(rows: int = 0, **changes: Any) -> dict[str, Any]:
    """Two sequences. Without rows there is nothing to compute: a call is accepted whatever is built."""
    entries = [torch.randn(1, 2, length, 32).half() for length in (7, 16)]
    query = torch.randn(2, 2, rows, 32).half()
    return arguments(FIA, query=query, key=entries, value=[entry + 1 for entry in entries]) | changes


def moved(given: dict[str, Any], device: str) -> dict[str, Any]:
    """Lengths stay where they are."""
    tensors = {n: v.to(device) for n, v in given.items() if isinstance(v, torch.Tensor) and not n.startswith("actual")}
    return given | tensors


def answer(operator: Callable[..., Any], given: dict[str, Any]) -> str:
    try:
        operator(**given)
    except RuntimeError as error:
        return str(error)
    return "accepted"


def passes_opcheck(overload: Any, given: dict[str, Any], **options: Any) -> None:
    given = dict(given)
    positional = [given.pop(name) for name in ("query", "key", "value")]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torch's note that no derivative is registered, which is meant
        assert set(torch.library.opcheck(overload, positional, given, **options).values()) == {"SUCCESS"}


@pytest.mark.parametrize("name", NAMES)
def test_only_the_types_differ(name: str) -> None:
    for operator, out in ((packet(name), "out"), (packet(f"{name}_get_max_workspace"), "")):
        overloads = [("tensor_lengths", {"SymInt[]?": "Tensor?"})]
        if name == FIA:
            overloads.append(("lists", {"Tensor key": "Tensor[] key", "Tensor value": "Tensor[] value"}))
        pairs = [("default", overload, changes) for overload, changes in overloads]
        pairs += [(out, f"{out}_{overload}", changes) for overload, changes in overloads if out]
        for first, other, changes in pairs:
            expected, given = (str(getattr(operator, o)._schema).split("(", 1)[1] for o in (first, other))
            for old, new in changes.items():
                assert old in expected
                expected = expected.replace(old, new)
            assert given == expected
        names = {"default", *([out] if out else []), *(other for _, other, _ in pairs)}
        assert set(operator.overloads()) == names


@pytest.mark.parametrize("dtype", [torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8])
@pytest.mark.parametrize("name", NAMES[:2])
def test_results_with_lengths_in_a_tensor(name: str, dtype: torch.dtype) -> None:
    operator, helper = packet(name), packet(f"{name}_get_max_workspace")
    expected = operator.default(**arguments(name, **{key_lengths(name): [16, 9]}))
    expected = expected if isinstance(expected, tuple) else (expected,)
    for lengths in (torch.tensor([16, 9], dtype=dtype), torch.tensor([0, 16, 0, 9, 0], dtype=dtype)[1::2]):
        given = arguments(name, **{key_lengths(name): lengths})
        result = operator.tensor_lengths(**given)
        assert all(map(torch.equal, expected, result if isinstance(result, tuple) else (result,)))
    buffers = dict(zip(("attention_out", "softmax_lse"), map(torch.zeros_like, expected), strict=False))
    workspace = helper.tensor_lengths(**given)
    assert workspace.shape == helper.default(**arguments(name)).shape
    operator.out_tensor_lengths(**given, workspace=workspace, **buffers)
    assert all(map(torch.equal, expected, buffers.values()))


def test_a_call_that_names_no_overload_takes_tensors_and_lists_too() -> None:
    expected = packet(FIA)(**arguments(FIA, actual_seq_kvlen=[16, 9]))
    assert all(map(torch.equal, packet(FIA)(**arguments(FIA, actual_seq_kvlen=torch.tensor([16, 9]))), expected))
    assert packet(FIA)(**listed())[0].shape == (2, 2, 0, 32)


@pytest.mark.parametrize("device", ["cpu", "meta"])
@pytest.mark.parametrize("lengths", [[16, 17], [3, -1], [4], [], [2**62] * 300])
@pytest.mark.parametrize("name", NAMES[:2])
def test_lengths_are_judged_alike(name: str, lengths: list[int], device: str) -> None:
    as_list, as_tensor = (
        moved(arguments(name, **{key_lengths(name): value}), device)
        for value in (lengths, torch.tensor(lengths, dtype=torch.int64))
    )
    helper = packet(f"{name}_get_max_workspace")
    texts = {answer(operator.default, as_list) for operator in (packet(name), helper)}
    texts |= {answer(operator.tensor_lengths, as_tensor) for operator in (packet(name), helper)}
    assert len(texts) == 1
    assert texts != {"accepted"} or lengths in ([4], [])


@pytest.mark.parametrize(
    ("lengths", "text"),
    [
        (torch.tensor([[16, 9]]), r"given shape \(1, 2\); allowed: one dimension, one length per sequence"),
        (torch.tensor(16), r"given shape \(\)"),
        (torch.tensor([16.0, 9.0]), "given float32; allowed: int64, int32"),
        (torch.tensor([True, True]), "given bool; allowed: int64, int32"),
        (torch.tensor([16, 9], device="meta"), "given a tensor on meta; allowed: a tensor on cpu"),
    ],
)
def test_tensors_that_are_no_lengths(lengths: torch.Tensor, text: str) -> None:
    given = arguments(FIA, actual_seq_kvlen=lengths)
    with pytest.raises(RuntimeError, match=f"actual_seq_kvlen: {text}.*161002"):
        packet(FIA).tensor_lengths(**given)
    if lengths.dtype.is_floating_point or lengths.dtype == torch.bool:
        with pytest.raises(TypeError, match=r"actual_seq_kvlen\[0\]: given"):
            function(**given)
    else:
        with pytest.raises(AttentionError, match="actual_seq_kvlen: given"):
            function(**given)


def test_lengths_whose_storage_was_resized() -> None:
    lengths = torch.tensor([16, 9])
    lengths.untyped_storage().resize_(8)
    for call in (packet(FIA).tensor_lengths, function):
        with pytest.raises(
            (RuntimeError, AttentionError), match="actual_seq_kvlen: given a tensor whose storage has 8"
        ):
            call(**arguments(FIA, actual_seq_kvlen=lengths))


def test_a_sparse_call_is_refused_alike() -> None:
    given = {n: torch.empty(4, 2, 128, dtype=torch.float16) for n in ("query", "key", "value")}
    given |= {"q_input_layout": "TND", "kv_input_layout": "TND", "num_key_value_heads": 2, "scale_value": 1.0}
    given |= {"actual_seq_lengths": [2, 3], "actual_seq_lengths_kv": [4]}
    tensors = {n: torch.tensor(v) if isinstance(v, list) else v for n, v in given.items()}
    first = answer(packet(NAMES[2]).default, given)
    assert "[BSA-" in first and first == answer(packet(NAMES[2]).tensor_lengths, tensors)


def test_opcheck_of_lengths_in_a_tensor() -> None:
    given = arguments(FIA, return_softmax_lse=True, actual_seq_kvlen=torch.tensor([16, 9]))
    out, lse = map(torch.zeros_like, packet(FIA).tensor_lengths(**given))
    passes_opcheck(packet(FIA).tensor_lengths, given)
    passes_opcheck(packet(FIA).out_tensor_lengths, given | {"attention_out": out, "softmax_lse": lse})


LAYOUT_SHAPES = {
    "BSH": ((2, 5, 256), (2, 5, 256)), "BSND": ((2, 5, 4, 64), (2, 5, 4, 64)), "BNSD": ((2, 4, 5, 64), (2, 4, 5, 64)),
    "BNSD_BSND": ((2, 4, 5, 64), (2, 5, 4, 64)), "BSH_NBSD": ((2, 5, 256), (4, 2, 5, 64)),
    "BSND_NBSD": ((2, 5, 4, 64), (4, 2, 5, 64)), "BNSD_NBSD": ((2, 4, 5, 64), (4, 2, 5, 64)),
    "TND": ((7, 4, 64), (7, 4, 32)), "TND_NTD": ((7, 4, 64), (4, 7, 32)), "NTD_TND": ((4, 7, 64), (7, 4, 32)),
}  # fmt: skip


@pytest.mark.parametrize("layout", LAYOUT_SHAPES)
def test_shapes_do_not_wait_for_lengths(layout: str) -> None:
    """While a graph is made their values are not known."""
    query, expected = LAYOUT_SHAPES[layout]
    packed = "T" in layout
    with FakeTensorMode():
        value = torch.empty(*query[:-1], 32 if packed else query[-1], dtype=torch.bfloat16)
        given = {
            "query": torch.empty(query, dtype=torch.bfloat16), "key": torch.empty(query, dtype=torch.bfloat16),
            "value": value, "input_layout": layout, "num_query_heads": 4,
            "actual_seq_qlen": torch.empty(2, dtype=torch.int64), "return_softmax_lse": True,
        }  # fmt: skip
        out, lse = packet(FIA).tensor_lengths(**given)
        paged, _ = packet(FIA).tensor_lengths(**given, block_table=torch.empty(2, 1, dtype=torch.int32))
        scaled, _ = packet(FIA).tensor_lengths(**given, quant_scale_out=torch.empty(1))
    assert (out.shape, out.dtype) == (expected, torch.bfloat16)
    assert (lse.shape, lse.dtype) == ((7, 4, 1) if packed else (2, 4, 5, 1), torch.float32)
    assert paged.shape == ((*expected[:-1], 64) if packed else expected)
    assert scaled.dtype == torch.int8


@pytest.mark.parametrize("operator", [packet(FIA).tensor_lengths, function], ids=["torch.ops", "package"])
def test_one_graph_serves_all_lengths_in_a_tensor(operator: Any) -> None:
    torch._dynamo.reset()
    given = arguments(FIA)
    counter = CompileCounterWithBackend("aot_eager")

    def layer(query: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
        return operator(**(given | {"query": query * 2}), actual_seq_kvlen=lengths)[0] + 1

    compiled = torch.compile(layer, fullgraph=True, backend=counter)
    for lengths in ([16, 9], [3, 3], [1, 16]):
        expected = packet(FIA)(**(given | {"query": given["query"] * 2}), actual_seq_kvlen=lengths)[0] + 1
        assert torch.equal(compiled(given["query"], torch.tensor(lengths)), expected)
    assert counter.frame_count == 1
    with pytest.raises(RuntimeError, match="actual_seq_kvlen: given"):
        compiled(given["query"], torch.tensor([16, 17]))


def test_lists_are_judged_alike_through_torch() -> None:
    for given in (listed(rows=4, key=listed()["key"][:1]), listed(rows=4, key=[])):
        texts = {answer(call, given) for call in (packet(FIA).lists, packet(f"{FIA}_get_max_workspace").lists)}
        with pytest.raises(AttentionError) as caught:
            function(**given)
        assert texts == {str(caught.value)}
    given = listed(rows=4)
    assert torch.equal(packet(FIA).lists(**given)[0], function(**given)[0])


def test_results_of_lists_with_nothing_to_compute() -> None:
    given = listed(return_softmax_lse=True, actual_seq_kvlen=[7, 3])
    out, lse = packet(FIA).lists(**given)
    assert (out.shape, lse.shape) == ((2, 2, 0, 32), (2, 2, 0, 1))
    packet(FIA).out_lists(**given, attention_out=out, softmax_lse=lse)
    assert packet(f"{FIA}_get_max_workspace").lists(**given).dtype == torch.uint8
    passes_opcheck(packet(FIA).lists, given)
    passes_opcheck(packet(FIA).out_lists, given | {"attention_out": out, "softmax_lse": lse})


@pytest.mark.parametrize("operator", [packet(FIA).lists, function], ids=["torch.ops", "package"])
def test_lists_in_a_graph(operator: Any) -> None:
    torch._dynamo.reset()
    given = listed()
    query, key, value = (given.pop(name) for name in ("query", "key", "value"))
    compiled = torch.compile(lambda *lists: operator(*lists, **given)[0], fullgraph=True, backend="aot_eager")
    assert compiled(query, key, value).shape == (2, 2, 0, 32)


def test_entries_of_lists_that_cannot_be_read_are_named() -> None:
    given = listed()
    given["value"][1].untyped_storage().resize_(40)
    with pytest.raises(RuntimeError, match=r"value\[1\]: given a tensor whose storage has 40 bytes"):
        packet(FIA).lists(**given)
    with pytest.raises(RuntimeError, match=r"key\[0\]: given a tensor on meta; allowed: a tensor on cpu, as query is"):
        packet(FIA).lists(**listed(key=[entry.to("meta") for entry in listed()["key"]]))


def test_a_symbolic_length_stays_one() -> None:
    assert packet(FIA).overloads()[0] == "default"
    given = arguments(FIA)
    dynamic = StatelessSymbolicContext([DimDynamic.STATIC, DimDynamic.STATIC, DimDynamic.DYNAMIC, DimDynamic.STATIC])
    with FakeTensorMode(shape_env=ShapeEnv()) as mode:
        given["query"] = mode.from_tensor(given["query"])
        for name in ("key", "value"):
            given[name] = mode.from_tensor(given[name], symbolic_context=dynamic)
        rows = given["key"].shape[2]
        given["actual_seq_kvlen"] = [rows, rows]
        assert packet(FIA)(**given)[0].shape == (2, 2, 16, 32)
        assert rows.node.maybe_as_int() is None
