# SPDX-License-Identifier: BSD-3-Clause
"""The snippets of the documents on backends and delegates, on lowering a model as a delegate, and on debugging
delegation."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest
import torch
from torch._export.utils import get_param, is_param
from torch.export import ExportedProgram, export

from sdk.exir import to_edge as to_edge_of_the_package
from sdk.exir.backend.backend_api import to_backend
from sdk.exir.backend.backend_details import BackendDetails, PreprocessResult
from sdk.exir.backend.compile_spec_schema import CompileSpec
from sdk.exir.backend.partitioner import DelegationSpec, Partitioner, PartitionResult
from sdk.exir.backend.test.op_partitioner_demo import AddAttributePartitionerDemo, AddMulPartitionerDemo
from sdk.exir.backend.utils import format_delegated_graph, get_delegated_payload, get_non_lowered_nodes
from sdk.exir.delegate import executorch_call_delegate
from sdk.exir.dialects._ops import ops as exir_ops
from sdk.exir.lowered_backend_module import get_lowered_backend_modules
from sdk.exir.program import EdgeProgramManager, to_edge

edge = exir_ops.edge.aten


class Backend1(BackendDetails):
    @staticmethod
    def preprocess(edge_program: ExportedProgram, compile_specs: list[CompileSpec]) -> PreprocessResult:
        names = [node.name for node in edge_program.graph.nodes if node.op == "call_function"]
        return PreprocessResult(processed_bytes=",".join(names).encode())


class Backend2(Backend1):
    pass


class Model(torch.nn.Module):
    def forward(self, x, y):
        x = x + y
        x = x * y
        x = x - y
        x = x / y
        x = x * y
        x = x + y
        return x


ARGS = (torch.randn(1, 3), torch.rand(1, 3) + 1)


class Backend_1_2_Partitioner(Partitioner):
    """The page's partitioner. It keeps its tags in an attribute, and `partition` returns the program."""

    def __init__(self) -> None:
        self.delegation_spec_1 = DelegationSpec("Backend1", [])
        self.delegation_spec_2 = DelegationSpec("Backend2", [])
        self.partition_tags = {}

    def partition(self, exported_program: ExportedProgram) -> ExportedProgram:
        for i, node in enumerate(exported_program.graph.nodes):
            if node.target is edge.sub.Tensor:
                node.meta["delegation_tag"] = f"backend1_tag{i}"
                self.partition_tags[f"backend1_tag{i}"] = self.delegation_spec_1
            if node.target in (edge.add.Tensor, edge.mul.Tensor):
                node.meta["delegation_tag"] = f"backend2_tag{i}"
                self.partition_tags[f"backend2_tag{i}"] = self.delegation_spec_2
        return exported_program


def ids(program: ExportedProgram) -> list[str]:
    return sorted(m.backend_id for m in get_lowered_backend_modules(program.graph_module))


def test_one_partitioner_for_two_backends():
    """DEL-17"""
    program = to_backend(to_edge(export(Model(), ARGS)).exported_program(), Backend_1_2_Partitioner())
    assert ids(program) == ["Backend1", *["Backend2"] * 4]
    assert [n.target for n in get_non_lowered_nodes(program.graph)] == [edge.div.Tensor]
    torch.testing.assert_close(program.module()(*ARGS), Model()(*ARGS))


def partitioner_for(backend, *targets):
    class OneBackend(Partitioner):
        def partition(self, exported_program: ExportedProgram) -> PartitionResult:
            tags = {}
            for node in exported_program.graph.nodes:
                if node.target in targets:
                    node.meta["delegation_tag"] = node.name
                    tags[node.name] = DelegationSpec(backend, [])
            return PartitionResult(exported_program, tags)

    return OneBackend


def test_one_backend_after_the_other():
    """DEL-16, DEL-18: the second call cannot take nodes that the first one took; the order changes the result."""
    backend_1_partitioner = partitioner_for("Backend1", edge.add.Tensor, edge.sub.Tensor)
    backend_2_partitioner = partitioner_for("Backend2", edge.add.Tensor, edge.mul.Tensor)
    exported_program = to_edge(export(Model(), ARGS)).exported_program()
    exported_program_backend_1 = to_backend(exported_program, backend_1_partitioner())
    both = to_backend(exported_program_backend_1, backend_2_partitioner())
    assert ids(both) == ["Backend1"] * 3 + ["Backend2"] * 2
    other = to_backend(to_backend(exported_program, backend_2_partitioner()), backend_1_partitioner())
    assert ids(other) == ["Backend1"] * 1 + ["Backend2"] * 4
    for program in (both, other):
        torch.testing.assert_close(program.module()(*ARGS), Model()(*ARGS))


