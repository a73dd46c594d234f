# SPDX-License-Identifier: BSD-3-Clause
"""Serialised programs that try to run Python when they are read, or when the program that was read is called."""

from __future__ import annotations

import io
import json
import pickle
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
from torch._export.serde.serialize import SerializedArtifact
from torch.export import Dim, export

from sdk.exir import to_edge
from sdk.exir.backend.test.op_partitioner_demo import AddMulPartitionerDemo
from sdk.exir.serde.serialize import serialize

Program = dict[str, Any]
Change = Callable[[Program], None]


class Model(torch.nn.Module):
    """A model with a weight, a dynamic size, a branch, a dict of inputs, a keyword argument and a constant string."""

    def __init__(self) -> None:
        super().__init__()
        self.linear = torch.nn.Linear(3, 3)
        self.register_buffer("offset", torch.ones(3))

    def forward(self, x: torch.Tensor, named: dict[str, torch.Tensor], mode: str, *, scale: torch.Tensor) -> Any:
        y = self.linear(x) * scale + self.offset
        z = torch.cond(named["key"].sum() > 0, lambda a: a.sin(), lambda a: a.cos(), (y,))
        return {"result": z.reshape(-1), "rows": torch.ones(x.shape[0] * 2)}


ARGUMENTS = (torch.ones(4, 3), {"key": torch.ones(2)}, "fast")
KEYWORDS = {"scale": torch.ones(3)}
SHAPES = {"x": {0: Dim("rows", min=2, max=8)}, "named": {"key": None}, "mode": None, "scale": None}


def model_artifact(*, lowered: bool = False) -> SerializedArtifact:
    torch.manual_seed(0)
    manager = to_edge(export(Model().eval(), ARGUMENTS, KEYWORDS, dynamic_shapes=SHAPES))
    if lowered:
        manager = manager.to_backend(AddMulPartitionerDemo())
    return serialize(manager.exported_program())


def changed(artifact: SerializedArtifact, change: Change) -> SerializedArtifact:
    program = json.loads(artifact.exported_program)
    change(program)
    return replace(artifact, exported_program=json.dumps(program).encode())


def saved(value: Any) -> bytes:
    buffer = io.BytesIO()
    torch.save(value, buffer)
    return buffer.getvalue()


class Payload:
    """Pickles as a call of `eval`."""

    def __init__(self, code: str) -> None:
        self._code = code

    def __reduce__(self) -> tuple[Any, ...]:
        return (eval, (self._code,))


def pickled(value: Any) -> bytes:
    """Pickles `value` in an archive like that of `torch.save`."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("archive/data.pkl", pickle.dumps(value, 2))
        archive.writestr("archive/version", "3\n")
        archive.writestr("archive/byteorder", "little")
    return buffer.getvalue()


def strings(value: Any, at: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The places of all texts in JSON, keys excluded."""
    if isinstance(value, str):
        yield at
    elif isinstance(value, (dict, list)):
        for key, item in value.items() if isinstance(value, dict) else enumerate(value):
            yield from strings(item, (*at, key))


def put(value: Any, at: tuple[Any, ...], new: Any) -> None:
    for key in at[:-1]:
        value = value[key]
    value[at[-1]] = new


def renamed(program: Program, old: str, new: str) -> None:
    """Gives a value of the graph another name, wherever it is used."""

    def rename(value: Any) -> Any:
        if isinstance(value, dict):
            return {new if key == old else key: rename(item) for key, item in value.items()}
        if isinstance(value, list):
            return [rename(item) for item in value]
        return new if value == old else value

    graph = program["graph_module"]
    graph["graph"], graph["signature"] = rename(graph["graph"]), rename(graph["signature"])


def _graph(program: Program) -> Program:
    return program["graph_module"]["graph"]


def _call(program: Program) -> Program:
    return program["graph_module"]["module_call_graph"][0]["signature"]


def _higher_order(program: Program) -> Program:
    return next(node for node in _graph(program)["nodes"] if "higher_order" in node["target"])


def _size(program: Program, text: str) -> None:
    for meta in _graph(program)["tensor_values"].values():
        for size in meta["sizes"]:
            if "as_expr" in size:
                size["as_expr"]["expr_str"] = text


def _input_text(program: Program, text: str) -> None:
    def replace_text(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: text if key == "as_string" else replace_text(item) for key, item in value.items()}
        return [replace_text(item) for item in value] if isinstance(value, list) else value

    _graph(program)["inputs"] = replace_text(_graph(program)["inputs"])
    signature = program["graph_module"]["signature"]
    signature["input_specs"] = replace_text(signature["input_specs"])


