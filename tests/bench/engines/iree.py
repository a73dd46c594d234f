# SPDX-License-Identifier: BSD-3-Clause
"""IREE in float32 through Vulkan (`iree-vulkan`), compiled from ONNX to SPIR-V."""

from __future__ import annotations

import importlib
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from bench.engines import PEER_PYTHON, Declaration, ImpossibleError, is_half, is_int8, run_converter
from bench.engines.onnxruntime import export_onnx


class IreeEngine:
    def __init__(self, name: str, threads: int) -> None:
        self.narrow = is_int8(name) or is_half(name)

    def export(self, spec: str, output: str) -> dict[str, Any]:
        if self.narrow:
            raise ImpossibleError("it compiles the precision of the model")
        source, imported = f"{output}.onnx", f"{output}.mlir"
        if export_onnx(spec, source).states:
            raise ImpossibleError("the caller would copy its state")
        tools = Path(os.environ[PEER_PYTHON]).parent
        run_converter(str(tools / "iree-import-onnx"), source, "--opset-version", "17", "-o", imported)
        run_converter(str(tools / "iree-compile"), imported, "--iree-hal-target-device=vulkan", "-o", output)
        return {"file_bytes": Path(output).stat().st_size}

    def prepare(self) -> None:
        importlib.import_module("iree.runtime")

    def load(self, path: str, inputs: list[Any]) -> Callable[[], Any]:
        import iree.runtime

        try:
            config = iree.runtime.Config("vulkan")
        except RuntimeError as error:
            raise ImpossibleError("it finds no Vulkan device") from error
        module = iree.runtime.VmModule.mmap(config.vm_instance, path)
        context = iree.runtime.SystemContext(config=config, vm_modules=[module])
        name = next(name for name in module.function_names if not name.startswith("__") and "$" not in name)
        function = getattr(getattr(context.modules, module.name), name)
        self.device = config.device

        def call() -> Any:
            result = function(*inputs)
            return self._host(result[0] if isinstance(result, tuple | list) else result)

        return call

    def _host(self, result: Any) -> Any:
        """A copy through a staging buffer. DeviceArray.to_host() imports memory of NumPy, which lavapipe does not take
        at most addresses."""
        from iree.runtime import BufferUsage, HalFence, MemoryType

        view = result._buffer_view
        source, device = view.get_buffer(), self.device
        staging = device.allocator.allocate_buffer(
            memory_type=int(MemoryType.HOST_LOCAL | MemoryType.DEVICE_VISIBLE),
            allowed_usage=int(BufferUsage.TRANSFER_TARGET | BufferUsage.MAPPING_SCOPED),
            allocation_size=source.byte_length(),
        )
        semaphore = device.create_semaphore(0)
        fences = HalFence.create_at(semaphore, 0), HalFence.create_at(semaphore, 1)
        device.queue_copy(source, staging, wait_semaphores=fences[0], signal_semaphores=fences[1])
        fences[1].wait()
        return staging.map().asarray(view.shape, result.dtype)

    def first_result(self, result: Any) -> Any:
        return result.copy()


DECLARATION = Declaration(
    title="IREE",
    color="#8d6a9f",
    packages=("iree-base-compiler", "iree-base-runtime"),
    suffix="vmfb",
    make=IreeEngine,
    beside={"vulkan": "iree-vulkan"},
    half=True,
)
