# SPDX-License-Identifier: BSD-3-Clause
"""Exports the net for training: python -m sdk.extension.training.examples.XOR.export_model --outdir FOLDER"""

from __future__ import annotations

import argparse
from pathlib import Path

import torch
from torch.export.experimental import _export_forward_backward

from sdk.exir import ExecutorchBackendConfig, ExecutorchProgramManager, to_edge
from sdk.extension.training.examples.XOR.model import Net, TrainingNet


def _export_model(external_mutable_weights: bool = False) -> ExecutorchProgramManager:
    """Exports the program for one point, with random weights, which may be in a separate file."""
    net = TrainingNet(Net())
    example = (torch.randn(1, 2), torch.ones(1, dtype=torch.int64))
    joint = _export_forward_backward(torch.export.export(net, example, strict=True))
    config = ExecutorchBackendConfig(external_mutable_weights=external_mutable_weights)
    return to_edge(joint).to_executorch(config)


def main() -> None:
    """The command: writes xor.pte, and xor.ptd with the weights for `--external`."""
    parser = argparse.ArgumentParser(description="Exports a net that learns the exclusive or.")
    parser.add_argument("--outdir", required=True, help="the folder for xor.pte and xor.ptd")
    parser.add_argument("--external", action="store_true", help="write the weights to xor.ptd")
    options = parser.parse_args()
    torch.manual_seed(0)
    program = _export_model(options.external)
    folder = Path(options.outdir)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "xor.pte").write_bytes(program.buffer)
    for weights in program._tensor_data.values():  # one file, under the name of the example
        (folder / "xor.ptd").write_bytes(bytes(weights))


if __name__ == "__main__":
    main()
