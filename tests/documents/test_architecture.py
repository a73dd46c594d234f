# SPDX-License-Identifier: BSD-3-Clause
"""docs/architecture.md: the three phases as the document describes them, on one small model."""

from __future__ import annotations

import io
import re
import subprocess
import sys
from pathlib import Path

import torch
from torch import nn
from torch.export import Dim, export
from torch.fx.passes.infra.pass_base import PassResult
from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e, prepare_pt2e

import declared
from sdk.codegen.functions_yaml import load_functions
from sdk.exir import EdgeProgramManager, ExecutorchBackendConfig, to_edge, to_edge_transform_and_lower
from sdk.exir._serialize._program import deserialize_pte_binary
from sdk.exir.dialects._ops import ops as exir_ops
from sdk.exir.dialects.edge._ops import EdgeOpOverload
from sdk.exir.dialects.edge.spec.gen import core_operators
from sdk.exir.lowered_backend_module import get_lowered_backend_modules
from sdk.exir.memory_planning import MemoryPlanningAlgorithmSuite, naive
from sdk.exir.operator.convert import NoOutVariantError, to_out_variant
from sdk.exir.pass_base import ExportPass
from sdk.exir.passes import MemoryPlanningPass
from sdk.runtime import Runtime

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "architecture.md"
edge = exir_ops.edge.aten


class Net(nn.Module):
    """A branch that depends on data, and a batch of any size."""

    def __init__(self) -> None:
        super().__init__()
        self.hidden = nn.Linear(4, 4)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = self.hidden(x)
        return torch.cond(y.sum() > 0, lambda y: y * 2, lambda y: y - 1, (y,))


class Convolutions(nn.Module):
    """A model without control flow, which quantizers and backends support."""

    def __init__(self) -> None:
        super().__init__()
        self.body = nn.Sequential(nn.Conv2d(3, 8, 3), nn.ReLU(), nn.Conv2d(8, 4, 3))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.body(x).mean((2, 3)) + 0.5


IMAGE = torch.linspace(-1, 1, 2 * 3 * 8 * 8).reshape(2, 3, 8, 8)


def run(manager: EdgeProgramManager, *inputs: torch.Tensor) -> torch.Tensor:
    program = Runtime.get().load_program(manager.to_executorch().buffer)
    return program.load_method("forward").execute(list(inputs))[0]


def test_the_page_has_the_three_phases_and_their_picture() -> None:
    """ARC-01"""
    text = PAGE.read_text(encoding="utf-8")
    phases = ["Program preparation", "Runtime preparation", "Program execution"]
    assert [title for title in re.findall(r"^## (.+)", text, re.MULTILINE) if title in phases] == phases
    assert "](phases.svg)" in text
    picture = (ROOT / "docs" / "phases.svg").read_text(encoding="utf-8")
    assert re.findall(r'class="head"[^>]*>([^<]+)<', picture) == phases


def test_export_keeps_source_and_modules_and_can_be_differentiated() -> None:
    """ARC-02: a flat graph of ATen operators."""
    model = Convolutions()
    exported = export(model, (IMAGE,))
    calls = [node for node in exported.graph.nodes if node.op == "call_function"]
    assert not any(node.op == "call_module" for node in exported.graph.nodes)
    assert all(isinstance(node.target, torch._ops.OpOverload) for node in calls)
    assert all(Path(__file__).name in node.meta["stack_trace"] for node in calls)
    conv = next(node for node in calls if node.target is torch.ops.aten.conv2d.default)
    assert list(conv.meta["nn_module_stack"].values())[-1] == ("body.0", "torch.nn.modules.conv.Conv2d")
    exported.module()(IMAGE).sum().backward()
    assert model.body[0].weight.grad is not None and model.body[0].weight.grad.abs().sum() > 0
    lowered = [n for n in to_edge(exported).exported_program().graph.nodes if n.op == "call_function"]
    assert all(Path(__file__).name in node.meta["stack_trace"] for node in lowered)


def test_control_flow_and_dynamic_shapes_run() -> None:
    """ARC-03: the program takes both branches, at the smallest and the largest size."""
    torch.manual_seed(0)
    model = Net().eval()
    shapes = {"x": {0: Dim("batch", min=1, max=16)}}
    exported = export(model, (torch.ones(2, 4),), dynamic_shapes=shapes)
    forward = Runtime.get().load_program(to_edge(exported).to_executorch().buffer).load_method("forward")
    taken = set()
    for size in (1, 16):
        for sign in (-3.0, 3.0):
            x = sign * torch.ones(size, 4)
            torch.testing.assert_close(forward.execute([x])[0], model(x))
            taken.add(bool(model.hidden(x).sum() > 0))
    assert taken == {True, False}


