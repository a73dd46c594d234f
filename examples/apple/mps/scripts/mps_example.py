# SPDX-License-Identifier: BSD-3-Clause
"""Lowers a model to Metal Performance Shaders, from the root of the repository:

    python -m examples.apple.mps.scripts.mps_example --model_name=mv3 --bundled --use_fp16

writes mv3_mps_float16_bundled.pte to the working directory. Without --bundled the file is mv3_mps_float16.pte, and with
--no-use_fp16 it is mv3_mps_float32.pte. --check_correctness compares the program with PyTorch. If the runtime of this
package has the MPS backend, the GPU computes the program; otherwise an interpreter does, without Apple's arithmetic.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import torch
from examples.apple.mps.mobilenet_v3 import mobilenet_v3_small
from examples.mobilenet_v2.model import example_inputs, mobilenet_v2
from examples.portable.scripts.export import MODELS as SMALL_MODELS
from torch import Tensor, nn

from sdk.backends.apple.mps import MPSBackend
from sdk.backends.apple.mps.partition import MPSPartitioner
from sdk.backends.apple.mps.verify.program import ReferenceProgram
from sdk.devtools import BundledProgram, generate_etrecord
from sdk.devtools.bundled_program.config import MethodTestCase, MethodTestSuite
from sdk.devtools.bundled_program.serialize import serialize_from_bundled_program_to_flatbuffer
from sdk.exir import EdgeProgramManager, ExecutorchProgramManager, to_edge
from sdk.exir.backend.backend_api import to_backend
from sdk.exir.backend.compile_spec_schema import CompileSpec
from sdk.extension.export_util.utils import save_pte_program

MODELS: dict[str, Callable[[], tuple[nn.Module, tuple[Tensor, ...]]]] = {
    **SMALL_MODELS,
    "mv2": lambda: (mobilenet_v2(), example_inputs()),
    "mv3": lambda: (mobilenet_v3_small(), example_inputs()),
}
ALLOWED = {True: 5e-3, False: 1e-4}
"""Allowed differences from PyTorch in float16 and float32, relative to the largest value, or to 1 if that is larger."""
CALLS = 100


def lower(edge: EdgeProgramManager, inputs: Sequence[Tensor], use_fp16: bool, partition: bool) -> Any:
    """The lowered program: its supported parts, or, without the partitioner, all of it.

    Raises:
        RuntimeError: the partitioner is not used and MPS does not take an operator.
    """
    specs = [CompileSpec("use_fp16", bytes([use_fp16]))]
    if partition:
        return edge.to_backend(MPSPartitioner(compile_specs=specs))
    lowered = to_backend(MPSBackend.__name__, edge.exported_program(), specs)
    return to_edge(torch.export.export(lowered, tuple(inputs)))


def runtime_with_mps() -> Any:
    """The runtime of this package, if it has the MPS backend."""
    try:
        from sdk.runtime import Runtime
    except ImportError:  # the package is not built
        return None
    runtime = Runtime.get()
    return runtime if runtime.backend_registry.is_available("MPSBackend") else None


def compare(
    program: ExecutorchProgramManager, file: Path, expected: Any, inputs: Sequence[Tensor], use_fp16: bool
) -> str:
    """Compares the results with PyTorch's and returns what computed them. Raises SystemExit if they differ."""
    runtime = runtime_with_mps()
    if runtime is not None:
        who, results = "MPS backend", runtime.load_program(program.buffer).load_method("forward").execute(inputs)
    else:
        who, results = "an interpreter of MPS programs", ReferenceProgram(file).run_method("forward", inputs)
        print("This computer has no MPS backend: an interpreter computes the program, which is not Apple's arithmetic.")
    for have, want in zip(results, [expected] if isinstance(expected, Tensor) else expected, strict=True):
        error = float((have.double() - want.double()).abs().max() / want.double().abs().max().clamp(min=1))
        if not error <= ALLOWED[use_fp16]:
            raise SystemExit(f"The results differ by {error:.2g} of the largest value; {ALLOWED[use_fp16]} is allowed.")
    return who


def bench(program: ExecutorchProgramManager, model: nn.Module, inputs: Sequence[Tensor]) -> None:
    """Prints the times of PyTorch and of the program on the GPU."""
    runtime = runtime_with_mps()
    if runtime is None or not torch.backends.mps.is_available():
        raise SystemExit("--bench_pytorch needs a Mac whose package is built with -DEXECUTORCH_BUILD_MPS=ON")
    method = runtime.load_program(program.buffer).load_method("forward")
    on_gpu, given = model.to("mps"), [tensor.to("mps") for tensor in inputs]

    def pytorch() -> None:
        on_gpu(*given)
        torch.mps.synchronize()

    for name, call in (("PyTorch", pytorch), ("ExecuTorch", lambda: method.execute(inputs))):
        for _ in range(CALLS // 10):
            call()
        start = time.perf_counter()
        for _ in range(CALLS):
            call()
        print(f"{name} MPS forward pass: {(time.perf_counter() - start) / CALLS * 1e3:.3f} ms")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    toggle = argparse.BooleanOptionalAction
    parser.add_argument("-m", "--model_name", required=True, choices=sorted(MODELS))
    parser.add_argument("--use_fp16", default=True, action=toggle, help="compute float32 operators in float16")
    parser.add_argument(
        "--use_partitioner", default=True, action=toggle, help="leave operators that MPS lacks on the CPU"
    )
    parser.add_argument(
        "--bench_pytorch", default=False, action=toggle, help="measure PyTorch and the program on a Mac"
    )
    parser.add_argument("-b", "--bundled", action="store_true", help="write a bundled program with a test case")
    parser.add_argument("-c", "--check_correctness", action="store_true", help="compare the program with PyTorch")
    parser.add_argument("--generate_etrecord", action="store_true", help="write etrecord.bin for the Inspector")
    options = parser.parse_args()
    model, inputs = MODELS[options.model_name]()
    captured = torch.export.export(model.eval(), inputs)
    edge = to_edge(captured)
    try:
        lowered = lower(edge, inputs, options.use_fp16, options.use_partitioner)
    except RuntimeError as error:
        raise SystemExit(f"{error}\nWith --use_partitioner the operator runs on the CPU.") from error
    program = lowered.to_executorch()
    expected = captured.module()(*inputs)
    name = f"{options.model_name}_mps_{'float16' if options.use_fp16 else 'float32'}"
    plain = Path(save_pte_program(program, name))
    if options.check_correctness:
        who = compare(program, plain, expected, inputs, options.use_fp16)
        print(
            f"Results between ExecuTorch forward pass with {who} and PyTorch forward pass for "
            f"{options.model_name}_mps are matching!"
        )
    if options.bundled:
        bundle = BundledProgram(program, [MethodTestSuite("forward", [MethodTestCase(list(inputs), expected)])])
        file = Path(f"{name}_bundled.pte")
        file.write_bytes(serialize_from_bundled_program_to_flatbuffer(bundle))
        plain.unlink()
        print("Wrote", file)
    else:
        print("Wrote", plain)
    if options.generate_etrecord:
        generate_etrecord("etrecord.bin", edge, program)
        print("Wrote etrecord.bin")
    if options.bench_pytorch:
        bench(program, model, inputs)


if __name__ == "__main__":
    sys.exit(main())
