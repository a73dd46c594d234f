# SPDX-License-Identifier: BSD-3-Clause
"""Serialised programs that pass functions where none belong, cause much work by a short text, or hide Python in the
metadata of nodes."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from hostile_programs import (
    ARGUMENTS,
    KEYWORDS,
    Model,
    Program,
    changed,
    marker_code,
    model_artifact,
)
from torch._export.serde import schema
from torch._export.serde.serialize import SerializedArtifact

import forked
from sdk.exir.error import ExportError
from sdk.exir.serde._guards import check_guards
from sdk.exir.serde._schema import ProgramReader
from sdk.exir.serde._sizes import SizeError, Sizes
from sdk.exir.serde._targets import HIGHER_ORDER
from sdk.exir.serde.serialize import deserialize

GRAPH = {"as_graph": {"name": "g", "graph": {}}}
OPERATOR = {"as_operator": "torch.ops.aten.sin.default"}
FUNCTIONS_OF = {
    "cond": {1: GRAPH, 2: GRAPH},
    "while_loop": {0: GRAPH, 1: GRAPH},
    "while_loop_stack_output": {0: GRAPH, 1: GRAPH},
    **{name: {0: GRAPH} for name in ("map_impl", "scan", "associative_scan", "hints_wrapper", "strict_mode")},
    **{name: {0: GRAPH} for name in ("invoke_subgraph", "run_const_graph", "tag_activation_checkpoint")},
    "wrap_with_set_grad_enabled": {1: GRAPH},
    "wrap_with_autocast": {4: GRAPH},
    "flex_attention": {3: GRAPH},
    "auto_functionalized": {0: OPERATOR},
    "auto_functionalized_v2": {0: OPERATOR},
    "with_effects": {1: OPERATOR},
    "out_dtype": {0: OPERATOR},
    "executorch_call_delegate": {},
}
"""The functions of each operator, by position, as PyTorch declares the operators."""
OTHERS = (
    *({"as_none": True}, {"as_int": 1}, {"as_string": "torch.os.system"}, {"as_tensor": {"name": "x"}}),
    *({"as_custom_obj": {"name": "x", "class_fqn": "y"}}, {"as_operator": "torch.os.system"}),
    *({"as_operator": "_operator.methodcaller"}, {"as_operator": "_operator.add"}),
    {"as_operator": "torch.ops.higher_order.cond"},
    {"as_string_to_argument": {"f": OPERATOR}},
)


@pytest.fixture(scope="module")
def artifact() -> SerializedArtifact:
    return model_artifact()


def empty_graph() -> Program:
    lists = ("inputs", "outputs", "nodes")
    return {**{name: [] for name in lists}, **{f"{name}_values": {} for name in ("tensor", "sym_int", "sym_bool")}}


def node(target: str, arguments: dict[int, Any]) -> Program:
    given = [arguments.get(i, {"as_none": True}) for i in range(6)]
    for argument in given:
        if "as_graph" in argument:
            argument["as_graph"]["graph"] = empty_graph()
    return {"target": target, "inputs": [{"name": "", "arg": a} for a in given], "outputs": [], "metadata": {}}


def read_node(data: Program) -> None:
    ProgramReader().part(schema.Node, data)


def test_every_operator_that_takes_functions_is_tested() -> None:
    assert set(FUNCTIONS_OF) == HIGHER_ORDER


@pytest.mark.parametrize("name", sorted(FUNCTIONS_OF))
def test_functions_of_higher_order_operators(name: str) -> None:
    """Graphs of the file or registered operators, at the positions of functions and nowhere else."""
    target, wanted = f"torch.ops.higher_order.{name}", FUNCTIONS_OF[name]
    if hasattr(torch.ops.higher_order, name):
        read_node(node(target, wanted))
    for position in wanted:
        for other in OTHERS:
            with pytest.raises(ExportError, match=r"is not a (graph|operator)|not a registered operator|is not read"):
                read_node(node(target, {**wanted, position: other}))
    for position in sorted({0, 1, 2, 3, 4, 5} - wanted.keys()):
        for function in (GRAPH, OPERATOR, {"as_string_to_argument": {"f": GRAPH}}):
            with pytest.raises(ExportError, match=r"where it takes none"):
                read_node(node(target, {**wanted, position: function}))


def test_functions_by_name() -> None:
    given = node("torch.ops.higher_order.cond", {})
    given["inputs"] = [{"name": name, "arg": OPERATOR, "kind": 2} for name in ("pred", "true_fn", "false_fn")]
    with pytest.raises(ExportError, match="its argument 1 is not a graph"):
        read_node(given)


@pytest.mark.parametrize("function", [GRAPH, OPERATOR])
@pytest.mark.parametrize("target", ["torch.ops.aten.sin.default", "_operator.add", "#edge:aten.sin.default"])
def test_functions_of_other_operators(target: str, function: Program) -> None:
    with pytest.raises(ExportError, match="where it takes none"):
        read_node(node(target, {1: function}))


@pytest.mark.parametrize("place", ["inputs", "outputs"])
def test_functions_as_inputs_and_outputs(artifact: SerializedArtifact, place: str) -> None:
    def graph(program: Program) -> None:
        program["graph_module"]["graph"][place].append(OPERATOR)

    def signature(program: Program) -> None:
        program["graph_module"]["module_call_graph"][0]["signature"][place].append(OPERATOR)

    for change in (graph, signature):
        with pytest.raises(ExportError, match="an input or output of a graph is a graph or an operator"):
            deserialize(changed(artifact, change))


@pytest.mark.parametrize("where", ["stack_trace", "nn_module_stack", "torch_fn", "custom", "custom key", "from_node"])
def test_metadata_that_ends_a_text_of_the_source(
    artifact: SerializedArtifact, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, where: str
) -> None:
    """FX_GRAPH_SHOW_META=1 puts the metadata of nodes into the source of the graph, which runs when it is called."""
    monkeypatch.setenv("FX_GRAPH_SHOW_META", "1")
    marker = tmp_path / "ran"
    code = f'"""; {marker_code(marker)}; """'
    source = {"name": code, "target": code, "graph_id": 1, "pass_name": code, "action": "create", "from_node": []}
    metadata = {
        "stack_trace": code,
        "nn_module_stack": f"key,{code.replace(';', ' +')},type",
        "torch_fn": f"a;{code}",
        "custom": json.dumps({"key": [code]}),
        "custom key": json.dumps({code: 1}),
        "from_node": json.dumps([source]),
    }

    def change(program: Program) -> None:
        for each in program["graph_module"]["graph"]["nodes"]:
            each["metadata"].update({where.partition(" ")[0]: metadata[where]})

    read = deserialize(changed(artifact, change))
    shown = str([each.meta for each in read.graph.nodes])
    assert '"""' not in shown and ("'''" in shown or where == "from_node"), "the text is kept, with other quotes"
    result = read.module()(*ARGUMENTS, **KEYWORDS)
    torch.manual_seed(0)
    torch.testing.assert_close(result, Model().eval()(*ARGUMENTS, **KEYWORDS))
    assert not marker.exists()


