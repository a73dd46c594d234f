# SPDX-License-Identifier: BSD-3-Clause
"""Names and behaviour of the compiler that code written against the original relies on."""

from __future__ import annotations

import io
import zipfile
from pathlib import Path

import pytest
import torch
from torch.export import export
from torch.fx.passes.infra.pass_manager import PassManager
from torch.fx.passes.operator_support import OperatorSupportBase

import sdk.exir
from sdk import exir
from sdk.exir import CaptureConfig, EdgeCompileConfig, ExecutorchBackendConfig, to_edge
from sdk.exir.backend.backend_api import to_backend
from sdk.exir.backend.backend_details import BackendDetails, PreprocessResult
from sdk.exir.backend.canonical_partitioners.config_partitioner import (
    ConfigerationBasedPartitioner,
    PartitionerConfig,
    format_target_name,
    is_constant_data,
)
from sdk.exir.backend.compile_spec_schema import CompileSpec
from sdk.exir.backend.partitioner import DelegationSpec, Partitioner, PartitionResult
from sdk.exir.backend.test.backend_with_compiler_demo import BackendWithCompilerDemo
from sdk.exir.backend.utils import WhyNoPartitionReporter
from sdk.exir.capture import CallSpec
from sdk.exir.error import ExportError
from sdk.exir.graph_module import get_control_flow_submodules
from sdk.exir.lowered_backend_module import get_lowered_backend_modules
from sdk.exir.passes.quantize_io_pass import quantize_input, quantize_output
from sdk.extension.pytree import TreeSpec, from_str, tree_flatten


