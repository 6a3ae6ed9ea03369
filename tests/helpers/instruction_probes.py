# SPDX-License-Identifier: Apache-2.0
"""One small legal call of each instruction that `_core.sim.execute` knows, for any element types: what is refused is
then the types. An entry of the table's dtype column is "float16" when all operands have one type, "float32->float16"
when sources and destination differ, "int8*int8->int32" for a product.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np

BITS = {
    "float16": 16,
    "bfloat16": 16,
    "float32": 32,
    "int4": 4,
    "int8": 8,
    "uint8": 8,
    "int16": 16,
    "uint16": 16,
    "int32": 32,
    "uint32": 32,
    "int64": 64,
    "uint64": 64,
}
Operand = tuple[str, str, np.ndarray, int]
Call = tuple[str, list[Operand], dict[str, Any], str]  # executor, operands, parameters, core
Probe = Callable[..., Call]

KB = 1024
EQ = 2  # the comparison that every type has


def _zeros(space: str, dtype: str, size: int = 2 * KB, address: int = 0) -> Operand:
    return space, dtype, np.zeros(size, np.uint8), address


def _lanes(*dtypes: str) -> int:
    """Elements of one repeat: 256 bytes of the widest type."""
    return 256 * 8 // max(BITS[dtype] for dtype in dtypes)


def _vector(name: str, sources: int, **params: Any) -> Probe:
    def probe(source: str, target: str) -> Call:
        operands = [_zeros("ub", target), *(_zeros("ub", source, address=4 * KB * (i + 1)) for i in range(sources))]
        return name, operands, {"mask": _lanes(source, target), **params}, "vector"

    return probe


def _counted(name: str, sources: int, **params: Any) -> Probe:
    probe = _vector(name, sources, **params)

    def counted(source: str, target: str) -> Call:
        executor, operands, given, core = probe(source, target)
        given["calCount"] = given.pop("mask")
        return executor, operands, given, core

    return counted


def _unmasked(name: str, sources: int, **params: Any) -> Probe:
    probe = _vector(name, sources, **params)

    def unmasked(source: str, target: str) -> Call:
        executor, operands, given, core = probe(source, target)
        given.pop("mask")
        return executor, operands, given, core

    return unmasked


def _reduce_all(name: str) -> Probe:
    def probe(source: str, target: str) -> Call:
        operands = [
            _zeros("ub", target),
            _zeros("ub", source, address=4 * KB),
            _zeros("ub", target, 4 * KB, address=8 * KB),
        ]
        return name, operands, {"calCount": _lanes(source)}, "vector"

    return probe


def _compare(name: str, sources: int) -> Probe:
    def probe(source: str, target: str) -> Call:
        executor, operands, params, core = _vector(name, sources, cmpMode=EQ)(source, target)
        params["mask"] = _lanes(source)
        return executor, operands, params, core

    return probe


def _select(source: str, target: str) -> Call:
    operands = [
        _zeros("ub", target),
        _zeros("ub", source, address=4 * KB),
        _zeros("ub", "uint8", address=8 * KB),
    ]
    return "Select", operands, {"selMode": 1, "mask": _lanes(source, target)}, "vector"


def _gather(name: str) -> Probe:
    def probe(source: str, target: str) -> Call:
        operands = [
            _zeros("ub", target),
            _zeros("ub", source, address=4 * KB),
            _zeros("ub", "uint32", address=8 * KB),
        ]
        params = {"mask": _lanes(source, target)} if name == "Gather" else {}
        return name, operands, params, "vector"

    return probe


def _copy(space_to: str, space_from: str, core: str, name: str = "DataCopy", **params: Any) -> Probe:
    def probe(source: str, target: str) -> Call:
        return name, [_zeros(space_to, target), _zeros(space_from, source, address=0)], dict(params), core

    return probe


def _count_copy(source: str, target: str) -> Call:
    count = 256 * 8 // BITS[source]
    return "DataCopy", [_zeros("ub", target), _zeros("gm", source)], {"count": count}, "vector"


def _init_const(source: str, target: str) -> Call:
    return "InitConstValue", [_zeros("l1", target)], {"repeatTimes": 1, "blockNum": 2}, "cube"


def _init_output(source: str, target: str) -> Call:
    return "InitOutput", [_zeros("gm", target)], {"size": 64}, "vector"


def _nd_to_nz(source: str, target: str) -> Call:
    params = {
        "ndNum": 1,
        "nValue": 2,
        "dValue": 32,
        "srcDValue": 32,
        "dstNzC0Stride": 16,
        "dstNzNStride": 1,
        "dstNzMatrixStride": 1,
    }
    return "DataCopy", [_zeros("l1", target), _zeros("gm", source)], params, "cube"


def _load_2d(source: str, target: str) -> Call:
    return "LoadData", [_zeros("l0a", target), _zeros("l1", source)], {"repeatTimes": 1, "srcStride": 1}, "cube"


def _load_3d(source: str, target: str) -> Call:
    c0 = 256 // BITS[source]
    params = {"l1H": 1, "l1W": 16, "channelSize": c0, "kExtension": c0, "mExtension": 16}
    return "LoadData3D", [_zeros("l0a", target), _zeros("l1", source)], params, "cube"


def _load_transposed(source: str, target: str) -> Call:
    params = {"repeatTimes": 1, "srcStride": 1}
    return "LoadDataWithTranspose", [_zeros("l0b", target, 4 * KB), _zeros("l1", source, 4 * KB)], params, "cube"


def _mmad(left: str, right: str, target: str) -> Call:
    operands = [_zeros("l0c", target), _zeros("l0a", left), _zeros("l0b", right)]
    return "Mmad", operands, {"m": 16, "n": 16, "k": 16}, "cube"


def _sparse_load(source: str, target: str) -> Call:
    operands = [_zeros("l0b", target), _zeros("l1", source), _zeros("l1", "uint8", address=4 * KB)]
    return "LoadDataWithSparse", operands, {"repeatTimes": 1}, "cube"


def _sparse_mmad(left: str, right: str, target: str) -> Call:
    operands = [
        _zeros("l0c", target),
        _zeros("l0a", left),
        _zeros("l1", right),
        _zeros("l1", "uint8", address=4 * KB),
        _zeros("l0b", right),
    ]
    return "MmadWithSparse", operands, {"m": 16, "n": 16, "k": 64, "repeatTimes": 1}, "cube"


def _fixpipe(source: str, target: str) -> Call:
    params = {"nSize": 16, "mSize": 16, "srcStride": 16, "dstStride": 16}
    return "Fixpipe", [_zeros("gm", target, 4 * KB), _zeros("l0c", source, 4 * KB)], params, "cube"


def _atomic(name: str) -> Probe:
    def probe(source: str, target: str) -> Call:
        return name, [_zeros("gm", target), _zeros("ub", source)], {"blockLen": 32}, "vector"

    return probe


def _dequantise(source: str, target: str) -> Call:
    operands = [_zeros("ub", target), _zeros("ub", source, address=4 * KB)]
    sign = int(target == "int8") << 46
    return "CastDeq", operands, {"mask": 128, "config": sign, "isVecDeq": False}, "vector"


def _transpose_layout(source: str, target: str) -> Call:
    operands = [_zeros("ub", target), _zeros("ub", source, address=4 * KB), _zeros("ub", "uint8", 4 * KB, 8 * KB)]
    return "TransposeLayout", operands, {"transposeType": 11, "nSize": 1, "cSize": 1, "hSize": 4, "wSize": 8}, "vector"


def _trans_data(source: str, target: str) -> Call:
    blocks = list(range(0, 512, 32))
    operands = [_zeros("ub", target), _zeros("ub", source, address=4 * KB)]
    return "TransDataTo5HD", operands, {"dstList": blocks, "srcList": blocks}, "vector"


def _sort(name: str) -> Probe:
    def probe(source: str, target: str) -> Call:
        dst, score = _zeros("ub", target), _zeros("ub", source, address=4 * KB)
        if name == "Sort32":
            return name, [dst, score, _zeros("ub", "uint32", address=8 * KB)], {}, "vector"
        return name, [dst, score, _zeros("ub", source, address=8 * KB)], {"elementLengths": [4, 4]}, "vector"

    return probe


def _select_bytes(source: str, target: str) -> Call:
    operands = [
        _zeros("ub", target),
        _zeros("ub", source, address=4 * KB),
        _zeros("ub", "uint8", 2 * KB * 8 // BITS[source], address=8 * KB),
        _zeros("ub", "uint8", address=16 * KB),
    ]
    columns = 2 * KB * 8 // BITS[source]
    params = {"firstAxis": 1, "srcLastAxis": columns, "maskLastAxis": columns}
    return "SelectWithBytesMask", operands, params, "vector"


def _bilinear(source: str, target: str) -> Call:
    operands = [
        _zeros("ub", target),
        _zeros("ub", source, address=4 * KB),
        _zeros("ub", "uint32", address=8 * KB),
        _zeros("ub", source, 32, address=12 * KB),
        _zeros("ub", "uint8", address=16 * KB),
    ]
    return "BilinearInterpolation", operands, {"mask": 64, "hRepeat": 1, "vRepeat": 1}, "vector"


ONE = [(dtype, dtype) for dtype in BITS]
PAIRS = list(itertools.product(BITS, repeat=2))
PRODUCTS = list(itertools.product(BITS, repeat=3))

# Instruction as the table names it -> (probe, the combinations of types to try).
PROBES: dict[str, tuple[Probe, list[tuple[str, ...]]]] = {
    **{
        name: (_vector(name, 2), ONE)
        for name in (
            *("Add", "Sub", "Mul", "Div", "Max", "Min", "And", "Or", "AddRelu", "SubRelu"),
            *("FusedMulAdd", "FusedMulAddRelu"),
        )
    },
    "MulAddDst": (_vector("MulAddDst", 2), PAIRS),
    **{
        name: (_vector(name, 1), ONE)
        for name in ("Relu", "Exp", "Ln", "Abs", "Sqrt", "Reciprocal", "Rsqrt", "Not", "Copy")
    },
    **{
        name: (_vector(name, 1, scalarValue=0), ONE)
        for name in ("Adds", "Muls", "Maxs", "Mins", "LeakyRelu", "ShiftLeft", "ShiftRight")
    },
    "Axpy": (_vector("Axpy", 1, scalarValue=0), PAIRS),
    **{
        name: (_vector(name, 1), ONE)
        for name in (
            *("WholeReduceSum", "WholeReduceMax", "WholeReduceMin", "RepeatReduceSum"),
            *("BlockReduceSum", "BlockReduceMax", "BlockReduceMin", "PairReduceSum"),
        )
    },
    **{name: (_reduce_all(name), ONE) for name in ("ReduceSum", "ReduceMax", "ReduceMin")},
    "Duplicate": (_vector("Duplicate", 0, scalarValue=0), ONE),
    "CreateVecIndex": (_counted("CreateVecIndex", 0), ONE),
    "Brcb": (_unmasked("Brcb", 1), ONE),
    "Cast": (_vector("Cast", 1), PAIRS),
    "Compare": (_compare("Compare", 2), PAIRS),
    "CompareScalar": (_compare("CompareScalar", 1), PAIRS),
    "Select": (_select, ONE),
    "Gather": (_gather("Gather"), ONE),
    "Gatherb": (_gather("Gatherb"), ONE),
    "GatherMask": (_unmasked("GatherMask", 1, src1Pattern=1), ONE),
    "Transpose": (_unmasked("Transpose", 1), ONE),
    **{name: (_vector(name, 2), PAIRS) for name in ("AddReluCast", "SubReluCast", "MulCast", "AddDeqRelu")},
    "CastDeq": (_dequantise, PAIRS),
    "Transpose (layouts)": (_transpose_layout, ONE),
    "TransDataTo5HD": (_trans_data, ONE),
    "Sort32": (_sort("Sort32"), ONE),
    "MrgSort": (_sort("MrgSort"), ONE),
    "Xor": (_vector("Xor", 2), ONE),
    "SelectWithBytesMask": (_select_bytes, ONE),
    "BilinearInterpolation": (_bilinear, ONE),
    "DataCopy (blocks)": (_copy("ub", "gm", "vector", blockLen=1), ONE),
    "DataCopy (count)": (_count_copy, ONE),
    "DataCopy (ND to NZ)": (_nd_to_nz, ONE),
    "DataCopyPad": (_copy("ub", "gm", "vector", "DataCopyPad", blockLen=32), ONE),
    "InitConstValue": (_init_const, ONE),
    "InitOutput": (_init_output, ONE),
    **{name: (_atomic(name), ONE) for name in ("SetAtomicAdd", "SetAtomicMax", "SetAtomicMin", "SetAtomicType")},
    "LoadData (2D)": (_load_2d, ONE),
    "LoadData (3D)": (_load_3d, ONE),
    "LoadDataWithTranspose": (_load_transposed, ONE),
    "LoadDataWithSparse": (_sparse_load, ONE),
    "Mmad": (_mmad, PRODUCTS),
    "MmadWithSparse": (_sparse_mmad, PRODUCTS),
    "Fixpipe": (_fixpipe, PAIRS),
}


# Parameters that go with some types only: a combination is taken when one of these is.
VARIANTS: dict[str, list[dict[str, Any]]] = {
    "Cast": [{"round_mode": mode} for mode in range(7)],
    "Fixpipe": [{"quantPre": name} for name in ("NoQuant", "F322F16", "F322BF16", "DEQF16", "QF322B8_PRE", "REQ8")],
}


def entry_of(types: tuple[str, ...]) -> str:
    *sources, target = types
    if set(sources) == {target} and len(sources) == 1:
        return target
    return "*".join(sources) + "->" + target


def accepted(instruction: str) -> dict[str, str]:
    """For each combination of types to try: empty when the machine takes it, else the finding."""
    from ascend_attention import _core

    probe, combinations = PROBES[instruction]
    results = {}
    for types in combinations:
        executor, operands, params, core = probe(*types)
        for more in VARIANTS.get(instruction, [{}]):
            try:
                _core.sim.execute(executor, operands, params | more, core, "fast", None)
                results[entry_of(types)] = ""
                break
            except _core.SimulatorError as error:
                results[entry_of(types)] = str(error)
    return results
