# SPDX-License-Identifier: BSD-3-Clause
"""Weights in separate files: written by the exporter, read by the runtime."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
import torch
from torch import Tensor, nn
from torch.export.experimental import _export_forward_backward

from sdk.exir import ExecutorchBackendConfig, ExecutorchProgramManager, to_edge
from sdk.exir._serialize._cord import Cord
from sdk.exir._serialize._named_data_store import NamedDataStore
from sdk.exir._serialize.data_serializer import DataPayload
from sdk.exir.error import ExportError
from sdk.extension.flat_tensor.serialize.serialize import FlatTensorConfig, FlatTensorSerializer
from sdk.extension.pybindings import portable_lib
from sdk.runtime import ExecuTorchError, Runtime

X = torch.randn(3, 4)


class Net(nn.Module):
    """Weights, a table, a weight under two names, and two weights with the same data."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.first, self.second = nn.Linear(4, 4), nn.Linear(4, 4)
        self.tied = self.first.weight
        self.register_buffer("table", torch.full((4,), 2.0))
        self.register_buffer("same_table", torch.full((4,), 2.0))

    def forward(self, x: Tensor) -> Tensor:
        hidden = self.second(self.first(x)) * self.table + 1.5
        return hidden @ self.tied + self.same_table


class Head(nn.Module):
    """Another method over weights of the same net."""

    def __init__(self, net: Net) -> None:
        super().__init__()
        self.first = net.first
        self.register_buffer("table", net.table)

    def forward(self, x: Tensor) -> Tensor:
        return self.first(x) - self.table


def lower(models: nn.Module | dict[str, nn.Module], **config: object) -> ExecutorchProgramManager:
    models = models if isinstance(models, dict) else {"forward": models}
    programs = {name: torch.export.export(model.eval(), (X,)) for name, model in models.items()}
    return to_edge(programs).to_executorch(ExecutorchBackendConfig(**config))


def save(manager: ExecutorchProgramManager, folder: Path) -> list[Path]:
    """Saves the program. Returns the `.ptd` files that are written next to `model.pte`."""
    manager.save(folder / "model.pte")
    return sorted(folder.glob("*.ptd"))


def read(path: Path) -> DataPayload:
    return FlatTensorSerializer().deserialize(Cord(path.read_bytes()))


def merge(*paths: Path) -> bytes:
    """Merges the data of several files into one."""
    store = NamedDataStore()
    for path in paths:
        store.merge_named_data_store(
            FlatTensorSerializer().deserialize_to_named_data_store_output(path.read_bytes(), "all")
        )
    output = store.get_named_data_store_output()
    return bytes(FlatTensorSerializer().serialize(DataPayload(output.buffers, output.external_data["all"])))


def run(
    program: Path | bytes, weights: Path | bytes | Sequence[Path | bytes] | None, method: str = "forward"
) -> Tensor:
    return Runtime.get().load_program(program, data_map=weights).load_method(method).execute([X])[0]


@pytest.mark.parametrize("as_bytes", [False, True])
def test_one_file(tmp_path: Path, as_bytes: bool) -> None:
    """PTD-20, EXP: all weights of a program, by a flag."""
    net = Net()
    manager = lower(net, external_constants=True)
    (weights,) = save(manager, tmp_path)
    assert weights.name == "_default_external_constant.ptd"
    program = manager.buffer if as_bytes else tmp_path / "model.pte"
    torch.testing.assert_close(run(program, weights.read_bytes() if as_bytes else weights), net(X))
    # The name of a tied weight is that of its first use. The constant 1.5 of the source is not a weight.
    payload = read(weights)
    assert set(payload.named_data) == {
        "first.weight", "first.bias", "second.weight", "second.bias", "table", "same_table",
    }  # fmt: skip
    assert net.first.weight.detach().numpy().tobytes() not in manager.buffer


def test_keys_with_equal_data_share_a_segment(tmp_path: Path) -> None:
    """PTD-18."""
    (weights,) = save(lower(Net(), external_constants=True), tmp_path)
    payload = read(weights)
    assert payload.named_data["table"].buffer_index == payload.named_data["same_table"].buffer_index
    assert len(payload.buffers) == 5


