# SPDX-License-Identifier: BSD-3-Clause
"""Lowers models with the original. Usage: ``original_samsung_lowering.py DIRECTORY``.

Modules that record calls replace those that are compiled with Samsung's SDK. For each ``NAME.pt2`` with
``NAME.inputs.pt``, the script writes ``NAME.lowered.json``.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

import torch

sys.path.insert(0, str(Path(__file__).resolve().parents[5] / "tests"))
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import samsung_modules

from interop import outside


def main(directory: Path) -> None:
    samsung_modules.install("executorch")
    from executorch.backends.samsung.partition.enn_partitioner import EnnPartitioner
    from executorch.backends.samsung.quantizer.quantizer import EnnQuantizer, Precision
    from executorch.backends.samsung.serialization.compile_options import gen_samsung_backend_compile_spec
    from executorch.backends.samsung.utils.export_utils import get_edge_compile_config, get_enn_pass_list
    from executorch.exir import to_edge_transform_and_lower
    from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e, prepare_pt2e

    spec = gen_samsung_backend_compile_spec("E9955")
    for file in sorted(directory.glob("*.pt2")):
        inputs = torch.load(file.with_suffix(".inputs.pt"))
        model = torch.export.load(file).module()
        if file.stem != "ViT-tiny":  # for which the quantizer fails
            quantizer = EnnQuantizer()
            quantizer.setup_quant_params(Precision.A8W8)
            prepared = prepare_pt2e(model, quantizer)
            prepared(*inputs)
            model = convert_pt2e(prepared, fold_quantize=False)
        start = time.process_time()
        manager = to_edge_transform_and_lower(
            torch.export.export(model, inputs),
            get_enn_pass_list(),
            {"forward": [EnnPartitioner([spec])]},
            compile_config=get_edge_compile_config(),
        )
        outside.write(manager, time.process_time() - start, file.with_suffix(".lowered.json"))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
