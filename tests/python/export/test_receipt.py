# SPDX-License-Identifier: BSD-3-Clause
"""The receipt: every node, where it runs, why not elsewhere; and each kind of loss, reported, and refused with
strict."""

from __future__ import annotations

import json
import logging
import warnings
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn
from torch.export import ExportedProgram
from torch.fx import Node

from sdk.devtools.report import LossError, LossKind, MissingKernelWarning, Receipt
from sdk.exir import EdgeCompileConfig, ExecutorchBackendConfig, to_edge, to_edge_transform_and_lower
from sdk.exir.backend.backend_details import BackendDetails, PreprocessResult
from sdk.exir.backend.compile_spec_schema import CompileSpec
from sdk.exir.backend.declarations import declare_loss, refuse
from sdk.exir.backend.partitioner import DelegationSpec, Partitioner, PartitionResult
from sdk.exir.backend.utils import WhyNoPartition, tag_constant_data
from sdk.exir.dialects._ops import ops as exir_ops
from sdk.export import ExportRecipe, LoweringRecipe, export

edge = exir_ops.edge.aten


class ReceiptBackend(BackendDetails):
    """Accepts any partition. With the compile spec `half`, it declares a loss."""

    @staticmethod
    def preprocess(edge_program: ExportedProgram, compile_specs: list[CompileSpec]) -> PreprocessResult:
        if any(spec.key == "half" for spec in compile_specs):
            declare_loss("downcast", "the weights are stored as float16")
        return PreprocessResult(processed_bytes=b"payload")


class Takes(Partitioner):
    """Tags the operators of a list, each in a separate partition. `reasons` says why it leaves the others."""

    def __init__(self, *ops: Any, reasons: dict[Any, str] | None = None, how: str = "why", half: bool = False) -> None:
        super().__init__()
        specs = [CompileSpec("half", b"")] if half else []
        self.ops, self.reasons, self.how = ops, reasons or {}, how
        self.delegation_spec = DelegationSpec("ReceiptBackend", specs)

    def partition(self, exported_program: ExportedProgram) -> PartitionResult:
        why = WhyNoPartition(logging.getLogger(__name__))
        tags = {}
        for node in exported_program.graph.nodes:
            if node.op == "call_function" and node.target in self.ops:
                node.meta["delegation_tag"] = f"tag{len(tags)}"
                tags[f"tag{len(tags)}"] = self.delegation_spec
            elif node.target in self.reasons and self.how == "why":
                why(node, self.reasons[node.target])
            elif node.target in self.reasons:
                refuse(node, "ReceiptBackend", self.reasons[node.target])
        tag_constant_data(exported_program)
        return PartitionResult(exported_program, tags)


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.inner = nn.Linear(4, 4)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.relu(self.inner(x)).sin()


X = torch.ones(2, 4)


def receipt_of(model: nn.Module, inputs: tuple, *partitioners: Partitioner, **options: Any) -> Receipt:
    recipe = ExportRecipe(lowering_recipe=LoweringRecipe(partitioners=list(partitioners)), strict=False)
    return export(model, [inputs], recipe, **options).get_receipt()


def rows(receipt: Receipt, kind: str) -> list[Any]:
    return [row for row in receipt.rows if row.operator == kind]


def test_every_node_has_a_row_with_sizes_place_and_source() -> None:
    receipt = receipt_of(Net(), (X,))
    assert [(row.operator, row.where) for row in receipt.of()] == [
        ("weight", "program"),
        ("weight", "program"),
        ("input", "arena"),
        ("aten::addmm.out", "portable"),
        ("aten::relu.out", "portable"),
        ("aten::sin.out", "portable"),
    ]
    weight, bias, x = receipt.of()[:3]
    assert (weight.node, str(weight.values[0])) == ("inner.weight", "float32[4, 4]")
    assert (bias.values[0].nbytes, x.values[0].nbytes) == (4 * 4, 2 * 4 * 4)
    assert weight.planned_bytes == 0 and x.planned_bytes == 32
    addmm, relu = receipt.of()[3:5]
    assert addmm.module == "inner" and relu.source.startswith("test_receipt.py:")
    assert receipt.losses == () and receipt.kernels_checked and receipt.loadable_by_executorch
    receipt.raise_for_losses()


def test_planned_bytes_lie_in_the_arena() -> None:
    receipt = receipt_of(Net(), (X,))
    (arena,) = receipt.arenas["forward"].values()
    planned = [value for row in receipt.rows for value in row.values if value.planned_bytes]
    assert planned and all(value.offset + value.planned_bytes <= arena for value in planned)


