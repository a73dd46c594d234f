# SPDX-License-Identifier: BSD-3-Clause
"""Measure how long a program takes to start and to run, and compare two."""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from sdk.bench._process import Subject
from sdk.command import OK, CommandError, Parser, finish, print_json
from sdk.command.arguments import count, seconds
from sdk.util.paths import file_path

_EPILOG = """\
what is measured
  call         one call of the method from Python: the median in each process and over all
  cold start   loading the program, preparing the method and the first call, with the file
               not in the system's memory; warm start: the same with the file in it
  memory       the peak of resident memory, above that of the process before it loads the
               program
  ratio        the time of the second program divided by that of the first

Intervals hold the figure with 99.9 % confidence. A figure that the clock cannot give is
refused, with the reason.

examples
  sdk bench model.pte --threads 4
  sdk bench before.pte after.pte --input x.npy --json
"""


def main(argv: Sequence[str] | None = None, prog: str = "python -m sdk.bench") -> int:
    """Measures one program or two; returns the exit status."""
    parser = Parser(prog, __doc__ or "", "is not used: a slower program is not a failure", _EPILOG)
    parser.add_argument("models", nargs="+", type=file_path, metavar="MODEL", help="one .pte or .bpte, or two")
    parser.add_argument("--method", help="the method to run (the only one, or forward)")
    parser.add_argument("--data", type=file_path, action="append", default=[], help="external data (.ptd); repeatable")
    parser.add_argument("--input", action="append", default=[], metavar="FILE", help="as in `sdk run` (random)")
    parser.add_argument("--case", type=count(0), help="take the inputs of this test case of a bundled program")
    parser.add_argument("--threads", type=count(1), help="how many threads kernels run on (one for each fast core)")
    parser.add_argument("--seconds", type=seconds, default=2.0, help="how long to call each program in all (2)")
    parser.add_argument("--processes", type=count(4), default=8, help="fresh processes for each program (8)")
    parser.add_argument("--warm-up", type=seconds, default=0.1, help="seconds that do not count (0.1)")
    parser.add_argument("--batch", type=count(1), help="calls that are timed together (as the clock needs)")
    return finish(parser, argv, _run)


def _run(options: argparse.Namespace) -> int:
    if len(options.models) > 2:
        raise CommandError(f"expected one program or two, found {len(options.models)}: compare them two by two")
    from sdk.bench import _measure, _text
    from sdk.command.programs import capped_threads

    threads = options.threads and capped_threads(options.threads)
    plan = _measure.Plan(options.processes, options.seconds, options.warm_up, threads, options.batch)
    with tempfile.TemporaryDirectory() as folder:
        subjects = [_subject(model, options, Path(folder) / str(i)) for i, model in enumerate(options.models)]
        series, ratios = _measure.measure(subjects, plan)
    facts = _text.facts(series, _measure.ratio(series, ratios) if ratios else None)
    if options.json:
        print_json(facts)
    else:
        print(_text.text(facts))
    return OK


def _subject(model: Path, options: argparse.Namespace, folder: Path) -> Subject:
    """Reads the program and its inputs once, so that errors in them are reported before anything is measured."""
    from sdk.command.programs import existing, prepare

    folder.mkdir()
    prepared = prepare(model, options.method, options.data, options.input or None, options.case, "random")
    program = existing(model)
    if prepared.bundle is not None:
        program = folder / "program.pte"
        program.write_bytes(prepared.bundle.program)
    method = prepared.method.metadata.name()
    return Subject(str(model), program, options.data, method, _write_values(prepared.inputs, folder))


def _write_values(values: Sequence[Any], folder: Path) -> Path:
    listed: list[dict[str, Any]] = []
    for index, value in enumerate(values):
        if hasattr(value, "detach"):
            import torch

            torch.save(value, folder / f"{index}.pt")
            listed.append({"kind": "tensor", "file": f"{index}.pt"})
        elif hasattr(value, "shape"):
            import numpy as np

            np.save(folder / f"{index}.npy", value)
            listed.append({"kind": "array", "file": f"{index}.npy"})
        else:
            listed.append({"kind": "value", "value": value})
    (folder / "values.json").write_text(json.dumps(listed))
    return folder / "values.json"


if __name__ == "__main__":
    sys.exit(main())
