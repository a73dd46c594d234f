# SPDX-License-Identifier: BSD-3-Clause
"""Serialised programs that try to run Python or to take memory: a check of their content refuses them before torch's
reader gets them."""

from __future__ import annotations

import io
import json
import math
import re
import sys
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import sympy
import torch
from hostile_programs import (
    ARGUMENTS,
    KEYWORDS,
    Model,
    Payload,
    changed,
    data_changes,
    graph_changes,
    marker_code,
    model_artifact,
    pickled,
)
from torch._export.serde.serialize import SerializedArtifact
from torch.export import export
from torch.utils._sympy.functions import FloorDiv

from sdk import exir
from sdk.exir.error import ExportError
from sdk.exir.graph.trees import decode_tree, encode_tree
from sdk.exir.serde._guards import check_guards
from sdk.exir.serde._sizes import SizeError, Sizes
from sdk.exir.serde._targets import registered
from sdk.exir.serde.serialize import deserialize
from sdk.export.saved_programs import load_programs

MODULE = "imported_by_a_hostile_program"
REFUSED = r"is not a serialised program, or is damaged|is not read|is not the name of|not a comparison of sizes"


@pytest.fixture(scope="module")
def artifact() -> SerializedArtifact:
    return model_artifact()


@pytest.fixture
def ran(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The file that hostile expressions make, and that the hostile module makes when it is imported."""
    marker = tmp_path / "ran"
    (tmp_path / f"{MODULE}.py").write_text(f"from pathlib import Path\nPath({str(marker)!r}).touch()\nAny = int\n")
    monkeypatch.syspath_prepend(tmp_path)
    yield marker
    assert not marker.exists() and MODULE not in sys.modules


def test_what_is_changed_here_is_a_whole_program(artifact: SerializedArtifact) -> None:
    for whole in (artifact, model_artifact(lowered=True)):
        read = deserialize(whole).module()(*ARGUMENTS, **KEYWORDS)
        torch.manual_seed(0)
        torch.testing.assert_close(read, Model().eval()(*ARGUMENTS, **KEYWORDS))


def test_sizes_ranges_and_nothing_as_the_original_writes_them(artifact: SerializedArtifact) -> None:
    """ExecuTorch 1.4 writes `2*s0` instead of `Mul(Integer(2), Symbol('s0', ...))`, which srepr gives, Infinity for a
    missing bound, and [] for None."""

    def change(value: Any) -> Any:
        if isinstance(value, dict):
            value = {key: change(item) for key, item in value.items()}
            if "expr_str" in value:
                value["expr_str"] = str(Sizes().read(value["expr_str"]))
            return {**value, "as_none": []} if "as_none" in value else value
        return [change(item) for item in value] if isinstance(value, list) else value

    program = change(json.loads(artifact.exported_program))
    ((name, bounds),) = program["range_constraints"].items()
    program["range_constraints"][name] = {**bounds, "max_val": math.inf}
    text = json.dumps(program)
    assert "Infinity" in text and f'"2*{name}"' in text
    read = deserialize(replace(artifact, exported_program=text.encode())).module()
    x = torch.ones(7, 3)
    torch.manual_seed(0)
    expected = Model().eval()(x, *ARGUMENTS[1:], **KEYWORDS)
    torch.testing.assert_close(read(x, *ARGUMENTS[1:], **KEYWORDS), expected)


@pytest.mark.parametrize(
    ("field", "newer", "expected"),
    [
        (
            "schema_version",
            {"major": 99, "minor": 0},
            r"schema_version\.major is 99, this SDK reads 5 \(ExecuTorch 1",
        ),
        (
            "opset_version",
            {"aten": 999},
            r"newer release: the field opset_version\.aten is 999, PyTorch ",
        ),
    ],
)
def test_a_newer_release_is_named_with_its_field(
    artifact: SerializedArtifact, field: str, newer: dict[str, int], expected: str
) -> None:
    with pytest.raises(ExportError, match=expected):
        deserialize(changed(artifact, lambda program: program.update({field: newer})))


@pytest.mark.parametrize("name", graph_changes("", ""))
def test_a_graph_with_python(artifact: SerializedArtifact, ran: Path, name: str) -> None:
    change = graph_changes(marker_code(ran), MODULE)[name]
    with pytest.raises(ExportError, match=REFUSED):
        deserialize(changed(artifact, change))


@pytest.mark.parametrize("name", data_changes(""))
def test_data_with_python(artifact: SerializedArtifact, ran: Path, name: str) -> None:
    with pytest.raises(ExportError, match=r"is damaged: (the data has a|its .* are|its example inputs have)"):
        deserialize(replace(artifact, **data_changes(marker_code(ran))[name]))


@pytest.mark.parametrize("name", ["a size", "the text of an input", "a function of os", "an enumeration in the inputs"])
def test_a_lowered_module_with_python(ran: Path, name: str) -> None:
    """A program within the text that is a delegate's argument."""
    change = graph_changes(marker_code(ran), MODULE)[name]

    def within(program: dict[str, Any]) -> None:
        node = next(n for n in program["graph_module"]["graph"]["nodes"] if n["target"].endswith("call_delegate"))
        lowered = json.loads(node["inputs"][0]["arg"]["as_string"])
        original = lowered["original_module"]
        if name == "a function of os":
            change(original)
        else:  # the inner program has no such part, so it is replaced by the outer one
            outer = json.loads(model_artifact().exported_program)
            change(outer)
            lowered["original_module"] = outer
        node["inputs"][0]["arg"]["as_string"] = json.dumps(lowered)

    with pytest.raises(ExportError, match=REFUSED):
        deserialize(changed(model_artifact(lowered=True), within))


class TestArchives:
    """Archives of torch.export.save, which `exir.load` and `python -m sdk.export` read."""

    @staticmethod
    def members() -> dict[str, bytes]:
        buffer = io.BytesIO()
        torch.export.save(export(Model().eval(), ARGUMENTS, KEYWORDS), buffer)
        with zipfile.ZipFile(buffer) as archive:
            return {name: archive.read(name) for name in archive.namelist()}

    @staticmethod
    def refused(members: dict[str, bytes], path: Path, message: str) -> None:
        with zipfile.ZipFile(path, "w") as archive:
            for name, content in members.items():
                archive.writestr(name, content)
        with pytest.raises(ExportError, match=message):
            exir.load(path)
        with pytest.raises(ValueError, match=message):
            load_programs(path)

    def test_conditions_on_inputs(self, tmp_path: Path, ran: Path) -> None:
        members = self.members()
        program = json.loads(members["archive/models/model.json"])
        program["guards_code"] = [marker_code(ran)]
        members["archive/models/model.json"] = json.dumps(program).encode()
        self.refused(members, tmp_path / "a.pt2", "which is not a comparison of sizes and inputs")

    @pytest.mark.parametrize("kind", ["weights", "constants"])
    def test_pickled_tensors(self, tmp_path: Path, ran: Path, kind: str) -> None:
        members = self.members()
        name = f"archive/data/{kind}/model_{kind}_config.json"
        member = {"weights": "weight_9", "constants": "tensor_9"}[kind]
        entry = {"path_name": member, "is_param": True, "use_pickle": True, "tensor_meta": None}
        members[name] = json.dumps({"config": {"linear.weight": entry}}).encode()
        members[f"archive/data/{kind}/{member}"] = pickled(Payload(marker_code(ran)))
        self.refused(members, tmp_path / "a.pt2", "expected tensors, numbers, texts and lists of them")

    @pytest.mark.parametrize("member", ["custom_obj_0", "opaque_obj_0"])
    def test_objects(self, tmp_path: Path, ran: Path, member: str) -> None:
        members = self.members()
        entry = {"path_name": member, "is_param": False, "use_pickle": True, "tensor_meta": None}
        members["archive/data/constants/model_constants_config.json"] = json.dumps({"config": {"o": entry}}).encode()
        members[f"archive/data/constants/{member}"] = pickled(Payload(marker_code(ran)))
        self.refused(members, tmp_path / "a.pt2", "'o', which is an object, not a tensor")

    def test_a_weight_beyond_its_data(self, tmp_path: Path) -> None:
        members = self.members()
        name = "archive/data/weights/model_weights_config.json"
        config = json.loads(members[name])
        config["config"]["linear.weight"]["tensor_meta"]["sizes"] = [{"as_int": 1 << 20}, {"as_int": 3}]
        members[name] = json.dumps(config).encode()
        self.refused(members, tmp_path / "a.pt2", "lies outside of its 9 elements")

    def test_a_graph(self, tmp_path: Path, ran: Path) -> None:
        members = self.members()
        program = json.loads(members["archive/models/model.json"])
        graph_changes(marker_code(ran), MODULE)["a function of os"](program)
        members["archive/models/model.json"] = json.dumps(program).encode()
        self.refused(members, tmp_path / "a.pt2", "calls 'torch.os.system'")

    def test_no_archive(self, tmp_path: Path) -> None:
        (tmp_path / "a.pt2").write_bytes(b"no archive")
        with pytest.raises(ExportError, match="the file is not an archive of a program"):
            exir.load(tmp_path / "a.pt2")


def test_the_conditions_that_torch_writes() -> None:
    kept = [
        "L['x'].size()[0] <= 8",
        "L['args'][0].size()[1] == 2*L['y'].size()[0]",
        "not (L['x'].stride()[0] != 1)",
        "3 <= L['n'] and L['n'] < math.inf",
        "L['x'].size()[0] // 2 % 4 == 0",
    ]
    assert check_guards(kept) == kept
    for refused in (
        "L.__class__",
        "L['x'].__class__()",
        "(lambda: 1)()",
        "[x for x in L]",
        "L['x'].size().real",
        "math.__loader__",
        "open('f')",
        "L['x'](1)",
        "max(1, key=abs)",
        '"text"',
        "1 if",
        "-" * 5000 + "1",
        "(" * 1000 + "1" + ")" * 1000,
    ):
        with pytest.raises(ExportError, match="not a comparison of sizes and inputs"):
            check_guards([refused])


S = sympy.Symbol("s0", integer=True)


@pytest.mark.parametrize(
    "text, expected",
    [
        ("Symbol('s0', integer=True)", S),
        ("s0", S),
        ("2*s0 + 1", 2 * S + 1),
        ("Add(Mul(Integer(2), Symbol('s0', integer=True)), Integer(-1))", 2 * S - 1),
        ("FloorDiv(Symbol('s0', integer=True), Integer(2))", FloorDiv(S, sympy.Integer(2))),
        ("Max(1, s0)", sympy.Max(1, S)),
        ("s0 // 2", S // 2),
        ("-s0**2 % 3", -(S**2) % 3),
        ("Pow(Symbol('s0', integer=True), Integer(-1))", 1 / S),
        ("Rational(1, 2)", sympy.Rational(1, 2)),
        ("Float('1.5', precision=53)", sympy.Float(1.5)),
        ("StrictLessThan(Symbol('s0', integer=True), Integer(5))", S < 5),
        ("And(s0 < 5, Ne(s0, 3))", sympy.And(S < 5, sympy.Ne(S, 3))),
        ("(s0 < 5) | (s0 > 7)", sympy.Or(S < 5, S > 7)),
        ("true", sympy.true),
    ],
)
def test_sizes(text: str, expected: Any) -> None:
    assert Sizes().read(text) == expected


@pytest.mark.parametrize("expression", [S + 1, FloorDiv(S + 3, sympy.Integer(4)), sympy.Max(S, 2) * 3, sympy.Eq(S, 4)])
def test_sizes_as_torch_writes_them(expression: Any) -> None:
    assert Sizes().read(sympy.printing.repr.srepr(expression)) == expression


@pytest.mark.parametrize(
    "text",
    [
        *("", "1 +", "s0 s1", "(s0", "s0.real", "s0[0]", "'s0'", "lambda: 1", "a if b else c", "__import__('os')"),
        *("Symbol('s0', cls=int)", "Symbol('s 0')", "Symbol(s0)", "Lambda(x, x)", "Function('f')", "eval('1')"),
        *("9**9**9", "Pow(9, Integer(1000000000))", "LShift(1, 1000000000)", "1" * 5000, "2" + "*2" * 2000),
        *("Float('1e999999999')", "Float('1', precision=100000000)", "floor(1e400)", "1/0", "Mod(5, 0)"),
        *("(" * 5000 + "1" + ")" * 5000, "-" * 60000 + "1", "s0 +" * 100000 + "1", "u99999999999", "\u00e9"),
        *("Pow(Pow(Pow(2, 64), 64), 64)", "(2*s0)**64**64", "Mul(true, s0)", "s0 < (s0 < 1)", "1 or 2", "s0;s1"),
    ],
)
def test_what_is_no_size(text: str) -> None:
    with pytest.raises(SizeError, match=r"is not|has a larger number"):
        Sizes().read(text)


def _tree(kind: str, context: Any) -> str:
    leaf = {"type": None, "context": None, "children_spec": []}
    return json.dumps([1, {"type": kind, "context": context, "children_spec": [leaf]}])


@pytest.mark.parametrize(
    "text",
    [
        json.dumps([2, {"type": None, "context": None, "children_spec": []}]),
        _tree("os.system", "null"),
        _tree("builtins.dict", json.dumps([{"__enum__": True, "fqn": "this:x", "name": "y"}])),
        _tree("builtins.dict", json.dumps([{"__enum__": True, "fqn": "os:system", "name": "y"}])),
        _tree(
            "collections.defaultdict",
            {"default_factory_module": "os", "default_factory_name": "abort", "dict_context": ["x"]},
        ),
        '[1, {"type": "builtins.list", "context": "null", "children_spec": [' * 500,
    ],
)
def test_trees_that_name_what_python_would_import(text: str) -> None:
    with pytest.raises(ValueError, match="is not the structure of"):
        decode_tree(text)
    assert "this" not in sys.modules


@pytest.mark.parametrize("text", ["[" * 3_000_000, "{}," * 1_000_000])
def test_json_that_needs_much_more_memory_than_its_text(artifact: SerializedArtifact, text: str) -> None:
    with pytest.raises(ExportError, match="more lists, objects and texts than"):
        deserialize(replace(artifact, exported_program=text.encode()))


def test_keys_of_any_text_are_kept_where_no_source_is_made_of_them() -> None:
    spec = torch.utils._pytree.tree_structure({"it's": 1, 'a "b"': [2]})
    assert decode_tree(encode_tree(spec)) == spec


def test_operators_that_take_the_name_of_a_file() -> None:
    with torch.library._scoped_library("hostile_files", "DEF") as library:
        library.define("write(Tensor x, str filename) -> Tensor")
        library.define("mode(Tensor x, str mode) -> Tensor")
        assert registered("hostile_files.mode.default")
        library.define("send(Tensor x, int[] ranks) -> Tensor")
        library.define("gather(Tensor x, str pg_name) -> Tensor")
        library.define("wait(Tensor x, int stream_index) -> Tensor")
        for name in ("write", "send", "gather", "wait"):
            with pytest.raises(ExportError, match=f"'hostile_files.{name}.default', which acts outside of the program"):
                registered(f"hostile_files.{name}.default")


def test_operators_of_namespaces_that_only_other_builds_of_pytorch_have() -> None:
    """PyTorch for CUDA has `cuda.set_stream` and others, which take objects of its own."""
    with torch.library._scoped_library("cuda", "FRAGMENT") as library:
        library.define("of_a_test(int x) -> int")
        with pytest.raises(ExportError, match=r"'cuda\.of_a_test\.default', which acts outside of the program"):
            registered("cuda.of_a_test.default")


def test_operators_of_pytorch_that_reach_other_processes_devices_or_attributes() -> None:
    """Collectives of each generation, streams, a `getattr` by a name of the file."""
    names = ("export.access_subclass_inner_tensor", "inductor._reinterpret_tensor", "streams.wait_event", "aten.save")
    for name in names:
        namespace, operator = name.split(".")
        assert hasattr(getattr(torch.ops, namespace), operator)
        with pytest.raises(ExportError, match="which acts outside of the program"):
            registered(f"{name}.default")
    for schema in torch._C._jit_get_all_schemas():
        if re.search("c10d|gather|reduce_scatter|all_to_all|_stream|_event|rpc", schema.name):
            name = f"{schema.name.replace('::', '.')}.{schema.overload_name or 'default'}"
            if name.split(".")[0] not in ("aten", "fsdp"):  # the arithmetic of indices and of lists
                with pytest.raises(ExportError):
                    registered(name)


def _first_node(program: dict[str, Any]) -> dict[str, Any]:
    return program["graph_module"]["graph"]["nodes"][0]


@pytest.mark.parametrize(
    "change, message",
    [
        (lambda p: p["graph_module"].pop("signature"), r"ExportedProgram.graph_module has no 'signature'"),
        (lambda p: _first_node(p)["metadata"].update(stack_trace=1), r"Node.metadata is int 1, expected str"),
        (lambda p: _first_node(p).update(outputs=[{"as_int": True}]), r"Argument.as_int is bool True, expected int"),
        (lambda p: _first_node(p).update(outputs=[{"as_type": 1}]), r"Node.outputs is 'as_type', expected Argument"),
        (lambda p: _first_node(p).update(outputs=[{}]), r"Node.outputs has 0 values, expected one"),
        (lambda p: _first_node(p).update(outputs=[{"as_scalar_type": 99}]), r"is 99, expected ScalarType"),
        (lambda p: p.update(range_constraints={"u4000000000": {"min_val": 0, "max_val": 1}}), r"has a larger number"),
        (
            lambda p: p.update(range_constraints={"u4_000_000_000": {"min_val": 0, "max_val": 1}}),
            r"has a larger number",
        ),
        (
            lambda p: p.update(range_constraints={"u 4000000000": {"min_val": 0, "max_val": 1}}),
            r"is not the name of a dyn",
        ),
        (lambda p: p.update(range_constraints={"s1": {"min_val": "1", "max_val": 1}}), r"min_val is str '1', expected"),
    ],
)
def test_the_check_names_what_is_wrong(
    artifact: SerializedArtifact, change: Callable[[dict[str, Any]], Any], message: str
) -> None:
    with pytest.raises(ExportError, match=message):
        deserialize(changed(artifact, change))
