# SPDX-License-Identifier: BSD-3-Clause
"""Runs in the original's environment: packs folders for Core ML, and unpacks payloads, with its own module. Lowers
programs, too, where coremltools can be imported.

    python oracle_coreml.py WORK [PRECISION...]

Each folder of WORK/folders is packed to WORK/theirs, and each payload of WORK/ours is unpacked into a folder of its
name in WORK/unpacked. Each exported program WORK/NAME.pt2 is lowered to WORK/NAME.PRECISION.pte, where a precision is
fp32 or fp16; an error becomes WORK/NAME.PRECISION.error.txt.
"""

from __future__ import annotations

import sys
import traceback
from pathlib import Path

from executorch.backends.apple.coreml import executorchcoreml


def lower(file: Path, precisions: list[str]) -> None:
    import coremltools as ct
    import torch
    import torchao.prototype.quantization.codebook_coreml  # noqa: F401 - its operators
    from executorch.backends.apple.coreml.compiler import CoreMLBackend
    from executorch.backends.apple.coreml.partition import CoreMLPartitioner
    from executorch.exir import to_edge_transform_and_lower

    for name in precisions:
        specs = CoreMLBackend.generate_compile_specs(
            compute_precision={"fp32": ct.precision.FLOAT32, "fp16": ct.precision.FLOAT16}[name],
            minimum_deployment_target=ct.target.iOS18,
        )
        try:
            manager = to_edge_transform_and_lower(
                torch.export.load(file), partitioner=[CoreMLPartitioner(compile_specs=specs)]
            ).to_executorch()
            file.with_suffix(f".{name}.pte").write_bytes(manager.buffer)
        except Exception:
            file.with_suffix(f".{name}.error.txt").write_text(traceback.format_exc())


def main() -> None:
    work = Path(sys.argv[1])
    for program in sorted(work.glob("*.pt2")):
        lower(program, sys.argv[2:])
    for folder in ("folders", "ours", "theirs", "unpacked"):
        (work / folder).mkdir(exist_ok=True)
    for folder in sorted((work / "folders").iterdir()):
        (work / "theirs" / folder.name).write_bytes(executorchcoreml.flatten_directory_contents(str(folder)))
    for payload in sorted((work / "ours").iterdir()):
        target = work / "unpacked" / payload.name
        target.mkdir()
        if not executorchcoreml.unflatten_directory_contents(payload.read_bytes(), str(target)):
            raise SystemExit(f"the original does not unpack {payload}")


if __name__ == "__main__":
    main()
