# SPDX-License-Identifier: BSD-3-Clause
"""Prints a graph between passes."""

from __future__ import annotations

import logging
from pathlib import Path

from torch.fx import GraphModule, Node
from torch.fx.passes.infra.pass_base import PassBase, PassResult

_log = logging.getLogger(__name__)


class DebugPass(PassBase):
    """Logs every node of the graph at INFO level, and with `log_filename` also to that file. Changes nothing.

    `show_src` adds the source line a node comes from (`show_all_frames`: all of them; `show_full_path`: with
    directories; `path_filter`: only files whose path contains it), `show_spec` the tensor spec.
    """

    def __init__(
        self,
        msg: str = "",
        enable_debug_pass: bool = True,
        show_src: bool = False,
        show_full_path: bool = False,
        show_all_frames: bool = False,
        path_filter: str | None = None,
        show_spec: bool = False,
        log_filename: str | None = None,
    ) -> None:
        self.msg = msg
        self.enable_debug_pass = enable_debug_pass
        self.show_src = show_src
        self.show_full_path = show_full_path
        self.show_all_frames = show_all_frames
        self.path_filter = path_filter
        self.show_spec = show_spec
        self.log_filename = log_filename

    def call(self, graph_module: GraphModule) -> PassResult:
        if self.enable_debug_pass:
            if self.log_filename:
                handler = logging.FileHandler(self.log_filename)
                _log.addHandler(handler)
                try:
                    self.callWithLoggerEnabled(graph_module)
                finally:
                    _log.removeHandler(handler)
                    handler.close()
            else:
                self.callWithLoggerEnabled(graph_module)
        return PassResult(graph_module, False)

    def callWithLoggerEnabled(self, graph_module: GraphModule) -> None:  # noqa: N802 (public name)
        """Logs, whatever the level of the logger is."""
        level = _log.level
        _log.setLevel(logging.INFO)
        try:
            if self.msg:
                _log.info(self.msg)
            for node in graph_module.graph.nodes:
                _log.info(node.format_node() or f"{node.op} {node.name}")
                if self.show_spec:
                    _log.info("  spec: %s", node.meta.get("spec"))
                if self.show_src:
                    self.printFrames(node)
        finally:
            _log.setLevel(level)

    def printFrames(self, node: Node) -> None:  # noqa: N802 (public name)
        """Logs the source lines of a node."""
        lines = [
            line.strip()
            for line in (node.meta.get("stack_trace") or "").splitlines()
            if line.strip().startswith("File")
        ]
        if self.path_filter:
            lines = [line for line in lines if self.path_filter in line]
        for line in lines if self.show_all_frames else lines[-1:]:
            path = line.split('"')[1] if '"' in line else ""
            _log.info("  %s", line if self.show_full_path or not path else line.replace(path, Path(path).name))
