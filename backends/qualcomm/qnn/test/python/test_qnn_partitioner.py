# SPDX-License-Identifier: BSD-3-Clause
"""From a module to a program that the interpreter computes: the partitioner, and the functions of the page."""

from __future__ import annotations

import subprocess
import sys
import types
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn
from torch.export import export
from torchao.quantization.pt2e import FixedQParamsObserver
from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e, prepare_pt2e

from npu_models import Function, model_of, written

sys.path.insert(0, str(Path(__file__).resolve().parent))

from qnn_lowering import SPECS, computed, lower, quantizer_of
from qnn_operators import CASES, IMAGE, ROWS

from sdk.backends.graph.names import name_of
from sdk.backends.npu.compiler import CompilerNotInstalledError
from sdk.backends.npu.graph import Graph
from sdk.backends.npu.reference_payload import is_reference
from sdk.backends.qualcomm.partition.qnn_partitioner import QnnPartitioner
from sdk.backends.qualcomm.qnn.compiler import COMPILER
from sdk.backends.qualcomm.qnn.operators import refusal
from sdk.backends.qualcomm.qnn.verify import ReferenceProgram
from sdk.backends.qualcomm.qnn_preprocess import QnnBackend
from sdk.backends.qualcomm.quantizer import QuantDtype
from sdk.backends.qualcomm.recipes import QNNRecipeType
from sdk.backends.qualcomm.serialization.qc_schema import QcomChipset
from sdk.backends.qualcomm.utils import utils as u
from sdk.backends.registry import backends
from sdk.exir import to_edge_transform_and_lower
from sdk.exir.backend.utils import get_delegates, get_non_lowered_nodes, get_refusals


def graph_of(manager: Any) -> torch.fx.Graph:
    found: torch.fx.Graph = manager.exported_program().graph_module.graph
    return found


def reasons(function: Any, *inputs: torch.Tensor) -> set[str]:
    graph = graph_of(lower(Function(function), inputs))
    return {reason for node in get_non_lowered_nodes(graph) for reason in get_refusals(node).values()}


@pytest.mark.parametrize("name", ["convolutional", "vision", "decoder"])
def test_a_model_is_one_partition(name: str, tmp_path: Path) -> None:
    """QNN-10: the whole model is one delegate, whose results equal eager's."""
    model, inputs = model_of(name)
    manager = lower(model, inputs)
    assert len(list(get_delegates(graph_of(manager)))) == 1 and not get_non_lowered_nodes(graph_of(manager))
    torch.testing.assert_close(computed(manager, inputs, tmp_path), model(*inputs))


@pytest.mark.parametrize("name", CASES)
def test_an_operator(name: str, tmp_path: Path) -> None:
    """QNN-11: each operator is delegated, with the results of eager."""
    torch.manual_seed(0)
    model, inputs = CASES[name].model().eval(), CASES[name].inputs
    manager = lower(model, inputs)
    assert len(list(get_delegates(graph_of(manager)))) == 1 and not get_non_lowered_nodes(graph_of(manager))
    torch.testing.assert_close(computed(manager, inputs, tmp_path), model(*inputs))


def test_refusals_are_in_words() -> None:
    """QNN-11"""
    functional = nn.functional
    assert "QNN has no such operator" in reasons(lambda a: torch.erf(a), ROWS)
    assert reasons(lambda a: a + a, ROWS.double()) == {"a tensor is float64, which QNN does not have"}
    assert reasons(lambda a: a + a, torch.ones(2, 2, 2, 2, 2, 2)) == {"a tensor has 6 dimensions; QNN has at most 5"}
    assert reasons(lambda a: functional.avg_pool2d(a, 2, divisor_override=3), IMAGE) == {
        "its divisor is 3, which is not the number of elements in its window"
    }
    assert reasons(lambda a: functional.max_pool2d(a, 2, dilation=2), IMAGE) == {"its window is dilated"}
    assert reasons(lambda a: a.log_softmax(0), ROWS) == {"it is not over the last dimension"}
    assert reasons(lambda a: functional.layer_norm(a, (2, 4)), ROWS) == {"it normalises more than the last dimension"}
    assert reasons(lambda a: a.expand(3, 2, 4), ROWS) == {"it adds a dimension"}
    assert reasons(lambda a: functional.adaptive_avg_pool2d(a, 3), IMAGE) >= {
        "its windows have several sizes: the input is not a multiple of the output"
    }
    assert reasons(lambda a: functional.max_pool2d(a, 2, return_indices=True), IMAGE) == {
        "more than its first result is read"
    }


