# SPDX-License-Identifier: BSD-3-Clause
"""`EnnGraph`: the graph that Samsung's compiler gets, made by the functions of Samsung's SDK."""

from __future__ import annotations

import importlib
from collections.abc import Mapping, Sequence
from typing import Any, Final

import torch

_MODULE = "sdk.backends.samsung.python.PyGraphWrapperAdaptor"

DTYPES: Final = {
    torch.int8: "INT8",
    torch.uint8: "UINT8",
    torch.int16: "INT16",
    torch.uint16: "UINT16",
    torch.int32: "INT32",
    torch.int64: "INT64",
    torch.float16: "FLOAT16",
    torch.float32: "FLOAT32",
}
"""The names of dtypes."""

QUANTIZED: Final = {torch.int8: "AINT8"}
"""The names of quantised dtypes. Other dtypes have no such name."""


class EnnGraph:
    """A graph under construction. Needs the module that is compiled with Samsung's SDK.

    Attributes:
        version: The version of the format.
        graph: The object of the SDK.
        inputs: The ids of the tensors that the caller gives.
        outputs: The ids of the tensors that the caller gets.
    """

    def __init__(self) -> None:
        self.version = "0.6.0"
        self._adaptor: Any = importlib.import_module(_MODULE)
        self.graph = self._adaptor.PyEnnGraphWrapper()
        self.graph.Init()
        self.inputs: list[int] = []
        self.outputs: list[int] = []

    def init(self, name: str, soc_name: Any) -> None:
        """Names the graph and the chip."""
        self.name, self.soc_name = name, soc_name

    def define_op(
        self,
        name: str,
        type: str,
        input_ids: Sequence[int],
        output_ids: Sequence[int],
        params: Mapping[str, Any] | None = None,
    ) -> None:
        """Adds a call of an operator.

        Args:
            name: The name of the call.
            type: The type of the operator.
            input_ids: The ids of its operands.
            output_ids: The ids of its results.
            params: The parameters: numbers, strings, or lists of numbers.

        Raises TypeError for a parameter of another type.
        """
        call = self._adaptor.PyEnnOpWrapper(name, type, list(input_ids), list(output_ids))
        for key, value in (params or {}).items():
            parameter = self._adaptor.OpParamWrapper(key)
            if isinstance(value, (list, tuple)):
                parameter.SetVectorValue(list(value))
            elif isinstance(value, str):
                parameter.SetStringValue(value)
            elif isinstance(value, (bool, int, float)):
                parameter.SetScalarValue(value)
            else:
                raise TypeError(f"the parameter {key} of {name} is {value!r}, which Samsung's graphs cannot hold")
            call.AddOpParam(parameter)
        self.graph.DefineOpNode(call)

    def define_tensor(
        self,
        name: str,
        shape: Sequence[int],
        data_type: str,
        tensor_type: str,
        data: Any = None,
        quant_param: Mapping[str, Any] | None = None,
    ) -> int:
        """Adds a tensor and returns its id.

        Args:
            name: The name of the tensor.
            shape: Its sizes.
            data_type: One of the values of `DTYPES`, if it is not quantised.
            tensor_type: "INPUT", "OUTPUT", "CONSTANT" or "FEATUREMAP".
            data: The elements of a constant. Floats are quantised if the tensor is.
            quant_param: If it is quantised, `scales`, `zero_points`, `quant_dtype`, and `axis` for several scales.
        """
        if quant_param is not None:
            data_type = DTYPES[quant_param["quant_dtype"]]
        layout = "NCHW" if len(shape) == 4 else "UNDEFINED"
        tensor = self._adaptor.PyEnnTensorWrapper(name, list(shape), data_type, layout)
        if quant_param is not None:
            scales, zero_points = (_numbers(quant_param[key]) for key in ("scales", "zero_points"))
            tensor.AddQuantizeParam(QUANTIZED.get(quant_param["quant_dtype"], ""), scales, zero_points)
        if data is not None:
            tensor.AddData(_stored(torch.as_tensor(data), quant_param).numpy())
        position: int = self.graph.DefineTensor(tensor)
        if tensor_type == "INPUT":
            self.inputs.append(position)
        elif tensor_type == "OUTPUT":
            self.outputs.append(position)
        return position

    def finish(self) -> None:
        """Ends the graph, after all inputs and outputs are defined."""
        self.graph.SetGraphInputTensors(self.inputs)
        self.graph.SetGraphOutputTensors(self.outputs)
        self.graph.FinishBuild()

    def serialize(self) -> Any:
        """The bytes of a finished graph."""
        return self.graph.Serialize()


def _numbers(given: Any) -> list[Any]:
    if isinstance(given, torch.Tensor):
        return list(given.flatten().tolist())
    return list(given) if isinstance(given, (list, tuple)) else [given]


def _stored(data: torch.Tensor, quant_param: Mapping[str, Any] | None) -> torch.Tensor:
    if quant_param is None or not data.is_floating_point() or quant_param["quant_dtype"].is_floating_point:
        return data.detach().contiguous()
    axis = quant_param.get("axis")
    shape = [-1 if dim == axis else 1 for dim in range(data.dim())]
    scales, zeros = (torch.tensor(_numbers(quant_param[key])).reshape(shape) for key in ("scales", "zero_points"))
    info = torch.iinfo(quant_param["quant_dtype"])
    return (torch.round(data.detach() / scales) + zeros).clamp(info.min, info.max).to(quant_param["quant_dtype"])