def test_data_in_preprocess():
    """DEL-15: questions 1, 2 and 4 of the page: weights are placeholders, not get_attr nodes; the program has their
    values."""
    seen = {}

    class ReadsData(BackendDetails):
        @staticmethod
        def preprocess(edge_program, compile_specs):
            for node in edge_program.graph.nodes:
                assert node.op != "get_attr"
                if node.op == "placeholder" and is_param(edge_program, node):
                    seen[edge_program.graph_signature.inputs_to_parameters[node.name]] = get_param(edge_program, node)
            return PreprocessResult(b"")

    class Linear(torch.nn.Linear):
        pass

    model = Linear(3, 2)
    to_backend("ReadsData", to_edge(export(model, (torch.ones(1, 3),))).exported_program(), [])
    assert set(seen) == {"weight", "bias"}
    assert torch.equal(seen["weight"], model.weight) and torch.equal(seen["bias"], model.bias)


def test_partitioning_a_model(tmp_path):
    """LOW-06, LOW-07, LOW-08, LOW-09, LOW-10: the third flow of the page."""
    assert to_edge is to_edge_of_the_package
    core_aten_ep = export(Model(), ARGS)
    manager: EdgeProgramManager = to_edge(core_aten_ep)
    tags = AddMulPartitionerDemo().partition(manager.exported_program()).partition_tags
    assert {spec.backend_id for spec in tags.values()} == {"BackendWithCompilerDemo"}
    for node in manager.exported_program().graph.nodes:
        node.meta.pop("delegation_tag", None)
    manager = manager.to_backend(AddMulPartitionerDemo())
    targets = [n.target for n in manager.exported_program().graph.nodes if n.op == "call_function"]
    assert [t for t in targets if t in (executorch_call_delegate, edge.sub.Tensor, edge.div.Tensor)] == [
        executorch_call_delegate,
        edge.sub.Tensor,
        edge.div.Tensor,
        executorch_call_delegate,
    ]
    exec_prog = manager.to_executorch()
    save_path = tmp_path / "delegate.pte"
    with save_path.open("wb") as f:
        f.write(exec_prog.buffer)
    payloads = get_delegated_payload(manager.exported_program().graph_module)
    assert all(payload in save_path.read_bytes() for _, _, payload in payloads.values()) and len(payloads) == 2


