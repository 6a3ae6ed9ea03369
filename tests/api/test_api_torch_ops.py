# SPDX-License-Identifier: Apache-2.0
"""torch.ops.ascend_attention: schema, fake kernels, torch.compile, out-variant, workspace."""

from __future__ import annotations

import inspect
import warnings
from typing import Any

import pytest
import torch
from helpers.fia_cases import LAYOUTS
from helpers.torch_cases import small_call, split
from torch._subclasses.fake_tensor import FakeTensorMode

import ascend_attention

packet = torch.ops.ascend_attention.npu_fused_infer_attention_score_v2
max_workspace = torch.ops.ascend_attention.npu_fused_infer_attention_score_v2_get_max_workspace
function = ascend_attention.npu_fused_infer_attention_score_v2


def test_schema_and_signature_are_the_documents() -> None:
    # The document's prototype, argument by argument (name, type, default).
    document = """
        query Tensor; key Tensor; value Tensor; query_rope Tensor? None; key_rope Tensor? None; pse_shift Tensor? None;
        atten_mask Tensor? None; actual_seq_qlen SymInt[]? None; actual_seq_kvlen SymInt[]? None;
        block_table Tensor? None; dequant_scale_query Tensor? None; dequant_scale_key Tensor? None;
        dequant_offset_key Tensor? None; dequant_scale_value Tensor? None; dequant_offset_value Tensor? None;
        dequant_scale_key_rope Tensor? None; quant_scale_out Tensor? None; quant_offset_out Tensor? None;
        learnable_sink Tensor? None; num_query_heads int 1; num_key_value_heads int 0; softmax_scale float 1.0;
        pre_tokens int 2147483647; next_tokens int 2147483647; input_layout str 'BSH'; sparse_mode int 0;
        block_size int 0; query_quant_mode int 0; key_quant_mode int 0; value_quant_mode int 0; inner_precise int 0;
        return_softmax_lse bool False; query_dtype int? None; key_dtype int? None; value_dtype int? None;
        query_rope_dtype int? None; key_rope_dtype int? None; key_shared_prefix_dtype int? None;
        value_shared_prefix_dtype int? None; dequant_scale_query_dtype int? None; dequant_scale_key_dtype int? None;
        dequant_scale_value_dtype int? None; dequant_scale_key_rope_dtype int? None
    """
    wanted = [tuple(entry.split()) for entry in document.split(";")]
    overload = packet.default._schema
    for schema, returns in (
        (overload, ["attention_out", "softmax_lse"]),
        (packet.out._schema, []),
        (max_workspace.default._schema, [""]),
    ):
        arguments = schema.arguments[: len(wanted)]
        assert [a.name for a in arguments] == [entry[0] for entry in wanted]
        assert [a.kwarg_only for a in arguments] == [False] * 3 + [True] * 40
        assert [r.name for r in schema.returns] == returns
        for argument, (name, kind, *default) in zip(arguments, wanted, strict=True):
            assert f"{kind} {name}" in str(schema)
            assert not default or repr(argument.default_value) == default[0], name
    extra = packet.out._schema.arguments[len(wanted) :]
    assert [(a.name, a.alias_info is not None and a.alias_info.is_write) for a in extra] == [
        ("workspace", False),
        ("attention_out", True),
        ("softmax_lse", True),
    ]

    parameters = list(inspect.signature(function).parameters.values())
    assert [p.name for p in parameters] == [entry[0] for entry in wanted]
    for parameter, (_, _, *default) in zip(parameters, wanted, strict=True):
        keyword = parameter.kind is inspect.Parameter.KEYWORD_ONLY
        assert keyword == bool(default)
        assert not default or repr(parameter.default) == default[0]


OPCHECK_CASES = {
    "dense": small_call(return_softmax_lse=False),
    "lse": small_call(),
    "causal-bf16": small_call("BSND", dtype="bfloat16", sparse_mode=3, mask_shape="SS"),
    "mask": small_call("BSH", mask_shape="SS", mask_dtype="uint8"),
    "transposed": small_call("BNSD_BSND", actual_seq_qlen=None, actual_seq_kvlen=None),
}


SHAPES_ONLY = ("test_schema", "test_autograd_registration", "test_faketensor")


def passes_opcheck(operator: Any, arguments: dict[str, Any], **options: Any) -> None:
    positional, keywords = split(arguments)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torch's note that no derivative is registered, which is meant
        assert set(torch.library.opcheck(operator, positional, keywords, **options).values()) == {"SUCCESS"}


@pytest.mark.parametrize("name", OPCHECK_CASES)
def test_opcheck(name: str) -> None:
    passes_opcheck(packet.default, OPCHECK_CASES[name])


