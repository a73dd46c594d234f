# SPDX-License-Identifier: BSD-3-Clause
"""Weights that are marked for data files: each goes to its own, also several of one delegate."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.export import export

from sdk.backends.apple.mps.partition import MPSPartitioner
from sdk.backends.vulkan.partitioner.vulkan_partitioner import VulkanPartitioner
from sdk.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner
from sdk.exir import EdgeProgramManager, to_edge_transform_and_lower
from sdk.exir.lowered_backend_module import get_lowered_backend_modules
from sdk.exir.passes.external_constants_pass import delegate_external_constants_pass_unlifted
from sdk.extension.flat_tensor.serialize.serialize import FlatTensorSerializer
from sdk.extension.pybindings.portable_lib import _load_for_executorch

Tags = Callable[[Any], str | None]


class Lora(nn.Module):
    """A linear layer of a foundation model, and an adapter whose second factor starts as zero."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.base = nn.Linear(8, 8)
        self.lora_a, self.lora_b = nn.Linear(8, 8, bias=False), nn.Linear(8, 8, bias=False)
        self.zeros = nn.Parameter(torch.zeros(8, 8))
        nn.init.zeros_(self.lora_b.weight)

    def forward(self, x: Tensor) -> Tensor:
        return (self.base(x) + self.lora_b(self.lora_a(x)) + x @ self.zeros).relu()


