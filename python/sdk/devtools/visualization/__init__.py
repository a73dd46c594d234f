# SPDX-License-Identifier: BSD-3-Clause
"""Shows programs as graphs in Model Explorer, which the extra `visualization` installs.

    pip install 'pte-sdk[visualization]'

`sdk inspect model.pte --html model.html` shows a program without Model Explorer (docs/page.md).
"""

from __future__ import annotations

from sdk.devtools.visualization.visualization_utils import (
    ModelExplorerServer,
    SingletonModelExplorerServer,
    visualize,
    visualize_graph,
    visualize_model_explorer,
    visualize_with_clusters,
)

__all__ = [
    "ModelExplorerServer",
    "SingletonModelExplorerServer",
    "visualize",
    "visualize_graph",
    "visualize_model_explorer",
    "visualize_with_clusters",
]
