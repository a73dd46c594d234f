# SPDX-License-Identifier: BSD-3-Clause
"""What the original does, run by the Python of its own environment.

Usage: ``python oracle.py run|export DIRECTORY [NAME...]``

``run`` executes every ``NAME.pte`` of the directory, with the weights of ``NAME.ptd`` if there is one, on the calls of
``NAME.calls.pt`` (a list of ``(method, flat inputs)``, made in order on one loaded program) and writes
``NAME.outputs.pt``. ``export`` lowers the zoo's models to ``NAME.pte``. What fails becomes the
text ``NAME.error.txt``: the caller judges it.
"""

from __future__ import annotations

import sys
import traceback
from pathlib import Path

import torch

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))


def run(directory: Path, name: str) -> None:
    from executorch.extension.pybindings import portable_lib

    weights = directory / f"{name}.ptd"
    module = portable_lib._load_for_executorch(
        str(directory / f"{name}.pte"), data_path=str(weights) if weights.exists() else None
    )
    calls = torch.load(directory / f"{name}.calls.pt", weights_only=False)
    outputs = [module.run_method(method, tuple(inputs), clone_outputs=True) for method, inputs in calls]
    torch.save(outputs, directory / f"{name}.outputs.pt")


def export(directory: Path, name: str) -> None:
    from executorch.exir import to_edge

    import zoo

    made = zoo.build(name)
    programs = {
        method: torch.export.export(m.module, m.calls[0], dynamic_shapes=m.dynamic_shapes, strict=False)
        for method, m in made.methods.items()
    }
    manager = to_edge(programs, constant_methods=made.constant_methods or None).to_executorch()
    (directory / f"{name}.pte").write_bytes(manager.buffer)


def main(command: str, folder: str, *names: str) -> None:
    directory = Path(folder)
    action = {"run": run, "export": export}[command]
    for name in names or sorted(p.name.removesuffix(".calls.pt") for p in directory.glob("*.calls.pt")):
        try:
            with torch.no_grad():
                action(directory, name)
        except Exception:  # the test that reads this decides whether it may happen
            (directory / f"{name}.error.txt").write_text(traceback.format_exc())


if __name__ == "__main__":
    main(*sys.argv[1:])
