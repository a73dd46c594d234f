# SPDX-License-Identifier: BSD-3-Clause
"""Every public name of the original's wheel, with its arguments, is here or in public_names.yaml with a reason."""

from __future__ import annotations

import gc
import importlib.util
import re
from collections.abc import Iterator
from fnmatch import translate
from pathlib import Path

import pytest
import yaml
from public_names import Package
from signature_gaps import gaps

from interop.originals import make_oracle
from sdk.compat import IMPLEMENTED

HERE = Path(__file__).parent
ROOT = HERE.parents[1]


@pytest.fixture(scope="module")
def wheel() -> Package:
    """Of the release whose interface this SDK implements."""
    (folder,) = Path(make_oracle(release=IMPLEMENTED)).parents[1].glob("lib/python*/site-packages/executorch")
    return Package("executorch", folder, {"torch": folder.parent / "torch"})


@pytest.fixture(scope="module")
def ours() -> Package:
    (torch,) = importlib.util.find_spec("torch").submodule_search_locations
    return Package("sdk", ROOT / "python/sdk", {"sdk.codegen": ROOT / "codegen", "torch": Path(torch)})


@pytest.fixture
def without_garbage_collection() -> Iterator[None]:
    """Disables garbage collection, because syntax trees have millions of objects and none becomes garbage."""
    gc.disable()
    yield
    gc.enable()


def exceptions() -> dict[str, re.Pattern[str]]:
    """The names in public_names.yaml, and what each covers."""
    groups = yaml.safe_load((HERE / "public_names.yaml").read_text())
    assert all(group["reason"] for group in groups)
    names = [name for group in groups for name in group["names"]]
    assert len(set(names)) == len(names)
    return {name: pattern(name) for name in names}


def pattern(name: str) -> re.Pattern[str]:
    """Returns a pattern for a name and everything inside of it; `f()` covers only the arguments of `f`."""
    is_call = name.endswith("()")
    inside = r"\(.*\)\Z" if is_call else r"(?:[.(].*)?\Z"
    return re.compile(translate(name.removesuffix("()")).removesuffix(r"\Z") + inside)


@pytest.mark.usefixtures("without_garbage_collection")
def test_every_public_signature_is_here_or_excepted(wheel: Package, ours: Package) -> None:
    missing = list(gaps(wheel, ours))
    excepted = exceptions()
    used = {name for name, pattern in excepted.items() if any(map(pattern.match, missing))}
    left = [gap for gap in missing if not any(excepted[name].match(gap) for name in used)]
    assert left == [], f"{len(left)} names or arguments of the wheel are neither here nor in public_names.yaml"
    assert sorted(excepted.keys() - used) == [], "these lines of public_names.yaml cover nothing any more"


THEIRS = {
    "__init__.py": "from theirs.shapes import Square\nfrom theirs._private import helper",
    "_private.py": "def helper(x, y=1): ...",
    "shapes.py": """
from dataclasses import dataclass
import torch

LIMIT, _hidden = 3, 4

@dataclass
class Square:
    side: int
    name: str = "square"

    def area(self): ...
    def scale(self, factor, *, unit="mm"): ...

class Layer(torch.nn.Module):
    def __init__(self, size): ...

def draw(shape, color="red", width=1): ...
""",
    "gone/__init__.py": "def inside(): ...",
    "test/test_x.py": "def test_x(): ...",
}
OURS = {
    "__init__.py": "_PLACES = {'Square': 'ours.here', 'helper': 'ours.here'}\ndef __getattr__(name): ...",
    "here.py": """
class Base:
    def area(self): ...
class Square(Base):
    def __init__(self, name, side, corner): ...
    def scale(self, *args, unit="cm"): ...
def helper(x, y=1, z=2): ...
""",
    "shapes.py": """
from ours.here import *
from ours.layers import Layer as Layer
def draw(figure, color, **options): ...
""",
    "layers.py": "import torch\nclass Layer(torch.nn.Module):\n    def __init__(self, *, size): ...",
}


def written(folder: Path, name: str, files: dict[str, str]) -> Package:
    for path, text in files.items():
        file = folder / name / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    return Package(name, folder / name, {})


def test_what_counts_as_missing(tmp_path: Path) -> None:
    assert sorted(gaps(written(tmp_path, "theirs", THEIRS), written(tmp_path, "ours", OURS))) == [
        "gone",
        "shapes.LIMIT",
        "shapes.Layer(0: size)",
        "shapes.Square(0: side)",
        "shapes.Square(name='square')",
        "shapes.Square(needs corner)",
        "shapes.Square.name",
        "shapes.Square.scale(factor)",
        "shapes.Square.scale(unit='mm')",
        "shapes.Square.side",
        "shapes.draw(2: width)",
        "shapes.draw(color='red')",
        "shapes.draw(needs figure)",
    ]


def test_what_an_exception_covers() -> None:
    assert pattern("a.b").match("a.b") and pattern("a.b").match("a.b.c") and pattern("a.b").match("a.b(x=1)")
    assert not pattern("a.b").match("a.bc")
    assert pattern("a.b()").match("a.b(0: x)") and not pattern("a.b()").match("a.b.c")
    assert pattern("a.*_x").match("a.b.c_x")