class Scale(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = torch.nn.Linear(3, 2)
        self.register_buffer("offset", torch.ones(2))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.linear(x) + self.offset


INPUT = (torch.randn(4, 3),)


class TestCapture:
    def test_gives_a_program_that_can_be_lowered(self) -> None:
        model = Scale()
        captured = exir.capture(model, INPUT, CaptureConfig())
        torch.testing.assert_close(captured(*INPUT), model(*INPUT))
        edge = captured.to_edge()
        assert "aten.linear" not in str(edge.graph_module.graph)
        program = edge.to_executorch()
        assert program.program.execution_plan[0].name == "forward"
        assert program.buffer[4:8] == b"ET12"
        assert isinstance(captured.call_spec, CallSpec)
        assert captured.call_spec.in_spec.num_leaves == 1

    def test_takes_functions_and_dynamic_shapes(self) -> None:
        captured = exir.capture(lambda x: x + 1, INPUT, CaptureConfig(enable_dynamic_shape=True))
        other = torch.randn(7, 5)
        torch.testing.assert_close(captured(other), other + 1)

    def test_is_a_function_and_a_package(self) -> None:
        assert sdk.exir.capture(Scale(), INPUT).exported_program is not None
        assert sdk.exir.capture._config.CaptureConfig is CaptureConfig

    def test_refuses_what_torch_no_longer_has(self) -> None:
        for name, value in (
            ("pt2_mode", False),
            ("enable_functionalization", False),
            ("_unlift", True),
            ("_use_old_decomp_table", True),
            ("_dynamo_config", {"dynamic_shapes": True}),
        ):
            with pytest.raises(ExportError, match=rf"pt2_mode=True,.* found .*{name}="):
                exir.capture(Scale(), INPUT, CaptureConfig(**{name: value}))
        captured = exir.capture(Scale(), INPUT, CaptureConfig(enable_aot=True))
        assert len(captured.exported_program.graph_signature.parameters) == 2  # lifted, as in the original

    def test_says_which_step_is_missing(self) -> None:
        captured = exir.capture(Scale(), INPUT)
        with pytest.raises(RuntimeError, match="call to_edge"):
            captured.to_executorch()
        with pytest.raises(ExportError, match="in edge dialect already"):
            captured.to_edge().to_edge()


def test_edge_to_executorch_passes_give_the_operators_of_to_executorch() -> None:
    class Relu(torch.nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return torch.relu(x).reshape(3, 4) * 2

    def operators(module: torch.fx.GraphModule) -> list[str]:
        return [str(n.target) for n in module.graph.nodes if n.op == "call_function"]

    edge = to_edge(export(Relu(), INPUT))
    expected = operators(edge.to_executorch().exported_program().graph_module)
    passes = exir.edge_to_executorch_passes(ExecutorchBackendConfig())
    changed = PassManager(passes)(to_edge(export(Relu(), INPUT)).exported_program().graph_module).graph_module
    assert operators(changed) == expected
    assert all("spec" in node.meta for node in changed.graph.nodes if node.op == "call_function")


def test_none_is_no_exception() -> None:
    config = EdgeCompileConfig(_core_aten_ops_exception_list=None, preserve_ops=None)
    assert to_edge(export(Scale(), INPUT), compile_config=config).methods == {"forward"}


class TestSave:
    def test_of_edge_programs(self, tmp_path: Path) -> None:
        model = Scale()
        edge = to_edge(export(model, INPUT)).exported_program()
        extra = {"note.txt": "by hand"}
        exir.save(edge, tmp_path / "edge.pt2", extra_files=extra)
        found = {"note.txt": ""}
        read = exir.load(tmp_path / "edge.pt2", extra_files=found)
        assert found == extra
        assert read.graph_module.code == edge.graph_module.code
        torch.testing.assert_close(read.module()(*INPUT), model(*INPUT))

    def test_to_memory_in_the_layout_of_the_original(self) -> None:
        file = io.BytesIO()
        exir.save(to_edge(export(Scale(), INPUT)).exported_program(), file)
        with zipfile.ZipFile(file) as archive:
            assert archive.read("version") == b"5.4"
            assert "serialized_exported_program.json" in archive.namelist()
        for _ in range(2):  # from where the file stands
            assert exir.load(file).verifiers[0].dialect == "EDGE"

    def test_a_damaged_archive(self, tmp_path: Path) -> None:
        with zipfile.ZipFile(tmp_path / "part.pt2", "w") as archive:
            archive.writestr("serialized_exported_program.json", "{}")
        with pytest.raises(ExportError, match=r"it has no serialized_state_dict.pt"):
            exir.load(tmp_path / "part.pt2")


class Nested(torch.nn.Module):
    def forward(self, named: dict[str, torch.Tensor], listed: list[torch.Tensor]) -> dict[str, torch.Tensor | list]:
        return {"sum": named["x"] + listed[0], "rest": [listed[1] + named["y"]]}


class TestLoweredModule:
    @staticmethod
    def lowered() -> tuple[torch.nn.Module, tuple]:
        inputs = ({"x": torch.randn(3), "y": torch.randn(3)}, [torch.randn(3), torch.randn(3)])
        edge = to_edge(export(Nested(), inputs)).exported_program()
        return to_backend(BackendWithCompilerDemo.__name__, edge, [CompileSpec("max_value", bytes([1]))]), inputs

    def test_takes_and_returns_containers(self) -> None:
        lowered, inputs = self.lowered()
        found = lowered(*inputs)
        torch.testing.assert_close(found, Nested()(*inputs))

    def test_inside_of_another_module(self) -> None:
        lowered, inputs = self.lowered()

        class Composite(torch.nn.Module):
            def __init__(self) -> None:
                super().__init__()
                self.part = lowered

            def forward(self, named: dict[str, torch.Tensor], listed: list[torch.Tensor]) -> torch.Tensor:
                found = self.part(named, listed)
                return found["sum"] * 2 + found["rest"][0]

        exported = export(Composite(), inputs)
        torch.testing.assert_close(exported.module()(*inputs), Composite()(*inputs))
        plan = to_edge(exported).to_executorch().executorch_program.execution_plan[0]
        assert [d.id for d in plan.delegates] == [BackendWithCompilerDemo.__name__]

    def test_other_structures_are_refused(self) -> None:
        lowered, (named, listed) = self.lowered()
        with pytest.raises(TypeError, match="takes inputs of the structure"):
            lowered(listed, named)


class _Reluish(PartitionerConfig):
    target_name = "relu.default"

    def check_constraints(self, node: torch.fx.Node, ep: torch.export.ExportedProgram) -> bool:
        return node.meta["val"].dim() == 2

    def get_partition(self, node: torch.fx.Node, ep: torch.export.ExportedProgram) -> list[torch.fx.Node]:
        return [node]


class _AddWithWeights(PartitionerConfig):
    target_name = "add.Tensor"

    def check_constraints(self, node: torch.fx.Node, ep: torch.export.ExportedProgram) -> bool:
        return any(is_constant_data(ep, operand) for operand in node.all_input_nodes)

    def get_partition(self, node: torch.fx.Node, ep: torch.export.ExportedProgram) -> list[torch.fx.Node]:
        return [node, *(operand for operand in node.all_input_nodes if is_constant_data(ep, operand))]


class TestConfigPartitioner:
    def test_takes_what_its_configurations_take(self) -> None:
        class Model(torch.nn.Module):
            def __init__(self) -> None:
                super().__init__()
                self.register_buffer("offset", torch.ones(3))

            def forward(self, x: torch.Tensor) -> torch.Tensor:
                y = torch.relu(x + self.offset)
                return torch.sin(torch.relu(y[0])) + y

        spec = DelegationSpec(BackendWithCompilerDemo.__name__, [])
        partitioner = ConfigerationBasedPartitioner(spec, [_Reluish(), _AddWithWeights()])
        edge = to_edge(export(Model(), INPUT)).exported_program()
        tagged = partitioner.partition(edge)
        tags = {node.name: node.meta.get("delegation_tag") for node in tagged.tagged_exported_program.graph.nodes}
        assert list(tagged.partition_tags.values()) == [spec]
        assert (
            tags["aten_add_tensor"]
            == tags["aten_relu_default"]
            == tags["b_offset"]
            == next(iter(tagged.partition_tags))
        )
        assert tags["aten_relu_default_1"] is None  # one dimension
        assert tags["aten_add_tensor_1"] is None  # no weights

    def test_one_configuration_for_each_operator(self) -> None:
        with pytest.raises(RuntimeError, match=r"are both for relu.default"):
            ConfigerationBasedPartitioner(DelegationSpec("", []), [_Reluish(), _Reluish()])

    @pytest.mark.parametrize(
        ("name", "expected"),
        [
            ("aten.add.Tensor", "add.Tensor"),
            ("quantized_decomposed.quantize_per_tensor.default", "quantize_per_tensor.default"),
            ("aten::add.Tensor", "add.Tensor"),
            ("linear.default", "linear.default"),
        ],
    )
    def test_names_without_their_namespace(self, name: str, expected: str) -> None:
        assert format_target_name(name) == expected


def test_a_backend_that_partitions_the_branches_of_what_it_compiles() -> None:
    """A partition may call branches of control flow. Their nodes do not get the tags of the outer partitioner."""
    name = BackendWithCompilerDemo.__name__

    class Inner(Partitioner):
        def partition(self, program: torch.export.ExportedProgram) -> PartitionResult:
            tags = {}
            for _, branch, _ in get_control_flow_submodules(program.graph_module):
                for node in branch.graph.nodes:
                    if node.op == "call_function":
                        node.meta["delegation_tag"] = "inner"
                        tags["inner"] = DelegationSpec(name, [CompileSpec("max_value", b"1")])
            return PartitionResult(program, tags)

    class Outer(Partitioner):
        def partition(self, program: torch.export.ExportedProgram) -> PartitionResult:
            branches = [branch for _, branch, _ in get_control_flow_submodules(program.graph_module)]
            graphs = [program.graph_module, *branches]
            for node in (node for graph in graphs for node in graph.graph.nodes):
                if node.op in ("call_function", "get_attr"):
                    node.meta["delegation_tag"] = "outer"
            return PartitionResult(program, {"outer": DelegationSpec(PartitioningBackend.__name__, [])})

    lowered_inside = []

    class PartitioningBackend(BackendDetails):
        @staticmethod
        def preprocess(
            edge_program: torch.export.ExportedProgram, compile_specs: list[CompileSpec]
        ) -> PreprocessResult:
            found = to_backend(edge_program, Inner())
            lowered_inside.extend(get_lowered_backend_modules(found.graph_module))
            return PreprocessResult(b"inner")

    class Branches(torch.nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return torch.cond(x.sum() > 0, lambda x: x + x, lambda x: x * 1.5, [x * 2])

    to_edge(export(Branches(), INPUT)).to_backend(Outer())
    assert [module.backend_id for module in lowered_inside] == [name] * 2


def test_the_table_of_what_was_left() -> None:
    class Never(OperatorSupportBase):
        def is_node_supported(self, submodules: object, node: torch.fx.Node) -> bool:
            return False

    reporter = WhyNoPartitionReporter()
    assert reporter.get_table_report() == "No nodes rejected."
    check = reporter.wrap_check(Never(), "this backend takes nothing at all, whatever the operator of the node may be")
    for node in to_edge(export(Scale(), INPUT)).exported_program().graph.nodes:
        check.is_node_supported({}, node)
        reporter.report_reject(node, "a second reason, which is not kept")
    table = reporter.get_table_report()
    assert "aten_add_tensor" in table
    assert "aten.addmm.default" in table
    assert "a second reason" not in table
    assert len({len(line) for line in table.splitlines()}) == 1  # a rectangle


@pytest.mark.parametrize("dialect", ["edge", "aten"])
def test_quantize_io_of_a_program(dialect: str) -> None:
    q = torch.ops.quantized_decomposed

    class Quantized(torch.nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            y = q.dequantize_per_tensor(
                q.quantize_per_tensor(x, 0.1, 3, -128, 127, torch.int8), 0.1, 3, -128, 127, torch.int8
            )
            return q.dequantize_per_tensor(
                q.quantize_per_tensor(y * 2, 0.2, 0, -128, 127, torch.int8), 0.2, 0, -128, 127, torch.int8
            )

    exported = export(Quantized(), INPUT)
    program = (
        to_edge(exported, compile_config=EdgeCompileConfig(_check_ir_validity=False)).exported_program()
        if dialect == "edge"
        else exported
    )
    assert quantize_input(program, 0) == (0.1, 3, -128, 127, torch.int8)
    assert quantize_output(program, 0) == (0.2, 0, -128, 127, torch.int8)
    integers = q.quantize_per_tensor(INPUT[0], 0.1, 3, -128, 127, torch.int8)
    found = program.module()(integers)
    expected = Quantized()(*INPUT)
    assert found.dtype == torch.int8
    torch.testing.assert_close(found * 0.2, expected)


def test_quantize_input_with_the_parameters_of_the_caller() -> None:
    q = torch.ops.quantized_decomposed

    class Quantized(torch.nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return q.dequantize_per_tensor(
                q.quantize_per_tensor(x, 0.1, 3, -128, 127, torch.int8), 0.1, 3, -128, 127, torch.int8
            )

    program = to_edge(
        export(Quantized(), INPUT), compile_config=EdgeCompileConfig(_check_ir_validity=False)
    ).exported_program()
    own = {"scale": 0.05, "zp": 0, "dtype": torch.uint8}
    assert quantize_input(program, 0, own) == (0.05, 0, 0, 255, torch.uint8)
    integers = torch.tensor([[0, 20, 40]] * 4, dtype=torch.uint8)
    torch.testing.assert_close(program.module()(integers), integers * 0.05)


NESTED = {"a": [1, 2], 7: 3, "t": (4, {"b": 5})}


class TestStructureAsText:
    def test_of_a_program(self) -> None:
        inputs = ({"x": torch.randn(3), "y": torch.randn(3)}, [torch.randn(3), torch.randn(3)])
        plan = to_edge(export(Nested(), inputs)).to_executorch().executorch_program.execution_plan[0]
        outputs = Nested()(*inputs)
        assert TreeSpec.from_str(plan.container_meta_type.encoded_out_str) == tree_flatten(outputs)[1]
        assert tree_flatten((inputs, {}))[1].to_str() == plan.container_meta_type.encoded_inp_str

    def test_the_compact_form(self) -> None:
        text = "D3#2#1#2('a':L2#1#1($,$),7:$,'t':T2#1#1($,D1#1('b':$)))"
        assert from_str(text) == tree_flatten(NESTED)[1]
        assert from_str(tree_flatten(NESTED)[1].to_str()) == tree_flatten(NESTED)[1]

    @pytest.mark.parametrize("text", ["", "X", "T2#1#1($,$", "T2#1#1($,$)$", "[1, {", "T1#2($)", "D1#1($)"])
    def test_what_is_no_tree(self, text: str) -> None:
        with pytest.raises(ValueError, match="not the structure of a program's inputs or outputs"):
            from_str(text)
