# SPDX-License-Identifier: BSD-3-Clause
"""The dtypes of payloads."""

from __future__ import annotations

from enum import IntEnum

import torch


class MPSDataType(IntEnum):
    """Types of elements, with the numbers of ExecuTorch's format."""

    mps_data_type_invalid = 0
    mps_data_type_float16 = 1
    mps_data_type_float32 = 2
    mps_data_type_float64 = 3
    mps_data_type_bfloat16 = 4
    mps_data_type_int4 = 5
    mps_data_type_int8 = 6
    mps_data_type_int16 = 7
    mps_data_type_int32 = 8
    mps_data_type_int64 = 9
    mps_data_type_uint4 = 10
    mps_data_type_uint8 = 11
    mps_data_type_uint16 = 12
    mps_data_type_uint32 = 13
    mps_data_type_uint64 = 14
    mps_data_type_bool = 15
    mps_data_type_complex_float16 = 16
    mps_data_type_complex_float32 = 17


_DTYPES = {
    MPSDataType.mps_data_type_float16: torch.float16,
    MPSDataType.mps_data_type_float32: torch.float32,
    MPSDataType.mps_data_type_bfloat16: torch.bfloat16,
    MPSDataType.mps_data_type_int8: torch.int8,
    MPSDataType.mps_data_type_int16: torch.int16,
    MPSDataType.mps_data_type_int32: torch.int32,
    MPSDataType.mps_data_type_int64: torch.int64,
    MPSDataType.mps_data_type_uint8: torch.uint8,
    MPSDataType.mps_data_type_bool: torch.bool,
}
_MPS_TYPES = {dtype: mps for mps, dtype in _DTYPES.items()}


def edge_dtype_to_mps_dtype(dtype: torch.dtype) -> MPSDataType:
    """The dtype in payloads. Raises RuntimeError for one that payloads do not have."""
    if dtype not in _MPS_TYPES:
        raise RuntimeError(f"MPS has no {str(dtype).removeprefix('torch.')}")
    return _MPS_TYPES[dtype]


def torch_dtype(dtype: MPSDataType) -> torch.dtype | None:
    """Returns PyTorch's dtype, or None if PyTorch or Metal does not have the type."""
    return _DTYPES.get(dtype)
