# SPDX-License-Identifier: BSD-3-Clause
"""Lowers ATen dialect to edge dialect: `_lower.lower_to_edge`.

    _lower      lowers a program: its graph, then its signature
    _graph      lowers a graph, node by node; `_writes` handles operators that write in place
    _emitter    adds operators to the edge graph
    _recorder   decomposes one operator into others
    _retrace    traces a program again that cannot be made functional node by node

The name has an underscore because `sdk.exir.to_edge` is the function that users call.
"""
