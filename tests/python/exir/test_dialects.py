# SPDX-License-Identifier: BSD-3-Clause
"""Dialects and their rules: what each verifier accepts and rejects, and the dtypes of edge operators."""

from __future__ import annotations

import pytest
import torch
import yaml
from edge_cases import Function
from torch._export.verifier import SpecViolationError
from torch.export import export
from torch.fx import GraphModule
from torch.fx.passes.infra.pass_base import PassResult

from sdk.exir import EdgeCompileConfig, to_edge
from sdk.exir.dialects._ops import ops as exir_ops
from sdk.exir.dialects.edge import _ops as edge_ops
from sdk.exir.dialects.edge._dtype_constraint import TABLE, edge_dialect_info
from sdk.exir.dialects.edge.op.api import to_variant
from sdk.exir.dialects.edge.spec import gen
from sdk.exir.error import ExportError
from sdk.exir.pass_base import ExportPass
from sdk.exir.passes import ScalarToTensorPass
from sdk.exir.program._program import _transform
from sdk.exir.verification.arg_validator import EdgeOpArgValidator
from sdk.exir.verification.verifier import EXIRATenDialectVerifier, EXIREdgeDialectVerifier
from sdk.extension.pybindings.portable_lib import _load_for_executorch_from_buffer

edge = exir_ops.edge.aten
UNCHECKED = EdgeCompileConfig(_check_ir_validity=False)


def lower(function, *args, config=None):
    return to_edge(export(Function(function), args), compile_config=config).exported_program()


def replace(program, old, new):
    """A pass that changes the targets of calls and nothing else."""

    def change(graph_module):
        for node in graph_module.graph.nodes:
            if node.target == old:
                node.target = new
        graph_module.recompile()
        return PassResult(graph_module, True)

    return change


# --- dtypes


def test_the_table_of_dtypes():
    """IR-11: the entry of sigmoid equals that of the document, plus the small floats that were added later."""
    entries = {entry["inherits"]: entry for entry in yaml.safe_load(TABLE.read_text())}
    assert entries["aten::sigmoid"] == {
        "func": "sigmoid",
        "namespace": "edge",
        "inherits": "aten::sigmoid",
        "type_alias": {
            "T0": ["Half", "BFloat16", "Float", "Double"],
            "T1": ["Bool", "Byte", "Char", "Short", "UInt16", "Int", "Long"],
            "T2": ["Float"],
        },
        "type_constraint": [{"self": "T0", "__ret_0": "T0"}, {"self": "T1", "__ret_0": "T2"}],
    }
    assert entries == edge_dialect_info(), "our reader of the table and a YAML library give the same entries"
    assert edge_ops._edge_dialect_info is edge_dialect_info()


def test_dtypes_of_an_argument():
    """IR-12, IR-13: the dtypes are those of the document, plus the small floats that were added later."""
    sigmoid = exir_ops.edge.aten.sigmoid.default
    assert str(sigmoid._schema) == "aten::sigmoid(Tensor self) -> Tensor"
    self_arg, returned = sigmoid._schema.arguments[0], sigmoid._schema.returns[0]
    documented = {torch.float32, torch.int8, torch.float64, torch.int16, torch.int32, torch.int64, torch.uint8}
    assert self_arg.allowed_types == documented | {torch.bool, torch.uint16, torch.float16, torch.bfloat16}
    assert returned.allowed_types == {torch.float32, torch.float64, torch.float16, torch.bfloat16}
    assert exir_ops.edge.aten.sum.dim_IntList._schema.arguments[1].allowed_types is None


def test_every_core_operator_on_tensors_has_dtypes():
    """IR-15: operators without an entry take no tensors, return complex numbers, or belong to training."""
    missing = {
        name for name in gen.core_operators() if f"aten::{name}".removesuffix(".default") not in edge_dialect_info()
    }
    training = {name for name in missing if "backward" in name}
    creation = {"arange.start_step", "empty.memory_format", "empty_strided.default", "full.default", "rand.default"}
    creation |= {"randn.default", "randperm.default", "scalar_tensor.default"}
    numbers = {name for name in missing if name.startswith(("sym_", "_assert", "_local_scalar"))}
    complex_numbers = {
        "_fft_c2r.default",
        "_fft_r2c.default",
        "view_as_complex_copy.default",
        "view_as_real_copy.default",
    }
    assert missing == training | creation | numbers | complex_numbers | {"_embedding_bag.default"}
    assert len(edge_dialect_info()) >= 175