def _in_tree(program: Program, change: Callable[[Program, Program], None]) -> None:
    """Changes the structure of the dict input and of the keyword arguments."""
    version, root = json.loads(_call(program)["in_spec"])
    positional, keywords = root["children_spec"]
    change(positional["children_spec"][1], keywords)
    _call(program)["in_spec"] = json.dumps([version, root])


def _input_key(program: Program, key: Any) -> None:
    _in_tree(program, lambda named, _: named.update(context=json.dumps([key])))


def _keyword(program: Program, name: str) -> None:
    _in_tree(program, lambda _, keywords: keywords.update(context=json.dumps([name])))
    _call(program).pop("forward_arg_names", None)


def _factory(program: Program, module: str, name: str) -> None:
    context = {"default_factory_module": module, "default_factory_name": name, "dict_context": ["key"]}
    _in_tree(program, lambda named, _: named.update(type="collections.defaultdict", context=context))


def _first_target(program: Program, target: str) -> None:
    _graph(program)["nodes"][0]["target"] = target


def graph_changes(code: str, module: str) -> dict[str, Change]:
    """Returns changes of a program that would run the expression `code`, which has no quotes, or import `module`."""
    first = "aten_permute_copy_default"
    return {
        "a size": lambda p: _size(p, code),
        "a size within a function": lambda p: _size(p, f"Max(Integer(1), {code})"),
        "the name of a symbol": lambda p: _size(p, f"Symbol('s0\\' + str({code}) + \\'', integer=True)"),
        "the name of an input": lambda p: renamed(p, "x", f"x={code}"),
        "the name of a value": lambda p: renamed(p, first, f"{first}={code};y"),
        "the name of a node": lambda p: _graph(p)["nodes"][0].update(name=f"y={code};y"),
        "the name of a branch": lambda p: _higher_order(p)["inputs"][1]["arg"]["as_graph"].update(name=f"y={code};y"),
        "the name of an argument": lambda p: _higher_order(p)["inputs"][0].update(name=f"y={code}, z"),
        "the name of a parameter of forward": lambda p: _call(p).update(
            forward_arg_names=["x", "named", "mode", f"s={code}"]
        ),
        "the name of a keyword": lambda p: _keyword(p, f"scale={code}"),
        "the name of a weight": lambda p: renamed(p, "linear.weight", f'0");{code};("'),
        "the key of an input": lambda p: _input_key(p, f'"+str({code})+"'),
        "the text of an input": lambda p: _input_text(p, f"' or {code} or '"),
        "an enumeration in the inputs": lambda p: _input_key(p, {"__enum__": True, "fqn": f"{module}:A", "name": "a"}),
        "what fills a dict of the inputs": lambda p: _factory(p, module, "Any"),
        "a function of os": lambda p: _first_target(p, "torch.os.system"),
        "a method of torch.ops": lambda p: _first_target(p, "torch.ops.load_library"),
        "a function of builtins": lambda p: _first_target(p, "torch.functional.__builtins__.eval"),
        "a method caller": lambda p: _first_target(p, "_operator.methodcaller"),
        "an operator that maps a file": lambda p: _first_target(p, "torch.ops.aten.from_file.default"),
        "an operator that saves": lambda p: _first_target(p, "torch.ops.aten.save.default"),
        "an edge operator that maps a file": lambda p: _first_target(
            p, "executorch.exir.dialects.edge.ops.aten.from_file.default"
        ),
        "a higher order operator that formats": lambda p: _first_target(p, "torch.ops.higher_order.print"),
        "a function as an argument": lambda p: _graph(p)["nodes"][0]["inputs"][0].update(
            arg={"as_operator": "torch.os.system"}
        ),
        "a source in os": lambda p: _graph(p)["nodes"][0]["metadata"].update(source_fn_stack="f,torch.os.system"),
    }


def data_changes(code: str) -> dict[str, dict[str, bytes]]:
    """Weights, constants and inputs that would run the expression `code`, by the field of SerializedArtifact."""
    payload = pickled(Payload(code))
    hidden = saved(payload)  # bytes, which torch's deserialize_torch_artifact unpickles
    found = {}
    for field in ("state_dict", "constants", "example_inputs"):
        found[f"{field}: a pickle"] = {field: payload}
        found[f"{field}: a pickle within bytes"] = {field: hidden}
        found[f"{field}: an object among tensors"] = {field: pickled({"x": Payload(code)})}
    key = f'key"+str({code})+"'
    found["example_inputs: a key"] = {
        "example_inputs": saved(((torch.ones(4, 3), {key: torch.ones(2)}, "fast"), KEYWORDS))
    }
    return found


def marker_code(marker: Path) -> str:
    """An expression without quotes that makes a file."""
    text = "+".join(f"chr({ord(sign)})" for sign in str(marker))
    return f"__import__(chr(112)+chr(97)+chr(116)+chr(104)+chr(108)+chr(105)+chr(98)).Path({text}).touch()"
