# SPDX-License-Identifier: BSD-3-Clause
"""Converts an edge program to a package of Core ML with coremltools, in this process.

The same program gives the same bytes: dates and random identifiers are removed, and protobuf maps are sorted.
"""

from __future__ import annotations

import hashlib
import json
import logging
import uuid
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch.export import ExportedProgram
from torch.export.graph_signature import InputKind, OutputKind, TensorArgument
from torch.fx import Node

from sdk.backends.apple.coreml._coremltools import coremltools
from sdk.backends.apple.coreml.compiler import graph_passes, torch_ops
from sdk.backends.apple.coreml.compiler.memory import checked_in_parts, give_back, separate_garbage
from sdk.backends.apple.coreml.compiler.settings import Settings
from sdk.backends.apple.coreml.container import Tree
from sdk.exir.graph.programs import copy_program

INTEGERS_AS_INT32 = (torch.bool, torch.int8, torch.uint8, torch.int16)
"""Dtypes of tensors that Core ML's functions neither take nor return: they are int32 there."""

_METADATA = "com.github.apple.coremltools."
_NAMESPACE = uuid.UUID("6ba7b811-9dad-11d1-80b4-00c04fd430c8")  # RFC 9562: names that are URLs


@dataclass(frozen=True)
class Package:
    """A `.mlpackage`: the model's protobuf message and the contents of its weight file."""

    spec: Any
    weights: bytes

    @property
    def version(self) -> int:
        """The specification version, which is the deployment target."""
        return int(self.spec.specificationVersion)

    def tree(self) -> Tree:
        """The files of the package."""
        model = self.spec.SerializeToString(deterministic=True)
        entries, items = {}, {"model.mlmodel": ("Core ML Model Specification", model)}
        if self.weights:
            items["weights"] = ("Core ML Model Weights", self.weights)
        identifiers = {}
        for name, (about, content) in items.items():
            digest = hashlib.sha256(content).hexdigest()
            identifiers[name] = str(uuid.uuid5(_NAMESPACE, f"{name}:{digest}"))
            entries[identifiers[name]] = {
                "author": "com.apple.CoreML",
                "description": about.replace("Core ML", "CoreML"),
                "name": name,
                "path": f"com.apple.CoreML/{name}",
            }
        manifest = {
            "fileFormatVersion": "1.0.0",
            "itemInfoEntries": dict(sorted(entries.items())),
            "rootModelIdentifier": identifiers["model.mlmodel"],
        }
        data: dict[str, Any] = {"model.mlmodel": model}
        if self.weights:
            data["weights"] = {"weight.bin": self.weights}
        text = json.dumps(manifest, indent=4) + "\n"
        return {"Data": {"com.apple.CoreML": data}, "Manifest.json": text.encode()}

    def names(self) -> tuple[list[str], list[str]]:
        """The names of the inputs and outputs of the only function, in the order of the program."""
        description = self.spec.description
        return [entry.name for entry in description.input], [entry.name for entry in description.output]


def convert(program: ExportedProgram, settings: Settings, target: Any) -> Package:
    """The package of a partition, for a deployment target.

    Raises:
        Exception: coremltools cannot convert the program; with its own message.
    """
    ct = coremltools()
    torch_ops.register()
    graph_passes.register()
    adapted = adapt(program)
    with quiet(), checked_in_parts(), separate_garbage():
        model = ct.convert(
            adapted,
            source="pytorch",
            convert_to="mlprogram",
            inputs=_enumerated_inputs(adapted, settings) or None,
            outputs=[ct.TensorType(dtype=_output_type(node)) for node in user_outputs(adapted)],
            minimum_deployment_target=target,
            compute_precision=settings.precision,
            compute_units=settings.compute_unit,
            pass_pipeline=settings.passes,
            skip_model_load=True,
        )
        if settings.quantizer is not None:
            model = ct.optimize.coreml.linear_quantize_weights(model, config=settings.quantizer)
        model._mil_program = None  # its operations refer to each other, and to a copy of the weights
        give_back()
        return package_of(model)


def package_of(model: Any) -> Package:
    """The package of a model that coremltools has made."""
    spec = model.get_spec()
    user = spec.description.metadata.userDefined
    for key in (f"{_METADATA}conversion_date", f"{_METADATA}source_dialect"):
        if key in user:
            del user[key]
    file = Path(model.weights_dir) / "weight.bin" if model.weights_dir else None
    weights = file.read_bytes() if file is not None and file.exists() else b""
    return Package(spec, weights)


@contextmanager
def quiet() -> Iterator[None]:
    """While active, progress bars and warnings of coremltools are hidden. Errors are raised as usual."""
    import tqdm

    log = logging.getLogger("coremltools")
    level = log.level
    log.setLevel(logging.CRITICAL)
    shown = tqdm.tqdm.__init__

    def hidden(self: Any, *args: Any, **kwargs: Any) -> None:
        shown(self, *args, **{**kwargs, "disable": True})

    tqdm.tqdm.__init__ = hidden
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        tqdm.tqdm.__init__ = shown
        log.setLevel(level)