@pytest.mark.parametrize("mode", [None, "floor", "trunc"])
@pytest.mark.parametrize("other", [torch.int64, torch.uint8, torch.float32])
def test_quotients_of_integers(mode, other):
    """Without rounding, quotients are floats, and the verifier accepts them."""
    inputs = (torch.tensor([7, -7, 2]), torch.tensor([2, 2, 3]).to(other))
    model = Function(lambda x, y: torch.div(x, y, rounding_mode=mode))
    program = to_edge(export(model, inputs)).to_executorch()
    (found,) = _load_for_executorch_from_buffer(program.buffer).forward(inputs)
    torch.testing.assert_close(found, model(*inputs))


@pytest.mark.parametrize(
    "name",
    [
        "sigmoid",
        "mm",
        "embedding",
        "max.dim",
        "where.self",
        "cat",
        "sum.dim_IntList",
        "convolution",
        "add.Scalar",
        "div.Tensor_mode",
    ],
)
def test_the_table_is_what_pytorch_does(name):
    """IR-11: entries are generated, and generating one again gives the same."""
    info = gen.gen_op_yaml(name)
    data = info.to_yaml()
    assert data == edge_dialect_info()[f"aten::{name}"]
    # Read back, the entry gives exactly the combinations that it was made from.
    packet, _, overload = name.partition(".")
    constraint = getattr(getattr(edge, packet), overload or "default")._schema.dtype_constraint
    dtypes = {v: k for k, v in gen.NAMES.items()}
    for combination in info.allowed_types:
        assert constraint.validate(dict(zip(info.tensor_variable_names, map(dtypes.get, combination), strict=True)))
    wrong = [c for c in info.allowed_types if (*c[:-1], "Bool") not in info.allowed_types]
    for combination in wrong:
        types = [*map(dtypes.get, combination[:-1]), torch.bool]
        assert not constraint.validate(dict(zip(info.tensor_variable_names, types, strict=True)))


def test_entries_of_the_table():
    assert gen.gen_op_yaml("randn.default") is None
    info = gen.EdgeOpYamlInfo(
        "add", ["a", "b", "__ret_0"], {("Int", "Int", "Int"), ("Int", "Long", "Long")}, "aten::add"
    )
    assert info.to_yaml()["type_constraint"] == [
        {"a": "T0", "b": "T1", "__ret_0": "T1"},
    ]
    (args, kwargs), *_ = gen.get_sample_input("mm", "default", torch.float64)
    assert [a.dtype for a in args] == [torch.float64] * 2 and torch.ops.aten.mm(*args, **kwargs).shape == (2, 2)


def test_a_dtype_that_an_operator_does_not_have():
    """DIA-04, IR-14: the error has the user's line, the accepted dtypes and what to do."""

    class Model(torch.nn.Module):
        def forward(self, x):
            return torch.sin(x)

    with pytest.raises(SpecViolationError) as error:
        to_edge(export(Model(), (torch.ones(2, dtype=torch.float8_e5m2),)))
    text = str(error.value)
    dtype = "torch.float8_e5m2"
    assert text.startswith(f"aten.sin.default(self: {dtype}) -> {dtype} is not a combination of dtypes")
    assert "`self` can be torch.bfloat16, torch.bool, torch.float16" in text
    assert "_core_aten_ops_exception_list=[torch.ops.aten.sin.default]" in text
    assert "aten_sin_default comes from: File" in text and text.endswith("in forward: return torch.sin(x)")
    allowed = EdgeCompileConfig(_core_aten_ops_exception_list=[torch.ops.aten.sin.default])
    lower(torch.sin, torch.ones(2, dtype=torch.float8_e5m2), config=allowed)
    lower(torch.sin, torch.ones(2, dtype=torch.float8_e5m2), config=UNCHECKED)


