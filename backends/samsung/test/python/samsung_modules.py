# SPDX-License-Identifier: BSD-3-Clause
"""Modules with the names of those that are compiled with Samsung's SDK. They record the graph that they get. The
original's environment imports this file, too."""

from __future__ import annotations

import importlib
import sys
import types
from typing import Any, ClassVar

PLACE = "{}.backends.samsung.python"


class Tensor:
    def __init__(self, name: str, shape: list[int], dtype: str, layout: str) -> None:
        self.name, self.shape, self.dtype, self.layout = name, list(shape), dtype, layout
        self.quantization: Any = None
        self.data: Any = None

    def AddQuantizeParam(self, dtype: str, scales: list[float], zero_points: list[int]) -> None:
        self.quantization = (dtype, list(scales), list(zero_points))

    def AddData(self, data: Any) -> None:
        self.data = data


class Parameter:
    def __init__(self, key: str) -> None:
        self.key = key

    def set(self, value: Any) -> None:
        self.value = value

    SetVectorValue = SetStringValue = SetScalarValue = set


class Call:
    def __init__(self, name: str, type: str, inputs: list[int], outputs: list[int]) -> None:
        self.name, self.type, self.inputs, self.outputs = name, type, list(inputs), list(outputs)
        self.params: dict[str, Any] = {}

    def AddOpParam(self, parameter: Parameter) -> None:
        self.params[parameter.key] = parameter.value


class Graph:
    """A graph of the SDK."""

    all: ClassVar[list[Graph]] = []

    def Init(self) -> None:
        self.tensors: list[Tensor] = []
        self.calls: list[Call] = []
        Graph.all.append(self)

    def DefineTensor(self, tensor: Tensor) -> int:
        self.tensors.append(tensor)
        return len(self.tensors) - 1

    def DefineOpNode(self, call: Call) -> None:
        self.calls.append(call)

    def SetGraphInputTensors(self, tensors: list[int]) -> None:
        self.inputs = list(tensors)

    def SetGraphOutputTensors(self, tensors: list[int]) -> None:
        self.outputs = list(tensors)

    def FinishBuild(self) -> None:
        known = {*self.inputs, *(index for index, tensor in enumerate(self.tensors) if tensor.data is not None)}
        for call in self.calls:
            assert known.issuperset(call.inputs), call.type
            known.update(call.outputs)
        assert known.issuperset(self.outputs)

    def Serialize(self) -> bytes:
        return b"a graph"


class Wrapper:
    """The compiler."""

    options: ClassVar[list[bytes]] = []

    def Init(self, options: bytes) -> None:
        Wrapper.options.append(bytes(options))

    def IsNodeSupportedByBackend(self) -> bool:
        return False

    def Compile(self, graph: Any) -> bytes:
        return b"a network of " + bytes(graph)

    def Destroy(self) -> None:
        pass


def modules(package: str) -> dict[str, types.ModuleType]:
    """The modules, by their names."""
    made = {}
    for name, names in {
        "PyEnnWrapperAdaptor": {"EnnWrapper": Wrapper},
        "PyGraphWrapperAdaptor": {
            "PyEnnGraphWrapper": Graph,
            "PyEnnOpWrapper": Call,
            "OpParamWrapper": Parameter,
            "PyEnnTensorWrapper": Tensor,
        },
    }.items():
        module = types.ModuleType(name)
        module.__spec__ = types.SimpleNamespace(name=name)  # type: ignore[assignment]
        vars(module).update(names)
        made[f"{PLACE.format(package)}.{name}"] = module
    return made


def install(package: str) -> None:
    """Makes the modules importable below `package`."""
    place = types.ModuleType(PLACE.format(package))
    made = modules(package)
    sys.modules.update({place.__name__: place, **made})
    vars(importlib.import_module(place.__name__.rpartition(".")[0]))["python"] = place
    vars(place).update({name.rpartition(".")[2]: module for name, module in made.items()})


def described(graph: Graph) -> list[tuple[Any, ...]]:
    """The calls of a graph, without names: type, parameters, and their tensors."""

    def tensor(index: int) -> tuple[Any, ...]:
        found = graph.tensors[index]
        return found.shape, found.dtype, found.layout, found.quantization, found.data

    return [
        (call.type, call.params, [tensor(index) for index in call.inputs], [tensor(index) for index in call.outputs])
        for call in graph.calls
    ]
