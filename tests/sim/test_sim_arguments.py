# SPDX-License-Identifier: Apache-2.0
"""Arguments arrive as the kernel's parameter types say, or are refused with both types named."""

from __future__ import annotations

import ctypes
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from ascend_attention import sim
from ascend_attention.sim._arguments import _bfloat16_bits

TILING = np.dtype([("rows", "u4"), ("scale", "f4"), ("strides", "i8", 3), ("flag", "u1")], align=True)
# As `numbers` stores them: float, double, half, bfloat16_t, bool, uint8, int8, int32, uint64, Mode, Tiling, int64.
STORED = np.dtype("f4,f8,f2,u2,?,u1,i1,i4,u8,i2,u4,f4,(3,)i8,u1,i8")


class TilingStruct(ctypes.Structure):
    _fields_ = (
        ("rows", ctypes.c_uint32),
        ("scale", ctypes.c_float),
        ("strides", ctypes.c_int64 * 3),
        ("flag", ctypes.c_uint8),
    )


@pytest.fixture(scope="module")
def numbers(session_cache: Path) -> sim.Kernel:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ASCEND_ATTENTION_CACHE", str(session_cache))
        return sim.compile(Path(__file__).parent / "kernels" / "parameters.cpp", "numbers")


def tiling() -> np.ndarray:
    return np.array([(7, 0.25, (1, -2, 1 << 40), 9)], TILING)


GOOD: list[Any] = [1.5, -2.25, 0.1, -0.1, True, 255, -128, -(2**31), 2**64 - 1, -5, tiling()[0], -(2**63)]


@pytest.mark.parametrize("form", ["python", "numpy", "bytes", "ctypes"])
def test_every_number_and_struct_by_value(form: str, numbers: sim.Kernel) -> None:
    given = list(GOOD)
    if form == "numpy":
        kinds = ["f4", "f8", "f2", "f4", "?", "u1", "i1", "i4", "u8", "i2"]
        given = [np.dtype(kind).type(value) for kind, value in zip(kinds, given[:10], strict=True)]
        given += [tiling().reshape(()), np.int64(GOOD[11])]
        given[3] = ml_dtypes.bfloat16(GOOD[3])
    elif form == "bytes":
        given[10] = tiling().tobytes()
    elif form == "ctypes":
        given[10] = TilingStruct(7, 0.25, (1, -2, 1 << 40), 9)
    out = np.zeros(STORED.itemsize, np.uint8)
    numbers(sim.Out(out), *given)
    stored = out.view(STORED)[0].tolist()
    expected = [1.5, -2.25, float(np.float16(0.1)), int(np.array(-0.1, ml_dtypes.bfloat16).view("u2")), True, 255, -128]
    expected += [-(2**31), 2**64 - 1, -5, 7, 0.25]
    assert list(stored[:12]) == expected
    assert list(stored[12]) == [1, -2, 1 << 40] and stored[13:] == (9, -(2**63))


@pytest.mark.parametrize(
    ("position", "given", "words"),
    [
        (1, "1.0", "argument 2 (float a): given '1.0' (str); allowed: a number"),
        (1, True, "argument 2 (float a): given True (bool); allowed: a number"),
        (1, np.ones(3), "argument 2 (float a): given an array of float64; allowed: a number"),
        (1, 10**400, "allowed: a number"),
        (5, 2, "argument 6 (bool e): given 2; allowed: 0..1"),
        (6, 256, "given 256; allowed: 0..255"),
        (6, -1, "given -1; allowed: 0..255"),
        (7, 128, "allowed: -128..127"),
        (8, 1.0, "argument 9 (int h): given 1.0 (float); allowed: an int"),
        (8, 2**31, "allowed: -2147483648..2147483647"),
        (9, -1, "allowed: 0..18446744073709551615"),
        (10, 2**15, "allowed: -32768..32767"),
        (11, b"1234", "given 4 bytes; allowed: the 40 bytes of the struct"),
        (11, 5, "allowed: the 40 bytes of the struct"),
        (11, sim.Workspace(4), "given Workspace(4); allowed: the 40 bytes"),
        (12, None, "given None; allowed: an int"),
        (0, 5, "argument 1 (GM_ADDR out): given 5 (int); allowed: a NumPy array or CPU tensor"),
        (0, [1.0], "given [1.0] (list)"),
        (0, sim.Out([1.0]), "given [1.0] (list); allowed: a NumPy array or CPU tensor"),
        (0, np.array(["text"], object), "given an array of |O; allowed: numbers or plain structs"),
        (0, np.zeros(4, ">f4"), "given an array of >f4"),
    ],
)
def test_wrong_argument_is_refused(position: int, given: Any, words: str, numbers: sim.Kernel) -> None:
    arguments = [sim.Out(np.zeros(STORED.itemsize, np.uint8)), *GOOD]
    arguments[position] = given
    with pytest.raises((TypeError, ValueError)) as caught:
        numbers(*arguments)
    assert words in str(caught.value) and str(caught.value).startswith("numbers: argument")