def test_all_dtypes_that_operators_do_not_have_are_one_error():
    """DIA-04: calls that are refused for their dtypes and operators that are refused as such, with their lines."""

    class Model(torch.nn.Module):
        def forward(self, x, y):
            a = torch.sin(x)
            return a, torch.cos(x), torch.linalg.eigvals(y), torch.sin(x)

    with pytest.raises(SpecViolationError, match=r"^3 kinds of calls cannot be lowered") as error:
        to_edge(export(Model(), (torch.ones(2, dtype=torch.float8_e5m2), torch.eye(2))))
    text = str(error.value)
    for name in ("aten.sin.default(self", "aten.cos.default(self", "aten.linalg_eig.default is not"):
        assert text.count(name) == 1
    assert "in forward: a = torch.sin(x)" in text and "aten_sin_default_1 comes from" in text


@pytest.mark.parametrize("dtype", [torch.complex64, torch.uint32])
def test_dtypes_that_only_kernels_have(dtype):
    lower(torch.sin, torch.ones(2, dtype=dtype))


def test_a_pass_that_breaks_dtypes():
    """DIA-04, IR-14: dtypes are checked again after the passes of a user."""

    class AddToBitwiseAnd(ExportPass):
        def call_operator(self, op, args, kwargs, meta):
            return super().call_operator(edge.add.Tensor if op is edge.logical_and.default else op, args, kwargs, meta)

    class SayInt(ExportPass):
        def call(self, graph_module):
            for node in graph_module.graph.nodes:
                if node.target is edge.relu.default:
                    node.meta["val"] = node.meta["val"].to(torch.int32)
            return PassResult(graph_module, True)

    args = (torch.ones(2, dtype=torch.bool), torch.zeros(2, dtype=torch.bool))
    to_edge(export(Function(torch.logical_and), args)).transform([AddToBitwiseAnd()])  # bool + bool is bool
    manager = to_edge(export(Function(torch.relu), (torch.ones(2),)))
    with pytest.raises(SpecViolationError, match="Each dtype is accepted, but not together"):
        manager.transform([SayInt()])


def test_validator_of_dtypes():
    """DIA-04, IR-14: `EdgeOpArgValidator` by itself."""
    program = lower(torch.relu, torch.ones(2, dtype=torch.complex64), config=UNCHECKED)
    validator = EdgeOpArgValidator(program.graph_module)
    validator.run(torch.ones(2, dtype=torch.complex64))
    ((op, (dtypes, node)),) = validator.violating_ops.items()
    assert op is edge.relu.default and node.target is op
    assert dtypes == {"self": torch.complex64, "__ret_0": torch.complex64}
    with pytest.raises(ExportError, match=r"aten\.relu\.default\(self: torch\.complex64\)"):
        validator.raise_if_violated()
    fine = EdgeOpArgValidator(lower(torch.relu, torch.ones(2)).graph_module)
    fine.check()
    assert not fine.violating_ops


def test_constraints_by_hand():
    """All uses of an alias in a call have one dtype, optional tensors may be absent, and unknown names are refused."""
    constraint = edge_ops.FunctionDtypeConstraint(
        ["x", "__ret_0"],
        ["bias"],
        {"T0": [torch.float32, torch.int8], "T1": [torch.int8]},
        [{"x": "T0", "bias": "T0", "__ret_0": "T0"}, {"x": "T1", "bias": "T1", "__ret_0": "T0"}],
    )
    assert constraint["bias"] == {torch.float32, torch.int8}
    f, i = torch.float32, torch.int8
    assert constraint.validate({"x": f, "bias": f, "__ret_0": f})
    assert constraint.validate({"x": f, "bias": None, "__ret_0": f}) and constraint.validate({"x": f, "__ret_0": f})
    assert constraint.validate({"x": i, "bias": i, "__ret_0": f})
    assert not constraint.validate({"x": f, "bias": i, "__ret_0": f})
    assert not constraint.validate({"x": f}) and not constraint.validate({"x": f, "__ret_0": f, "y": f})
    allowed = edge_ops.AllowedDtypeSet({f, i})
    assert f in allowed and allowed.reduce_to(f) and not allowed.reduce_to(i) and i not in allowed
    allowed.clear()
    assert i in allowed


