# SPDX-License-Identifier: BSD-3-Clause
"""Runs the original, with the Python of the original's environment.

Usage: ``python oracle.py run|export|lower[=FUNCTION]|describe[,...] DIRECTORY [NAME...]``

Several commands, with commas between them, are done one after the other with each name.
``run`` executes every ``NAME.pte`` of the directory, with the weights of ``NAME.ptd`` if there is one, on the calls of
``NAME.calls.pt`` (a list of ``(method, flat inputs)``, made in order on one loaded program) and writes
``NAME.outputs.pt``, of the calls before one that fails. ``export`` lowers the zoo's models to ``NAME.pte``, ``lower``
gives the program ``NAME.pt2``, if there is one, to a function of ``original_lowering`` and writes it as ``NAME.pte``;
without ``=FUNCTION``, to the function that the name gives before its last part (``7.kernels.theirs``).
``describe`` reads ``NAME.pte`` with the original's deserializer and writes the delegates it finds as
``NAME.delegates.json``. Errors are written to ``NAME.error.txt``, which the caller reads.
"""

from __future__ import annotations

import json
import sys
import traceback
from collections.abc import Callable
from functools import partial
from pathlib import Path

import torch

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))


def run(directory: Path, name: str) -> None:
    import executorch.kernels.quantized  # noqa: F401 (its kernels)
    from executorch.extension.pybindings import portable_lib

    weights = directory / f"{name}.ptd"
    module = portable_lib._load_for_executorch(
        str(directory / f"{name}.pte"), data_path=str(weights) if weights.exists() else None
    )
    calls = torch.load(directory / f"{name}.calls.pt", weights_only=False)
    outputs = []
    try:
        for method, inputs in calls:
            outputs.append(module.run_method(method, tuple(inputs), clone_outputs=True))
    finally:
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


def lower(function: str, directory: Path, name: str) -> None:
    import torchao.quantization.pt2e.quantize_pt2e  # noqa: F401 (its operators)

    from interop import original_lowering

    file = directory / f"{name}.pt2"
    if file.exists():
        (_, inputs), *_ = torch.load(directory / f"{name}.calls.pt", weights_only=False)
        lower_it = getattr(original_lowering, function or name.split(".")[-2])
        lowered = lower_it(torch.export.load(file), inputs)
        (directory / f"{name}.pte").write_bytes(lowered.to_executorch().buffer)


def describe(directory: Path, name: str) -> None:
    from executorch.exir._serialize._program import deserialize_pte_binary

    program = deserialize_pte_binary((directory / f"{name}.pte").read_bytes())
    program = getattr(program, "program", program)
    found = {}
    for plan in program.execution_plan:
        calls = [type(i.instr_args).__name__ for chain in plan.chains for i in chain.instructions]
        found[plan.name] = {
            "calls": calls.count("DelegateCall"),
            "delegates": [
                {
                    "id": delegate.id,
                    "specs": [[spec.key, spec.value.hex()] for spec in delegate.compile_specs],
                    "payload": program.backend_delegate_data[delegate.processed.index].data.hex(),
                }
                for delegate in plan.delegates
            ],
        }
    (directory / f"{name}.delegates.json").write_text(json.dumps(found))


def main(commands: str, folder: str, *names: str) -> None:
    directory = Path(folder)
    actions: list[Callable[[Path, str], None]] = []
    for command in commands.split(","):
        verb, _, argument = command.partition("=")
        known = {"run": run, "export": export, "lower": partial(lower, argument), "describe": describe}
        actions.append(known[verb])
    for name in names or sorted(p.name.removesuffix(".calls.pt") for p in directory.glob("*.calls.pt")):
        print(f"== {name}", file=sys.stderr, flush=True)
        try:
            with torch.no_grad():
                for action in actions:
                    action(directory, name)
        except Exception:  # the test that reads this decides whether it may happen
            (directory / f"{name}.error.txt").write_text(traceback.format_exc())


if __name__ == "__main__":
    main(*sys.argv[1:])