def test_number_of_arguments(numbers: sim.Kernel) -> None:
    with pytest.raises(TypeError, match=r"numbers takes 13 arguments \(GM_ADDR out, float a, .*\); 1 were given"):
        numbers(np.zeros(4))


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("blocks", 0, "blocks: given 0; allowed: 1.."),
        ("blocks", 2.0, "blocks: given 2.0"),
        ("blocks", 49, "49 blocks, allowed on Ascend910B2: 1..48"),
        ("threads", -1, "threads: given -1"),
        ("instruction_limit", 2**70, "instruction_limit"),
        ("mode", "quick", "mode: given 'quick'; allowed: 'fast', 'checked', 'timed'"),
        ("soc", "Ascend910C", "soc: given 'Ascend910C'; allowed: a processor, such as Ascend910B2 "),
        (
            "soc",
            "Ascend310P3",
            "soc: given 'Ascend310P3', to check requests only; allowed: a processor that kernels run on, such as",
        ),
        ("costs", "documented", "costs: given 'documented' with mode 'fast'; allowed: with mode 'timed' only"),
        ("cost", "documented", "unexpected keyword argument 'cost'; did you mean 'costs'?"),
    ],
)
def test_wrong_setting_is_refused(name: str, value: Any, words: str, numbers: sim.Kernel) -> None:
    with pytest.raises((TypeError, ValueError)) as caught:
        numbers(sim.Out(np.zeros(STORED.itemsize, np.uint8)), *GOOD, **{name: value})
    assert words in str(caught.value)


def test_typed_pointers_tiling_and_more_than_16_parameters(kernels: Path) -> None:
    kernel = sim.compile(kernels / "parameters.cpp", "many")
    a, b, c = np.array([-3], np.int32), np.array([0.5], np.float16), np.array([-0.75], ml_dtypes.bfloat16)
    out = np.zeros(6, np.float32)
    for tile in (tiling(), tiling()[0], tiling().tobytes(), TilingStruct(7, 0.25, (1, 2, 3), 9)):
        out[:] = 0
        kernel(sim.Out(out), a, b, c, tile, None, *range(1, 13))
        assert out.tolist() == [78, -3, 0.5, -0.75, 0.25, 1]
    for position, wrong, allowed in (
        (1, a.astype(np.int64), "given an array of int64; allowed: int32"),
        (1, a.view(np.uint32), "given an array of uint32; allowed: int32"),
        (2, c, "given an array of bfloat16; allowed: float16"),
        (3, b, "given an array of float16; allowed: bfloat16"),
    ):
        arguments: list[Any] = [sim.Out(out), a, b, c, tiling(), None, *range(12)]
        arguments[position] = wrong
        with pytest.raises(TypeError, match=f"many: argument {position + 1} .*{allowed}"):
            kernel(*arguments)


@pytest.fixture
def twice(kernels: Path) -> sim.Kernel:
    return sim.compile(kernels / "scale.asc", "twice")


def test_arrays_that_cannot_be_given(twice: sim.Kernel) -> None:
    x, y = np.ones(128, np.float32), np.zeros(64, np.float32)
    with pytest.raises(ValueError, match=r"argument 1 .*not contiguous; allowed: a contiguous one"):
        twice(x[::2], sim.Out(y))
    with pytest.raises(ValueError, match=r"argument 2 .*not contiguous"):
        twice(x[:64], sim.Out(np.zeros((64, 2), np.float32)[:, 0]))
    y.flags.writeable = False
    with pytest.raises(ValueError, match=r"argument 2 .*a read-only array"):
        twice(x[:64], sim.Out(y))
    with pytest.raises(ValueError, match=r"argument 2 .*overlaps argument 1"):
        twice(x[:64], sim.Out(x[32:96]))
    twice(x[:64], sim.Out(x[64:]))
    assert x.tolist() == [1.0] * 64 + [2.0] * 64


