# SPDX-License-Identifier: BSD-3-Clause
"""Data that backends store outside the program, weights that several exports share, and saving by name."""

from __future__ import annotations

import hashlib
import os
import sys
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.export import ExportedProgram

import forked
from sdk.exir import ExecutorchProgramManager, to_edge, to_edge_transform_and_lower
from sdk.exir._serialize._cord import Cord
from sdk.exir._serialize._named_data_store import NamedDataStore
from sdk.exir.backend.backend_details import BackendDetails, PreprocessResult
from sdk.exir.backend.compile_spec_schema import CompileSpec
from sdk.exir.backend.partitioner import DelegationSpec, Partitioner, PartitionResult
from sdk.exir.passes.external_constants_pass import delegate_external_constants_pass_unlifted
from sdk.extension.export_util.utils import save_pte_program
from sdk.extension.flat_tensor.serialize.serialize import FlatTensorSerializer
from sdk.runtime import Runtime

X = torch.ones(1, 4)


class SharedDataBackend(BackendDetails):
    """Stores each weight under the hash of its bytes, in the file that its tag names."""

    @staticmethod
    def preprocess(edge_program: ExportedProgram, compile_specs: list[CompileSpec]) -> PreprocessResult:
        store, keys = NamedDataStore(), []
        targets = {s.arg.name: s.target for s in edge_program.graph_signature.input_specs if s.target}
        for node in edge_program.graph.find_nodes(op="placeholder"):
            if node.name in targets:
                weight = edge_program.state_dict[targets[node.name]]
                keys.append(hashlib.sha256(weight.detach().numpy().tobytes()).hexdigest())
                tag = node.meta.get("custom", {}).get("delegate_constant_tag")
                store.add_named_data(keys[-1], weight, external_tag=tag)
        return PreprocessResult("\n".join(keys).encode(), data_store_output=store.get_named_data_store_output())


class Linears(Partitioner):
    def partition(self, exported_program: ExportedProgram) -> PartitionResult:
        spec = DelegationSpec(SharedDataBackend.__name__, [])
        number = 0
        for node in exported_program.graph.nodes:
            if node.op == "call_function" and "addmm" in node.name:
                node.meta["delegation_tag"] = f"linear{number}"
                number += 1
                for arg in node.all_input_nodes:
                    if arg.op == "placeholder" and arg.name.startswith(("p_", "b_")):
                        arg.meta["delegation_tag"] = node.meta["delegation_tag"]
                    elif "permute" in arg.name:
                        arg.meta["delegation_tag"] = node.meta["delegation_tag"]
                        arg.args[0].meta["delegation_tag"] = node.meta["delegation_tag"]
        return PartitionResult(exported_program, {f"linear{i}": spec for i in range(number)})


def net() -> nn.Module:
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(4, 4), nn.ReLU(), nn.Linear(4, 4)).eval()


def tagged(model: nn.Module, tag: Any) -> nn.Module:
    module = torch.export.export(model, (X,)).module()
    delegate_external_constants_pass_unlifted(module, tag)
    return module


def delegated(module: nn.Module, **options: Any) -> ExecutorchProgramManager:
    return to_edge_transform_and_lower(
        torch.export.export(module, (X,), **options), partitioner=[Linears()]
    ).to_executorch()


def keys(data: Cord) -> set[str]:
    return set(FlatTensorSerializer().deserialize(data).named_data)


@pytest.mark.parametrize("options", [{}, {"strict": True}, {"strict": False}])
def test_tags_survive_another_export(options: dict[str, bool]) -> None:
    """The same with the default export, which drops the metadata of weights' nodes."""
    model = net()
    module = tagged(model, lambda node: "shared" if "weight" in node.name else None)
    manager = delegated(module, **options)
    assert set(manager._tensor_data) == {"shared"}
    weights = [t.detach().numpy().tobytes() for n, t in model.named_parameters() if "weight" in n]
    assert keys(manager._tensor_data["shared"]) == {hashlib.sha256(w).hexdigest() for w in weights}
    assert not any(weight in manager.buffer for weight in weights)
    bias = dict(model.named_parameters())["0.bias"].detach().numpy().tobytes()
    assert bias in manager.buffer


def test_a_file_for_each_tag_and_one_for_two_programs(tmp_path: Path) -> None:
    model = net()
    by_layer = delegated(
        tagged(model, lambda node: f"layer{node.name.split('_')[1]}" if "weight" in node.name else None)
    )
    assert set(by_layer._tensor_data) == {"layer0", "layer2"}
    again = delegated(tagged(model, lambda node: "layer0" if "0_weight" in node.name else None))
    assert bytes(again._tensor_data["layer0"]) == bytes(by_layer._tensor_data["layer0"])
    by_layer.write_tensor_data_to_file(tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["layer0.ptd", "layer2.ptd"]


def test_a_tag_can_be_taken_back() -> None:
    model = net()
    tagged(model, lambda node: "shared")
    assert not delegated(tagged(model, lambda node: None))._tensor_data


def test_methods_share_what_their_delegates_store() -> None:
    model = net()
    module = tagged(model, lambda node: "shared" if "weight" in node.name else None)
    exported = torch.export.export(module, (X,))
    manager = to_edge_transform_and_lower({"a": exported, "b": exported}, partitioner=[Linears()]).to_executorch()
    assert len(keys(manager._tensor_data["shared"])) == 2
    assert len(manager.executorch_program.execution_plan) == 2


@pytest.mark.parametrize("name", ["model", "model.pte"])
def test_save_pte_program(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """ETPM-12."""
    monkeypatch.chdir(tmp_path)
    model = net()
    manager = to_edge(torch.export.export(model, (X,))).to_executorch()
    assert save_pte_program(manager, name) == "model.pte"
    assert (tmp_path / "model.pte").read_bytes() == manager.buffer
    assert save_pte_program(manager, name, str(tmp_path / "new/folder")) == str(tmp_path / "new/folder/model.pte")
    output: list[Tensor] = Runtime.get().load_program(tmp_path / "model.pte").load_method("forward").execute([X])
    torch.testing.assert_close(output[0], model(X))


def test_the_example_script(tmp_path: Path) -> None:
    """ETPM-16: `python -m examples.portable.scripts.export --model_name=add` makes add.pte, which adds."""
    root = Path(__file__).resolve().parents[3]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(root), *sys.path])}
    done = forked.run("-m", "examples.portable.scripts.export", "--model_name=add", cwd=tmp_path, env=environment)
    assert done.returncode == 0, done.stderr
    method = Runtime.get().load_program(tmp_path / "add.pte").load_method("forward")
    # ((x + y + x) + x) * 2
    torch.testing.assert_close(method.execute([torch.tensor([2.0]), torch.tensor([1.0])])[0], torch.tensor([14.0]))