def user_outputs(program: ExportedProgram) -> list[Node]:
    """The nodes that a program returns, without the new values of mutated buffers."""
    results = program.graph.output_node().args[0]
    specs = program.graph_signature.output_specs
    return [node for node, spec in zip(results, specs, strict=True) if spec.kind == OutputKind.USER_OUTPUT]


def adapt(program: ExportedProgram) -> ExportedProgram:
    """A copy of a partition whose inputs and outputs have dtypes that Core ML's functions can have, and whose sizes are
    all in `range_constraints`, where coremltools looks them up."""
    program = copy_program(program)
    graph = program.graph
    user = {s.arg.name for s in program.graph_signature.input_specs if s.kind == InputKind.USER_INPUT}
    for node in list(graph.nodes):
        if node.op != "placeholder" or node.name not in user:
            continue
        value = node.meta["val"]
        if not isinstance(value, torch.Tensor):
            continue
        if value.dtype in INTEGERS_AS_INT32:
            with graph.inserting_after(node):
                cast = cast_of(node, value)
            node.replace_all_uses_with(cast, delete_user_cb=lambda reader, cast=cast: reader is not cast)
        dtype = torch.int32 if value.dtype in INTEGERS_AS_INT32 else value.dtype
        node.meta = {**node.meta, "val": stated(dtype, value.shape)}
        for size in value.shape:
            _add_range(program, size)
    output = graph.output_node()
    results = list(output.args[0])
    for i, (node, spec) in enumerate(zip(results, program.graph_signature.output_specs, strict=True)):
        value = node.meta["val"]
        if spec.kind == OutputKind.USER_OUTPUT and value.dtype in INTEGERS_AS_INT32:
            with graph.inserting_before(output):
                results[i] = graph.call_function(torch.ops.aten._to_copy.default, (node,), {"dtype": torch.int32})
            results[i].meta = {"val": value.to(torch.int32), "debug_handle": node.meta.get("debug_handle")}
            spec.arg = TensorArgument(results[i].name)
    output.args = (tuple(results),)
    return program


def cast_of(node: Node, value: torch.Tensor) -> Node:
    """A new node that casts a parameter from int32, its dtype in Core ML's function, to the dtype of `value`."""
    cast = node.graph.call_function(torch.ops.aten._to_copy.default, (node,), {"dtype": value.dtype})
    cast.meta = {"val": value, "debug_handle": node.meta.get("debug_handle")}
    return cast


class _Stated(torch.Tensor):
    """Dtype and sizes of a tensor for coremltools. It would compare the sizes and strides of a fake tensor, and
    comparing symbols would restrict the sizes that the whole program accepts."""

    sizes: tuple[Any, ...]
    shape = property(lambda self: self.sizes)

    def dim_order(self, **_: Any) -> tuple[int, ...]:
        """The logical order of the dimensions, because the delegate reads inputs by their strides."""
        return tuple(range(len(self.sizes)))


def stated(dtype: torch.dtype, sizes: Sequence[Any]) -> torch.Tensor:
    """Returns a tensor without data with these sizes, some of which may be symbols."""
    made = torch.empty([example_of(size) for size in sizes], dtype=dtype, device="meta").as_subclass(_Stated)
    made.sizes = tuple(size if isinstance(size, int) else str(size) for size in sizes)
    return made


def example_of(size: Any) -> int:
    """The size in the example inputs; 2 if it depends on data. Unlike int(), this does not fix the symbol."""
    return size if isinstance(size, int) else int(size.node.hint) if size.node.has_hint() else 2


def _add_range(program: ExportedProgram, size: Any) -> None:
    if isinstance(size, int):
        return
    expression = size.node.expr
    if expression not in program.range_constraints:
        program.range_constraints[expression] = size.node.shape_env.bound_sympy(expression)


def _output_type(node: Node) -> Any:
    import numpy as np

    dtype = node.meta["val"].dtype
    return {torch.float32: np.float32, torch.float16: np.float16}.get(dtype, np.int32)


def _enumerated_inputs(program: ExportedProgram, settings: Settings) -> Sequence[Any]:
    """The inputs with their enumerated shapes; none without enumerated shapes."""
    if not settings.enumerated:
        return []
    ct = coremltools()
    shapes = {name: entry for entry in settings.enumerated for name in entry.inputs}
    made: list[Any] = []
    for spec in program.graph_signature.input_specs:
        if spec.kind != InputKind.USER_INPUT:
            continue
        node = next(node for node in program.graph.nodes if node.name == spec.arg.name)
        value = node.meta["val"]
        entry = shapes.get(node.name)
        if entry is None and not all(isinstance(size, int) for size in value.shape):
            raise ValueError(
                f"the input {node.name} has a dynamic shape {list(value.shape)}, but the compile spec "
                "enumerates no shapes "
                f"for it; it enumerates those of {', '.join(shapes)}"
            )
        shape = list(value.shape) if entry is None else ct.EnumeratedShapes([list(sizes) for sizes in entry.sizes])
        made.append(ct.TensorType(name=node.name, shape=shape, dtype=_output_type(node)))
    return made
