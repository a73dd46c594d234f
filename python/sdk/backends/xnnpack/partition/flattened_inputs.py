# SPDX-License-Identifier: BSD-3-Clause
"""Flattens the input of a layer before it is quantised dynamically.

PyTorch decomposes a linear layer whose input has three dimensions or more into a view, a matrix multiplication
and another view. The first view is then between the dequantize and the multiplication, so a backend would multiply
floats.
"""

from __future__ import annotations

from torch._subclasses import FakeTensorMode
from torch.export import ExportedProgram
from torch.fx import GraphModule, Node
from torch.utils import _pytree as pytree

from sdk.backends.graph.names import name_of
from sdk.backends.graph.quantized import DEQUANTIZE_AFFINE, dynamic_chain, dynamic_source
from sdk.exir.backend.utils import kept_graphs
from sdk.exir.graph.fake import fake_mode_of


def quantize_flattened(program: ExportedProgram) -> bool:
    """Moves each view that follows a dynamic quantisation before the quantisation, if the view keeps the rows of the
    tensor, so that the scales do not change. Returns whether the graph changed."""
    changed = False
    mode = fake_mode_of(program.graph_module)
    for module in kept_graphs(program.graph_module):
        for node in list(module.graph.nodes):
            # torchao's operators depend on the sizes of blocks, and the layers after them are not decomposed.
            if dynamic_source(node) is not None and name_of(node) != DEQUANTIZE_AFFINE:
                changed = _move_views(module, node, mode) or changed
    return changed


def _move_views(module: GraphModule, node: Node, mode: FakeTensorMode) -> bool:
    source, chain = dynamic_source(node), dynamic_chain(node)
    assert source is not None
    views = [user for user in node.users if _keeps_rows(user)]
    made: dict[tuple[object, ...], Node] = {}
    for view in views:
        sizes = tuple(view.args[1])
        if sizes not in made:
            with module.graph.inserting_before(view), mode:
                made[sizes] = _quantized_view(view, source, chain)
        view.replace_all_uses_with(made[sizes])
        module.graph.erase_node(view)
    if views:
        for part in reversed(chain):
            if not part.users:
                module.graph.erase_node(part)
        module.recompile()
    return bool(views)


def _quantized_view(view: Node, source: Node, chain: list[Node]) -> Node:
    """The last call of a copy of `chain` that quantises the view of `source`."""
    copies = {source: _copied(view, {chain[-1]: source})}
    for part in chain:
        copies[part] = _copied(part, copies)
    return copies[chain[-1]]


def _keeps_rows(node: Node) -> bool:
    if name_of(node) != "aten.view_copy.default":
        return False
    before, after = (n.meta["val"].shape[-1:] for n in (node.args[0], node))
    return before == after and all(isinstance(size, int) for size in (*before, *after))


def _copied(call: Node, copies: dict[Node, Node]) -> Node:
    """A copy of a call with other operands, and its fake result."""
    node = call.graph.node_copy(call, lambda operand: copies.get(operand, operand))
    args, kwargs = pytree.tree_map_only(Node, lambda argument: argument.meta["val"], (node.args, node.kwargs))
    node.meta["val"] = node.target(*args, **kwargs)
    return node