def test_quantising_the_graph_before_core_aten() -> None:
    """ARC-04: after training (PTQ), on the graph of torch.export. The other way (QAT) is tested with its quantizer."""
    torch.manual_seed(0)
    model = Convolutions().eval()
    expected = model(IMAGE)
    prepared = prepare_pt2e(export(model, (IMAGE,)).module(), declared.quantizer())
    prepared(IMAGE)
    quantised = export(convert_pt2e(prepared), (IMAGE,))
    assert any("quantize_per_tensor" in str(node.target) for node in quantised.graph.nodes)
    assert any(node.target is torch.ops.aten.conv2d.default for node in quantised.graph.nodes), "not decomposed yet"
    result = run(to_edge(quantised), IMAGE)
    noise = (result - expected).square().sum() / expected.square().sum()
    assert noise < 1e-2


def test_core_aten_is_serialised_and_lowered() -> None:
    """ARC-05: decomposition leaves operators of the core set only. A saved program gives the same edge dialect."""
    core = export(nn.Sequential(nn.Hardsigmoid(), nn.LayerNorm(8)), (IMAGE,)).run_decompositions()
    calls = [node for node in core.graph.nodes if node.op == "call_function"]
    operators = [node.target for node in calls if isinstance(node.target, torch._ops.OpOverload)]
    assert operators and all(torch.Tag.core in operator.tags for operator in operators)
    file = io.BytesIO()
    torch.export.save(core, file)
    file.seek(0)
    again = torch.export.load(file)

    def targets(program: torch.export.ExportedProgram) -> list[str]:
        return [str(node.target) for node in to_edge(program).exported_program().graph.nodes]

    assert targets(again) == targets(core)
    torch.testing.assert_close(again.module()(IMAGE), core.module()(IMAGE))


