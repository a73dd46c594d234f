# SPDX-License-Identifier: BSD-3-Clause
"""Reads .pte files with Arm's adapter of Model Explorer. Usage: ``python show_with_adapter.py FILE...``. Prints a line
of JSON for each file: the labels of the nodes of each graph."""

from __future__ import annotations

import json
import sys

from pte_adapter_model_explorer.main import PTEAdapter


def main() -> None:
    for file in sys.argv[1:]:
        collections = PTEAdapter().convert(file, {})["graphCollections"]
        graphs = [graph for collection in collections for graph in collection.graphs]
        print(json.dumps({"file": file, "names": [node.label for graph in graphs for node in graph.nodes]}))


if __name__ == "__main__":
    main()