class Convolutions(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.conv, self.norm, self.head = nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.Conv2d(4, 2, 1)
        self.norm.running_mean.uniform_()

    def forward(self, x: Tensor) -> Tensor:
        return self.head(self.norm(self.conv(x)).relu())


X, IMAGE = torch.ones(2, 8) / 4, torch.linspace(-1, 1, 108).reshape(1, 3, 6, 6)


def lower(model: nn.Module, x: Tensor, tags: Tags, partitioner: Any = None) -> EdgeProgramManager:
    module = export(model.eval(), (x,)).module()
    delegate_external_constants_pass_unlifted(module, tags)
    partitioners = [XnnpackPartitioner() if partitioner is None else partitioner]
    return to_edge_transform_and_lower(export(module, (x,)), partitioner=partitioners)


def files_of(manager: Any) -> dict[str, list[int]]:
    """The sizes of the buffers in each file."""
    found = {}
    for name, data in manager._tensor_data.items():
        file = FlatTensorSerializer().deserialize(data)
        found[name] = sorted(len(file.buffers[entry.buffer_index]) for entry in file.named_data.values())
    return found


def run(manager: Any, x: Tensor, folder: Path, files: list[str]) -> Tensor:
    manager.save(folder / "model.pte")
    manager.write_tensor_data_to_file(folder)
    module = _load_for_executorch(str(folder / "model.pte"), [str(folder / f"{name}.ptd") for name in files])
    return torch.as_tensor(module.forward([x])[0])


def by_adapter(node: Any) -> str | None:
    return "lora" if "lora" in node.name else "foundation"


def test_a_file_for_the_foundation_and_one_for_the_adapter() -> None:
    edge = lower(Lora(), X, by_adapter)
    assert len(get_lowered_backend_modules(edge.exported_program().graph_module)) == 1
    manager = edge.to_executorch()
    # Equal bytes of both files are in both: each can be replaced by itself.
    assert files_of(manager) == {"foundation": [32, 256, 256], "lora": [256, 256]}
    model = Lora()
    for weight in (model.base.weight, model.lora_a.weight):
        assert weight.detach().numpy().tobytes() not in manager.buffer


def test_two_programs_share_the_foundation() -> None:
    """ECO-04: a program without the adapter has the same data file of the foundation model."""
    both = lower(Lora(), X, by_adapter).to_executorch()
    base = Lora()
    base.forward = lambda x: (base.base(x) + x @ base.zeros).relu()  # type: ignore[method-assign]
    alone = lower(base, X, by_adapter).to_executorch()
    assert bytes(alone._tensor_data["foundation"]) == bytes(both._tensor_data["foundation"])


def test_what_is_not_marked_stays_in_the_program() -> None:
    manager = lower(Lora(), X, lambda node: "lora" if "lora" in node.name else None).to_executorch()
    assert files_of(manager) == {"lora": [256, 256]}
    assert Lora().base.weight.detach().numpy().tobytes() in manager.buffer


def test_a_norm_that_becomes_part_of_a_convolution() -> None:
    """A weight computed from a marked weight and unmarked ones is marked too."""
    manager = lower(
        Convolutions(), IMAGE, lambda node: {"conv": "first", "head": "second"}.get(str(node.target).split(".")[0])
    ).to_executorch()
    assert files_of(manager) == {"first": [16, 432], "second": [8, 32]}
    tags: Tags = lambda node: str(node.target).split(".")[0]  # noqa: E731
    with pytest.raises(ValueError, match=r"marked for different data files \(.*conv.* for 'conv', .*norm.* for 'norm'"):
        lower(Convolutions(), IMAGE, tags)


class Tied(nn.Module):
    """Two layers with one weight."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.first, self.second = nn.Linear(8, 8), nn.Linear(8, 8)
        self.second.weight = self.first.weight

    def forward(self, x: Tensor) -> Tensor:
        return self.second(self.first(x).relu())


@pytest.mark.parametrize("marked", ["first.weight", "second.weight"])
def test_a_weight_with_two_names_needs_one_mark(marked: str) -> None:
    manager = lower(Tied(), X, lambda node: "file" if node.target == marked else None).to_executorch()
    assert files_of(manager) == {"file": [256]}
    assert Tied().first.weight.detach().numpy().tobytes() not in manager.buffer
    both: Tags = lambda node: str(node.target).split(".")[0]  # noqa: E731
    with pytest.raises(ValueError, match=r"first\.weight.* second\.weight are one weight.*'first' and 'second'"):
        lower(Tied(), X, both)


def test_weights_of_other_types() -> None:
    model = Lora().half()
    manager = lower(model, X.half(), by_adapter).to_executorch()
    assert files_of(manager) == {"foundation": [16, 128, 128], "lora": [128, 128]}


def test_weights_that_kernels_read_go_to_their_file() -> None:
    """Weights that kernels read go to their data files, too."""
    model = nn.Sequential(nn.Embedding(5, 8), nn.Linear(8, 8)).eval()
    x = torch.tensor([[1, 2]])
    module = export(model, (x,)).module()
    delegate_external_constants_pass_unlifted(module, lambda node: "embedding" if "0" in node.name else "linear")
    for partitioner in ([XnnpackPartitioner()], []):
        manager = to_edge_transform_and_lower(export(module, (x,)), partitioner=partitioner).to_executorch()
        assert files_of(manager) == {"embedding": [160], "linear": [32, 256]}
        assert not manager.get_receipt().losses


class Branches(nn.Module):
    """Two layers from which a condition chooses one, and one that a map calls for each row."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.first, self.second, self.each = nn.Linear(8, 8), nn.Linear(8, 8), nn.Linear(8, 8)

    def forward(self, x: Tensor) -> Tensor:
        chosen = torch.cond(x.sum() > 0, lambda x: self.first(x), lambda x: self.second(x), (x,))
        return torch._higher_order_ops.map(lambda row: self.each(row).relu(), chosen)


@pytest.mark.parametrize("partitioner", [XnnpackPartitioner, VulkanPartitioner], ids=["XNNPACK", "Vulkan"])
def test_weights_of_branches_and_loop_bodies(partitioner: type[Any]) -> None:
    model = Branches()
    edge = lower(model, X, lambda node: str(node.target).split(".")[0], partitioner())
    assert len(get_lowered_backend_modules(edge.exported_program().graph_module)) >= 3
    manager = edge.to_executorch()
    assert files_of(manager) == {name: [32, 256] for name in ("first", "second", "each")}
    for layer in (model.first, model.second, model.each):
        assert layer.weight.detach().numpy().tobytes() not in manager.buffer


def test_vulkan_stores_each_weight_in_its_file() -> None:
    manager = lower(Lora(), X, by_adapter, VulkanPartitioner()).to_executorch()
    assert files_of(manager) == {"foundation": [32, 256, 256], "lora": [256, 256]}


def test_a_backend_that_stores_nothing_in_files_is_an_error() -> None:
    with pytest.raises(ValueError, match=r"MPSBackend stored .* in its payload, not in the data file 'foundation'"):
        lower(Lora(), X, by_adapter, MPSPartitioner())


@pytest.mark.parametrize("model, x", [(Lora(), X), (Convolutions(), IMAGE)], ids=["linear", "convolution"])
def test_the_program_runs_with_its_files(model: nn.Module, x: Tensor, tmp_path: Path) -> None:
    def tags(node: Any) -> str:
        return "b" if any(part in node.name for part in ("lora", "head")) else "a"

    manager = lower(model, x, tags).to_executorch()
    with torch.no_grad():
        expected = model.eval()(x)
    torch.testing.assert_close(run(manager, x, tmp_path, ["a", "b"]), expected, rtol=1e-5, atol=1e-5)