def test_opcheck_of_the_other_overloads() -> None:
    arguments = small_call()
    out, lse = torch.zeros(2, 4, 20, 32, dtype=torch.float16), torch.zeros(2, 4, 20, 1)
    passes_opcheck(packet.out, arguments | {"attention_out": out, "softmax_lse": lse})
    # The other check compares bytes, and a workspace's bytes are nobody's.
    passes_opcheck(max_workspace.default, arguments, test_utils=SHAPES_ONLY)


def test_opcheck_with_tensors_that_require_grad() -> None:
    arguments = small_call()
    arguments["query"] = arguments["query"].clone().requires_grad_()
    # Without the check that takes the gradient: there is none (test_api_odd_tensors).
    passes_opcheck(packet.default, arguments, test_utils=SHAPES_ONLY)


@pytest.mark.parametrize("return_softmax_lse", [True, False])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_fakes_agree_with_the_kernel(layout: str, return_softmax_lse: bool) -> None:
    arguments = small_call(layout, return_softmax_lse=return_softmax_lse)
    real = packet(**arguments)
    with FakeTensorMode() as mode:
        fake_arguments = {n: mode.from_tensor(v) if isinstance(v, torch.Tensor) else v for n, v in arguments.items()}
        static = packet(**fake_arguments)
        through_function = function(**fake_arguments)
    meta = packet(**{n: v.to("meta") if isinstance(v, torch.Tensor) else v for n, v in arguments.items()})
    for results in (static, through_function, meta):
        for fake, tensor in zip(results, real, strict=True):
            assert (fake.shape, fake.dtype, fake.stride()) == (tensor.shape, tensor.dtype, tensor.stride())


def test_fakes_refuse_what_the_kernel_refuses() -> None:
    arguments = small_call(query_length=20) | {"sparse_mode": 9}
    with pytest.raises(RuntimeError) as real:
        packet(**arguments)
    meta = {n: v.to("meta") if isinstance(v, torch.Tensor) else v for n, v in arguments.items()}
    with pytest.raises(RuntimeError) as fake:
        packet(**meta)
    assert str(fake.value) == str(real.value)
    with pytest.raises(ascend_attention.AttentionError, match="FIA-C42"):
        function(**meta)


@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.parametrize("backend", ["aot_eager", "inductor"])
@pytest.mark.parametrize("operator", [packet, function], ids=["torch.ops", "package"])
def test_compile_fullgraph(operator: Any, backend: str, dynamic: bool) -> None:
    torch._dynamo.reset()

    def layer(query: torch.Tensor, key: torch.Tensor, lengths: list[int]) -> torch.Tensor:
        out, lse = operator(
            query * 2, key, key + 1, num_query_heads=2, input_layout="BNSD", softmax_scale=0.25,
            actual_seq_kvlen=lengths, return_softmax_lse=True,
        )  # fmt: skip
        return out.float() + lse

    compiled = torch.compile(layer, fullgraph=True, backend=backend, dynamic=dynamic)
    generator = torch.Generator().manual_seed(5)
    for batch, queries, keys, lengths in ((1, 8, 16, [16]), (2, 8, 16, [16, 9]), (2, 24, 40, [3, 40])):
        query = torch.randn(batch, 2, queries, 32, generator=generator).half()
        key = torch.randn(batch, 2, keys, 32, generator=generator).half()
        assert torch.equal(compiled(query, key, lengths), layer(query, key, lengths))