class Net(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.p = torch.nn.Parameter(torch.ones(1, 6))

    def forward(self, x):
        return torch.sin(x + self.p).view(2, 3) * 2


def test_the_graph_with_its_delegates():
    """DD-06, DD-08, DD-09, DD-11: one `lowered graph()` for each delegate, with its edge operators and its weights."""
    program = to_backend(to_edge(export(Net(), (torch.ones(1, 6),))).exported_program(), AddAttributePartitionerDemo())
    text = format_delegated_graph(program.graph_module)
    assert text.startswith("graph():\n")
    assert text.count("lowered graph():") == text.count("backend_id: BackendWithCompilerDemo") == 1
    outer, _, inner = text.partition("lowered graph():")
    assert "%lowered_module_0 : [num_users=1] = get_attr[target=lowered_module_0]" in outer and "p_p" not in outer
    assert "%p_p : [num_users=1] = placeholder[target=p_p]" in inner
    assert (
        "call_function[target=executorch.exir.dialects.edge._ops.aten.add.Tensor](args = (%x, %p_p), kwargs = {})"
        in inner
    )
    call = "call_function[target=torch.ops.higher_order.executorch_call_delegate](args = (%lowered_module_0, %x)"
    assert call in inner and "aten.add.Tensor" not in str(program.graph)


def test_the_graph_that_runs_with_its_delegates():
    """DD-07, DD-12: `format_delegated_graph` also prints the graph of `to_executorch`, with its memory operations."""
    manager = to_edge(export(Net(), (torch.ones(1, 6),))).to_backend(AddAttributePartitionerDemo()).to_executorch()
    text = format_delegated_graph(manager.exported_program().graph_module)
    assert "executorch_exir_memory" in text or "memory.alloc" in text
    assert "lowered graph():" in text and "memory.view" in text


def test_a_delegate_without_backend():
    """LOW-01: for a backend that was not imported, the error says what to import."""
    with pytest.raises(NotImplementedError, match=r"Backend Nowhere was not found.*import the module that defines it"):
        to_backend("Nowhere", to_edge(export(Model(), ARGS)).exported_program(), [])


def test_what_was_delegated():
    """DD-01, DD-05, DD-14: two delegates of two calls each; their results are read outside."""
    from sdk.devtools.backend_debug import get_delegation_info

    manager = to_edge(export(Model(), ARGS)).to_backend(AddMulPartitionerDemo())
    delegation_info = get_delegation_info(manager.exported_program().graph_module)
    assert delegation_info.get_summary().splitlines() == [
        "Total delegated subgraphs: 2",
        "Number of delegated nodes: 4",
        "Number of non-delegated nodes: 4",
    ]
    assert delegation_info.rows() == [
        ("aten_add_tensor", 2, 0),
        ("aten_div_tensor", 0, 1),
        ("aten_mul_tensor", 2, 0),
        ("aten_sub_tensor", 0, 1),
        ("getitem", 0, 2),
        ("Total", 4, 4),
    ]


def test_what_was_delegated_as_a_table():
    """DD-03, DD-04"""
    pytest.importorskip("pandas")
    from sdk.devtools.backend_debug import get_delegation_info

    manager = to_edge(export(Model(), ARGS)).to_backend(AddMulPartitionerDemo())
    table = get_delegation_info(manager.exported_program().graph_module).get_operator_delegation_dataframe()
    assert list(table.columns) == [
        "op_type",
        "occurrences_in_delegated_graphs",
        "occurrences_in_non_delegated_graphs",
    ]
    assert list(table.iloc[-1]) == ["Total", 4, 4]


def test_the_numbers_of_mobilenet_v2():
    """DD-03, DD-05, DD-09, DD-10, DD-13: the page's table, for a partitioner that takes all but the view and the
    clone of the classifier."""
    from torch.fx.passes.operator_support import create_op_support

    from sdk.devtools.backend_debug import get_delegation_info
    from sdk.exir import to_edge_transform_and_lower
    from sdk.exir.backend.canonical_partitioners.pattern_op_partitioner import generate_partitions_from_list_of_nodes
    from sdk.exir.backend.utils import tag_constant_data

    class AllButCopies(Partitioner):
        def ops_to_not_decompose(self, ep):
            return [torch.ops.aten.linear.default], None

        def partition(self, exported_program: ExportedProgram) -> PartitionResult:
            support = create_op_support(
                lambda modules, node: (
                    node.op == "call_function" and not any(word in node.name for word in ("view", "clone"))
                )
            )
            tags = {}
            for i, found in enumerate(
                generate_partitions_from_list_of_nodes(exported_program.graph_module, op_support=support)
            ):
                tags[f"tag{i}"] = DelegationSpec("Backend1", [])
                for node in found.nodes:
                    node.meta["delegation_tag"] = f"tag{i}"
            tag_constant_data(exported_program)
            return PartitionResult(exported_program, tags)

    program = export(WithDropout().eval(), (torch.randn(1, 3, 224, 224),))
    lowered = to_edge_transform_and_lower(program, partitioner=[AllButCopies()]).exported_program()
    rows = {name: (inside, outside) for name, inside, outside in get_delegation_info(lowered.graph_module).rows()}
    assert rows == {
        "aten__native_batch_norm_legit_no_training_default": (52, 0),
        "aten_add_tensor": (10, 0),
        "aten_convolution_default": (52, 0),
        "aten_hardtanh_default": (35, 0),
        "aten_linear_default": (1, 0),
        "aten_mean_dim": (1, 0),
        "aten_view_copy_default": (0, 1),
        "dim_order_ops__clone_dim_order_default": (0, 1),
        "getitem": (52, 2),
        "Total": (203, 4),
    }
    unused = [n for n in lowered.graph.nodes if n.op == "placeholder" and "num_batches_tracked" in n.name]
    assert len(unused) == 52 and not any(n.users for n in unused)
    inner = [m.original_module.graph for m in get_lowered_backend_modules(lowered.graph_module)]
    assert sorted(len(graph.find_nodes(op="placeholder")) for graph in inner) == [3, 261]


class WithDropout(torch.nn.Module):
    """MobileNetV2 of the example, with the classifier of torchvision's: pooling, flattening, dropout, linear."""

    def __init__(self) -> None:
        super().__init__()
        path = Path(__file__).resolve().parents[2] / "examples" / "mobilenet_v2" / "model.py"
        spec = importlib.util.spec_from_file_location("mobilenet_v2_example", path)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        model = module.MobileNetV2()
        self.features = model.features
        self.classifier = torch.nn.Sequential(torch.nn.Dropout(0.2), model.classifier)

    def forward(self, image):
        return self.classifier(torch.nn.functional.adaptive_avg_pool2d(self.features(image), (1, 1)).flatten(1))
