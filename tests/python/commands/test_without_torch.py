# SPDX-License-Identifier: BSD-3-Clause
"""Commands in an environment that has no PyTorch. tests/wheel_check.py does the same with an installed wheel."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

CORPUS = Path(__file__).resolve().parents[2] / "data" / "corpus"
WITHOUT_TORCH = """
import sys
class NoTorch:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == "torch":
            raise ModuleNotFoundError("No module named 'torch'", name="torch")
sys.meta_path.insert(0, NoTorch())
from sdk.__main__ import main
sys.exit(main(sys.argv[1:]))
"""


def run(*arguments: str, torch: bool = False) -> subprocess.CompletedProcess[str]:
    how = ["-m", "sdk"] if torch else ["-c", WITHOUT_TORCH]
    return subprocess.run([sys.executable, *how, *arguments], capture_output=True, text=True, check=False)


@pytest.mark.parametrize(
    "name", ["linear_xnn/model.pte", "ptd_portable/_default_external_constant.ptd", "bundled/model.bpte"]
)
def test_inspect_shows_the_same(name: str) -> None:
    shown = run("inspect", "--json", str(CORPUS / name))
    assert shown.returncode == 0, shown.stderr
    assert shown.stdout == run("inspect", "--json", str(CORPUS / name), torch=True).stdout


def test_inspect_compares_programs() -> None:
    done = run("inspect", "--diff", str(CORPUS / "add/model.pte"), str(CORPUS / "linear/model.pte"))
    assert done.returncode == 1 and "aten::add.out" in done.stdout, done.stderr


@pytest.mark.parametrize(
    "arguments", [("inspect", "--html", "x.html", str(CORPUS / "add/model.pte")), ("export", "resnet18")]
)
def test_what_needs_torch_says_so(arguments: tuple[str, ...]) -> None:
    done = run(*arguments)
    assert done.returncode != 0
    assert done.stderr.count("\n") == 1 and "needs PyTorch: pip install 'pte-sdk[export]'" in done.stderr
