# SPDX-License-Identifier: Apache-2.0
"""The operators through the C interface, by ctypes, with the argument names of the Python functions."""

from __future__ import annotations

import ctypes
import functools
import inspect
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import ascend_attention

DTYPES = {
    "float32": 0, "float16": 1, "int8": 2, "int32": 3, "uint8": 4, "int16": 6, "uint16": 7, "uint32": 8, "int64": 9,
    "uint64": 10, "float64": 11, "bool": 12, "complex64": 16, "complex128": 17, "bfloat16": 27, "float8_e5m2": 35,
    "float8_e4m3fn": 36,
}  # fmt: skip
FORMAT_ND = 2
HOST_TO_DEVICE, DEVICE_TO_HOST = 1, 2

TENSOR, LIST, LENGTHS, NULL = "tensor", "list", "lengths", "null"
C_TYPES = {"int": ctypes.c_int64, "float": ctypes.c_double, "str": ctypes.c_char_p, "bool": ctypes.c_bool}
Parameter = tuple[str, str]  # the Python name, or the C name of what Python has not; and what it is


def parameters(text: str) -> list[Parameter]:
    return [(name, kind) for name, kind in (word.split(":") for word in text.split())]


@dataclass(frozen=True)
class Interface:
    symbol: str
    parameters: list[Parameter]
    has_lse: bool


INTERFACES = {
    "block_sparse_attention_v2": Interface(
        "aclnnBlockSparseAttentionV2",
        parameters(
            "query:tensor key:tensor value:tensor block_sparse_mask:tensor atten_mask:tensor block_shape:lengths "
            "actual_seq_lengths:lengths actual_seq_lengths_kv:lengths block_table:tensor q_dequant_scale:tensor "
            "k_dequant_scale:tensor v_dequant_scale:tensor q_input_layout:str kv_input_layout:str "
            "num_key_value_heads:int mask_type:int scale_value:float inner_precise:int block_size:int pre_tokens:int "
            "next_tokens:int softmax_lse_flag:int"
        ),
        True,
    ),
    "npu_prompt_flash_attention": Interface(
        "aclnnPromptFlashAttentionV3",
        parameters(
            "query:tensor key:tensor value:tensor pse_shift:tensor atten_mask:tensor actual_seq_lengths:lengths "
            "actual_seq_lengths_kv:lengths deq_scale1:tensor quant_scale1:tensor deq_scale2:tensor quant_scale2:tensor "
            "quant_offset2:tensor num_heads:int scale_value:float pre_tokens:int next_tokens:int input_layout:str "
            "num_key_value_heads:int sparse_mode:int innerPrecise:int"
        ),
        False,
    ),
    "npu_fused_infer_attention_score_v2": Interface(
        "aclnnFusedInferAttentionScoreV4",
        parameters(
            "query:tensor key:list value:list pse_shift:tensor atten_mask:tensor actual_seq_qlen:lengths "
            "actual_seq_kvlen:lengths deqScale1:null quantScale1:null deqScale2:null quant_scale_out:tensor "
            "quant_offset_out:tensor antiquantScale:null antiquantOffset:null block_table:tensor queryPaddingSize:null "
            "kvPaddingSize:null dequant_scale_key:tensor dequant_offset_key:tensor dequant_scale_value:tensor "
            "dequant_offset_value:tensor keySharedPrefix:null valueSharedPrefix:null actualSharedPrefixLen:null "
            "query_rope:tensor key_rope:tensor dequant_scale_key_rope:tensor dequant_scale_query:tensor "
            "learnable_sink:tensor num_query_heads:int softmax_scale:float pre_tokens:int next_tokens:int "
            "input_layout:str num_key_value_heads:int sparse_mode:int inner_precise:int block_size:int "
            "antiquantMode:int return_softmax_lse:bool key_quant_mode:int value_quant_mode:int query_quant_mode:int"
        ),
        True,
    ),
}

_V4 = INTERFACES["npu_fused_infer_attention_score_v2"]
_NEW_IN_V4 = ("dequant_scale_query", "learnable_sink", "query_quant_mode")
V3 = Interface(
    "aclnnFusedInferAttentionScoreV3", [row for row in _V4.parameters if row[0] not in _NEW_IN_V4], has_lse=True
)


class AclnnError(Exception):
    def __init__(self, code: int, text: str) -> None:
        super().__init__(text)
        self.code = code


@functools.cache
def library() -> ctypes.CDLL:
    path = Path(ascend_attention.__file__).parent / "libascend_attention_aclnn.so"
    lib = ctypes.CDLL(str(path))
    lib.aclGetRecentErrMsg.restype = ctypes.c_char_p
    lib.ascendAttentionLiveObjects.restype = ctypes.c_uint64
    for name in ("aclCreateTensor", "aclCreateIntArray", "aclCreateTensorList"):
        getattr(lib, name).restype = ctypes.c_void_p
    return lib


def check(code: int) -> None:
    if code != 0:
        text = library().aclGetRecentErrMsg()
        raise AclnnError(code, "" if text is None else text.decode())


def integers(values: list[int]) -> Any:
    return (ctypes.c_int64 * len(values))(*values)


