# SPDX-License-Identifier: BSD-3-Clause
"""Quantises models with the original. Usage: ``original_qnn.py DIRECTORY``.

The original downloads Qualcomm's SDK when it is imported, unless it believes that its wheel is being built. This script
makes it believe so. Empty modules replace the one that would download the SDK and one that describes the CPU. For each
``NAME.pt2`` with ``NAME.inputs.pt`` it writes ``NAME.SCHEME.pt``, the results of the quantised model; and
``options.pt``, the bytes of options and of a payload.
"""

from __future__ import annotations

import os
import sys
import types
from pathlib import Path
from typing import Any

import torch

PLACE = "executorch.backends.qualcomm.scripts.download_qnn_sdk"

os.environ["EXECUTORCH_BUILDING_WHEEL"] = "1"
for name in ("cpuinfo", PLACE):
    module = types.ModuleType(name)
    vars(module).update(get_cpu_info=dict, install_qnn_sdk=None, is_linux_x86=None, QNN_ZIP_URL="")
    sys.modules[name] = module


def options(schema: Any) -> dict[str, bytes]:
    """The bytes of options, by a name."""
    from executorch.backends.qualcomm.serialization.qc_schema_serialize import option_to_flatbuffer

    kind = schema.QnnExecuTorchBackendType
    htp = schema.QnnExecuTorchBackendOptions(kind.kHtpBackend, schema.QnnExecuTorchHtpBackendOptions())
    gpu = schema.QnnExecuTorchBackendOptions(kind.kGpuBackend, None, schema.QnnExecuTorchGpuBackendOptions())
    lpai = schema.QnnExecuTorchBackendOptions(kind.kLpaiBackend, None, None, schema.QnnExecuTorchLpaiBackendOptions())
    package = schema.QnnExecuTorchOpPackageInfo("a", "b.so", "c", schema.QnnExecuTorchOpPackageTarget.HTP, "", "e")
    found = {
        f"chip {chip.name}": schema.QnnExecuTorchOptions(info, htp) for chip, info in schema._soc_info_table.items()
    }
    found["gpu"] = schema.QnnExecuTorchOptions(schema.SocInfo(schema.QcomChipset.SM8650), gpu, saver=True)
    found["lpai"] = schema.QnnExecuTorchOptions(
        schema._soc_info_table[schema.QcomChipset.SM8850], lpai, library_path="other.so", online_prepare=True
    )
    found["packages"] = schema.QnnExecuTorchOptions(
        schema.SocInfo(), htp, op_package_options=schema.QnnExecuTorchOpPackageOptions([package, package])
    )
    return {name: option_to_flatbuffer(each) for name, each in found.items()}


def main(directory: Path) -> None:
    from executorch.backends.qualcomm.python import PyQnnManagerAdaptor
    from executorch.backends.qualcomm.quantizer.quantizer import QnnQuantizer, QuantDtype
    from executorch.backends.qualcomm.serialization import qc_schema
    from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e, prepare_pt2e

    found = options(qc_schema)
    manager = PyQnnManagerAdaptor.QnnManager(found["gpu"])
    payload = bytes(manager.MakeBinaryInfo(b"a context binary"))
    torch.save({"options": found, "payload": payload}, directory / "options.pt")
    for file in sorted(directory.glob("*.pt2")):
        inputs = torch.load(file.with_suffix(".inputs.pt"))
        for scheme in QuantDtype:
            quantizer = QnnQuantizer()
            quantizer.set_default_quant_config(scheme, is_conv_per_channel=True, is_linear_per_channel=True)
            try:
                prepared = prepare_pt2e(torch.export.load(file).module(), quantizer)
                prepared(*inputs)
                result = convert_pt2e(prepared)(*inputs)
            except Exception as error:  # what the original cannot quantise
                result = f"{type(error).__name__}: {error}"
            torch.save(result, file.with_suffix(f".{scheme.name}.pt"))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
