# SPDX-License-Identifier: BSD-3-Clause
"""From a module to a program that the interpreter computes: compile specs, the partitioner, the payload and the calls
of Samsung's compiler."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch
from torch.export import export

from npu_models import Function, model_of, written

sys.path.insert(0, str(Path(__file__).resolve().parent))

import samsung_modules
from samsung_lowering import CHIP, REFERENCE, computed, lower
from samsung_operators import CASES, DOCUMENTED, IMAGE, ROWS

from sdk.backends.npu.compiler import CompilerNotInstalledError
from sdk.backends.registry import backends
from sdk.backends.samsung.compiler import COMPILER
from sdk.backends.samsung.enn_preprocess import EnnBackend
from sdk.backends.samsung.partition.enn_partitioner import EnnPartitioner
from sdk.backends.samsung.quantizer import Precision
from sdk.backends.samsung.serialization.compile_options import (
    ENN_COMPILE_OPTION_TITLE,
    EnnExecuTorchOptions,
    SamsungChipset,
    chipset_of,
    gen_samsung_backend_compile_spec,
    gen_samsung_backend_compile_spec_core,
)
from sdk.backends.samsung.serialization.enn_graph_schema import EnnGraph
from sdk.backends.samsung.utils.export_utils import to_edge_transform_and_lower_to_enn
from sdk.backends.samsung.utils.utils import get_compile_spec
from sdk.backends.samsung.verify import ReferenceProgram
from sdk.exir import to_edge_transform_and_lower
from sdk.exir.backend.compile_spec_schema import CompileSpec
from sdk.exir.backend.utils import get_delegates, get_non_lowered_nodes, get_refusals


def graph_of(manager: Any) -> torch.fx.Graph:
    found: torch.fx.Graph = manager.exported_program().graph_module.graph
    return found


def reasons(function: Any, *inputs: torch.Tensor) -> set[str]:
    graph = graph_of(lower(Function(function), inputs))
    return {reason for node in get_non_lowered_nodes(graph) for reason in get_refusals(node).values()}


def test_the_compile_spec_of_a_chip() -> None:
    """EXY-01, EXY-02: the compile spec has the bytes that flatc writes, for a name in upper or lower case."""
    spec = gen_samsung_backend_compile_spec("E9955")
    assert spec.key == ENN_COMPILE_OPTION_TITLE == "enn_compile_options"
    assert bytes(spec.value) == bytes.fromhex("10000000 4545544f 0000 0600 0800 0400 06000000 e3260000")
    assert bytes(gen_samsung_backend_compile_spec("e9965").value)[-4:] == (9965).to_bytes(4, "little")
    assert chipset_of(spec) is SamsungChipset.E9955
    none = gen_samsung_backend_compile_spec_core(EnnExecuTorchOptions())
    assert bytes(none.value) == bytes.fromhex("0c000000 4545544f 0400 0400 04000000")
    assert get_compile_spec([CompileSpec("a", b""), spec], ENN_COMPILE_OPTION_TITLE) is spec
    assert get_compile_spec([], ENN_COMPILE_OPTION_TITLE) is None


@pytest.mark.parametrize("name", ["E9945", "UNDEFINED_CHIP_V", "", "9955"])
def test_an_unknown_chip_is_refused(name: str) -> None:
    """EXY-05: the error lists the supported chips."""
    with pytest.raises(ValueError, match="expected one of E9955, E9965"):
        gen_samsung_backend_compile_spec(name)


def test_damaged_options_are_refused() -> None:
    good = bytes(CHIP.value)
    wrong = [good[:size] for size in range(len(good))]
    wrong += [good[:place] + b"\xff\xff" + good[place + 2 :] for place in (0, 4, 14, 16)]
    for data in wrong:
        with pytest.raises(ValueError, match="enn_compile_options of Samsung"):
            EnnPartitioner([CompileSpec(ENN_COMPILE_OPTION_TITLE, data)])
    with pytest.raises(ValueError, match="names the chip 0; expected 9955 or 9965"):
        EnnPartitioner([gen_samsung_backend_compile_spec_core(EnnExecuTorchOptions())])
    with pytest.raises(ValueError, match="lack enn_compile_options: add gen_samsung_backend_compile_spec"):
        EnnPartitioner([REFERENCE])


@pytest.mark.parametrize("name", ["convolutional", "vision"])
def test_a_model_is_one_partition(name: str, tmp_path: Path) -> None:
    """EXY-02: the whole model is one delegate, and gives eager's results."""
    model, inputs = model_of(name)
    manager = lower(model, inputs)
    assert len(list(get_delegates(graph_of(manager)))) == 1 and not get_non_lowered_nodes(graph_of(manager))
    torch.testing.assert_close(computed(manager, inputs, tmp_path), model(*inputs))