LARGE = [
    *("2**s0", "s0**s0", "s0**s1", "Pow(2, s0)", "PowByNatural(2, s0)", "FloatPow(2, s0)", "LShift(1, s0)"),
    *("RShift(1, s0)", "RoundDecimal(1, -10000000000)", "RoundDecimal(1, s0)", "2**(2**s0)", "(-2)**s0"),
    *("(" * 30 + "s0" + "**64)" * 30, "PowByNatural(" * 30 + "s0" + ", 64)" * 30, "*".join(["(s0**60)"] * 60)),
    *("+".join(f"s{i}" for i in range(1000)), "*".join(f"s{i}" for i in range(1000))),
    *(f"{name}({','.join(f's{i}' for i in range(1000))})" for name in ("Max", "Min")),
    *(f"{name}({','.join(f's{i}<s{i + 1}' for i in range(1000))})" for name in ("And", "Or")),
    f"IsNonOverlappingAndDenseIndicator({','.join(f's{i}' for i in range(1000))})",
    "+".join(f"s{i}%{i + 2}" for i in range(1000)),
    f"({'+'.join(f'{6 * i}*s{i}' for i in range(1, 1000))})//6",
    "Mod({0}, {0})".format("*".join(f"(s{i}+s{i + 1})" for i in range(100))),
    "Eq((s0+s1+s2+s3)**64, (s4+s5)**64)",
]
"""Short texts of large numbers, or of work that grows faster than the text."""


@pytest.mark.parametrize("number", range(len(LARGE)))
def test_sizes_that_ask_for_much(number: int) -> None:
    with pytest.raises(SizeError):
        Sizes().read(LARGE[number])