@pytest.mark.parametrize("tracked", [False, True])
@pytest.mark.parametrize("training", [False, True])
def test_instance_norms_have_the_statistics_of_their_input(training: bool, tracked: bool) -> None:
    """QNN-11: QNN's operator computes the statistics of its input, so a norm with running statistics is decomposed."""
    program = export(nn.InstanceNorm2d(4, track_running_stats=tracked).train(training), (IMAGE,))
    (norm,) = (node for node in program.graph.nodes if node.target == torch.ops.aten.instance_norm.default)
    reason = "it has running statistics (track_running_stats=True)"
    assert refusal(norm, program) == (reason if tracked else None)


def test_nodes_and_operators_stay_on_kernels() -> None:
    """QNN-10: skip_node_op_set takes names or operators, skip_node_id_set takes names of nodes."""
    model = Function(lambda a: torch.sin(torch.relu(torch.cos(a)) * 2))
    for skipped in (
        {"skip_node_op_set": {"aten.relu.default"}},
        {"skip_node_op_set": {torch.ops.aten.relu.default}},
        {"skip_node_id_set": {"aten_relu_default"}},
    ):
        graph = graph_of(lower(model, (ROWS,), **skipped))
        assert [name_of(node) for node in get_non_lowered_nodes(graph)] == ["aten.relu.default"]
        assert len(list(get_delegates(graph))) == 2