class Program:
    """What one caller of the C interface makes, and gives back at the end."""

    def __init__(self) -> None:
        self.lib = library()
        self.owned: list[Callable[[], int]] = []

    def __enter__(self) -> Program:
        check(self.lib.aclrtSetDevice(0))
        return self

    def __exit__(self, *_: object) -> None:
        for give_back in reversed(self.owned):
            check(give_back())
        check(self.lib.aclrtResetDevice(0))

    def memory(self, size: int) -> int:
        address = ctypes.c_void_p()
        check(self.lib.aclrtMalloc(ctypes.byref(address), ctypes.c_size_t(size), 0))
        self.owned.append(lambda: self.lib.aclrtFree(address))
        assert address.value is not None
        return address.value

    def tensor(self, array: np.ndarray, with_data: bool, owned: bool = True) -> ctypes.c_void_p:
        """A tensor of the same shape and strides; without data it lies nowhere."""
        address = None
        if with_data and array.size > 0:
            assert array.flags.c_contiguous
            address = self.memory(array.nbytes)
            check(
                self.lib.aclrtMemcpy(
                    ctypes.c_void_p(address), ctypes.c_size_t(array.nbytes), ctypes.c_void_p(array.ctypes.data),
                    ctypes.c_size_t(array.nbytes), HOST_TO_DEVICE,
                )
            )  # fmt: skip
        shape = integers(list(array.shape))
        strides = integers([stride // array.itemsize for stride in array.strides])
        handle = ctypes.c_void_p(
            self.lib.aclCreateTensor(
                shape, ctypes.c_uint64(array.ndim), DTYPES[array.dtype.name], strides, ctypes.c_int64(0), FORMAT_ND,
                shape, ctypes.c_uint64(array.ndim), ctypes.c_void_p(address),
            )
        )  # fmt: skip
        if owned:
            self.owned.append(lambda: self.lib.aclDestroyTensor(handle))
        return handle

    def read(self, handle: ctypes.c_void_p, like: np.ndarray) -> np.ndarray:
        result = np.empty_like(like)
        address = ctypes.c_void_p()
        check(self.lib.aclGetRawTensorAddr(handle, ctypes.byref(address)))
        if result.size > 0:
            size = ctypes.c_size_t(result.nbytes)
            check(self.lib.aclrtMemcpy(ctypes.c_void_p(result.ctypes.data), size, address, size, DEVICE_TO_HOST))
        return result

    def argument(self, kind: str, value: Any, with_data: bool) -> Any:
        if kind in C_TYPES:
            return C_TYPES[kind](value.encode() if kind == "str" else value)
        if value is None:
            return ctypes.c_void_p()
        if kind == LENGTHS:
            numbers = [int(number) for number in value]
            handle = ctypes.c_void_p(self.lib.aclCreateIntArray(integers(numbers), ctypes.c_uint64(len(numbers))))
            self.owned.append(lambda: self.lib.aclDestroyIntArray(handle))
            return handle
        if kind == LIST:
            entries = value if isinstance(value, list) else [value]
            handles = [self.tensor(entry, with_data, owned=False) for entry in entries]
            array = (ctypes.c_void_p * len(handles))(*handles)
            handle = ctypes.c_void_p(self.lib.aclCreateTensorList(array, ctypes.c_uint64(len(handles))))
            self.owned.append(lambda: self.lib.aclDestroyTensorList(handle))
            return handle
        return self.tensor(value, with_data)

    def plan(
        self, op: str, interface: Interface, given: dict[str, Any], results: list[Any], with_data: bool
    ) -> tuple[Any, int]:
        """The first phase: executor and bytes of workspace."""
        defaults = inspect.signature(getattr(ascend_attention, op)).parameters
        arguments = []
        for name, kind in interface.parameters:
            absent = 0 if kind == "int" else None
            value = given.get(name, defaults[name].default if name in defaults else absent)
            # A handle stands for itself.
            is_handle = isinstance(value, ctypes.c_void_p)
            arguments.append(value if is_handle else self.argument(kind, value, with_data))
        size, executor = ctypes.c_uint64(), ctypes.c_void_p()
        first = getattr(self.lib, interface.symbol + "GetWorkspaceSize")
        check(first(*arguments, *results, ctypes.byref(size), ctypes.byref(executor)))
        return executor, size.value


def can_be_said(op: str, given: dict[str, Any]) -> bool:
    """Whether the C interface has all of the arguments, in these forms. A list of one tensor is that tensor there."""
    kinds = dict(INTERFACES[op].parameters)
    for name, value in given.items():
        kind = kinds.get(name)
        is_list = isinstance(value, list)
        if (kind is None and value is not None) or (kind == TENSOR and is_list):
            return False
        if kind == LIST and is_list and len(value) == 1:
            return False
    return True


def refusal(op: str, given: dict[str, Any]) -> AclnnError:
    """Why the first phase refuses; the results are right as far as that can be told."""
    with Program() as program:
        results = [program.tensor(np.zeros(1, np.float16), with_data=False)]
        results += [program.tensor(np.zeros(1, np.float32), with_data=False)] * INTERFACES[op].has_lse
        try:
            program.plan(op, INTERFACES[op], given, results, with_data=False)
        except AclnnError as error:
            return error
    raise AssertionError("accepted")


def run(
    op: str, given: dict[str, Any], likes: list[np.ndarray], interface: Interface | None = None
) -> list[np.ndarray]:
    """Both phases; `likes`: arrays with dtype and shape of each result."""
    interface = interface or INTERFACES[op]
    with Program() as program:
        results = [program.tensor(np.full_like(like, 7), with_data=True) for like in likes]
        executor, size = program.plan(op, interface, given, results, with_data=True)
        workspace = ctypes.c_void_p(program.memory(size) if size > 0 else None)
        stream = ctypes.c_void_p()
        check(program.lib.aclrtCreateStream(ctypes.byref(stream)))
        second = getattr(program.lib, interface.symbol)
        check(second(workspace, ctypes.c_uint64(size), executor, stream))
        check(program.lib.aclrtSynchronizeStream(stream))
        check(program.lib.aclrtDestroyStream(stream))
        return [program.read(handle, like) for handle, like in zip(results, likes, strict=True)]
