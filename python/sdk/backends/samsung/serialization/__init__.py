# SPDX-License-Identifier: BSD-3-Clause
"""The options of the compiler (`compile_options`) and the graph that it gets (`enn_graph_schema`)."""
