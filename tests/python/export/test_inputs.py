# SPDX-License-Identifier: BSD-3-Clause
"""Example inputs, dynamic dimensions, and inputs of other sizes."""

from __future__ import annotations

import io
import re
import tracemalloc
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from sdk.export.cli.arrays import read_npz
from sdk.export.cli.dynamic import DynamicShapes, resized, resized_bytes
from sdk.export.cli.errors import CommandError
from sdk.export.cli.inputs import example_inputs, make_input, read_inputs
from sdk.export.cli.model import Model
from sdk.export.cli.specs import dynamic_dim, input_spec
from sdk.export.example_inputs import ExampleInputs as Inputs


class Pair(nn.Module):
    def forward(self, x: Any, mask: Any = None, **more: Any) -> Any:
        return x


class Nested(nn.Module):
    def forward(self, x: Any, state: Any) -> Any:
        return x


def made(text: str) -> Any:
    return make_input(input_spec(text), torch.Generator().manual_seed(0))


def test_a_seed_makes_inputs_repeatable() -> None:
    assert torch.equal(made("3x4:float32"), made("3x4:float32"))
    assert made("3x4:float16").dtype == torch.float16


def test_ranges_and_values() -> None:
    tokens = made("1000:int64=3..7")
    assert tokens.dtype == torch.int64 and (tokens.min(), tokens.max()) == (3, 7)
    numbers = made("1000:float32=-1..2")
    assert -1 <= numbers.min() < -0.9 and 1.9 < numbers.max() <= 2
    assert torch.equal(made("2:uint8=7"), torch.tensor([7, 7], dtype=torch.uint8))
    assert set(made("1000:int32").tolist()) == {0, 1}
    assert set(made("1000:bool").tolist()) == {False, True}
    assert made("scalar:float32=0.5") == torch.tensor(0.5)
    assert made("=3") == 3


def test_the_command_line_comes_before_the_models_own() -> None:
    model = Model("m", {"forward": Pair()}, example_inputs=lambda: (torch.zeros(1),))
    given = example_inputs(model, [input_spec("2:float32=1"), input_spec("=3")], None)["forward"]
    assert torch.equal(given.args[0], torch.ones(2)) and given.args[1] == 3
    assert torch.equal(example_inputs(model, [], None)["forward"].args[0], torch.zeros(1))


@pytest.mark.parametrize("content", [torch.ones(2), (torch.ones(2),), [torch.ones(2)], {"x": torch.ones(2)}])
def test_inputs_file(tmp_path: Path, content: Any) -> None:
    file = tmp_path / "inputs.pt"
    torch.save(content, file)
    leaves = example_inputs(Model("m", {"forward": Pair()}), [], file)["forward"].leaves()
    assert len(leaves) == 1 and torch.equal(leaves[0], torch.ones(2))


def test_inputs_of_numpy(tmp_path: Path) -> None:
    """`.npy` and `.npz` files, and arrays that example_inputs() returns."""
    x, mask = np.arange(6, dtype=np.float32).reshape(2, 3), np.array([True, False])
    np.save(tmp_path / "x.npy", x)
    np.savez(tmp_path / "unnamed.npz", x, mask)
    np.savez(tmp_path / "named.npz", mask=mask, x=x)
    np.save(tmp_path / "big.npy", x.astype(">f4"))
    model = Model("m", {"forward": Pair()})
    for name, count in (("x.npy", 1), ("unnamed.npz", 2), ("named.npz", 2), ("big.npy", 1)):
        leaves = example_inputs(model, [], tmp_path / name)["forward"].leaves()
        assert len(leaves) == count and torch.equal(leaves[0], torch.from_numpy(x))
        assert count == 1 or torch.equal(leaves[1], torch.from_numpy(mask))
    own = Model("m", {"forward": Pair()}, example_inputs=lambda: {"x": x})
    assert torch.equal(example_inputs(own, [], None)["forward"].kwargs["x"], torch.from_numpy(x))
    alone = Model("m", {"forward": Pair()}, example_inputs=lambda: x)
    assert torch.equal(example_inputs(alone, [], None)["forward"].args[0], torch.from_numpy(x))


@pytest.mark.parametrize("name", ["values", "function", "partial"])
def test_inputs_of_a_python_file(tmp_path: Path, name: str) -> None:
    """A file has a value or a function, like those of --calibrate."""
    file = tmp_path / "samples.py"
    file.write_text(
        "import torch\nvalues = (torch.ones(2), torch.zeros(2))\n"
        "def function(x=values): return x\nimport functools\npartial = functools.partial(function, values)\n"
    )
    leaves = example_inputs(Model("m", {"forward": Pair()}), [], Path(f"{file}:{name}"))["forward"].leaves()
    assert [leaf.tolist() for leaf in leaves] == [[1, 1], [0, 0]]
    with pytest.raises(CommandError, match="has no `nothing`"):
        example_inputs(Model("m", {"forward": Pair()}), [], Path(f"{file}:nothing"))


