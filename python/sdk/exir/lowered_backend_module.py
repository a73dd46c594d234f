# SPDX-License-Identifier: BSD-3-Clause
"""`LoweredBackendModule`: a part of a program that a backend has compiled, with the program that it was made from."""

from __future__ import annotations

import copy
import operator
from typing import Any

import torch
from torch.export import ExportedProgram
from torch.export._tree_utils import reorder_kwargs
from torch.export.graph_signature import OutputKind
from torch.fx import Graph, GraphModule, Node
from torch.utils import _pytree as pytree

from sdk.exir._serialize._named_data_store import NamedDataStoreOutput
from sdk.exir._serialize._program import PTEFile, serialize_pte_binary
from sdk.exir._to_executorch import lower_to_executorch, plan_memory
from sdk.exir.backend.compile_spec_schema import CompileSpec
from sdk.exir.capture._config import ExecutorchBackendConfig
from sdk.exir.delegate import delegate_calls, executorch_call_delegate, is_lowered_module
from sdk.exir.emit import emit_program
from sdk.exir.graph.programs import assemble, copy_signature, make_graph_module
from sdk.exir.passes.memory_planning_pass import MemoryPlanningPass
from sdk.exir.schema import Program
from sdk.exir.submodules import (
    arrange_graph_outputs as arrange_graph_outputs,
)
from sdk.exir.submodules import (
    arrange_graph_placeholders as arrange_graph_placeholders,
)
from sdk.exir.submodules import (
    create_exported_program_from_submodule as create_exported_program_from_submodule,
)


class LoweredBackendModule(torch.nn.Module):
    """Calling it in Python runs the original module, so that a lowered program can be checked before it runs on a
    device."""

    def __init__(
        self,
        edge_program: ExportedProgram,
        backend_id: str,
        processed_bytes: bytes,
        compile_specs: list[CompileSpec],
        named_data_store_output: NamedDataStoreOutput | None = None,
    ) -> None:
        super().__init__()
        self._original_exported_program = edge_program
        self._backend_id = backend_id
        self._processed_bytes = processed_bytes
        self._compile_specs = compile_specs
        self._named_data_store_output = named_data_store_output
        self.meta: dict[str, Any] = {}

    def __deepcopy__(self, memo: dict[int, Any] | None) -> LoweredBackendModule:
        # The payload and the weights of the original never change, so a copy shares them.
        copied = LoweredBackendModule(
            self._original_exported_program,
            self._backend_id,
            self._processed_bytes,
            copy.deepcopy(self._compile_specs, memo),
            self._named_data_store_output,
        )
        copied.meta = dict(self.meta)
        return copied

    @property
    def backend_id(self) -> str:
        """Name of the backend."""
        return self._backend_id

    @property
    def processed_bytes(self) -> bytes:
        """The payload: the bytes that the backend's `preprocess` returned."""
        return self._processed_bytes

    @property
    def compile_specs(self) -> list[CompileSpec]:
        """Options that the backend was called with; stored in the program for its `init()`."""
        return self._compile_specs

    @property
    def memory_padding(self) -> int:
        """How many bytes past the end of an input or output the backend may read."""
        return int(self.meta.get("memory_padding", 0))

    @property
    def original_module(self) -> ExportedProgram:
        """The program that was lowered."""
        return self._original_exported_program

    @property
    def named_data_store_output(self) -> NamedDataStoreOutput | None:
        """Data that the backend stores in the file outside its payload."""
        return self._named_data_store_output

    def buffer(
        self,
        extract_delegate_segments: bool = False,
        segment_alignment: int = 128,
        constant_tensor_alignment: int | None = None,
        delegate_alignment: int | None = None,
        memory_planning: MemoryPlanningPass | None = None,
    ) -> bytes:
        """A `.pte` whose only method, "forward", calls this module."""
        pte = PTEFile(program=self.program(memory_planning=memory_planning), named_data=self._named_data_store_output)
        data = serialize_pte_binary(
            pte_file=pte,
            extract_delegate_segments=extract_delegate_segments,
            segment_alignment=segment_alignment,
            constant_tensor_alignment=constant_tensor_alignment,
            delegate_alignment=delegate_alignment,
        )
        return bytes(data)

    def program(self, emit_stacktrace: bool = False, memory_planning: MemoryPlanningPass | None = None) -> Program:
        """The emitted program of `buffer()`."""
        config = ExecutorchBackendConfig()
        if memory_planning is not None:
            config.memory_planning_pass = memory_planning
        programs = {"forward": lower_to_executorch(_wrap(self), config)}
        plan_memory(programs, config)
        return emit_program(programs, emit_stacktrace=emit_stacktrace).program

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """Takes the inputs and returns the outputs of the original module, nested lists and dicts included. Raises
        TypeError for inputs of another structure."""
        if torch.compiler.is_dynamo_compiling():
            # TorchDynamo (strict export) does not trace into torch.export's specs, and calls the original module with
            # the arguments that it sees here: nested, and positional ones alone. Results are a tensor or a tuple.
            return executorch_call_delegate(self, *args)
        spec = self.original_module.call_spec
        inputs, structure = pytree.tree_flatten((args, reorder_kwargs(kwargs, spec.in_spec)))
        if structure != spec.in_spec:
            raise TypeError(
                f"the module that was lowered for {self.backend_id} takes inputs of the structure {spec.in_spec}, "
                f"found {structure}"
            )
        results = executorch_call_delegate(self, *inputs)
        return pytree.tree_unflatten(pytree.tree_leaves(results), spec.out_spec)


