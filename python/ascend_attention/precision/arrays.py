# SPDX-License-Identifier: Apache-2.0
"""NumPy arrays and torch tensors to NumPy, without importing torch."""

from __future__ import annotations

from typing import Any

import numpy as np

from ascend_attention.golden.numbers import bfloat16_to_float

Array = np.ndarray[Any, Any]


def is_tensor(value: object) -> bool:
    return any(
        base.__module__.partition(".")[0] == "torch" and base.__name__ == "Tensor" for base in type(value).__mro__
    )


def as_numpy(value: Any) -> Any:
    """A torch tensor as a NumPy array (bfloat16 as uint16 bits), also in a list; anything else unchanged."""
    if isinstance(value, (list, tuple)) and any(is_tensor(entry) for entry in value):
        return [as_numpy(entry) for entry in value]
    if not is_tensor(value):
        return value
    tensor = value.detach().cpu().contiguous()
    if str(tensor.dtype) == "torch.bfloat16":
        import torch

        return tensor.view(torch.int16).numpy().view(np.uint16)
    return tensor.numpy()


def dtype_name(array: Array) -> str:
    return "bfloat16" if array.dtype == np.uint16 else str(array.dtype.name)


def as_float64(array: Array) -> Array:
    if dtype_name(array) == "bfloat16":
        return bfloat16_to_float(array.view(np.uint16)).astype(np.float64)
    return array.astype(np.float64)