def test_edge_dialect_has_dtypes_dim_orders_and_no_scalars() -> None:
    """ARC-06"""

    class Formats(nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return x.to(memory_format=torch.channels_last) * 2 + 1.5

    program = to_edge(export(Formats(), (IMAGE,))).exported_program()
    calls = [n for n in program.graph.nodes if n.op == "call_function"]
    assert all(isinstance(n.target, EdgeOpOverload) for n in calls)
    (order,) = [n for n in calls if "dim_order" in str(n.target)]
    assert order.kwargs["dim_order"] == [0, 2, 3, 1]
    arithmetic = [n for n in calls if n.target in (edge.mul.Tensor, edge.add.Tensor)]
    assert len(arithmetic) == 2
    assert all(isinstance(argument, torch.fx.Node) for n in arithmetic for argument in n.args)
    assert torch.float32 in edge.add.Tensor._schema.arguments[0].allowed_types


class FuseAddRelu(ExportPass):
    """A pass of the user: it replaces relu(x) by clamp(x, 0), which has the same result."""

    def call(self, graph_module):
        for node in list(graph_module.graph.nodes):
            if node.target == edge.relu.default:
                with graph_module.graph.inserting_before(node):
                    clamp = graph_module.graph.call_function(edge.clamp.default, (node.args[0], 0.0))
                    clamp.meta = dict(node.meta)
                node.replace_all_uses_with(clamp)
                graph_module.graph.erase_node(node)
        graph_module.recompile()
        return PassResult(graph_module, True)


def test_delegates_and_passes_make_the_backend_dialect() -> None:
    """ARC-07: a delegate takes the place of the graph that it was compiled from; a pass of the user rewrites it."""
    model = Convolutions().eval()
    partitioner = declared.default().make("partitioner")
    delegated = to_edge_transform_and_lower(export(model, (IMAGE,)), partitioner=[partitioner])
    graph = delegated.exported_program().graph_module
    assert len(get_lowered_backend_modules(graph)) == 1 and not any(
        n.target == edge.convolution.default for n in graph.graph.nodes
    )
    torch.testing.assert_close(run(delegated, IMAGE), model(IMAGE), rtol=1e-4, atol=1e-5)
    rewritten = to_edge(export(model, (IMAGE,))).transform([FuseAddRelu()])
    targets = [node.target for node in rewritten.exported_program().graph.nodes]
    assert edge.clamp.default in targets and edge.relu.default not in targets
    torch.testing.assert_close(run(rewritten, IMAGE), model(IMAGE), rtol=1e-4, atol=1e-5)


def test_a_program_has_out_variants_only() -> None:
    """ARC-08: every operator that is emitted writes to an argument."""
    manager = to_edge(export(Convolutions().eval(), (IMAGE,))).to_executorch()
    (plan,) = manager.executorch_program.execution_plan
    assert plan.operators
    for operator in plan.operators:
        namespace, _, name = operator.name.partition("::")
        overload = getattr(getattr(getattr(torch.ops, namespace), name), operator.overload or "default")
        assert any(argument.is_out for argument in overload._schema.arguments), operator


def test_an_algorithm_of_the_user_plans_the_memory() -> None:
    """ARC-09: the algorithm is called, and the program has the sizes that it planned."""
    calls = []

    def without_reuse(*arguments, **options):
        calls.append(arguments)
        return naive(*arguments, **options)

    model = Convolutions().eval()
    sizes = {}
    for name, algorithm in (("default", None), ("own", MemoryPlanningAlgorithmSuite([without_reuse]))):
        pass_ = MemoryPlanningPass(memory_planning_algo=algorithm) if algorithm else MemoryPlanningPass()
        manager = to_edge(export(model, (IMAGE,)))
        program = manager.to_executorch(ExecutorchBackendConfig(memory_planning_pass=pass_))
        sizes[name] = program.executorch_program.execution_plan[0].non_const_buffer_sizes[1]
        (y,) = Runtime.get().load_program(program.buffer).load_method("forward").execute([IMAGE])
        torch.testing.assert_close(y, model(IMAGE), rtol=1e-4, atol=1e-5)
    assert calls and sizes["own"] > sizes["default"]


def test_a_program_is_a_flatbuffer_of_the_schema() -> None:
    """ARC-10: the file has the schema's identifier, and gives the program that was emitted when it is read."""
    (path,) = re.findall(r"`(\S+/program\.fbs)`", PAGE.read_text(encoding="utf-8"))
    (identifier,) = re.findall(r'^file_identifier "(\w+)";', (ROOT / path).read_text(encoding="utf-8"), re.MULTILINE)
    manager = to_edge(export(Convolutions().eval(), (IMAGE,))).to_executorch()
    assert manager.buffer[4:8].decode() == identifier
    emitted, read = manager.executorch_program, deserialize_pte_binary(manager.buffer).program
    assert read.execution_plan == emitted.execution_plan and read.version == emitted.version


def test_every_core_aten_operator_has_a_portable_kernel() -> None:
    """ARC-13: every core operator has a portable kernel, except those on sizes and checks, which the core runs or the
    compiler removes."""
    kernels = {e.schema.qualified_name for e in load_functions(ROOT / "kernels/portable/functions.yaml")}
    without, core = set(), 0
    for name in core_operators():
        packet, _, overload = name.rpartition(".")
        operator = getattr(getattr(torch.ops.aten, packet), overload)
        if torch.Tag.core not in operator.tags:
            continue
        core += 1
        try:
            out = to_out_variant(operator)[0]._schema
        except NoOutVariantError:
            without.add(name)
        else:
            if f"{out.name}.{out.overload_name}" not in kernels:
                without.add(name)
    assert core > 150
    assert [name for name in without if not name.startswith(("sym_", "_assert_", "_local_scalar_dense"))] == []


def test_the_parts_of_the_core_are_where_the_page_says() -> None:
    """ARC-12: platform layer, logging and tracing, data types, registries, memory management: folders with headers."""
    table = dict(re.findall(r"^\| ([^|]+) \| `(\w+)` \|$", PAGE.read_text(encoding="utf-8"), re.MULTILINE))
    words = " ".join(table)
    for part in (
        "platform layer",
        "logging",
        "event tracers",
        "data types",
        "kernels",
        "backends",
        "memory management",
    ):
        assert part in words, part
    core = ROOT / "sdk" / "cpp" / "executorch" / "runtime"
    assert sorted(table.values()) == sorted(
        path.name for path in core.iterdir() if path.is_dir() and list(path.glob("*.h"))
    )


CHAIN = """
import sys, torch
from torch import nn
from sdk.exir import to_edge_transform_and_lower
from sdk.runtime import Runtime

model = nn.Sequential(nn.Linear(4, 4), nn.ReLU()).eval()
x = torch.ones(1, 4)
program = to_edge_transform_and_lower(torch.export.export(model, (x,))).to_executorch()
(y,) = Runtime.get().load_program(program.buffer).load_method("forward").execute([x])
torch.testing.assert_close(y, model(x))
print(*sorted({name.partition(".")[0] for name in sys.modules}))
"""


def test_no_other_format_on_the_way() -> None:
    """ARC-14: from a model to its result, nothing of ONNX or TensorFlow Lite is imported."""
    done = subprocess.run([sys.executable, "-c", CHAIN], capture_output=True, text=True, check=True)
    modules = set(done.stdout.split())
    assert "torch" in modules and "sdk" in modules
    assert not modules & {
        "onnx",
        "onnxruntime",
        "onnxscript",
        "tensorflow",
        "tflite_runtime",
        "ai_edge_litert",
        "coremltools",
    }


def test_nothing_uses_torchscript() -> None:
    """ARC-18: no call of torch.jit in the package, and the runtime links no library of PyTorch."""
    users = [
        str(path.relative_to(ROOT))
        for path in (ROOT / "python" / "sdk").rglob("*.py")
        if re.search(r"\btorch\.jit\b|from torch import jit\b", path.read_text(encoding="utf-8"))
    ]
    assert users == []
    from sdk.extension.pybindings import _portable_lib

    linked = subprocess.run(
        ["readelf", "-d", _portable_lib.__file__], capture_output=True, text=True, check=True
    ).stdout
    libraries = re.findall(r"Shared library: \[(.+?)\]", linked)
    assert libraries and not [name for name in libraries if "torch" in name or "c10" in name]
