# SPDX-License-Identifier: BSD-3-Clause
"""Checks an installed wheel, outside the source tree: `python wheel_check.py FOLDER-OF-THE-INSTALLATION`.

What a user gets must import from there, carry its type information and its command, run a program without torch, and
hold nothing that belongs to the sources only.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from importlib.metadata import distribution
from pathlib import Path

import numpy as np

PROGRAM = Path(__file__).resolve().parent / "data" / "corpus" / "add"


def main(installed: Path) -> None:
    import sdk
    from sdk.runtime import Runtime

    assert Path(sdk.__file__).is_relative_to(installed), f"sdk came from {sdk.__file__}"
    assert distribution("pte-sdk").version == sdk.__version__
    assert (installed / "sdk" / "py.typed").is_file()
    assert (installed / "sdk" / "codegen" / "gen.py").is_file()
    stray = [
        f
        for f in (installed / "sdk").rglob("*")
        if f.suffix in (".cpp", ".h") or f.name == "CMakeLists.txt" or "tests" in f.parts
    ]
    assert not stray, f"the wheel carries sources: {stray[:5]}"

    call = json.loads((PROGRAM / "manifest.json").read_text())["calls"][0]
    inputs = [_tensor(f"call0_in{i}.bin", entry) for i, entry in enumerate(call["inputs"])]
    outputs = Runtime.get().load_program(PROGRAM / "model.pte").load_method(call["method"]).execute(inputs)
    for i, entry in enumerate(call["outputs"]):
        np.testing.assert_allclose(outputs[i], _tensor(f"call0_out{i}.bin", entry), rtol=1e-6)
    assert "torch" not in sys.modules, "running on numpy arrays must not import torch"

    # The compiler, with only the wheel.
    help_text = subprocess.run(
        [sys.executable, "-S", "-m", "sdk", "export", "--help"], capture_output=True, text=True, check=True
    )
    assert "--dynamic NAME.DIM=MIN..MAX" in help_text.stdout
    listed = subprocess.run([sys.executable, "-S", "-m", "sdk", "--help"], capture_output=True, text=True, check=True)
    assert "\n  export " in listed.stdout and "\n  codegen " in listed.stdout
    # The wheel has the files from which pages are made.
    from sdk.devtools.page import write_page

    write_page(PROGRAM / "model.pte", "model.html")
    assert "dagre" in Path("model.html").read_text()
    # EXP2-17, RTP-07: the backends that the package declares come with it.
    import torch

    from sdk.backends import registry
    from sdk.exir import to_edge_transform_and_lower

    default = registry.default_backend()
    assert default is not None and not registry.broken()
    assert default.id in Runtime.get().backend_registry.registered_backend_names
    x = torch.tensor([[1.0, -2.0]])
    lowered = to_edge_transform_and_lower(
        torch.export.export(torch.nn.ReLU().eval(), (x,)), partitioner=[default.make("partitioner")]
    ).to_executorch()
    assert default.id.encode() in lowered.buffer
    (y,) = Runtime.get().load_program(lowered.buffer).load_method("forward").execute([x])
    assert y.tolist() == [[1.0, 0.0]]

    _check_example()
    check_without_torch(_bare(installed))
    print("2 passed in 0.0s")


def _check_example() -> None:
    """BLD2-08: the examples of the package write a program to the working directory."""
    command = ["-m", "sdk.examples.xnnpack.aot_compiler", "--model_name=mv2", "--delegate"]
    subprocess.run([sys.executable, "-S", *command], check=True, capture_output=True)
    assert Path("mv2_xnnpack_fp32.pte").read_bytes()[4:8] == b"ET12"


Run = Callable[..., subprocess.CompletedProcess[str]]


def _bare(installed: Path) -> Run:
    """Returns a function that runs Python with only NumPy and the wheel."""
    bare = Path("bare").resolve()
    bare.mkdir()
    for folder in (Path(np.__file__).parent, Path(np.__file__).parent.with_name("numpy.libs")):
        if folder.exists():
            (bare / folder.name).symlink_to(folder)

    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        environment = {**os.environ, "PYTHONPATH": f"{installed}:{bare}"}
        command = [sys.executable, "-S", *arguments]
        return subprocess.run(command, capture_output=True, text=True, env=environment, check=False)

    return run


def check_without_torch(run: Run) -> None:
    """In an environment without PyTorch, programs run, and commands that need PyTorch say so. `run` runs its Python."""
    model = str(PROGRAM / "model.pte")
    done = run("-m", "sdk", "run", model, "--input", "random", "--input", "random", "--json")
    assert done.returncode == 0, done.stderr
    done = run("-m", "sdk", "inspect", model)
    assert done.returncode == 0 and "aten::add.out" in done.stdout, done.stderr
    for arguments in (
        ("-m", "sdk", "export", "resnet18"),
        ("-m", "sdk.export", "resnet18"),
        ("-m", "sdk", "debug", "net.py:Net", model),
        ("-c", "from sdk.exir import to_edge"),
        ("-c", "from sdk.export import export"),
        ("-c", "from sdk.devtools import Inspector"),
    ):
        done = run(*arguments)
        assert done.returncode and "needs PyTorch: pip install 'pte-sdk[export]'" in done.stderr, (arguments, done)


def _tensor(name: str, entry: dict[str, object]) -> np.ndarray:
    return np.fromfile(PROGRAM / name, dtype=str(entry["dtype"]).removeprefix("torch.")).reshape(entry["shape"])


if __name__ == "__main__":
    main(Path(sys.argv[1]).resolve())