@pytest.mark.parametrize(
    "text",
    [
        *("s0**2 + 2*s0 + 1", "(s0*s1*s2*s3*s4*s5)//(s0 + 1)", "+".join(f"s{i}" for i in range(100))),
        *("((((s0 - 1)//2 + 1) - 1)//2 + 1)*((((s1 - 1)//2 + 1) - 1)//2 + 1)", "LShift(s0, 3)", "2.0**0.5"),
        "Max(1, s0, s1, s0*s1)",
    ],
)
def test_sizes_of_models(text: str) -> None:
    assert Sizes().read(text).free_symbols or text == "2.0**0.5"


_IN_BOUNDS = """
import json, resource, sys, time, warnings
sys.path[:0] = json.loads(sys.argv[1])
warnings.simplefilter("ignore")
from hostile_programs import changed, model_artifact
from sdk.exir.error import ExportError
from sdk.exir.serde.serialize import deserialize
from test_hostile_functions import LARGE, sized

def peak_bytes():
    return int(open("/proc/self/status").read().partition("VmHWM:")[2].split()[0]) << 10

artifact = model_artifact()
deserialize(artifact)
before = peak_bytes()
taken = []
for text in LARGE:
    for hint in (2, 10**9, 2**63 - 1):
        start = time.process_time()
        try:
            deserialize(changed(artifact, lambda program: sized(program, text, hint)))
        except ExportError:
            pass
        else:
            sys.exit(f"{text} was read")
        taken.append((time.process_time() - start, text))
print(*max(taken), (peak_bytes() - before) >> 20, sep="|")
"""


def sized(program: Program, text: str, hint: int) -> None:
    """Gives each dynamic size of a program this text and hint, and its symbols large ranges."""
    for meta in program["graph_module"]["graph"]["tensor_values"].values():
        for size in meta["sizes"]:
            if "as_expr" in size:
                size["as_expr"] = {"expr_str": text, "hint": {"as_int": hint}}
    program["range_constraints"] = {f"s{i}": {"min_val": 0, "max_val": hint} for i in range(4)}


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="reads the peak of memory from /proc")
def test_files_that_ask_for_much_are_refused_at_once() -> None:
    folder = Path(__file__).parent
    paths = json.dumps([str(folder), str(folder.parent / "devtools"), str(folder.parents[1])])
    seconds, text, megabytes = forked.run("-c", _IN_BOUNDS, paths, check=True).stdout.split("|")
    assert float(seconds) < 1, text
    assert int(megabytes) < 256


@pytest.mark.parametrize("number", [1 << 64, -(1 << 63) - 1, 10**4000])
def test_numbers_beyond_those_of_a_tensor(artifact: SerializedArtifact, number: int) -> None:
    def hint(program: Program) -> None:
        sized(program, "s0", number)

    def bound(program: Program) -> None:
        program["range_constraints"] = {"s0": {"min_val": 0, "max_val": number}}

    changes: tuple[Callable[[Program], None], ...] = (hint, bound)
    for change in changes:
        with pytest.raises(ExportError, match=r"a number of more than 64 bits|is damaged"):
            deserialize(changed(artifact, change))


@pytest.mark.parametrize(
    "guard",
    [
        *("round(1, -10000000000) > 0", "round(L['n'], L['n']) > 0", f"{1 << 65} > L['n']", "'a' * 5 == L['n']"),
        *("L['n'] == 5 * 'a'", "int('9') > 1", "b'a' == L['n']", "1j == L['n']", "... == L['n']", "2 ** L['n'] > 1"),
        "1 << L['n'] > 1",
    ],
)
def test_conditions_that_ask_for_much(guard: str) -> None:
    with pytest.raises(ExportError, match="not a comparison of sizes and inputs"):
        check_guards([guard])


def test_conditions_on_texts() -> None:
    kept = ["L['mode'] == 'fast'", "L['x'].size()[0] * 2 <= 8", "round(L['x'].size()[0]) == 4", "L['mode'] != L['m']"]
    assert check_guards(kept, of_texts=True) == kept
    for repeats in (
        "L['mode'] * 99 == 1",
        "L['a'][0] % 5 == 1",
        "(L['m'] if 1 else 2) * 5 == 1",
        "max(L['m']) * 2 < 1",
    ):
        check_guards([repeats])
        with pytest.raises(ExportError, match="it computes with an input that may be a text"):
            check_guards([repeats], of_texts=True)
