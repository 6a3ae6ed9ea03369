# SPDX-License-Identifier: Apache-2.0
"""npu_fused_infer_attention_score_v2 through each of its doors, with NumPy arguments and NumPy results."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch

import ascend_attention

OPERATOR = "npu_fused_infer_attention_score_v2"
Arguments = dict[str, Any]
Results = tuple[np.ndarray, np.ndarray]


def to_torch(value: Any) -> Any:
    """An array as a tensor of the same bytes, strides included, in a list too; anything else as it is."""
    if isinstance(value, list):
        return [to_torch(entry) for entry in value]
    if not isinstance(value, np.ndarray):
        return value
    if value.dtype.name == "bfloat16":
        return torch.from_numpy(value.view(np.int16)).view(torch.bfloat16)
    return torch.from_numpy(value)


def to_numpy(tensor: torch.Tensor) -> np.ndarray:
    if tensor.dtype == torch.bfloat16:
        import ml_dtypes

        return tensor.view(torch.int16).numpy().view(ml_dtypes.bfloat16)
    return tensor.numpy()


def through_numpy(arguments: Arguments) -> Results:
    return ascend_attention.npu_fused_infer_attention_score_v2(**arguments)


def through_torch(arguments: Arguments) -> Results:
    tensors = {name: to_torch(value) for name, value in arguments.items()}
    out, lse = ascend_attention.npu_fused_infer_attention_score_v2(**tensors)
    return to_numpy(out), to_numpy(lse)


def through_torch_ops(arguments: Arguments) -> Results:
    tensors = {name: to_torch(value) for name, value in arguments.items()}
    out, lse = torch.ops.ascend_attention.npu_fused_infer_attention_score_v2(**tensors)
    return to_numpy(out), to_numpy(lse)


def through_torch_out(arguments: Arguments) -> Results:
    """Into tensors of the caller; they and the workspace are full of ones, which is no number."""
    tensors = {name: to_torch(value) for name, value in arguments.items()}
    operator = getattr(torch.ops.ascend_attention, OPERATOR)
    meta = {name: value.to("meta") if isinstance(value, torch.Tensor) else value for name, value in tensors.items()}
    results = [torch.empty_like(result, device="cpu") for result in operator(**meta)]
    workspace = torch.empty_like(getattr(torch.ops.ascend_attention, f"{OPERATOR}_get_max_workspace")(**tensors))
    for tensor in (*results, workspace):
        tensor.view(torch.uint8).fill_(255)
    operator.out(**tensors, workspace=workspace, attention_out=results[0], softmax_lse=results[1])
    return to_numpy(results[0]), to_numpy(results[1])


DOORS: dict[str, Callable[[Arguments], Results]] = {
    "numpy": through_numpy,
    "torch": through_torch,
    "torch.ops": through_torch_ops,
}


def same_bits(a: np.ndarray, b: np.ndarray) -> bool:
    return a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()