@pytest.mark.parametrize(
    ("name", "content", "says"),
    [
        ("x.pt", b"hello world, this is text", "found one that begins with b'hello wo'. Write it with torch.save()"),
        ("x.pt", b"e", "found one that begins with b'e'"),
        ("x.pt", b"", "found an empty file"),
        ("x.pt", b"PK\x03\x04broken", "found a damaged one"),
        ("x.npy", b"hello", "that numpy.save() wrote; found one that begins with b'hello'"),
        ("x.npy", b"", "that numpy.save() wrote; found an empty file"),
        ("x.npy", b"\x93NUMPY\x01\x00broken", "found a damaged one"),
        ("x.npz", b"hello", "that numpy.savez() wrote; found one that begins with b'hello'"),
        ("x.npz", b"PK\x03\x04broken", "found a damaged one"),
    ],
)
def test_files_that_are_no_inputs_say_what_they_are(tmp_path: Path, name: str, content: bytes, says: str) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(CommandError) as error:
        example_inputs(Model("m", {"forward": Pair()}), [], tmp_path / name)
    assert says in str(error.value)


def _lying(data: bytes, size: int) -> bytes:
    """Returns the archive with another size in its central directory and in the headers of its members."""
    changed = bytearray(data)
    for mark, place in ((b"PK\x01\x02", 24), (b"PK\x03\x04", 22)):
        at = changed.find(mark)
        while at >= 0:
            changed[at + place : at + place + 4] = size.to_bytes(4, "little")
            at = changed.find(mark, at + 4)
    return bytes(changed)