def test_shapes_that_vary_show_their_range() -> None:
    receipt = receipt_of(Net(), (X,), dynamic_shapes={"x": {0: torch.export.Dim("n", min=2, max=16)}})
    (sin,) = rows(receipt, "aten::sin.out")
    assert str(sin.values[0]) == "float32[2..16, 4]" and sin.values[0].nbytes == 16 * 4 * 4


def test_nodes_inside_of_delegates_are_listed_with_their_backend() -> None:
    receipt = receipt_of(Net(), (X,), Takes(edge.addmm.default, edge.relu.default, edge.sin.default))
    inside = [(row.operator, row.where) for row in receipt.rows if "/" in row.node]
    assert inside == [
        ("aten::addmm", "ReceiptBackend"),
        ("aten::relu", "ReceiptBackend"),
        ("aten::sin", "ReceiptBackend"),
    ]
    assert len(rows(receipt, "delegate")) == 3 and receipt.losses == ()


def test_branches_are_listed_after_the_node_that_runs_them() -> None:
    class Branch(nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return torch.cond(x.sum() > 0, lambda x: x.sin(), lambda x: x.cos(), (x,))

    receipt = receipt_of(Branch(), (X,))
    names = [(row.node.partition("/")[0], row.operator, row.where) for row in receipt.rows if row.operator != "input"]
    assert names[-3:] == [
        ("cond", "cond", "runtime"),
        ("true_graph_0", "aten::sin.out", "portable"),
        ("false_graph_0", "aten::cos.out", "portable"),
    ]


@pytest.mark.parametrize("how", ["why", "refuse"])
def test_a_refusal_is_shown_in_the_backends_words(how: str) -> None:
    reasons = {edge.relu.default: "only sigmoid is fused"}
    receipt = receipt_of(Net(), (X,), Takes(edge.addmm.default, reasons=reasons, how=how))
    assert rows(receipt, "aten::relu.out")[0].refusals == {"ReceiptBackend": "only sigmoid is fused"}
    # For the other operator the partitioner gave no reason, which is reported too.
    assert rows(receipt, "aten::sin.out")[0].why == "ReceiptBackend did not say why"
    assert [loss.kind for loss in receipt.losses] == [LossKind.FALLBACK] * 2
    assert "aten::relu.out (test_receipt.py:" in str(receipt.losses[0])
    assert "runs on a kernel. ReceiptBackend: only sigmoid is fused" in str(receipt)


def test_each_backend_that_was_asked_has_its_say() -> None:
    class Second(Takes):
        def __init__(self, *ops: Any, **named: Any) -> None:
            super().__init__(*ops, **named)
            self.delegation_spec = DelegationSpec("Other", [])

    first = Takes(edge.addmm.default, reasons={edge.relu.default: "no"})
    receipt = receipt_of(Net(), (X,), first, Second(reasons={edge.relu.default: "not me either"}))
    assert rows(receipt, "aten::relu.out")[0].why == "ReceiptBackend: no; Other: not me either"


def test_a_reason_survives_decomposition_of_what_was_kept_whole() -> None:
    class Whole(Takes):
        def ops_to_not_decompose(self, ep: ExportedProgram) -> Any:
            return [torch.ops.aten.linear.default], None

    receipt = receipt_of(Net(), (X,), Whole(reasons={edge.linear.default: "the bias is not quantised"}))
    assert rows(receipt, "aten::addmm.out")[0].refusals == {"ReceiptBackend": "the bias is not quantised"}


def test_strict_refuses_a_fallback_and_allow_permits_it() -> None:
    with pytest.raises(LossError, match=r"fallback: forward: aten::relu.out .* runs on a kernel") as error:
        receipt_of(Net(), (X,), Takes(edge.addmm.default), strict=True)
    assert {loss.kind for loss in error.value.losses} == {LossKind.FALLBACK}
    receipt_of(Net(), (X,), Takes(edge.addmm.default)).raise_for_losses(allow=["fallback"])
    # Without partitioners nothing was offered, so nothing fell back.
    receipt_of(Net(), (X,), strict=True)


def test_a_backend_declares_what_its_payload_does_not_keep() -> None:
    everything = (edge.addmm.default, edge.relu.default, edge.sin.default)
    receipt = receipt_of(Net(), (X,), Takes(*everything, half=True))
    (loss,) = receipt.losses
    assert loss.kind == LossKind.DOWNCAST
    assert str(loss) == "downcast: forward: ReceiptBackend says: the weights are stored as float16"


def test_dtypes_are_compared_with_the_captured_program() -> None:
    captured = torch.export.export(Net(), (X,))
    manager = to_edge(torch.export.export(Net().half(), (X.half(),))).to_executorch()
    losses = manager.get_receipt({"forward": captured}).losses
    assert [str(loss) for loss in losses] == [
        "downcast: forward: input 0 is float16; in the model it is float32",
        "downcast: forward: output 0 is float16; in the model it is float32",
        "downcast: forward: weight inner.weight is float16; in the model it is float32",
        "downcast: forward: weight inner.bias is float16; in the model it is float32",
    ]


class Counting(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("count", torch.full((3,), 5.0))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.count.add_(1)
        return x + self.count


def test_a_buffer_keeps_its_value_and_one_that_does_not_is_found() -> None:
    manager = export(Counting(), [(torch.ones(3),)]).get_executorch_program_manager()
    assert manager.get_receipt().losses == ()
    (buffer,) = rows(manager.get_receipt(), "buffer")
    assert (buffer.node, buffer.where) == ("count", "arena")
    manager._emitter_output.mutable_data = None  # as if emission had left it out
    (loss,) = manager.get_receipt().losses
    assert (
        str(loss) == "initial value: forward: buffer count starts at zero; its value in the model is not in the program"
    )


def test_a_buffer_of_zeros_needs_no_value() -> None:
    model = Counting()
    model.count.zero_()
    assert receipt_of(model, (torch.ones(3),)).losses == ()


def test_a_tensor_without_a_place_is_found() -> None:
    manager = export(Net(), [(X,)]).get_executorch_program_manager()
    plan = manager.executorch_program.execution_plan[0]
    inside = [
        i
        for i, value in enumerate(plan.values)
        if getattr(value.val, "allocation_info", None) and i not in (*plan.inputs, *plan.outputs)
    ]
    plan.values[inside[0]].val.allocation_info = None  # as a planner of the user's might
    (loss,) = manager.get_receipt().losses
    assert loss.kind == LossKind.UNPLANNED and f"value {inside[0]} of sizes" in loss.what


def test_a_dropped_tag_is_found() -> None:
    from sdk.exir.passes.external_constants_pass import delegate_external_constants_pass_unlifted

    unlifted = torch.export.export(Net(), (X,)).module()
    delegate_external_constants_pass_unlifted(unlifted, lambda node: "shared" if "weight" in node.name else None)
    tagged = torch.export.export(unlifted, (X,))
    # Constants that no delegate takes go to the file as well, unless another option says where they belong.
    assert not export(tagged).get_receipt().losses
    config = ExecutorchBackendConfig(external_constants=lambda node: None)
    receipt = export(tagged, None, ExportRecipe(executorch_backend_config=config)).get_receipt()
    assert [loss.kind for loss in receipt.losses] == [LossKind.DROPPED_TAG]
    assert "is marked for the file shared of a delegate, but no delegate took it" in receipt.losses[0].what
    # This backend takes the weight, but stores it in its payload.
    takes = Takes(edge.permute_copy.default, edge.addmm.default)
    recipe = ExportRecipe(lowering_recipe=LoweringRecipe(partitioners=[takes]))
    with pytest.raises(ValueError, match="in its payload, not in the data file 'shared'"):
        export(tagged, None, recipe)


library = torch.library.Library("receipt_test", "DEF")
library.define("twice(Tensor x) -> Tensor")
library.define("twice.out(Tensor x, *, Tensor(a!) out) -> Tensor(a!)")
library.impl("twice", lambda x: x * 2, "CompositeExplicitAutograd")
library.impl("twice.out", lambda x, *, out: out.copy_(x * 2), "CompositeExplicitAutograd")
library.impl("twice", lambda x: torch.empty_like(x), "Meta")


class Custom(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.ops.receipt_test.twice(x) + 1


def custom() -> Any:
    config = EdgeCompileConfig(_check_ir_validity=False)
    return to_edge(torch.export.export(Custom(), (X,)), compile_config=config).to_executorch()


@pytest.mark.parametrize("write", ["buffer", "save", "write_to_file"])
def test_a_program_that_cannot_load_is_never_written_without_a_warning(write: str, tmp_path: Path) -> None:
    manager = custom()

    def written() -> None:
        if write == "buffer":
            assert manager.buffer
        elif write == "save":
            manager.save(tmp_path / "custom.pte")
        else:
            with (tmp_path / "custom.pte").open("wb") as file:
                manager.write_to_file(file)

    with pytest.warns(MissingKernelWarning, match=r"no kernel of receipt_test::twice\.out and will refuse") as caught:
        written()
    assert Path(caught[0].filename).name == "test_receipt.py"
    with warnings.catch_warnings():  # The warning comes only once.
        warnings.simplefilter("error")
        written()


def test_an_operator_without_a_kernel_is_a_loss() -> None:
    (loss,) = custom().get_receipt().losses
    assert loss.kind == LossKind.MISSING_KERNEL and "receipt_test::twice.out" in loss.what
    recipe = ExportRecipe(
        lowering_recipe=LoweringRecipe(edge_compile_config=EdgeCompileConfig(_check_ir_validity=False))
    )
    with pytest.raises(LossError, match=r"missing kernel: forward: no kernel of receipt_test::twice\.out"):
        export(Custom(), [(X,)], recipe, strict=True)


def test_without_the_runtime_strict_does_not_pretend_to_know(monkeypatch: pytest.MonkeyPatch) -> None:
    from sdk.devtools.report import _receipt_of

    monkeypatch.setattr(_receipt_of, "runtime_operators", lambda: None)
    receipt = receipt_of(Net(), (X,))
    assert not receipt.kernels_checked and "was not checked" in str(receipt)
    with pytest.raises(LossError, match="could not be checked"):
        receipt.raise_for_losses()
    receipt.raise_for_losses(allow=[LossKind.MISSING_KERNEL])


def test_operators_that_the_original_lacks_are_named() -> None:
    from sdk.devtools.report._operators import newer_operators

    manager = export(Net(), [(X,)]).get_executorch_program_manager()
    program = manager.executorch_program
    assert newer_operators(program) == []
    program.execution_plan[0].operators[0].name = "aten::nobody_has_this"
    receipt = manager.get_receipt()
    assert receipt.newer_operators == ("aten::nobody_has_this.out",) and not receipt.loadable_by_executorch
    assert "not in ExecuTorch 1.4: aten::nobody_has_this.out" in str(receipt)


def test_several_methods_and_plain_data() -> None:
    session = export({"one": Net(), "two": Counting()}, {"one": [(X,)], "two": [(torch.ones(3),)]})
    receipt = session.get_receipt()
    assert receipt.methods == ["one", "two"] and {row.method for row in receipt.rows} == {"one", "two"}
    data = json.loads(json.dumps(receipt.to_dict()))
    assert len(data["rows"]) == len(receipt.rows) and data["losses"] == [] and data["kernels_checked"] is True
    row = next(row for row in data["rows"] if row["operator"] == "aten::sin.out")
    assert row["values"][0]["dtype"] == "float32" and row["values"][0]["shape"] == ["2", "4"]


def test_the_table_says_where_and_how_much() -> None:
    text = str(receipt_of(Net(), (X,)))
    assert "method forward:" in text and "nothing is lost" in text
    line = next(line for line in text.splitlines() if "aten::sin.out" in line)
    assert line.split()[1:4] == ["aten::sin.out", "portable", "float32[2,"] and "test_receipt.py:" in line


def test_external_weights_name_their_file() -> None:
    recipe = ExportRecipe(executorch_backend_config=ExecutorchBackendConfig(external_constants=lambda node: "shared"))
    receipt = export(Net(), [(X,)], recipe).get_receipt()
    assert {row.where for row in rows(receipt, "weight")} == {"file shared"}


def test_receipts_of_lowered_managers_without_a_session() -> None:
    manager = to_edge_transform_and_lower(torch.export.export(Net(), (X,)), partitioner=[Takes(edge.sin.default)])
    assert [loss.kind for loss in manager.to_executorch().get_receipt().losses] == [LossKind.FALLBACK] * 2


def test_a_refusal_outside_of_a_partitioner_changes_nothing() -> None:
    node = Node(torch.fx.Graph(), "n", "call_function", torch.relu, (), {})
    why = WhyNoPartition(logging.getLogger(__name__))
    why(node, "said to nobody")
    assert str(why) == "n is not taken: said to nobody" and node.meta == {}
    declare_loss("downcast", "said to nobody")