def test_lengths_as_a_tensor_break_the_graph_and_work() -> None:
    torch._dynamo.reset()
    positional, keywords = split(small_call())
    expected = function(*positional, **keywords)[0]
    keywords.pop("actual_seq_kvlen")

    def layer(query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
        return function(query, key, value, actual_seq_kvlen=lengths, **keywords)[0]

    assert torch.equal(torch.compile(layer)(*positional, torch.tensor([48, 30])), expected)


@pytest.mark.parametrize("dtype", ["int64", "int32", "int16", "int8", "uint8"])
def test_lengths_in_a_tensor_that_has_gaps_and_begins_between_two_elements(dtype: str) -> None:
    positional, keywords = split(small_call())
    memory = torch.frombuffer(bytearray(8 * 4 + 1), dtype=getattr(torch, dtype), offset=1, count=4)
    lengths = memory[::2].copy_(torch.tensor([48, 30]))
    expected = packet(*positional, **keywords)[0]
    assert torch.equal(packet(*positional, **{**keywords, "actual_seq_kvlen": lengths})[0], expected)


def test_compiled_graphs_see_the_simulator_context() -> None:
    torch._dynamo.reset()
    arguments = small_call()
    positional, keywords = split(arguments)
    compiled = torch.compile(lambda q, k, v: function(q, k, v, **keywords)[0], fullgraph=True)
    compiled(*positional)
    with ascend_attention.simulator(soc="Ascend910B4", mode="checked") as run:
        compiled(*positional)
    assert [(launch.soc, launch.mode) for launch in run.report.launches] == [("Ascend910B4", "checked")]


def test_export() -> None:
    positional, keywords = split(small_call())

    class Layer(torch.nn.Module):
        def forward(self, query: torch.Tensor, key: torch.Tensor, value: torch.Tensor) -> torch.Tensor:
            return function(query, key, value, **keywords)[0]

    batch = torch.export.Dim("rows", min=2, max=64)
    program = torch.export.export(Layer(), positional, dynamic_shapes={"query": {2: batch}, "key": {}, "value": {}})
    assert torch.equal(program.module()(*positional), function(*positional, **keywords)[0])


def test_out_variant_writes_the_callers_tensors() -> None:
    arguments = small_call()
    expected = packet(**arguments)
    workspace = max_workspace(**arguments)
    assert workspace.dtype == torch.uint8 and workspace.dim() == 1
    for scratch in (None, workspace, workspace.view(torch.float16)):
        out, lse = torch.full((2, 4, 20, 32), 7.0).half(), torch.full((2, 4, 20, 1), 7.0)
        assert packet.out(**arguments, workspace=scratch, attention_out=out, softmax_lse=lse) is None
        assert torch.equal(out, expected[0]) and torch.equal(lse, expected[1])


def test_out_variant_leaves_an_unwanted_lse_alone() -> None:
    arguments = small_call(return_softmax_lse=False)
    expected = packet(**arguments)[0]
    for placeholder in (torch.full((1,), 7.0, dtype=torch.float16), torch.empty(0), torch.full((1,), 7.0)):
        out = torch.empty(2, 4, 20, 32, dtype=torch.float16)
        packet.out(**arguments, attention_out=out, softmax_lse=placeholder)
        assert torch.equal(out, expected)
        assert torch.all(placeholder == 7)


def test_out_variant_refuses_what_does_not_fit() -> None:
    arguments = small_call()
    good = {"attention_out": torch.empty(2, 4, 20, 32).half(), "softmax_lse": torch.empty(2, 4, 20, 1)}
    room = torch.zeros(2, 4, 20, 64).half()
    bad: list[tuple[dict[str, torch.Tensor], str]] = [
        ({"attention_out": torch.empty(2, 4, 20, 32)}, "attention_out: given float32"),
        ({"attention_out": torch.empty(2, 4, 19, 32).half()}, "attention_out: given float16"),
        ({"attention_out": room[..., ::2]}, "attention_out: "),
        ({"attention_out": arguments["query"]}, "attention_out: given memory that overlaps query"),
        ({"softmax_lse": torch.empty(1)}, "softmax_lse: given float32"),
        ({"softmax_lse": torch.empty(2, 4, 20, 1).half()}, "softmax_lse: given float16"),
        ({"workspace": torch.empty(10, dtype=torch.uint8)}, "workspace: given 10 bytes"),
    ]
    for changes, text in bad:
        with pytest.raises(RuntimeError, match=text):
            packet.out(**arguments, **(good | changes))


def test_max_workspace_serves_any_lengths() -> None:
    arguments = small_call(batch=6, query_length=300, key_length=300, actual_seq_qlen=(1,), actual_seq_kvlen=(1,))
    small = max_workspace(**arguments)
    longest = arguments | {"actual_seq_qlen": None, "actual_seq_kvlen": None}
    assert small.numel() == max_workspace(**longest).numel() > 0
    out, lse = packet(**longest)
    packet.out(**longest, workspace=small, attention_out=out.zero_(), softmax_lse=lse)
    assert torch.equal(out, packet(**longest)[0])


def test_compiled_out_variant() -> None:
    torch._dynamo.reset()
    positional, keywords = split(small_call())

    @torch.compile(fullgraph=True)
    def step(query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, out: torch.Tensor, lse: torch.Tensor) -> Any:
        packet.out(query + 0, key, value, **keywords, attention_out=out, softmax_lse=lse)
        return out * 2

    out, lse = torch.empty(2, 4, 20, 32).half(), torch.empty(2, 4, 20, 1)
    doubled = step(*positional, out, lse)
    expected = packet(*positional, **keywords)
    assert torch.equal(out, expected[0]) and torch.equal(lse, expected[1]) and torch.equal(doubled, out * 2)


def test_wrong_types_are_refused_by_the_schema() -> None:
    for changes in ({"sparse_mode": "3"}, {"num_query_heads": 4.5}, {"actual_seq_qlen": [1.5]}, {"input_layout": 3}):
        with pytest.raises((RuntimeError, TypeError), match=next(iter(changes))):
            packet(**(small_call() | changes))


def _random(*shape: int) -> torch.Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(7)).bfloat16()


