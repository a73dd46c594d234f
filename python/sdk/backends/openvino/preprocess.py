# SPDX-License-Identifier: BSD-3-Clause
"""`OpenvinoBackend`: compiles one partition for a device of OpenVINO."""

from __future__ import annotations

import hashlib
import io
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any, final

from torch.export import ExportedProgram

from sdk.backends.openvino.convert import to_model, way_around
from sdk.backends.openvino.toolkit import openvino
from sdk.exir._serialize._named_data_store import NamedDataStore, NamedDataStoreOutput
from sdk.exir.backend.backend_details import BackendDetails, PreprocessResult
from sdk.exir.backend.compile_spec_schema import CompileSpec

DEVICE = "device"
INCLUDE_IR = "include_ir"
PRECISION = "INFERENCE_PRECISION_HINT"
_DYNAMIC_QUANTIZATION = "DYNAMIC_QUANTIZATION_GROUP_SIZE"
_ALIGNMENT = 64  # of weights, which OpenVINO uses in place


@final
class OpenvinoBackend(BackendDetails):
    """The payload is OpenVINO's export of the compiled model. It runs only with the release and on the kind of device
    for which it was compiled. The optional IR, in the named data of the program, can be compiled by any.

    Compile specs: `device` (CPU by default), `include_ir`, and properties of OpenVINO in capitals with their values as
    text, for example `INFERENCE_PRECISION_HINT`.
    """

    @staticmethod
    def preprocess(edge_program: ExportedProgram, compile_specs: list[CompileSpec]) -> PreprocessResult:
        """Raises RuntimeError if OpenVINO cannot convert or compile the partition."""
        ov = openvino()
        specs = read_specs(compile_specs)
        device = specs.pop(DEVICE, "CPU")
        with_ir = specs.pop(INCLUDE_IR, "") not in ("", "0")
        model = to_model(edge_program)
        # Weights-only modes promise activations in floats: on CPUs OpenVINO would quantise them while the model runs.
        exact = {_DYNAMIC_QUANTIZATION: "0"} if device == "CPU" else {}
        properties = {**precision_of(device), **exact, **{key: value for key, value in specs.items() if key.isupper()}}
        try:
            compiled = ov.Core().compile_model(model, device, properties)
        except RuntimeError as error:
            raise RuntimeError(
                f"OpenVINO cannot compile a partition for {device}: {_last_line(error)}. {way_around(edge_program)}"
            ) from error
        stream = io.BytesIO()
        compiled.export_model(stream)
        payload = stream.getvalue()
        return PreprocessResult(payload, data_store_output=_ir(ov, model, payload) if with_ir else None)


def read_specs(compile_specs: Iterable[CompileSpec]) -> dict[str, str]:
    """The values of compile specs by their keys. Raises ValueError for a value that is not text."""
    found = {}
    for spec in compile_specs:
        try:
            found[spec.key] = bytes(spec.value).decode().rstrip("\0")
        except UnicodeDecodeError as error:
            raise ValueError(f"the compile spec {spec.key!r} of OpenVINO is {spec.value!r}; expected text") from error
    return found


def precision_of(device: str) -> dict[str, str]:
    """Returns the property that makes CPUs compute in float32. CPUs with bfloat16 would use that, with errors of 1%."""
    return {PRECISION: "f32"} if device == "CPU" else {}


def _ir(ov: Any, model: Any, payload: bytes) -> NamedDataStoreOutput:
    """The IR of the model as named data. Its key is the SHA-256 of the payload, because the payload is OpenVINO's
    export without a field for a name."""
    store, key = NamedDataStore(), f"openvino_ir_{hashlib.sha256(payload).hexdigest()}"
    with tempfile.TemporaryDirectory() as folder:
        xml, weights = Path(folder) / "model.xml", Path(folder) / "model.bin"
        ov.serialize(model, str(xml), str(weights))
        store.add_named_data(f"{key}.xml", xml.read_bytes())
        store.add_named_data(f"{key}.bin", weights.read_bytes(), alignment=_ALIGNMENT)
    return store.get_named_data_store_output()


def _last_line(error: BaseException) -> str:
    """The last line of a message of OpenVINO, which begins with locations in its sources."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return lines[-1] if lines else type(error).__name__