def test_input_may_be_read_only_and_given_twice(kernels: Path) -> None:
    add = sim.compile(Path(__file__).parents[2] / "examples" / "own_kernel" / "add.cpp")
    x = np.full(256, 1.5, np.float16)
    x.flags.writeable = False
    assert (add(x, x, sim.Out.empty(256, np.float16), 1).outputs[0] == 3).all()


def test_in_out_and_workspace(kernels: Path) -> None:
    text = """
        #include "scale.h"
        __global__ __aicore__ void chain(__gm__ float* x, GM_ADDR work) {
            __gm__ float* middle = reinterpret_cast<__gm__ float*>(work);
            { Scale<float, 64>(x, middle, 2.0F); }
            PipeBarrier<PIPE_ALL>();
            { Scale<float, 64>(middle, x, 3.0F); }
        }
    """
    kernel = sim.compile(text, include_dirs=[kernels])
    x = np.arange(64, dtype=np.float32)
    result = kernel(sim.InOut(x), sim.Workspace(256), mode="checked")
    assert result.outputs[0] is x and np.array_equal(x, 6 * np.arange(64))
    with pytest.raises(sim.SimulatorError, match=r"bounds: .* buffer 'work' has 252 bytes"):
        kernel(sim.InOut(x), sim.Workspace(252))
    assert np.array_equal(x, 6 * np.arange(64))  # a launch that fails has changed nothing
    for wrong, error in ((-1, ValueError), (1.5, TypeError), (True, TypeError)):
        with pytest.raises(error):
            sim.Workspace(wrong)  # type: ignore[arg-type]


def test_torch_tensors(kernels: Path) -> None:
    torch = pytest.importorskip("torch")
    kernel = sim.compile(kernels / "scale.asc", "scaling::scale<half, 64>")
    x = torch.arange(64).half().requires_grad_()
    y = torch.zeros(64, dtype=torch.float16)
    assert kernel(x, sim.Out(y), 2.0).outputs[0] is y and torch.equal(y, 2 * x)
    with pytest.raises(TypeError, match=r"given an array of bfloat16; allowed: float16"):
        kernel(x.bfloat16(), sim.Out(y), 2.0)
    with pytest.raises(TypeError, match="a dense tensor on the CPU"):
        kernel(torch.empty(64, dtype=torch.float16, device="meta"), sim.Out(y), 2.0)
    with pytest.raises(ValueError, match="not contiguous"):
        kernel(torch.zeros(128, dtype=torch.float16)[::2], sim.Out(y), 2.0)
    many = sim.compile(kernels / "parameters.cpp", "many")
    out = torch.zeros(6)
    c = torch.tensor([-0.75], dtype=torch.bfloat16)
    many(sim.Out(out), np.zeros(1, np.int32), np.zeros(1, np.float16), c, tiling(), None, *range(12))
    assert out[3] == -0.75


@pytest.mark.filterwarnings("ignore:invalid value:RuntimeWarning")  # NaN among the neighbours of infinity
def test_bfloat16_is_rounded_once() -> None:
    rng = np.random.default_rng(3)
    values = np.concatenate(
        [rng.standard_normal(2000) * 10.0 ** rng.integers(-40, 38, 2000), [0.0, -0.0, np.inf, -np.inf]]
    )
    ties = (rng.integers(0, 1 << 16, 500).astype(np.uint32) << 16 | 0x8000).view(np.float32).astype(np.float64)
    ties = ties[np.isfinite(ties)]
    for value in (*values, *ties, *np.nextafter(ties, np.inf), *np.nextafter(ties, -np.inf)):
        bits = _bfloat16_bits(float(value))
        near = [
            np.array(b & 0xFFFF, np.uint16).view(ml_dtypes.bfloat16).astype(np.float64)
            for b in (bits - 1, bits, bits + 1)
        ]
        distances = [abs(float(n) - value) if np.isfinite(n) else np.inf for n in near]
        if np.isfinite(value) and np.isfinite(near[1]):
            assert distances[1] == min(distances), value
            assert distances.count(distances[1]) == 1 or bits % 2 == 0, value
    assert _bfloat16_bits(float("nan")) & 0x7FFF == 0x7FC0
    assert [_bfloat16_bits(v) for v in (0.0, -0.0, np.inf, 1e300, -1e300)] == [0, 0x8000, 0x7F80, 0x7F80, 0xFF80]
