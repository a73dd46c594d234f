# SPDX-License-Identifier: BSD-3-Clause
"""Wheels of pte-sdk in new virtual environments without PyTorch: `python bare_environment.py WHEEL ...`.

For each wheel, the Python of its tag is searched in PATH and among pyenv's versions. pip installs the wheel and what it
requires, which is NumPy alone. There the package must be smaller than 60 MB, compile to bytecode, be imported in 0.3 s
with NumPy, run MobileNetV2 with PyTorch's results, and say what needs PyTorch. This script itself needs PyTorch, to
make the program.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests"))

from wheel_check import check_without_torch  # noqa: E402

LARGEST = 60e6  # bytes
LONGEST_IMPORT = 0.3  # seconds of CPU time, which other processes do not change
# Prints figures of the installed package as JSON. The arguments: the program, its input and PyTorch's output.
MEASURE = """
import json, sys, time
from pathlib import Path
start = time.process_time()
import numpy as np
from sdk.runtime import Runtime
seconds = time.process_time() - start
program, given, expected = sys.argv[1:]
(found,) = Runtime.get().load_program(program).load_method("forward").execute([np.load(given)])
np.testing.assert_allclose(found, np.load(expected), rtol=1e-3, atol=1e-5)
import sdk
size = sum(path.stat().st_size for path in Path(sdk.__file__).parent.rglob("*") if path.is_file())
installed = sum(path.stat().st_size for path in Path(sdk.__file__).parents[1].rglob("*") if path.is_file())
print(json.dumps({"seconds": seconds, "bytes": size, "all": installed, "torch": "torch" in sys.modules}))
"""


def main(wheels: list[str]) -> int:
    with tempfile.TemporaryDirectory() as scratch:
        files = _mobilenet_v2(Path(scratch))
        for index, wheel in enumerate(wheels):
            found = re.search(r"-cp3(\d+)-", Path(wheel).name)
            assert found, f"{wheel} is of no CPython"
            python = find_python(int(found[1]))
            if python is None:
                print(f"bare environment: {Path(wheel).name}: its Python is not on this machine", file=sys.stderr)
                return 1
            _check(Path(wheel), python, Path(scratch, str(index)), files)
    print(f"{len(wheels)} passed in 0.0s")
    return 0


def find_python(minor: int) -> Path | None:
    """An interpreter of Python 3.`minor`: the one in PATH, or one of pyenv's."""
    on_path = shutil.which(f"python3.{minor}")
    versions = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    candidates = [*([on_path] if on_path else []), *sorted(versions.glob(f"3.{minor}.*/bin/python"))]
    for candidate in candidates:  # pyenv's own commands fail unless a version is chosen
        if subprocess.run([candidate, "-c", ""], capture_output=True, check=False).returncode == 0:
            return Path(candidate)
    return None


def _mobilenet_v2(folder: Path) -> list[str]:
    """MobileNetV2 for XNNPACK, an input, and PyTorch's output."""
    import numpy as np
    import torch

    sys.path.insert(0, str(ROOT))
    from examples.mobilenet_v2.model import mobilenet_v2

    from sdk.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner
    from sdk.exir import to_edge_transform_and_lower

    torch.manual_seed(0)
    model = mobilenet_v2().eval()
    given = (torch.randn(1, 3, 224, 224),)
    lowered = to_edge_transform_and_lower(torch.export.export(model, given), partitioner=[XnnpackPartitioner()])
    paths = [folder / name for name in ("model.pte", "input.npy", "output.npy")]
    paths[0].write_bytes(lowered.to_executorch().buffer)
    with torch.no_grad():
        np.save(paths[1], given[0].numpy())
        np.save(paths[2], model(*given).numpy())
    return [str(path) for path in paths]


def _check(wheel: Path, python: Path, environment: Path, files: list[str]) -> None:
    subprocess.run([python, "-m", "venv", environment], check=True)
    bare = environment / "bin" / "python"
    pip = [bare, "-m", "pip", "--disable-pip-version-check", "install", "--quiet", wheel.resolve()]
    subprocess.run(pip, check=True, stderr=subprocess.DEVNULL)
    outside = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}

    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        command = [bare, *arguments]
        return subprocess.run(command, capture_output=True, text=True, env=outside, cwd=environment, check=False)

    (package,) = environment.glob("lib/python3.*/site-packages/sdk")
    tag = wheel.name.split("-")[2].replace("cp", "cpython-")
    others = [path.name for path in package.rglob("*.so") if tag not in path.name]
    assert not others, f"{wheel.name} has modules of another Python: {others}"
    compiled = run("-m", "compileall", "-q", "-f", str(package))
    assert compiled.returncode == 0, compiled.stdout

    def measured() -> Iterator[dict[str, float]]:
        for _ in range(5):
            done = run("-c", MEASURE, *files)
            assert done.returncode == 0, done.stderr
            yield json.loads(done.stdout)

    best = min(measured(), key=lambda found: found["seconds"])
    assert best["bytes"] < LARGEST, best
    assert best["seconds"] <= LONGEST_IMPORT, best
    assert not best["torch"]
    check_without_torch(run)
    print(
        f"bare environment: {wheel.name}: {best['bytes'] / 1e6:.1f} MB, with NumPy and pip {best['all'] / 1e6:.1f} MB; "
        f"imported with NumPy in {best['seconds']:.3f} s; MobileNetV2 gives PyTorch's results"
    )


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