def test_layouts_say_what_the_data_is(tmp_path: Path) -> None:
    """PTD-15, PTD-16."""
    (weights,) = save(lower(Net(), external_constants=True), tmp_path)
    layout = read(weights).named_data["first.weight"].tensor_layout
    assert (layout.sizes, layout.dim_order, layout.scalar_type.name) == ([4, 4], [0, 1], "FLOAT")


def test_several_files_by_tag(tmp_path: Path) -> None:
    net = Net()

    def tag(node: torch.fx.Node) -> str | None:
        return None if "table" in node.name else "first" if "first" in node.name else "rest"

    manager = lower(net, external_constants=tag)
    files = save(manager, tmp_path)
    assert [path.name for path in files] == ["first.ptd", "rest.ptd"]
    assert set(read(files[0]).named_data) == {"first.weight", "first.bias"}
    assert set(read(files[1]).named_data) == {"second.weight", "second.bias"}
    torch.testing.assert_close(run(tmp_path / "model.pte", merge(*files)), net(X))
    with pytest.raises(ExecuTorchError, match="second"):
        run(tmp_path / "model.pte", files[0])
    with pytest.raises(ExecuTorchError, match="4 constants in another file"):
        run(tmp_path / "model.pte", None)


@pytest.mark.parametrize("kind", ["paths", "bytes", "both", "program in bytes"])
def test_several_files_are_loaded(tmp_path: Path, kind: str) -> None:
    """PTD-20, MOD-03: a list of data files, each a path or bytes, in the runtime and in the module below it."""
    net = Net()
    manager = lower(net, external_constants=lambda node: node.name[:8])
    files = save(manager, tmp_path)
    assert len(files) > 2
    contents = [path.read_bytes() for path in files]
    weights: dict[str, list[Path | bytes]] = {
        "paths": [*files],
        "bytes": [*contents],
        "both": [files[0], *contents[1:]],
    }
    program = manager.buffer if kind == "program in bytes" else tmp_path / "model.pte"
    given = weights.get(kind, [*files])
    torch.testing.assert_close(run(program, given), net(X))
    torch.testing.assert_close(run(program, tuple(reversed(given))), net(X))
    with pytest.raises(ExecuTorchError, match="which the program needs"):
        run(program, given[1:])
    with pytest.raises(ExecuTorchError, match=r"(?s)with the data of '.*', '.*' cannot be loaded.* is in two"):
        run(program, [*given, given[0]])
    with pytest.raises(TypeError, match="data_map: expected a path, bytes or a binary file, found int"):
        run(program, [3])  # type: ignore[list-item]


def test_modules_take_several_files(tmp_path: Path) -> None:
    """MOD-03, with the functions of portable_lib that Runtime calls."""
    net = Net()
    manager = lower(net, external_constants=lambda node: node.name[:8])
    paths = [str(path) for path in save(manager, tmp_path)]
    contents = [Path(path).read_bytes() for path in paths]
    program = str(tmp_path / "model.pte")
    modules = [
        portable_lib._load_for_executorch(program, paths),
        portable_lib._load_for_executorch_from_buffer(manager.buffer, contents),
    ]
    for module in modules:
        torch.testing.assert_close(module.forward([X])[0], net(X))
    programs = [
        portable_lib._load_program(program, data_path=paths),
        portable_lib._load_program_from_buffer(manager.buffer, data_map_buffer=contents),
    ]
    for loaded in programs:
        torch.testing.assert_close(loaded.load_method("forward")([X])[0], net(X))


def test_methods_share_weights(tmp_path: Path) -> None:
    net = Net()
    models = {"forward": net, "head": Head(net)}
    (weights,) = save(lower(models, external_constants=True), tmp_path)
    for name, model in models.items():
        torch.testing.assert_close(run(tmp_path / "model.pte", weights, name), model(X))
    assert len(read(weights).buffers) == 5


def test_programs_share_a_file(tmp_path: Path) -> None:
    """PTD-20: two programs share a file; two files with equal data become one."""
    net, head = Net(), Head(Net())
    for name in ("net", "head"):
        (tmp_path / name).mkdir()
    (whole,) = save(lower(net, external_constants=True), tmp_path / "net")
    (part,) = save(lower(head, external_constants=True), tmp_path / "head")
    torch.testing.assert_close(run(tmp_path / "head/model.pte", whole), head(X))
    both = merge(whole, part)
    assert len(both) <= whole.stat().st_size + 64
    torch.testing.assert_close(run(tmp_path / "net/model.pte", both), net(X))
    torch.testing.assert_close(run(tmp_path / "head/model.pte", both), head(X))


