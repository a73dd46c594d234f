# SPDX-License-Identifier: BSD-3-Clause
"""`PayloadValues`: the tensors of one payload, including constants, and their quantisation."""

from __future__ import annotations

from dataclasses import astuple

import torch

from sdk.backends.transforms.weight_files import WeightFiles
from sdk.backends.xnnpack.payload_constants import PayloadConstants
from sdk.backends.xnnpack.quantization import Scale
from sdk.backends.xnnpack.serialization.xnnpack_graph_schema import NO_VALUE, ValueFlag, XNNDatatype, XNNTensorValue
from sdk.backends.xnnpack.serialization.xnnpack_values import (
    PerChannelGroupQuant,
    PerChannelQuant,
    PerTensorQuant,
    Quantization,
    XNNQuantizedTensorValue,
)
from sdk.backends.xnnpack.weights import QuantizedWeight

_DATATYPES = {
    torch.float32: XNNDatatype.xnn_datatype_fp32,
    torch.float16: XNNDatatype.xnn_datatype_fp16,
    torch.bool: XNNDatatype.xnn_datatype_bool,
    torch.int64: XNNDatatype.xnn_datatype_int64,
    torch.int8: XNNDatatype.xnn_datatype_qint8,
}

# Weights by their bits, and by whether they have a scale for each group of a row.
_WEIGHTS = {
    (8, False): XNNDatatype.xnn_datatype_qcint8,
    (4, False): XNNDatatype.xnn_datatype_qcint4,
    (4, True): XNNDatatype.xnn_datatype_qbint4,
}


class PayloadValues:
    """Ids are indices into `values`. `files` gives the data file of each constant."""

    def __init__(self, files: WeightFiles) -> None:
        self.values: list[XNNTensorValue] = []
        self.constants = PayloadConstants(files)
        self._of_constants: dict[tuple[int, tuple[int, ...], XNNDatatype], int] = {}
        self._quantization: dict[int, Quantization] = {}  # by id
        self._filters: dict[tuple, int] = {}  # quantised filters, by bytes, shape and scales
        self._type = torch.float32  # the dtype of the call that is written

    def constant(self, tensor: torch.Tensor, dtype: torch.dtype | None = None) -> int:
        """Adds a constant, stored once under a hash of its bytes. By default it has the dtype in which the call
        computes."""
        dtype = self._type if dtype is None else torch.float16 if dtype == torch.float16 else torch.float32
        return self._add_constant(tensor.detach().to(dtype), _DATATYPES[dtype])

    def floats(self, tensor: torch.Tensor) -> int:
        """Adds a float32 constant, whatever the dtype of the call."""
        return self.constant(tensor, torch.float32)

    def weight(self, weight: QuantizedWeight) -> int:
        """Adds a quantised filter. The time steps of a recurrent layer share it."""
        kind, count, shape = _WEIGHTS[weight.bits, weight.group is not None], weight.scales.numel(), weight.values.shape
        scales = self.constants.add(weight.scales if weight.group is None else weight.scales.bfloat16())
        quantization = (
            PerChannelQuant(weight.axis, scales, count)
            if weight.group is None
            else PerChannelGroupQuant(weight.axis, weight.group, scales, count)
        )
        packed = weight.packed()
        key = (self.constants.add(packed), tuple(shape), astuple(quantization))
        if key not in self._filters:
            self._filters[key] = self._add_constant(packed, kind, list(shape))
            self._quantization[self._filters[key]] = quantization
        return self._filters[key]

    def integer_bias(self, bias: torch.Tensor, scales: torch.Tensor) -> int:
        """Adds the bias of a layer whose accumulators have `scales`, one for each channel."""
        limit = torch.iinfo(torch.int32).max
        integers = (bias.double() / scales.double()).round().clamp(-limit, limit).to(torch.int32)
        index = self._add_constant(integers, XNNDatatype.xnn_datatype_qcint32)
        self._quantization[index] = PerChannelQuant(0, self.constants.add(scales), scales.numel())
        return index

    def _add_constant(self, tensor: torch.Tensor, datatype: XNNDatatype, shape: list[int] | None = None) -> int:
        shape = list(tensor.shape) if shape is None else shape
        stored = self.constants.add(tensor)
        key = (stored, tuple(shape), datatype)
        # Quantised constants with equal bytes may have different scales.
        is_float = datatype in (XNNDatatype.xnn_datatype_fp32, XNNDatatype.xnn_datatype_fp16)
        known = self._of_constants.get(key) if is_float else None
        if known is not None:
            return known
        index = self._value(shape, datatype)
        if is_float:
            self._of_constants[key] = index
        self.values[index].constant_buffer_idx = stored
        return index

    def _value(self, shape: list[int], dtype: torch.dtype | XNNDatatype = torch.float32) -> int:
        index = len(self.values)
        datatype = _DATATYPES[dtype] if isinstance(dtype, torch.dtype) else dtype
        self.values.append(XNNTensorValue(datatype, len(shape), shape, 0, NO_VALUE, ValueFlag.NONE, index))
        return index

    def _like(self, index: int, shape: list[int]) -> int:
        """A new value with the same dtype and quantisation but another shape."""
        new = self._value(shape, XNNDatatype(self.values[index].datatype))
        if index in self._quantization:
            self._quantization[new] = self._quantization[index]
        return new

    def _set_scale(self, index: int, scale: Scale) -> None:
        self._quantization[index] = PerTensorQuant(scale.scale, scale.zero_point)

    def _quantized(self, value: XNNTensorValue) -> XNNTensorValue | XNNQuantizedTensorValue:
        quantization = self._quantization.get(value.id_out)
        return value if quantization is None else XNNQuantizedTensorValue(value, quantization)
