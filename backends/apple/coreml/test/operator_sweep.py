#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Lowers PyTorch's samples of every operator for Core ML and compares the interpreter with eager.

operator_sweep.py FILE [NAME...]    writes a line of JSON for each operator to FILE; continues where FILE ends
"""

from __future__ import annotations

import json
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parents[3] / "tests" / "python" / "operators")]

from lowering import FP16, FP32, difference, lower  # noqa: E402
from sample_program import RANDOM, UNDEFINED, Sample, samples, tensors_of  # noqa: E402
from torch.testing._internal.common_methods_invocations import op_db  # noqa: E402

MOST = 6  # samples of an operator
LIMITS = {FP32: 1e-5, FP16: 5e-3}
SKIPPED = {*RANDOM, *UNDEFINED}


def chosen(op: Any, most: int = MOST) -> list[Sample]:
    """Returns some of an operator's samples, evenly spread, that eager mode computes deterministically."""
    found = [sample for sample in samples(op, torch.float32) if sample.places]
    step = max(1, len(found) // most)
    return found[::step][:most]


def outcomes(op: Any, precision: Any) -> Iterator[tuple[str, str, str]]:
    """(kind, arguments, detail) of samples: delegated, outside, wrong, failed or refused by eager."""
    for sample in chosen(op):
        inputs = sample.inputs()
        try:
            with torch.no_grad(), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                expected = tensors_of(sample(*sample.inputs()))
                if not expected:
                    continue
                lowered = lower(sample, inputs, precision)
        except Exception as error:
            yield "failed", sample.describe(), f"{type(error).__name__}: {error}"[:300]
            continue
        if not lowered.delegates:
            yield "outside", sample.describe(), json.dumps(lowered.refusals)[:300]
            continue
        try:
            worst = difference(lowered.run(*inputs), expected)
        except Exception as error:
            yield "failed", sample.describe(), f"run: {type(error).__name__}: {error}"[:300]
            continue
        kind = "wrong" if worst > LIMITS[precision] else "partly" if lowered.outside else "delegated"
        yield kind, sample.describe(), f"{worst:.2g} {sorted(lowered.operations)} {lowered.outside}"[:300]


def main() -> None:
    file, names = Path(sys.argv[1]), sys.argv[2:]
    done = {json.loads(line)["operator"] for line in file.read_text().splitlines()} if file.exists() else set()
    for op in op_db:
        name = f"{op.name}.{op.variant_test_name}" if op.variant_test_name else op.name
        if name in done or op.name in SKIPPED or (names and name not in names) or torch.float32 not in op.dtypes:
            continue
        try:
            found = list(outcomes(op, FP32))
        except Exception as error:
            found = [("samples", "", f"{type(error).__name__}: {error}"[:200])]
        with file.open("a") as out:
            out.write(json.dumps({"operator": name, "outcomes": found}) + "\n")


if __name__ == "__main__":
    main()