def test_weights_can_be_replaced(tmp_path: Path) -> None:
    """A program runs with other weights when its `.ptd` file is replaced."""
    net, other = Net(), Net()
    with torch.no_grad():
        other.second.bias.add_(1.0)
    for name, model in (("old", net), ("new", other)):
        (tmp_path / name).mkdir()
        save(lower(model, external_constants=True), tmp_path / name)
    assert (tmp_path / "old/model.pte").read_bytes() == (tmp_path / "new/model.pte").read_bytes()
    new_weights = tmp_path / "new/_default_external_constant.ptd"
    torch.testing.assert_close(run(tmp_path / "old/model.pte", new_weights), other(X))


def test_methods_that_disagree_are_an_error() -> None:
    first, second = Net(), Net()
    with torch.no_grad():
        second.first.bias.add_(1.0)
    with pytest.raises(ExportError, match=r"two methods store different data as 'first\.bias'"):
        lower({"a": first, "b": second}, external_constants=True)


def test_alignment_of_segments(tmp_path: Path) -> None:
    (weights,) = save(lower(Net(), external_constants=True), tmp_path)
    aligned = bytes(FlatTensorSerializer(FlatTensorConfig(segment_alignment=4096)).serialize(read(weights)))
    net = Net()
    assert aligned.index(net.first.weight.detach().numpy().tobytes()) % 4096 == 0
    torch.testing.assert_close(run(tmp_path / "model.pte", aligned), net(X))


def test_tensor_data_is_written_to_a_folder(tmp_path: Path) -> None:
    """PTE-19."""
    manager = lower(Net(), external_constants=lambda node: "weights.ptd")
    manager.write_tensor_data_to_file(tmp_path / "new/folder")
    assert [path.name for path in (tmp_path / "new/folder").iterdir()] == ["weights.ptd"]
    lower(Net()).write_tensor_data_to_file(tmp_path / "none")
    assert not list((tmp_path / "none").iterdir())


def test_a_changed_buffer_stays_in_the_program(tmp_path: Path) -> None:
    class Counting(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("count", torch.ones(3, 4))
            self.weight = nn.Parameter(torch.randn(4))

        def forward(self, x: Tensor) -> Tensor:
            self.count.add_(1.0)
            return x * self.weight + self.count

    net = Counting()
    weight = net.weight.detach().clone()
    (weights,) = save(lower(net, external_constants=True), tmp_path)
    assert set(read(weights).named_data) == {"weight"}
    method = Runtime.get().load_program(tmp_path / "model.pte", data_map=weights).load_method("forward")
    for count in (2.0, 3.0):
        torch.testing.assert_close(method.execute([X])[0], X * weight + count)


def test_trained_weights_are_external(tmp_path: Path) -> None:
    """`external_mutable_weights`: the weights that a training step has gradients of, and no others.
    `external_constants`: all weights."""

    class Step(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.net = nn.Linear(4, 2)
            self.scale = nn.Parameter(torch.ones(2), requires_grad=False)

        def forward(self, x: Tensor, y: Tensor) -> Tensor:
            return nn.functional.mse_loss(self.net(x) * self.scale, y)

    exported = _export_forward_backward(torch.export.export(Step(), (X, torch.randn(3, 2))))
    edge = to_edge(exported)
    for name in ("trained", "all", "by_name"):
        (tmp_path / name).mkdir()
    (weights,) = save(edge.to_executorch(ExecutorchBackendConfig(external_mutable_weights=True)), tmp_path / "trained")
    assert set(read(weights).named_data) == {"net.weight", "net.bias"}
    (weights,) = save(edge.to_executorch(ExecutorchBackendConfig(external_constants=True)), tmp_path / "all")
    assert set(read(weights).named_data) == {"net.weight", "net.bias", "scale"}
    by_name = ExecutorchBackendConfig(external_constants=lambda node: "head" if node.name.endswith("bias") else None)
    (weights,) = save(edge.to_executorch(by_name), tmp_path / "by_name")
    assert weights.name == "head.ptd" and set(read(weights).named_data) == {"net.bias"}
    assert not lower(Net(), external_mutable_weights=True)._tensor_data
