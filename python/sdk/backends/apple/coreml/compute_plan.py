# SPDX-License-Identifier: BSD-3-Clause
"""Which processor Core ML chooses for each operation of a model, by `MLComputePlan`, which macOS 14.4 and later have.

coremltools loads the plan of a single function, so each function of a model is written and loaded as a separate
model.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sdk.backends.apple.coreml._coremltools import coremltools
from sdk.backends.apple.coreml.extract import extract
from sdk.exir._serialize._regular_file import read_file

COMPUTE_UNITS = {"all": "ALL", "cpu_and_ne": "CPU_AND_NE", "cpu_and_gpu": "CPU_AND_GPU", "cpu_only": "CPU_ONLY"}
"""The names of options, and of `coremltools.ComputeUnit`."""

DEVICES = {"MLNeuralEngineComputeDevice": "ANE", "MLGPUComputeDevice": "GPU", "MLCPUComputeDevice": "CPU"}
"""The classes of coremltools, and the names of the processors in reports."""


@dataclass(frozen=True)
class PlannedOperation:
    """An operation of a function, the processor that Core ML prefers for it, those that can run it, and its share of
    the estimated cost of the function, from 0 to 1, where Core ML gives one."""

    function: str
    operation: str
    device: str
    supported: tuple[str, ...] = ()
    cost: float | None = None


def analyze(model: Path, compute_units: str = "cpu_and_ne") -> dict[str, list[PlannedOperation]]:
    """The plans of the models of a `.pte`, or of one `.mlpackage` or `.mlmodelc`, by name. Constants are left out.

    Args:
        model: The file or folder.
        compute_units: The processors that Core ML may choose, a key of COMPUTE_UNITS.

    Raises:
        ValueError: the file is damaged or of another kind, has no model of Core ML, or its model is not an ML program.
        RuntimeError: this system has no `MLComputePlan`.
    """
    if not model.exists():
        raise ValueError(f"there is no file or folder {model}")
    if model.suffix in (".mlpackage", ".mlmodelc"):
        return {model.name: analyze_one(model, compute_units)}
    if model.suffix != ".pte":
        raise ValueError(f"{model} is not a .pte, .mlpackage or .mlmodelc")
    with tempfile.TemporaryDirectory() as folder:
        models = extract(read_file(model), Path(folder) / "models")
        if not models:
            raise ValueError(f"{model} has no delegate of Core ML")
        return {each.name: analyze_one(_only(Path(folder) / "models" / each.name), compute_units) for each in models}


def analyze_one(model: Path, compute_units: str = "cpu_and_ne") -> list[PlannedOperation]:
    """The plan of one `.mlpackage` or `.mlmodelc`, in the order of its operations. Raises as `analyze` does."""
    if compute_units not in COMPUTE_UNITS:
        raise ValueError(f"compute_units is {compute_units!r}; expected one of {', '.join(COMPUTE_UNITS)}")
    functions = _functions(model)
    if len(functions) < 2:
        return list(_planned(model, compute_units))
    found: list[PlannedOperation] = []
    with tempfile.TemporaryDirectory() as folder:
        for name in functions:
            alone = _alone(model, name, Path(folder) / f"{len(found)}_{name}.mlpackage")
            found += [
                PlannedOperation(name, each.operation, each.device, each.supported, each.cost)
                for each in _planned(alone, compute_units)
            ]
    return found


def _only(folder: Path) -> Path:
    """The model in the folder of a delegate."""
    for name in ("model.mlpackage", "model.mlmodelc"):
        if (folder / name).exists():
            return folder / name
    raise ValueError(f"the payload {folder.name} has no model.mlpackage or model.mlmodelc")


def _functions(model: Path) -> list[str]:
    if model.suffix != ".mlpackage":
        return []
    spec = coremltools().models.MLModel(str(model), skip_model_load=True).get_spec()
    return sorted(spec.mlProgram.functions) if spec.WhichOneof("Type") == "mlProgram" else []


def _alone(model: Path, function: str, folder: Path) -> Path:
    """A package with one function of another package."""
    of_coremltools = coremltools().models.utils
    descriptor = of_coremltools.MultiFunctionDescriptor()
    descriptor.add_function(str(model), src_function_name=function, target_function_name="main")
    descriptor.default_function_name = "main"
    of_coremltools.save_multifunction(descriptor, str(folder))
    return folder


def _planned(model: Path, compute_units: str) -> Iterator[PlannedOperation]:
    ct = coremltools()
    from coremltools.models.compute_plan import MLComputePlan

    with tempfile.TemporaryDirectory() as folder:
        compiled = model
        try:
            if model.suffix == ".mlpackage":
                compiled = Path(ct.models.utils.compile_model(str(model), str(Path(folder) / "model.mlmodelc")))
            plan = MLComputePlan.load_from_path(str(compiled), getattr(ct.ComputeUnit, COMPUTE_UNITS[compute_units]))
        except Exception as error:  # coremltools raises Exception itself
            raise RuntimeError(
                f"Core ML gives no plan for {model.name}: {error} MLComputePlan needs macOS 14.4 or later; "
                "`sdk inspect MODEL.pte --models FOLDER` writes the packages, to be analysed on a Mac."
            ) from error
        program = plan.model_structure.program
        if program is None:
            raise ValueError(f"{model.name} is not an ML program, whose operations Core ML plans")
        for name, function in program.functions.items():
            for operation in _operations(function.block):
                usage = plan.get_compute_device_usage_for_mlprogram_operation(operation)
                if usage is None:
                    continue
                cost = plan.get_estimated_cost_for_mlprogram_operation(operation)
                yield PlannedOperation(
                    name,
                    operation.operator_name,
                    _device(usage.preferred_compute_device),
                    tuple(_device(device) for device in usage.supported_compute_devices or ()),
                    None if cost is None else float(cost.weight),
                )


def _operations(block: Any) -> Iterator[Any]:
    """Yields the operations of a block, each before the operations of its inner blocks."""
    for operation in block.operations:
        yield operation
        for inner in operation.blocks or ():
            yield from _operations(inner)


def _device(device: Any) -> str:
    names = [DEVICES[kind.__name__] for kind in type(device).__mro__ if kind.__name__ in DEVICES]
    return names[0] if names else "unknown"
