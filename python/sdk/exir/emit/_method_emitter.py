# SPDX-License-Identifier: BSD-3-Clause
"""Emission of one method: its values and the instructions that compute them."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import torch
from torch.export import ExportedProgram
from torch.fx import GraphModule, Node
from torch.utils import _pytree as pytree

from sdk.exir import memory
from sdk.exir.delegate import executorch_call_delegate
from sdk.exir.emit._control_flow import ControlFlowEmitter
from sdk.exir.emit._delegates import Delegates, debug_handles_of, debug_ids_of
from sdk.exir.emit._dynamic_sizes import dynamic_sizes
from sdk.exir.emit._instructions import Instructions
from sdk.exir.emit._nodes import arguments_of, node_error, scalar_input, scalar_result, set_name
from sdk.exir.emit._program_data import ProgramData
from sdk.exir.emit._values import Ref, Values
from sdk.exir.error import ExportError, ExportErrorType, InternalError
from sdk.exir.graph.trees import encode_tree
from sdk.exir.memory_planning._in_place import is_written_already, same_tensor
from sdk.exir.memory_planning._lifetimes import control_flow_branches
from sdk.exir.memory_planning._parts import are_parts
from sdk.exir.operator.prim_ops import PYTHON_SYM_OPS
from sdk.exir.schema import (
    Chain,
    ContainerMetadata,
    DelegateCall,
    DeviceType,
    ExecutionPlan,
    ExtraTensorInfo,
    FreeCall,
    KernelCall,
    Null,
    Tensor,
    TensorDataLocation,
    TensorList,
    TensorShapeDynamism,
)
from sdk.exir.tensor import TensorSpec, make_allocation_info, make_tensor_value

# The value of a node, or a list of values for a node that returns a list.
Result = Any


class MethodEmitter:
    """Emits one exported program. The maps for tools are complete after `emit`."""

    def __init__(
        self, name: str, program: ExportedProgram, data: ProgramData, emit_stacktrace: bool, emit_buffer_names: bool
    ) -> None:
        self.name = name
        self.program = program
        self.data = data
        self.emit_buffer_names = emit_buffer_names
        self.delegate_debug_ids: dict[int, dict[str, Any]] = {}

        self.values = Values()
        self.code = Instructions(emit_stacktrace)
        self._delegates = Delegates(self.data)
        self._spec_values: dict[TensorSpec, Ref] = {}
        self._inputs: list[Ref] = []
        self._input_tensors: list[tuple[TensorSpec | None, Any]] = []

        signature = program.graph_signature
        self._weights = {
            **signature.inputs_to_parameters,
            **signature.inputs_to_buffers,
            **signature.inputs_to_lifted_tensor_constants,
        }
        # A tensor whose memory the caller can replace is a separate value.
        self._visible = {
            spec
            for node in (program.graph.output_node(), *program.graph.find_nodes(op="placeholder"))
            for arg in ([node] if node.op == "placeholder" else node.all_input_nodes)
            for spec in pytree.tree_leaves(arg.meta.get("spec"))
            if isinstance(spec, TensorSpec)
        }

    @property
    def debug_handles(self) -> dict[int, int | list[int]]:
        """Instruction index -> debug handle of its node, or of all nodes in a delegate."""
        return self.code.debug_handles

    @property
    def num_outs(self) -> dict[int, int]:
        """Instruction index -> number of values that it returns, for delegate calls and for kernels without a debug
        handle."""
        return self.code.num_outs

    def emit(self) -> ExecutionPlan:
        graph_module = self.program.graph_module
        sizes = graph_module.meta.get("non_const_buffer_sizes")
        if sizes is None:
            raise ExportError(
                ExportErrorType.MISSING_PROPERTY,
                f"method {self.name!r} has no memory plan; run MemoryPlanningPass first",
            )
        outputs = self.emit_graph(graph_module, None)
        call_spec = self.program.call_spec
        return ExecutionPlan(
            name=self.name,
            container_meta_type=ContainerMetadata(
                encoded_inp_str=encode_tree(call_spec.in_spec), encoded_out_str=encode_tree(call_spec.out_spec)
            ),
            values=self.values.items,
            inputs=[int(ref) for ref in self._inputs],
            outputs=[int(ref) for ref in outputs],
            chains=[Chain(inputs=[], outputs=[], instructions=self.code.items, stacktrace=self.code.frames)],
            operators=self.code.operators,
            delegates=self._delegates.items,
            non_const_buffer_sizes=list(sizes),
            non_const_buffer_device=graph_module.meta.get("non_const_buffer_device"),
            dynamic_sizes=dynamic_sizes(self._input_tensors, self.program.range_constraints),
            shared_buffer=self._shared_buffer(),
        )

    def _shared_buffer(self) -> int:
        """The memory id of the arena with the state that all methods share; 0 without such state."""
        arena: int = self.program.graph_module.meta.get("shared_buffer_arena", 0)
        return arena if arena and self.program.graph_module.meta["non_const_buffer_sizes"][arena] else 0

    def is_supplied_by_user(self, ref: Ref) -> bool:
        """Whether a value is a tensor without memory, for which the application supplies a buffer."""
        value = self.values.items[ref].val
        return (
            isinstance(value, Tensor)
            and value.allocation_info is None
            and value.shape_dynamism != TensorShapeDynamism.DYNAMIC_UNBOUND
        )

    # Graphs

    def emit_graph(self, graph_module: GraphModule, operands: Sequence[Ref] | None) -> list[Ref]:
        """Emits the nodes of a graph and returns its outputs. `operands` are the inputs of a branch."""
        env: dict[Node, Result] = {}
        branch_inputs = iter(operands) if operands is not None else None
        for node in graph_module.graph.nodes:
            if node.op == "placeholder":
                if branch_inputs is None:
                    env[node] = self._placeholder(node)
                else:
                    env[node] = next(branch_inputs, None)
            elif node.op == "get_attr":
                env[node] = self._attribute(graph_module, node)
            elif node.op == "call_function":
                env[node] = self._call(graph_module, node, env)
            elif node.op == "output":
                return [self._output(node, value, env) for value in pytree.tree_leaves(node.args[0], is_leaf=_is_leaf)]
            else:
                raise node_error(node, f"{node.op} nodes have no form in a program; export the model with torch.export")
        raise ExportError(ExportErrorType.VIOLATION_OF_SPEC, f"a graph of method {self.name!r} has no output node")

    def _output(self, node: Node, value: Any, env: dict[Node, Result]) -> Ref:
        if not isinstance(value, Node):
            return self.values.literal(value)
        result = env[value]
        if not isinstance(result, Ref):
            raise node_error(
                node, f"returns {value.name}, which is not a single value", ExportErrorType.INVALID_OUTPUT_TYPE
            )
        return result

    def _placeholder(self, node: Node) -> Ref | None:
        target = self._weights.get(node.name)
        if target is not None:
            return self._weight(node, target) if node.users else None
        spec, value = node.meta.get("spec"), node.meta.get("val")
        if isinstance(spec, TensorSpec):
            ref = self._spec_values[spec] = self.values.add(self._tensor(node, spec))
        elif isinstance(value, (torch.SymBool, torch.SymInt, torch.SymFloat)):
            # The runtime changes a number that instructions use, and refuses to change one that nothing uses.
            ref = self.values.add(scalar_input(node, value) if node.users else Null())
        elif value is None or isinstance(value, (bool, int, float, str)):
            ref = self.values.add(self.values.constant(value))
        else:
            raise node_error(
                node,
                f"an input of type {type(value).__name__} has no form in a program",
                ExportErrorType.INVALID_INPUT_TYPE,
            )
        self._inputs.append(ref)
        self._input_tensors.append((spec if isinstance(spec, TensorSpec) else None, value))
        return ref

    def _weight(self, node: Node, target: str) -> Ref:
        """A parameter, buffer or constant: data of the program or of another file, or an initial value."""
        tensor = self.program.state_dict.get(target)
        if tensor is None:
            tensor = self.program.constants.get(target)
        spec = node.meta.get("spec")
        if not isinstance(tensor, torch.Tensor) or not isinstance(spec, TensorSpec):
            raise node_error(node, f"{target!r} is a {type(tensor).__name__}; only tensors can be weights of a program")
        planned = spec.mem_id is not None and spec.mem_offset is not None
        tag = node.meta.get("constant_tag")
        value = self._tensor(node, spec)
        if tag is not None:
            value.data_buffer_idx = self.data.add_external(tensor, spec.dim_order, tag, target)
            value.extra_tensor_info = replace(
                value.extra_tensor_info or ExtraTensorInfo(),
                fully_qualified_name=target,
                location=TensorDataLocation.EXTERNAL,
            )
        elif planned:
            value.data_buffer_idx = self.data.add_state(tensor, spec.dim_order, target)
            # A name without data tells the runtime to start with zeros. It is left out in an arena that methods share,
            # because loading a second method would reset the state of the first.
            shared = spec.mem_id == self.program.graph_module.meta.get("shared_buffer_arena")
            if self.emit_buffer_names or (value.data_buffer_idx == 0 and not shared):
                set_name(value, target)
        elif spec.const:
            value.data_buffer_idx = self.data.add_constant(tensor, spec.dim_order, target)
        elif self.emit_buffer_names:
            set_name(value, target)
        else:
            raise InternalError(
                f"the program writes to the buffer {target!r}, which has neither memory (alloc_mutable_buffers=False) "
                "nor a name by which an application could give it some. Plan it, or set emit_mutable_buffer_names=True"
            )
        ref = self._spec_values[spec] = self.values.add(value)
        return ref

    def _attribute(self, graph_module: GraphModule, node: Node) -> Ref | None:
        value = operator.attrgetter(str(node.target))(graph_module)
        if not isinstance(value, torch.Tensor):
            return None  # The graph of a branch, or a lowered module; it is emitted with the node that uses it.
        spec = TensorSpec.from_tensor(value, const=True)
        index = self.data.add_constant(value, spec.dim_order, str(node.target))
        return self.values.share(make_tensor_value(index, None, spec))

    # Values

    def _tensor(self, node: Node, spec: TensorSpec) -> Tensor:
        if not all(isinstance(size, int) for size in spec.shape):
            raise node_error(
                node,
                f"its sizes {spec.shape} are symbolic; run a shape evaluation pass",
                ExportErrorType.MISSING_PROPERTY,
            )
        place = None
        if spec.mem_id is not None and spec.mem_offset is not None and not spec.const:
            place = make_allocation_info(spec.mem_id, spec.mem_offset)
        value = make_tensor_value(0, place, spec)
        if spec.device != DeviceType.CPU:
            info = value.extra_tensor_info or ExtraTensorInfo()
            value.extra_tensor_info = replace(info, device_type=spec.device, device_index=spec.device_index)
        return value

    def results(self, node: Node, spec: Any, shared: bool = True) -> Result:
        """Values for the results of a node, in the structure of its spec."""
        if isinstance(spec, (list, tuple)):
            return [self.results(node, item, shared) for item in spec]
        if not isinstance(spec, TensorSpec):
            return self.values.add(scalar_result(node, spec))
        known = self._spec_values.get(same_tensor(spec))
        if known is not None:
            return known
        value = self._tensor(node, spec)
        # Static tensors with the same memory and layout share a value, because the plan never uses two at one offset
        # simultaneously.
        replaceable = spec in self._visible or value.extra_tensor_info is not None or not value.allocation_info
        shared = shared and spec.is_static_shape_tensor and not replaceable
        ref = self._spec_values[spec] = self.values.share(value) if shared else self.values.add(value)
        return ref

    def argument(self, value: Any, env: dict[Node, Result], kind: torch._C.JitType | None = None) -> Ref:
        resolved = pytree.tree_map(lambda v: env[v] if isinstance(v, Node) else v, value, is_leaf=_is_leaf)
        if isinstance(kind, torch._C.ListType) and not isinstance(resolved, (list, tuple, type(None))):
            # Schemas like `int[2]` accept one number for all items.
            resolved = [resolved]
        return self.values.literal(resolved, kind)

    # Calls

    def _call(self, graph_module: GraphModule, node: Node, env: dict[Node, Result]) -> Result:
        target = node.target
        if target is operator.getitem:
            return env[node.args[0]][node.args[1]]
        if target is memory.alloc:
            return self.results(node, node.meta.get("spec"))
        if target is memory.view:
            return self._view(node, env)
        if target is memory.free:
            return self._free(node)
        if target is executorch_call_delegate:
            return self._delegate_call(graph_module, node, env)
        if target is torch.ops.aten.copy_.default and is_written_already(node):
            return env[node.args[0]]
        if are_parts(node):
            return self.results(node, node.meta["spec"])
        if control_flow_branches(graph_module, node):
            return ControlFlowEmitter(self, graph_module, node, env).emit()
        if not isinstance(target, torch._ops.OpOverload):
            if target not in PYTHON_SYM_OPS:
                raise node_error(node, "is not an operator; only operators of a library can be called by a program")
            target = PYTHON_SYM_OPS[target]
        return self._kernel_call(node, target, env)

    def _kernel_call(self, node: Node, target: torch._ops.OpOverload, env: dict[Node, Result]) -> Result:
        """The arguments in the order of the schema, out arguments included, and after them the operator's results."""
        schema = target._schema
        args: list[Ref] = []
        outs: list[Result] = []
        written: Ref | None = None
        for argument, value in arguments_of(node, schema):
            args.append(self.argument(value, env, argument.type))
            if argument.is_out:
                outs.append(env[value] if isinstance(value, Node) else value)
            elif written is None and argument.alias_info is not None and argument.alias_info.is_write:
                written = args[-1]
        if outs:
            result: Result = outs[0] if len(outs) == 1 else outs
            args.append(args[-1] if len(outs) == 1 else self.values.share(TensorList([int(out) for out in outs])))
        elif written is not None:
            result = written
            args.append(written)
        else:
            result = self._scalar_results(node, target)
            args += [result] if isinstance(result, Ref) else result
        self.code.append(
            node, KernelCall(self.code.operator(schema.name, schema.overload_name), [int(arg) for arg in args])
        )
        return result

    def _scalar_results(self, node: Node, target: torch._ops.OpOverload) -> Result:
        value = node.meta.get("val")
        if not target._schema.returns:
            return []
        if any(isinstance(leaf, torch.Tensor) for leaf in pytree.tree_leaves(value)):
            problem = "returns a tensor but has no out argument; register an out variant and run ToOutVarPass"
            raise node_error(node, problem)
        return (
            self.values.add(scalar_result(node, value))
            if not isinstance(value, (list, tuple))
            else [self.values.add(scalar_result(node, v)) for v in value]
        )

    def _view(self, node: Node, env: dict[Node, Result]) -> Ref:
        """A static view is another value at the same offset. Otherwise the runtime updates it from its base."""
        spec, base_ref = node.meta["spec"], env[node.args[0]]
        if spec in self._spec_values:
            return self._spec_values[spec]
        base = self.values.tensor(base_ref)
        own = self._tensor(node, spec)
        static = spec.is_static_shape_tensor and node.args[0].meta["spec"].is_static_shape_tensor
        info = base.extra_tensor_info
        external = info is not None and info.location == TensorDataLocation.EXTERNAL
        if static and not external and (base.allocation_info or base.data_buffer_idx):
            own.allocation_info = base.allocation_info
            own.data_buffer_idx = 0 if base.allocation_info else base.data_buffer_idx
            own.extra_tensor_info = info if info and info.device_type != DeviceType.CPU else None
            ref = self.values.share(own)
        else:
            ref = self.values.add(own)
            size = self.argument(node.args[1], env, torch._C.ListType(torch._C.IntType.get()))
            args = [int(base_ref), int(size), int(ref)]
            self.code.append(node, KernelCall(self.code.operator("executorch_prim::et_view", "default"), args))
        self._spec_values[spec] = ref
        return ref

    def _free(self, node: Node) -> None:
        ref = self._spec_values.get(node.args[0])
        if ref is None:
            raise node_error(node, "frees a tensor that no node has made", ExportErrorType.UNINITIALIZED)
        self.code.append(node, FreeCall(int(ref)))

    def _delegate_call(self, graph_module: GraphModule, node: Node, env: dict[Node, Result]) -> Result:
        lowered = operator.attrgetter(str(node.args[0].target))(graph_module)
        inputs = [self.argument(arg, env) for arg in pytree.tree_leaves(node.args[1:], is_leaf=_is_leaf)]
        result = self.results(node, node.meta["spec"])
        outputs = pytree.tree_leaves(result)
        call = DelegateCall(self._delegates.index_of(lowered), [int(ref) for ref in (*inputs, *outputs)])
        index = self.code.append(node, call)
        handles = debug_handles_of(lowered)
        if handles is not None:
            self.code.debug_handles[index] = handles
        self.code.num_outs[index] = len(outputs)
        self.delegate_debug_ids[index] = debug_ids_of(lowered)
        return result


def _is_leaf(value: Any) -> bool:
    return isinstance(value, Node) or value is None