def test_state_stays_with_the_program(tmp_path: Path) -> None:
    """QNN-10: a buffer keeps its value between calls, with and without `skip_mutable_buffer`."""

    class Counter(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("total", torch.zeros(2, 4))

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            self.total.add_(x * 2)
            return self.total + 1

    for skips in (True, False):
        program = ReferenceProgram(written(lower(Counter(), (ROWS,), skip_mutable_buffer=skips), tmp_path))
        for count in (1, 2):
            (found,) = program.run_method("forward", (ROWS,))
            torch.testing.assert_close(found, count * ROWS * 2 + 1)


def test_two_exports_give_the_same_bytes(tmp_path: Path) -> None:
    first, second = (written(lower(*model_of("convolutional")), tmp_path).read_bytes() for _ in range(2))
    assert first == second


def test_without_the_compiler_it_says_so() -> None:
    """QNN-01: the error names reference payloads as the alternative."""
    assert len(COMPILER.missing()) == 1
    with pytest.raises(CompilerNotInstalledError, match="Qualcomm's compiler is not installed") as error:
        to_edge_transform_and_lower(export(*model_of("convolutional")), partitioner=[QnnPartitioner(SPECS[:1])])
    said = str(error.value)
    assert "docs/backends-qnn.md" in said and "EXECUTORCH_REFERENCE_PAYLOADS=1" in said


def test_a_compiler_gets_the_graph_and_the_options(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """QNN-09: a module at the page's entry point compiles; the process that compiled then verifies the program."""
    seen: list[Any] = []
    module = types.ModuleType("sdk.backends.qualcomm.python.qnn_compiler")
    module.__spec__ = types.SimpleNamespace()  # type: ignore[assignment]
    module.compile = lambda *given: seen.append(given) or b"a context binary"  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, module.__name__, module)
    model, inputs = model_of("convolutional")
    manager = to_edge_transform_and_lower(export(model, inputs), partitioner=[QnnPartitioner(SPECS[:1])])
    ((graph, options, name),) = seen
    assert isinstance(graph, Graph) and options == bytes(SPECS[0].value) and name == "forward"
    file = written(manager, tmp_path)
    assert b"a context binary" in file.read_bytes()
    torch.testing.assert_close(ReferenceProgram(file).run_method("forward", inputs)[0], model(*inputs))
    module.compile = lambda *given: b""  # type: ignore[attr-defined]
    with pytest.raises(RuntimeError, match="made no context binary"):
        to_edge_transform_and_lower(export(model, inputs), partitioner=[QnnPartitioner(SPECS[:1])])


class Scaled(nn.Module):
    """A layer that methods share, and a factor."""

    def __init__(self, layer: nn.Module, factor: float) -> None:
        super().__init__()
        self.layer, self.factor = layer, factor

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.layer(x) * self.factor


def test_methods_that_share_weights_are_compiled_together(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """QNN-09: with `use_weight_sharing`, the compiler gets the graphs of all methods, and both have its binary."""
    seen: list[Any] = []
    module = types.ModuleType("sdk.backends.qualcomm.python.qnn_compiler")
    module.__spec__ = types.SimpleNamespace()  # type: ignore[assignment]
    module.compile_together = lambda *given: seen.append(given) or b"a context binary"  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, module.__name__, module)
    layer = nn.Linear(4, 3)
    methods: dict[str, nn.Module] = {"prefill": Scaled(layer, 1.0), "decode": Scaled(layer, 2.0)}
    inputs = {"prefill": (torch.randn(5, 4),), "decode": (torch.randn(1, 4),)}
    specs = u.generate_qnn_executorch_compiler_spec(
        u.QcomChipset.SM8650, u.generate_htp_compiler_spec(use_fp16=True, use_weight_sharing=True)
    )
    file = written(u.to_edge_transform_and_lower_to_qnn(methods, inputs, specs), tmp_path)
    ((graphs, options),) = seen
    assert list(graphs) == ["prefill", "decode"] and options == bytes(specs[0].value)
    assert file.read_bytes().count(b"a context binary") == 1
    program = ReferenceProgram(file)
    for name, model in methods.items():
        torch.testing.assert_close(program.run_method(name, inputs[name])[0], model(*inputs[name]))
    with pytest.raises(ValueError, match="different numbers of partitions: prefill 1, decode 2"):
        u.to_edge_transform_and_lower_to_qnn(
            {"prefill": Scaled(layer, 1.0), "decode": nn.Sequential(layer, Function(torch.erf), nn.ReLU())},
            inputs,
            specs,
        )
    other = u.generate_qnn_executorch_compiler_spec(
        u.QcomChipset.SM8750, u.generate_htp_compiler_spec(use_fp16=True, use_weight_sharing=True)
    )
    with pytest.raises(ValueError, match="the methods have different options"):
        u.to_edge_transform_and_lower_to_qnn(methods, inputs, {"prefill": specs, "decode": other})


def test_the_steps_of_the_page(tmp_path: Path) -> None:
    """QNN-08, QNN-09, QNN-13, SN-46: a model with two outputs is quantised, lowered and saved as the page does it."""
    model, inputs = Function(lambda x: (torch.relu(x), torch.sigmoid(x))), (ROWS,)
    prepared = prepare_pt2e(export(model, inputs, strict=True).module(), quantizer_of())
    prepared(*inputs)
    quantized_model = convert_pt2e(prepared)
    backend_options = u.generate_htp_compiler_spec(use_fp16=False)
    specs = u.generate_qnn_executorch_compiler_spec(soc_model=QcomChipset.SM8650, backend_options=backend_options)
    delegated = u.to_edge_transform_and_lower_to_qnn(quantized_model, inputs, [*specs, SPECS[1]])
    names = [node.name for node in graph_of(delegated).nodes if node.op == "call_function"]
    assert names == ["executorch_call_delegate", "getitem", "getitem_1"]
    file = tmp_path / "custom_model_qnn.pte"
    file.write_bytes(delegated.to_executorch().buffer)
    for found, expected in zip(ReferenceProgram(file).run_method("forward", inputs), model(*inputs), strict=True):
        torch.testing.assert_close(found, expected, atol=0.03, rtol=0)
    (dumped,) = u.dump_context_from_pte(file)
    assert dumped == str(tmp_path / "forward_0.bin") and is_reference(Path(dumped).read_bytes())


def test_methods(tmp_path: Path) -> None:
    models = {"forward": Function(torch.relu), "other": Function(torch.sin)}
    manager = u.to_edge_transform_and_lower_to_qnn(models, (ROWS,), SPECS, constant_methods={"size": 4})
    program = ReferenceProgram(written(manager, tmp_path))
    for name, model in models.items():
        torch.testing.assert_close(program.run_method(name, (ROWS,))[0], model(ROWS))
    dumping = u.generate_qnn_executorch_compiler_spec(
        QcomChipset.SM8650, u.generate_htp_compiler_spec(True), dump_intermediate_outputs=True
    )
    with pytest.raises(ValueError, match="is for one method"):
        u.to_edge_transform_and_lower_to_qnn(models, (ROWS,), dumping)


def test_linear_layers_become_convolutions(tmp_path: Path) -> None:
    torch.manual_seed(0)
    model, inputs = nn.Sequential(nn.Linear(4, 3), nn.ReLU(), nn.Linear(3, 2, bias=False)).eval(), (ROWS[None],)
    manager = u.to_edge_transform_and_lower_to_qnn(model, inputs, SPECS, convert_linear_to_conv2d=True)
    (delegate,) = ReferenceProgram(written(manager, tmp_path))._methods["forward"]._delegates
    names = [call.name for call in delegate.of("forward").graph.calls]
    assert names.count("aten.convolution.default") == 2 and "aten.linear.default" not in names
    torch.testing.assert_close(computed(manager, inputs, tmp_path), model(*inputs))
    assert isinstance(model[0], nn.Linear)  # a copy was changed
    with pytest.raises(ValueError, match="the module is a graph"):
        graph = export(model, inputs).module()
        u.to_edge_transform_and_lower_to_qnn(graph, inputs, SPECS, convert_linear_to_conv2d=True)


def test_a_captured_program_can_be_divided(tmp_path: Path) -> None:
    model, inputs = nn.Sequential(nn.Linear(4, 3), nn.Hardswish()).eval(), (ROWS,)
    with pytest.warns(DeprecationWarning, match="to_edge_transform_and_lower_to_qnn"):
        program = u.capture_program(model, inputs)
    names = [name_of(node) for node in program.exported_program.graph.nodes if node.op == "call_function"]
    assert names == ["aten.linear.default", "aten.hardswish.default"]
    assert torch.ops.aten.linear.default not in u.get_decomp_table()
    with pytest.raises(ValueError, match=r"passes_job is given.*leave it None"):
        u.get_decomp_table({})
    with pytest.warns(DeprecationWarning), pytest.raises(ValueError, match="dep_table is given"):
        u.capture_program(model, inputs, {})


def test_graphs_are_drawn(tmp_path: Path) -> None:
    pytest.importorskip("pydot")
    u.draw_graph("net", tmp_path, export(nn.ReLU(), (ROWS,)).graph_module, u.DrawFormat.PYDOT)
    assert "relu" in (tmp_path / "net.dot").read_text()
    with pytest.raises(RuntimeError, match=r"expected DrawFormat\.SVG"):
        u.draw_graph("net", tmp_path, export(nn.ReLU(), (ROWS,)).graph_module, 3)  # type: ignore[arg-type]


def test_observers_are_replaced() -> None:
    prepared = prepare_pt2e(export(nn.ReLU(), (ROWS,), strict=True).module(), quantizer_of())
    (name, *_) = [name for name, _ in prepared.named_children()]
    observer = FixedQParamsObserver(0.125, 42, torch.uint8, torch.per_tensor_affine, 0, 255)
    u.rewrite_prepared_observer(prepared, {name: observer})
    assert getattr(prepared, name) is observer
    with pytest.raises(ValueError, match="no observer 'other'"):
        u.rewrite_prepared_observer(prepared, {"other": observer})


def test_submodules_are_shown(capsys: pytest.CaptureFixture[str]) -> None:
    graph = export(nn.Sequential(nn.Linear(4, 4)), (ROWS,)).module()
    u.show_nn_module_stack_for_quant_recipe(graph, quantizer_of().get_supported_ops())
    assert capsys.readouterr().out == "aten.linear.default | 0 | linear\n"


def test_the_declaration_names_what_exists() -> None:
    declared = backends()["qnn"]
    assert declared.id == QnnBackend.__name__
    assert isinstance(declared.make("partitioner"), QnnPartitioner)
    provider = declared.make("recipes")
    known = {kind.value: kind for kind in provider.get_supported_recipes()}
    assert {declared.float_recipe, *(scheme.recipe for scheme in declared.quantization.values())} == set(known)
    for chip in ("SM8750", QcomChipset.SM8750):
        recipe = provider.create_recipe(QNNRecipeType.A16W8, soc_model=chip, skip_node_op_set={"aten.add.Tensor"})
        (quantizer,) = recipe.quantization_recipe.quantizers
        assert quantizer.default_quant_config.quant_dtype is QuantDtype.use_16a8w
        assert quantizer.soc_info.soc_model is QcomChipset.SM8750
    with pytest.raises(ValueError, match="soc_model is 'SM1'; expected one of QCM6490"):
        provider.create_recipe(QNNRecipeType.FP16, soc_model="SM1")


def test_importing_needs_nothing_of_the_sdk() -> None:
    """DINT-06"""
    code = (
        "import sys; from sdk.backends.qualcomm.partition import qnn_partitioner;"
        "from sdk.backends.qualcomm.quantizer import quantizer; from sdk.backends.qualcomm.utils import utils;"
        "print([n for n in sys.modules if n.startswith('sdk.backends.qualcomm.python')])"
    )
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", code], check=True, capture_output=True, text=True)
    assert done.stdout.splitlines()[-1] == "[]"