# What the fused operator has besides: inputs, and the shapes of its two results.
OTHER_FORMS: dict[str, tuple[dict[str, Any], tuple[int, ...], tuple[int, ...]]] = {
    "paged": ({
        "query": _random(2, 3, 4, 64), "key": _random(3, 128, 128), "value": _random(3, 128, 128), "block_size": 128,
        "block_table": torch.tensor([[2, 0], [1, -1]], dtype=torch.int32), "actual_seq_kvlen": [130, 5],
        "input_layout": "BSND", "num_query_heads": 4, "num_key_value_heads": 2,
    }, (2, 3, 4, 64), (2, 4, 3, 1)),
    "packed": ({
        "query": _random(5, 4, 192), "key": _random(9, 4, 192), "value": _random(9, 4, 128), "actual_seq_qlen": [2, 5],
        "actual_seq_kvlen": [2, 9], "input_layout": "TND", "num_query_heads": 4,
    }, (5, 4, 128), (5, 4, 1)),
    "rope": ({
        "query": _random(4, 5, 128), "key": _random(4, 9, 128), "value": _random(4, 9, 128),
        "query_rope": _random(4, 5, 64), "key_rope": _random(4, 9, 64), "actual_seq_qlen": [2, 5],
        "actual_seq_kvlen": [2, 9], "input_layout": "NTD_TND", "num_query_heads": 4,
    }, (5, 4, 128), (5, 4, 1)),
    "latent": ({
        "query": _random(2, 1, 32, 512), "key": _random(2, 128, 512), "value": _random(2, 128, 512), "block_size": 128,
        "query_rope": _random(2, 1, 32, 64), "key_rope": _random(2, 128, 64), "actual_seq_kvlen": [16, 3],
        "block_table": torch.tensor([[0], [1]], dtype=torch.int32), "input_layout": "BSND_NBSD",
        "num_query_heads": 32, "num_key_value_heads": 1, "return_softmax_lse": False,
    }, (32, 2, 1, 512), (1,)),
    "bias": ({
        "query": _random(2, 4, 3, 64), "key": _random(2, 4, 16, 64), "value": _random(2, 4, 16, 64),
        "pse_shift": _random(1, 4, 3, 16), "input_layout": "BNSD_BSND", "num_query_heads": 4,
    }, (2, 3, 4, 64), (2, 4, 3, 1)),
    "sink": ({
        "query": _random(5, 4, 128), "key": _random(9, 4, 128), "value": _random(9, 4, 128), "actual_seq_qlen": [2, 5],
        "actual_seq_kvlen": [2, 9], "learnable_sink": torch.ones(4).bfloat16(), "input_layout": "TND",
        "num_query_heads": 4,
    }, (5, 4, 128), (5, 4, 1)),
}  # fmt: skip


@pytest.mark.parametrize("form", OTHER_FORMS)
def test_every_variant_takes_every_form(form: str) -> None:
    """What is not built yet is said alike by all; what is, gives the same bits through each."""
    arguments, out_shape, lse_shape = OTHER_FORMS[form]
    arguments = {"return_softmax_lse": True} | arguments
    meta = {n: v.to("meta") if isinstance(v, torch.Tensor) else v for n, v in arguments.items()}
    dtype = arguments["query"].dtype
    results = {"attention_out": torch.zeros(out_shape, dtype=dtype), "softmax_lse": torch.zeros(lse_shape)}
    meta_results = {n: v.to("meta") for n, v in results.items()}
    answers: list[Any] = []
    for call in (
        lambda: packet(**arguments), lambda: packet(**meta), lambda: max_workspace(**arguments),
        lambda: packet.out(**arguments, **results, workspace=max_workspace(**arguments)),
        lambda: packet.out(**meta, **meta_results),
    ):  # fmt: skip
        try:
            answers.append(call())
        except RuntimeError as error:
            answers.append(str(error))
    refused = [answer for answer in answers if isinstance(answer, str)]
    if refused:
        assert len(refused) == len(answers) and len(set(refused)) == 1 and "code 561003" in refused[0]
        return
    out, lse = answers[0]
    assert torch.equal(out, results["attention_out"]) and torch.equal(lse, results["softmax_lse"])
    assert [tensor.shape for tensor in answers[0]] == [out_shape, lse_shape]
    assert [tensor.shape for tensor in answers[1]] == [out_shape, lse_shape]
    passes_opcheck(packet.default, arguments, test_utils=SHAPES_ONLY)