# --- rules


def test_aten_dialect():
    """DIA-01, IR-03: an exported program is valid; writing in place is not."""
    program = export(Function(lambda x: torch.relu(x) + 1), (torch.ones(2),)).run_decompositions({})
    verifier = EXIRATenDialectVerifier()
    verifier.check(program)
    add = next(n for n in program.graph.nodes if n.target is torch.ops.aten.add.Tensor)
    add.target = torch.ops.aten.add_.Tensor
    with pytest.raises(SpecViolationError, match=r"add_\.Tensor.*functional"):
        verifier.check(program)


def test_aten_dialect_takes_only_operators():
    """IR-03: a Python function is not an operator."""
    program = export(Function(torch.relu), (torch.ones(2),))
    next(n for n in program.graph.nodes if n.op == "call_function").target = lower
    with pytest.raises(SpecViolationError, match="lower"):
        EXIRATenDialectVerifier().check(program)


def test_higher_order_operators_are_operators():
    """DIA-08, IR-03"""
    program = lower(lambda x: torch.cond(x.sum() > 0, torch.sin, torch.cos, (x,)), torch.ones(2))
    assert torch.ops.higher_order.cond in {n.target for n in program.graph.nodes}
    EXIREdgeDialectVerifier().check(program)


def test_call_module_is_not_allowed():
    """DIA-11"""
    program = lower(torch.relu, torch.ones(2))
    module, graph = program.graph_module, program.graph
    module.add_module("inner", torch.nn.ReLU())
    relu = next(n for n in graph.nodes if n.op == "call_function")
    with graph.inserting_before(relu):
        call = graph.call_module("inner", relu.args)
    call.meta["val"] = relu.meta["val"]
    relu.replace_all_uses_with(call)
    assert not EXIREdgeDialectVerifier().is_valid(module)
    with pytest.raises(SpecViolationError, match="call_module"):
        EXIREdgeDialectVerifier()(module)


def test_edge_dialect_has_edge_operators_and_tensors():
    """DIA-03, IR-07, IR-08: there are no ATen operators, and no numbers where a tensor belongs; a pass converts numbers
    to tensors."""
    manager = to_edge(export(Function(torch.add), (torch.ones(2), torch.ones(2))))
    program = manager.exported_program()
    with pytest.raises(SpecViolationError, match=r"add\.Tensor is not an edge operator.*exir_ops\.edge\.aten\.add"):
        manager.transform([replace(program, edge.add.Tensor, torch.ops.aten.add.Tensor)])

    class AddNumber(ExportPass):
        def call_operator(self, op, args, kwargs, meta):
            return super().call_operator(op, (args[0], 2.0), kwargs, meta)

    with pytest.raises(SpecViolationError, match=r"called with a number for `other`.*Run ScalarToTensorPass"):
        manager.transform([AddNumber()])
    fixed = manager.transform([AddNumber(), ScalarToTensorPass()]).exported_program()
    assert fixed.module()(torch.ones(2), torch.ones(2)).tolist() == [3.0, 3.0]


def test_scalars_of_the_model_become_tensors():
    """DIA-03, IR-08"""
    program = lower(lambda x: x + 2.5, torch.ones(2))
    (add,) = [n for n in program.graph.nodes if n.op == "call_function"]
    assert all(isinstance(a, torch.fx.Node) and isinstance(a.meta["val"], torch.Tensor) for a in add.args)


def test_transforming_an_exported_program_is_not_checked():
    """DIA-12: unlike a manager's transform, this one deliberately runs no verifier."""
    program = lower(torch.add, torch.ones(2), torch.ones(2))
    change = replace(program, edge.add.Tensor, torch.ops.aten.add.Tensor)
    changed = _transform(program, change, override_verifiers=[])
    assert torch.ops.aten.add.Tensor in {n.target for n in changed.graph.nodes}