@pytest.mark.parametrize("kind", ["bomb", "larger", "smaller", "header"])
def test_an_archive_of_arrays_takes_memory_in_proportion_to_its_file(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "x.npz"
    np.savez_compressed(path, x=np.ones(4, np.float32))
    said = "found a damaged one"
    if kind in ("larger", "smaller"):
        path.write_bytes(_lying(path.read_bytes(), 0xFFFFFFF0 if kind == "larger" else 3))
        said = "unpacks to 4294967280, at most" if kind == "larger" else said
    elif kind == "bomb":  # not even an array
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
            file.writestr("x.npy", bytes(200 << 20))
        said = "unpacks to 209715200, at most"
    else:
        header = io.BytesIO()
        np.lib.format.write_array_header_1_0(header, {"descr": "<f4", "fortran_order": False, "shape": (1 << 40,)})
        with zipfile.ZipFile(path, "w") as file:
            file.writestr("x.npy", header.getvalue() + bytes(64))
    tracemalloc.start()
    try:
        with pytest.raises(CommandError, match=re.escape(said)):
            read_npz(path)
        assert tracemalloc.get_traced_memory()[1] < 64 << 20
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("order", ["C", "F"])
def test_arrays_of_an_archive_keep_their_order_and_types(tmp_path: Path, order: Any) -> None:
    arrays = {
        "a": np.asarray(np.arange(6, dtype=">i4").reshape(2, 3), order=order),
        "scalar": np.float64(2.5),
        "empty": np.zeros((0, 3), np.float16),
        "flags": np.array([True, False]),
    }
    np.savez(tmp_path / "x.npz", **arrays)
    found = read_npz(tmp_path / "x.npz")
    assert list(found) == list(arrays)
    for name, array in arrays.items():
        assert found[name].dtype == np.asarray(array).dtype.newbyteorder("=") and np.array_equal(found[name], array)


@pytest.mark.parametrize("name", ["inputs", "inputs.npy", "inputs.npz"])
def test_a_folder_is_named_as_one(tmp_path: Path, name: str) -> None:
    (tmp_path / name).mkdir()
    with pytest.raises(CommandError, match="is a folder; name a file in it"):
        read_inputs(tmp_path / name)


def test_a_file_with_other_objects_says_which(tmp_path: Path) -> None:
    torch.save([np.ones(2)], tmp_path / "x.pt")
    with pytest.raises(CommandError, match=r"found `numpy[\w.]*` in it\. Save tensors in its place"):
        example_inputs(Model("m", {"forward": Pair()}), [], tmp_path / "x.pt")
    np.save(tmp_path / "x.npy", np.array([None, {}]), allow_pickle=True)
    np.savez(tmp_path / "x.npz", a=np.array([None, {}]))
    for name in ("x.npy", "x.npz"):
        with pytest.raises(CommandError, match="found Python objects, which are not unpickled") as error:
            example_inputs(Model("m", {"forward": Pair()}), [], tmp_path / name)
        assert "allow_pickle" not in str(error.value)
    np.save(tmp_path / "text.npy", np.array(["a"]))
    with pytest.raises(CommandError, match="has the dtype <U1, which torch does not have"):
        example_inputs(Model("m", {"forward": Pair()}), [], tmp_path / "text.npy")


def test_keyword_inputs_follow_the_signature() -> None:
    model = Model("m", {"forward": Pair()}, example_inputs=lambda: {"mask": 2, "x": 1})
    assert example_inputs(model, [], None)["forward"].leaves() == [1, 2]


@pytest.mark.parametrize(
    ("inputs", "says"),
    [
        (lambda: "text", "a value of type str"),
        (lambda: (1, 2, 3), "gave 3 input(s)"),
        (lambda: {"mask": 1}, "missing a required argument: 'x'"),
        (lambda: {1: 2}, "not all names"),
        (lambda: 1 / 0, "example_inputs() failed: ZeroDivisionError"),
    ],
)
def test_inputs_that_do_not_fit_are_explained(inputs: Any, says: str) -> None:
    with pytest.raises(CommandError) as error:
        example_inputs(Model("m", {"forward": Pair()}, example_inputs=inputs), [], None)["forward"]
    assert says in str(error.value)


def test_an_unknown_keyword_input_is_explained() -> None:
    with pytest.raises(CommandError, match="Did you mean `state`"):
        example_inputs(Model("m", {"forward": Nested()}, example_inputs=lambda: {"x": 1, "sate": 2}), [], None)[
            "forward"
        ]


def test_a_model_that_needs_inputs_says_which() -> None:
    with pytest.raises(CommandError, match=r"needs example inputs: forward\(x, state\)"):
        example_inputs(Model("m", {"forward": Nested()}), [], None)["forward"]


@pytest.mark.parametrize("content", [b"", b"hello", b"PK\x03\x04broken"])
def test_a_broken_inputs_file_is_explained(tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "inputs.pt"
    file.write_bytes(content)
    with pytest.raises(CommandError, match="could not be read as inputs"):
        example_inputs(Model("m", {"forward": Pair()}), [], file)["forward"]


NESTED = Inputs((torch.ones(2, 3), [torch.ones(4), {"k": torch.ones(5, 6)}]), {})


def test_dynamic_names_reach_into_nested_inputs() -> None:
    shapes = DynamicShapes(Nested(), NESTED, [dynamic_dim("x.-1=2..9"), dynamic_dim("state.1.k.0=2..8")])
    assert list(shapes.ranges) == [(0, 1), (2, 0)]
    wanted = shapes.for_torch(NESTED)
    assert set(wanted) == {"x", "state"}
    assert wanted["x"][1].min == 2 and wanted["x"][1].max == 9
    assert wanted["state"][0] is None and wanted["state"][1]["k"][0].max == 8


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("y.0=1..4", "the model has no input `y`; its inputs are x, state.0, state.1.k"),
        ("stat.0.0=1..4", "Did you mean `state.0`?"),
        ("x.2=1..4", "its dimensions are 0 to 1"),
        ("x.0=3..4", "the example has size 2 there"),
    ],
)
def test_dynamic_dims_that_do_not_fit_are_explained(text: str, says: str) -> None:
    with pytest.raises(CommandError) as error:
        DynamicShapes(Nested(), NESTED, [dynamic_dim(text)])
    assert says in str(error.value)


def test_resized_cuts_and_repeats() -> None:
    inputs = Inputs((torch.tensor([[1, 2, 3]]),), {})
    assert torch.equal(resized(inputs, {(0, 1): 2}).args[0], torch.tensor([[1, 2]]))
    assert torch.equal(resized(inputs, {(0, 1): 5, (0, 0): 2}).args[0], torch.tensor([[1, 2, 3, 1, 2]] * 2))
    assert resized_bytes(inputs, {(0, 1): 10**9}) == 8 * 10**9


def test_capture_avoids_size_one() -> None:
    inputs = Inputs((torch.ones(1, 3), [torch.ones(1)]), {})
    dims = [dynamic_dim("x.0=1..8"), dynamic_dim("x.1=1..8"), dynamic_dim("state.0.0=0..1")]
    assert DynamicShapes(Nested(), inputs, dims).capture_sizes(inputs) == {(0, 0): 2, (1, 0): 1}


def test_a_tensor_that_is_given_twice_is_two_inputs() -> None:
    """torch.export would treat a tensor that is passed twice as one input, so the second one is replaced by a copy."""
    x, y = torch.ones(2), torch.ones(2)
    given = Inputs((x, [x, 3]), {"z": y})
    made = given.distinct()
    first, (second, number) = made.args
    assert first is x and second is not x and torch.equal(second, x) and number == 3 and made.kwargs["z"] is y