@pytest.fixture
def adaptors(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Modules with the names of those that need Samsung's SDK."""
    for name, module in samsung_modules.modules("sdk").items():
        monkeypatch.setitem(sys.modules, name, module)
    samsung_modules.Graph.all.clear()
    samsung_modules.Wrapper.options.clear()
    return samsung_modules


@pytest.mark.parametrize("name", CASES)
def test_an_operator(name: str, adaptors: Any, tmp_path: Path) -> None:
    """EXY-07: each row of the table is delegated and gives eager's results; the test also checks the calls that
    Samsung's compiler gets."""
    case = CASES[name]
    torch.manual_seed(0)
    model = case.model().eval()
    manager = to_edge_transform_and_lower(export(model, case.inputs), partitioner=[EnnPartitioner()])
    assert len(list(get_delegates(graph_of(manager)))) == 1 and not get_non_lowered_nodes(graph_of(manager))
    (graph,) = adaptors.Graph.all
    assert [call.type for call in graph.calls] == case.types
    found = graph.calls[-1].params
    assert {key: pytest.approx(value) if isinstance(value, float) else value for key, value in found.items()} == (
        case.params
    )
    assert [tuple(graph.tensors[index].shape) for index in graph.inputs] == [tuple(x.shape) for x in case.inputs]
    # This process knows the graph from which the bytes were compiled.
    torch.testing.assert_close(computed(manager, case.inputs, tmp_path), model(*case.inputs))


def test_the_table_is_complete() -> None:
    """EXY-07"""
    assert len(DOCUMENTED) == 40 and {name.partition(",")[0] for name in CASES} >= set(DOCUMENTED)


def test_refusals_are_in_words() -> None:
    """EXY-07: the refusal has a reason: a condition of the table, or a value that Samsung's graphs cannot represent."""
    functional = torch.nn.functional
    assert reasons(lambda a: torch.cumsum(a, 0), ROWS) == {"Samsung has no such operator"}
    assert reasons(lambda a: a + a, ROWS.double()) == {"a tensor is float64, which Samsung does not have"}
    assert reasons(lambda a: functional.avg_pool2d(a, 3, ceil_mode=True), IMAGE) == {
        "its output size is rounded up (ceil_mode)"
    }
    assert reasons(lambda a: functional.avg_pool2d(a, 2, divisor_override=3), IMAGE) == {
        "its divisor is 3, which is not the number of elements in its window"
    }
    pool = {"padding": 1, "divisor_override": 4}
    assert reasons(lambda a: functional.avg_pool2d(a, 2, count_include_pad=False, **pool), IMAGE) == {
        "its divisor counts the padding, and count_include_pad does not"
    }
    assert reasons(lambda a: functional.avg_pool2d(a, 2, **pool), IMAGE) == set()
    wider = torch.nn.ConvTranspose2d(IMAGE.shape[1], 3, 3, stride=2, padding=1, output_padding=1)
    assert reasons(wider, IMAGE) == {"it has an output padding"}
    assert reasons(lambda a: a[:1].expand(1, 3, 4), ROWS) >= {"it adds a dimension and expands another"}
    assert reasons(lambda a: torch.cat([a, torch.ones(1, 4), torch.zeros(1, 4)]), ROWS) >= {
        "it joins 2 constants; Samsung takes at most one"
    }
    assert reasons(lambda a: functional.pad(a, (1, 1), value=2.0), ROWS) == {"it pads with 2.0; Samsung pads with 0"}
    assert reasons(lambda a: functional.pad(a, (-1, 0)), ROWS) == {"it has a negative padding"}
    assert reasons(lambda a: a.expand(3, 2, 4), ROWS) == {"it adds a dimension that is not of size 1"}
    assert reasons(lambda a: a.expand(3, 5), torch.ones(1, 1)) == {
        "it expands 2 dimensions; Samsung expands at most one"
    }
    assert reasons(lambda a: torch.add(a, a, alpha=2), ROWS) == {"it multiplies its second operand by 2 (alpha)"}
    assert reasons(lambda a: functional.gelu(a, approximate="tanh"), ROWS) == {
        "Samsung has no GELU that is approximated by tanh"
    }
    assert reasons(lambda a: functional.layer_norm(a, (2, 4)), ROWS) == {"it normalises more than the last dimension"}
    assert reasons(lambda a, b: functional.conv2d(a, b), IMAGE, torch.ones(3, 2, 1, 1)) == {
        "its weight is not a constant"
    }
    assert reasons(lambda a: functional.max_pool2d(a, 2, return_indices=True), IMAGE) == {
        "more than its first result is read"
    }
    assert reasons(lambda a, b: torch.addmm(torch.ones(2), a, b), ROWS, torch.ones(4, 2)) >= {
        "its second matrix or its bias is not a constant"
    }


def test_two_exports_give_the_same_bytes(tmp_path: Path) -> None:
    first, second = (written(lower(*model_of("convolutional")), tmp_path).read_bytes() for _ in range(2))
    assert first == second


def test_without_the_compiler_it_says_what_to_install() -> None:
    """EXY-01: the error is one sentence that names the SDK and says how to export without it."""
    assert len(COMPILER.missing()) == 2
    with pytest.raises(CompilerNotInstalledError, match="Samsung's compiler is not installed") as error:
        to_edge_transform_and_lower(export(*model_of("convolutional")), partitioner=[EnnPartitioner()])
    said = str(error.value)
    assert "EXYNOS_AI_LITECORE_ROOT" in said and "EXECUTORCH_REFERENCE_PAYLOADS=1" in said


def test_the_compiler_gets_the_chip(adaptors: Any) -> None:
    """EXY-02: the compiler gets the compile spec of the chip, and the program contains the bytes that it returns."""
    model, inputs = model_of("convolutional")
    manager = to_edge_transform_and_lower_to_enn(
        model, inputs, compile_specs=[gen_samsung_backend_compile_spec("E9965")]
    )
    assert b"a network of a graph" in bytes(manager.to_executorch().buffer)
    assert adaptors.Wrapper.options == [bytes(gen_samsung_backend_compile_spec("E9965").value)]


def test_a_compiler_that_makes_nothing(adaptors: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(adaptors.Wrapper, "Compile", lambda self, graph: b"")
    with pytest.raises(RuntimeError, match="made no network for the chip E9955"):
        to_edge_transform_and_lower(export(*model_of("convolutional")), partitioner=[EnnPartitioner()])


def test_parameters_that_graphs_cannot_hold(adaptors: Any) -> None:
    with pytest.raises(TypeError, match=r"the parameter axis of op is \{\}"):
        EnnGraph().define_op("op", "CONCAT", [0], [1], {"axis": {}})


def test_a_constant_of_floats_is_quantised(adaptors: Any) -> None:
    graph = EnnGraph()
    given = {"quant_dtype": torch.int8, "scales": [0.5, 0.25], "zero_points": [0, 1], "axis": 0}
    graph.define_tensor("w", [2, 2], "FLOAT32", "CONSTANT", torch.tensor([[1.0, -0.5], [1.0, 99.0]]), given)
    (tensor,) = adaptors.Graph.all[0].tensors
    assert tensor.data.tolist() == [[2, -1], [5, 127]] and tensor.dtype == "INT8"
    assert tensor.quantization == ("AINT8", [0.5, 0.25], [0, 1])


def test_the_example_of_the_page(tmp_path: Path) -> None:
    """EXY-08: the page's code runs with another model; the file has the page's name."""
    model, inputs = model_of("convolutional")
    et_program = to_edge_transform_and_lower(
        export(model, inputs), partitioner=[EnnPartitioner([gen_samsung_backend_compile_spec("E9955"), REFERENCE])]
    ).to_executorch()
    with (tmp_path / "mv2_xnnpack.pte").open("wb") as file:
        et_program.write_to_file(file)
    (output,) = ReferenceProgram(tmp_path / "mv2_xnnpack.pte").run_method("forward", inputs)
    torch.testing.assert_close(output, model(*inputs))


def test_the_declaration_names_what_exists() -> None:
    declared = backends()["samsung"]
    assert declared.id == EnnBackend.__name__
    assert isinstance(declared.make("partitioner"), EnnPartitioner)
    provider = declared.make("recipes")
    known = {kind.value: kind for kind in provider.get_supported_recipes()}
    assert {declared.float_recipe, *(scheme.recipe for scheme in declared.quantization.values())} == set(known)
    recipe = provider.create_recipe(known["samsung_a8w8"], chipset="E9965")
    assert recipe.quantization_recipe.quantizers[0]._precision is Precision.A8W8
    with pytest.raises(ValueError, match="there is no chip 'E1' of Samsung"):
        provider.create_recipe(known["samsung_fp32"], chipset="E1")


def test_importing_needs_nothing_of_the_sdk() -> None:
    """DINT-06"""
    code = (
        "import sys; from sdk.backends.samsung.partition import enn_partitioner;"
        "from sdk.backends.samsung import quantizer;"
        "print([n for n in sys.modules if n.startswith('sdk.backends.samsung.python')])"
    )
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", code], check=True, capture_output=True, text=True)
    assert done.stdout.splitlines()[-1] == "[]"