def test_custom_operators_stay():
    """DIA-14, IR-03, IR-07"""
    library = torch.library.Library("sdk_test_dialects", "DEF")
    library.define("twice(Tensor x) -> Tensor")
    library.impl("twice", lambda x: x * 2, "CompositeExplicitAutograd")
    program = lower(lambda x: torch.ops.sdk_test_dialects.twice(x) + 1, torch.ones(2))
    assert exir_ops.edge.sdk_test_dialects.twice.default in {n.target for n in program.graph.nodes}


def test_an_operator_without_meta_kernel_cannot_be_exported():
    """IR-04"""
    library = torch.library.Library("sdk_test_no_meta", "DEF")
    library.define("twice(Tensor x) -> Tensor")
    library.impl("twice", lambda x: x * 2, "CPU")
    with pytest.raises(Exception, match=r"sdk_test_no_meta\.twice"):
        export(Function(lambda x: torch.ops.sdk_test_no_meta.twice(x)), (torch.ones(2),))


def test_dtypes_may_be_mixed_and_shapes_broadcast_in_aten_dialect():
    """IR-06"""
    args = (torch.ones(2, 1, dtype=torch.int32), torch.ones(3))
    program = export(Function(torch.add), args)
    assert [n.target for n in program.graph.nodes if n.op == "call_function"] == [torch.ops.aten.add.Tensor]
    edge_program = to_edge(program).exported_program()
    add = next(n for n in edge_program.graph.nodes if n.target is edge.add.Tensor)
    assert {a.meta["val"].dtype for a in add.args} == {torch.float32}, "edge dialect has one dtype"
    torch.testing.assert_close(edge_program.module()(*args), torch.add(*args))


def test_nested_inputs_and_outputs():
    """IR-05"""

    class Nested(torch.nn.Module):
        def forward(self, x):
            return {"sum": x["a"] + x["b"][0], "list": [x["a"], (x["b"][1],)]}

    tree = {"a": torch.ones(2), "b": [torch.ones(2), torch.zeros(3)]}
    program = to_edge(export(Nested(), (tree,))).exported_program()
    got, want = program.module()(tree), Nested()(tree)
    assert torch.utils._pytree.tree_structure(got) == torch.utils._pytree.tree_structure(want)


def test_three_dialects_of_one_model():
    """IR-01, DIA-05, DIA-13: the program of each stage is an object that can be kept and printed."""
    library = torch.library.Library("sdk_test_stages", "DEF")
    library.define("fast_relu(Tensor x) -> Tensor")
    library.define("fast_relu.out(Tensor x, *, Tensor(a!) out) -> Tensor(a!)")
    library.impl("fast_relu", torch.relu, "CompositeExplicitAutograd")
    aten = export(Function(torch.relu), (torch.ones(2),))
    manager = to_edge(aten)
    backend = manager.transform([replace(None, edge.relu.default, exir_ops.backend.sdk_test_stages.fast_relu.default)])
    texts = [str(p.graph) for p in (aten, manager.exported_program(), backend.exported_program())]
    assert "target=torch.ops.aten.relu.default" in texts[0]
    assert "executorch.exir.dialects.edge._ops.aten.relu.default" in texts[1]
    assert "executorch.exir.dialects.backend._ops.sdk_test_stages.fast_relu.default" in texts[2]
    assert "fast_relu.out" in str(backend.to_executorch().exported_program().graph)


def test_graphs_are_fx_graphs():
    """DIA-07"""
    program = lower(lambda x, y: torch.relu(x) + y, torch.ones(2), torch.ones(2))
    assert isinstance(program.graph_module, GraphModule) and isinstance(program.graph, torch.fx.Graph)
    program.graph.lint()
    seen: set[torch.fx.Node] = set()
    for node in program.graph.nodes:
        assert isinstance(node, torch.fx.Node) and set(node.all_input_nodes) <= seen, "in order, so there is no cycle"
        seen.add(node)


def test_variants_of_an_edge_operator():
    from torchgen.model import SchemaKind

    assert to_variant(torch.ops.aten.add_.Tensor, SchemaKind.functional) is torch.ops.aten.add.Tensor
    assert to_variant(torch.ops.aten.add.Tensor, SchemaKind.inplace) is torch.ops.aten.add_.Tensor
    assert to_variant(torch.ops.aten.add.Tensor, SchemaKind.out) is torch.ops.aten.add.out
