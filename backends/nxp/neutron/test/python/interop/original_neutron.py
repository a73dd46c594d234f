# SPDX-License-Identifier: BSD-3-Clause
"""Makes payloads, compile specs and quantised models with the original. Usage: ``original_neutron.py DIRECTORY``.

The original imports NXP's SDK: a module that has only the target replaces it. For each ``NAME.tflite``, the
script writes ``NAME.payload``. It quantises each ``NAME.pt2`` with the list of inputs in ``NAME.inputs.pt``, and writes
the results of the quantised model to ``NAME.outputs.pt``. It also writes ``specs.pt``.
"""

from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import torch


def install() -> None:
    """Installs the modules that replace NXP's SDK."""
    target = SimpleNamespace(name="imxrt700", subsystem=False, numUnits=1, numPipes=8, numMacs=8, hwVersion=2)
    converter: Any = ModuleType("eiq_neutron_sdk.neutron_converter")
    converter.getNeutronTarget = lambda name: target
    library: Any = ModuleType("eiq_neutron_sdk.neutron_library_utils")
    library.isNeutronTarget = lambda name: name == "imxrt700"
    library.getNeutronTargets = lambda: [target]
    package: Any = ModuleType("eiq_neutron_sdk")
    package.neutron_converter, package.neutron_library_utils = converter, library
    for module in (package, converter, library):
        sys.modules[module.__name__] = module


def main(directory: Path) -> None:
    install()
    from executorch.backends.nxp.backend.data_format import DataFormat
    from executorch.backends.nxp.backend.neutron_target_spec import NeutronTargetSpec
    from executorch.backends.nxp.nxp_backend import PayloadComposer, generate_neutron_compile_spec
    from executorch.backends.nxp.quantizer.neutron_quantizer import NeutronQuantizer
    from executorch.backends.nxp.quantizer.utils import calibrate_and_quantize

    formats = {
        "inputs": {"input_0": DataFormat.CHANNELS_LAST, "input_1": DataFormat.FORMATLESS},
        "outputs": {"output_0": DataFormat.CHANNELS_LAST},
    }
    for file in sorted(directory.glob("*.tflite")):
        payload = PayloadComposer().get_binary_payload(formats, file.read_bytes())
        file.with_suffix(".payload").write_bytes(payload)
    specs = generate_neutron_compile_spec("imxrt700", operators_not_to_delegate=["aten::relu"], use_profiling=True)
    torch.save([(spec.key, list(spec.value)) for spec in specs], directory / "specs.pt")
    for file in sorted(directory.glob("*.pt2")):
        inputs = torch.load(file.with_suffix(".inputs.pt"))
        model = torch.export.load(file)
        # The quantizer finds operators by this entry of the metadata, which files do not keep.
        for node in model.graph.nodes:
            node.meta.setdefault("source_fn_stack", [(node.name, node.target)])
        scheme = calibrate_and_quantize(model, inputs, NeutronQuantizer(NeutronTargetSpec("imxrt700")))
        torch.save([scheme(*each) for each in inputs], file.with_suffix(".outputs.pt"))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
