# SPDX-License-Identifier: BSD-3-Clause
"""Lowers a model to Vulkan, from the root of the repository:

    python -m examples.vulkan.export --model_name=mv2 -o .
    python -m examples.vulkan.export --model_name=mv2 -o . -fp16

write mv2_vulkan.pte. `ic3` and other models of torchvision need torchvision; their weights are random.

For your own models, `python -m sdk.export --backend vulkan` does the same.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path

import torch
from examples.mobilenet_v2.model import example_inputs, mobilenet_v2
from examples.portable.scripts.export import MODELS as SMALL_MODELS
from torch import Tensor, nn

from sdk.backends.vulkan.partitioner.vulkan_partitioner import VulkanPartitioner
from sdk.devtools.backend_debug import get_delegation_info
from sdk.exir import to_edge_transform_and_lower
from sdk.extension.export_util.utils import save_pte_program

Made = tuple[nn.Module, tuple[Tensor, ...]]


def _of_torchvision(name: str, size: int) -> Callable[[], Made]:
    def make() -> Made:
        import torchvision.models

        options = {"init_weights": False} if name == "inception_v3" else {}
        return getattr(torchvision.models, name)(weights=None, **options), (torch.randn(1, 3, size, size),)

    return make


MODELS: dict[str, Callable[[], Made]] = {
    **SMALL_MODELS,
    "mv2": lambda: (mobilenet_v2(), example_inputs()),
    "ic3": _of_torchvision("inception_v3", 299),
    "resnet18": _of_torchvision("resnet18", 224),
}


def main(arguments: list[str] | None = None) -> None:
    """The command."""
    parser = argparse.ArgumentParser(prog="examples.vulkan.export", description="Lowers a model to Vulkan.")
    parser.add_argument("-m", "--model_name", required=True, choices=sorted(MODELS))
    parser.add_argument("-o", "--output_dir", default=".", type=Path)
    parser.add_argument("-fp16", "--force_fp16", action="store_true", help="compute in float16")
    parser.add_argument(
        "-s",
        "--small_texture_limits",
        action="store_true",
        help="use textures of at most 2048 texels in each dimension",
    )
    given = parser.parse_args(arguments)
    model, inputs = MODELS[given.model_name]()
    options = {"force_fp16": given.force_fp16, "small_texture_limits": given.small_texture_limits}
    lowered = to_edge_transform_and_lower(
        torch.export.export(model.eval(), inputs), partitioner=[VulkanPartitioner(options)]
    )
    print(get_delegation_info(lowered.exported_program().graph_module).get_summary())
    print(save_pte_program(lowered.to_executorch(), f"{given.model_name}_vulkan", str(given.output_dir)))


if __name__ == "__main__":
    main()