def _wrap(lowered: LoweredBackendModule) -> ExportedProgram:
    """A program that takes the user inputs of a lowered module, calls it and returns its results."""
    original = lowered.original_module
    graph, root = Graph(), torch.nn.Module()
    root.add_module("lowered_module_0", lowered)
    signature = copy_signature(original.graph_signature)
    user_inputs = set(signature.user_inputs)
    signature.input_specs = [s for s in signature.input_specs if getattr(s.arg, "name", None) in user_inputs]
    arguments = []
    for node in original.graph.nodes:
        if node.op == "placeholder" and node.name in user_inputs:
            placeholder = graph.placeholder(node.name)
            placeholder.meta = dict(node.meta)
            arguments.append(placeholder)
    output = next(n for n in original.graph.nodes if n.op == "output")
    returned = list(zip(output.args[0], signature.output_specs, strict=True))
    returned = [(value, spec) for value, spec in returned if spec.kind == OutputKind.USER_OUTPUT]
    call = graph.call_function(executorch_call_delegate, (graph.get_attr("lowered_module_0"), *arguments))
    call.meta["val"] = tuple(value.meta["val"] for value, _ in returned)
    results = []
    for i, (value, spec) in enumerate(returned):
        item = graph.call_function(operator.getitem, (call, i))
        item.meta["val"] = value.meta["val"]
        spec.arg.name = item.name
        results.append(item)
    graph.output(tuple(results)).meta["val"] = call.meta["val"]
    signature.output_specs = [spec for _, spec in returned]
    return assemble(original, make_graph_module(root, graph), signature, state_dict={}, constants={})


def get_lowered_submodules(graph_module: GraphModule) -> list[tuple[str, LoweredBackendModule, Node]]:
    """Every delegate call of a graph: name and module, and the node that calls it."""
    return delegate_calls(graph_module)


def get_lowered_backend_modules(graph_module: GraphModule) -> list[LoweredBackendModule]:
    """The lowered modules of a graph and of its branches."""
    return [
        getattr(module, node.target)
        for module in graph_module.modules()
        if isinstance(module, GraphModule)
        for node in module.graph.nodes
        if node.op == "get_attr" and is_lowered_module(getattr(module, node.target, None))
    ]


def create_submodule_from_nodes(
    gm: GraphModule, node_list: list[Node], tag: str, skip_legalize_graph: bool = False
) -> tuple[GraphModule, Node]:
    """Moves nodes of a graph into a submodule. Returns the submodule and the `call_module` node that replaced them.

    `gm` is changed. Results of the submodule are a list of tensors, read through `getitem` nodes: of an operator that
    returns a list (`split`), its elements.
    """
    from torch.fx.passes.tools_common import legalize_graph
    from torch.fx.passes.utils.fuser_utils import erase_nodes, fuse_as_graphmodule, insert_subgm, topo_sort

    name = f"fused_{tag}"
    nodes = topo_sort(_with_elements(node_list))
    submodule, inputs, outputs = fuse_as_graphmodule(gm, nodes, name)
    gm = insert_subgm(gm, submodule, inputs, outputs)
    erase_nodes(gm, nodes)
    if not skip_legalize_graph:
        legalize_graph(gm)
    call = next(n for n in gm.graph.nodes if n.op == "call_module" and n.target == name)
    _return_list(gm, submodule, call)
    return submodule, call


def _with_elements(nodes: list[Node]) -> list[Node]:
    """`nodes` and, if one of their several results is a list, the `getitem` nodes that read it."""
    known = set(nodes)
    results = [node for node in nodes if any(user not in known for user in node.users)]
    if len(results) == 1:
        return nodes  # `_return_list` opens it, with the elements that nothing reads
    lists = [node for node in results if isinstance(node.meta.get("val"), list | tuple)]
    return nodes + [user for node in lists for user in node.users if user not in known]


def _return_list(gm: GraphModule, submodule: GraphModule, call: Node) -> None:
    output = submodule.graph.output_node()
    result = output.args[0]
    if not isinstance(result, Node):
        values = list(result)
    elif isinstance(val := result.meta.get("val"), list | tuple):
        with submodule.graph.inserting_before(output):
            values = [_item(result, i, result.meta | {"val": val[i]}) for i in range(len(val))]
    else:
        values = [result]
        with gm.graph.inserting_after(call):
            item = _item(call, 0, result.meta)
        call.replace_all_uses_with(item, delete_user_cb=lambda user: user is not item)
    output.args = (values,)
    submodule.recompile()
    call.meta["val"] = [value.meta.get("val") for value in values]


def _item(of: Node, position: int, meta: dict[str, Any]) -> Node:
    item = of.graph.call_function(operator.getitem, (of, position))
    item.meta = dict(meta)
    return item
