# SPDX-License-Identifier: BSD-3-Clause
"""Quantises and lowers models with the original. Usage: ``original_samsung.py DIRECTORY``.

The original imports modules that are compiled with Samsung's SDK: modules that record calls replace them. For each
``NAME.pt2`` with ``NAME.inputs.pt``, the script writes ``NAME.outputs.pt``, the results of the quantised model. For the
model ``graph`` it writes ``float.graph.pt`` and ``int8.graph.pt``, which Samsung's compiler would get. It also writes
``options.pt``.
"""

from __future__ import annotations

import sys
from pathlib import Path

import torch

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import samsung_modules


def main(directory: Path) -> None:
    samsung_modules.install("executorch")
    from executorch.backends.samsung.partition.enn_partitioner import EnnPartitioner
    from executorch.backends.samsung.quantizer.quantizer import EnnQuantizer, Precision
    from executorch.backends.samsung.serialization.compile_options import gen_samsung_backend_compile_spec
    from executorch.backends.samsung.utils.export_utils import get_edge_compile_config, get_enn_pass_list
    from executorch.exir import to_edge_transform_and_lower
    from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e, prepare_pt2e

    spec = gen_samsung_backend_compile_spec("E9955")
    torch.save({name: bytes(gen_samsung_backend_compile_spec(name).value) for name in ("E9955", "e9965")},
               directory / "options.pt")  # fmt: skip
    for file in sorted(directory.glob("*.pt2")):
        inputs = torch.load(file.with_suffix(".inputs.pt"))
        quantizer = EnnQuantizer()
        quantizer.setup_quant_params(Precision.A8W8)
        try:
            prepared = prepare_pt2e(torch.export.load(file).module(), quantizer)
        except RecursionError as error:  # the original's quantizer fails if scales are shared in a cycle
            torch.save(str(error), file.with_suffix(".outputs.pt"))
            continue
        prepared(*inputs)
        scheme = convert_pt2e(prepared, fold_quantize=False)
        torch.save(scheme(*inputs), file.with_suffix(".outputs.pt"))
        if file.stem != "graph":
            continue
        for name, program, passes in (
            ("float", torch.export.load(file), []),
            ("int8", torch.export.export(scheme, inputs), get_enn_pass_list()),
        ):
            samsung_modules.Graph.all.clear()
            to_edge_transform_and_lower(
                program, passes, {"forward": [EnnPartitioner([spec])]}, compile_config=get_edge_compile_config()
            )
            (graph,) = samsung_modules.Graph.all
            torch.save(samsung_modules.described(graph), directory / f"{name}.graph.pt")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
