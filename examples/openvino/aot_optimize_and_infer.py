# SPDX-License-Identifier: BSD-3-Clause
"""Exports a model of timm, torchvision or Hugging Face for OpenVINO, and validates and times it.

    python aot_optimize_and_infer.py --export --suite torchvision --model resnet50 \\
        --input_shape "(1, 3, 256, 256)" --device CPU

writes resnet50.pte. The suite's package must be installed (`pip install timm`, `torchvision` or `transformers`), and
OpenVINO. Trained weights are downloaded, unless `--random_weights` is given. A dataset is a folder with a folder of
images for each class, in the layout of ImageNet's validation set. For your own models, `python -m sdk.export --backend
openvino` does the same.
"""

from __future__ import annotations

import argparse
import ast
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from sdk.backends.openvino.partitioner import OpenvinoPartitioner
from sdk.devtools.backend_debug import get_delegation_info
from sdk.exir import to_edge_transform_and_lower
from sdk.exir.backend.backend_details import CompileSpec
from sdk.extension.pybindings.portable_lib import _load_for_executorch_from_buffer

SUITES = ("timm", "torchvision", "huggingface")
_MEAN, _DEVIATION = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)  # of ImageNet


class Hidden(nn.Module):
    """The last hidden state of a model of Hugging Face, for token ids."""

    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        self.model = model

    def forward(self, ids: Tensor) -> Tensor:
        return self.model(ids, return_dict=False)[0]


def load_model(suite: str, name: str, random_weights: bool = False) -> nn.Module:
    """A model in evaluation mode. Raises ValueError if the suite has none of that name."""
    if suite == "timm":
        import timm

        if not timm.is_model(name):
            raise ValueError(f"Model {name} not found in timm; timm.list_models() has the names")
        return timm.create_model(name, pretrained=not random_weights).eval()
    if suite == "torchvision":
        import torchvision

        if name not in torchvision.models.list_models():
            raise ValueError(f"Model {name} not found in torchvision; torchvision.models.list_models() has the names")
        return torchvision.models.get_model(name, weights=None if random_weights else "DEFAULT").eval()
    from transformers import AutoConfig, AutoModel

    try:
        if random_weights:
            return Hidden(AutoModel.from_config(AutoConfig.from_pretrained(name)).eval())
        return Hidden(AutoModel.from_pretrained(name).eval())
    except OSError as error:
        raise ValueError(f"Model {name} not found: {error}") from error


def read_shape(text: str) -> tuple[int, ...]:
    """`[1, 3, 224, 224]` or `(1, 3, 224, 224)`."""
    try:
        shape = ast.literal_eval(text)
    except (SyntaxError, ValueError):
        shape = None
    is_shape = isinstance(shape, (list, tuple)) and bool(shape)
    if not is_shape or any(type(size) is not int or size < 1 for size in shape):
        raise argparse.ArgumentTypeError(
            f"{text!r} is not a shape; expected a list or tuple such as '(1, 3, 224, 224)'"
        )
    return tuple(shape)


def default_shape(suite: str, model: nn.Module, batch: int) -> tuple[int, ...]:
    """timm's input shape of the model; 224 x 224 pixels for torchvision; 128 tokens for huggingface."""
    if suite == "huggingface":
        return (batch, 128)
    if suite == "timm":
        return (batch, *model.default_cfg["input_size"])  # type: ignore[operator, misc, index]
    return (batch, 3, 224, 224)


def make_input(suite: str, model: nn.Module, shape: tuple[int, ...]) -> Tensor:
    """Random token ids or pixels."""
    if suite == "huggingface":
        return torch.randint(0, model.model.config.vocab_size, shape)  # type: ignore[union-attr, operator]
    return torch.randn(shape)


class Images:
    """A dataset of images, in batches of tensors [batch, 3, height, width] and class numbers [batch].

    Raises ValueError if there are no images, or if they do not fill whole batches.
    """

    def __init__(self, folder: Path, shape: tuple[int, ...]) -> None:
        from torchvision import datasets, transforms

        if len(shape) != 4 or shape[1] != 3:
            raise ValueError(f"--dataset has images of 3 channels; the input shape is {list(shape)}")
        steps = [
            transforms.Resize(max(shape[2:]) * 8 // 7),
            transforms.CenterCrop(shape[2:]),
            transforms.ToTensor(),
            transforms.Normalize(_MEAN, _DEVIATION),
        ]
        try:
            data = datasets.ImageFolder(str(folder), transform=transforms.Compose(steps))
        except FileNotFoundError as error:
            raise ValueError(f"--dataset {folder}: expected a folder of images for each class ({error})") from error
        if len(data) % shape[0]:
            raise ValueError(
                f"the dataset has {len(data)} images, which is not a multiple of the batch size {shape[0]}"
            )
        self._loader = torch.utils.data.DataLoader(data, batch_size=shape[0])

    def __iter__(self) -> Iterator[tuple[Tensor, Tensor]]:
        return iter(self._loader)


def quantize(model: nn.Module, sample: Tensor, images: Images) -> nn.Module:
    """int8 weights and activations, calibrated with the dataset."""
    from sdk.backends.openvino.quantizer import QuantizationMode, quantize_model

    captured = torch.export.export(model, (sample,)).module()
    return quantize_model(captured, images, mode=QuantizationMode.INT8_MIXED, transform_fn=lambda batch: batch[0])


def lower(model: nn.Module, sample: Tensor, device: str) -> Any:
    """The edge program, with the operators that OpenVINO supports delegated to it."""
    partitioner = OpenvinoPartitioner([CompileSpec("device", device.encode())])
    return to_edge_transform_and_lower(torch.export.export(model, (sample,)), partitioner=[partitioner])


def accuracy(program: Any, images: Images) -> float:
    """The top-1 accuracy, from 0 to 1."""
    right = total = 0
    for pixels, classes in images:
        right += int((program.forward((pixels,))[0].argmax(-1) == classes).sum())
        total += len(classes)
    return right / total


def infer(program: Any, sample: Tensor, iterations: int, warmup: int) -> tuple[Tensor, float]:
    """The output, and the mean time of a call in milliseconds."""
    for _ in range(warmup):
        program.forward((sample,))
    start = time.perf_counter()
    for _ in range(iterations):
        outputs = program.forward((sample,))
    return outputs[0], 1e3 * (time.perf_counter() - start) / iterations


def _options(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Exports a model for OpenVINO, validates and times it.")
    parser.add_argument("--suite", required=True, choices=SUITES)
    parser.add_argument("--model", required=True, help="its name in the suite; for huggingface also a folder")
    parser.add_argument("--input_shape", type=read_shape, help="default: what the model was made for")
    parser.add_argument("--export", action="store_true", help="save the program")
    parser.add_argument("--model_file_name", type=Path, help="default: MODEL.pte")
    parser.add_argument(
        "--batch_size", type=int, help="images per batch of the dataset; default: that of the shape, or 1"
    )
    parser.add_argument("--quantize", action="store_true", help="quantise to int8, calibrated with --dataset")
    parser.add_argument("--validate", action="store_true", help="report the accuracy on --dataset")
    parser.add_argument("--dataset", type=Path, help="a folder with a folder of images for each class")
    parser.add_argument("--infer", action="store_true", help="run the program and report the mean time of a call")
    parser.add_argument("--num_iter", type=int, default=1, help="calls that are timed; default: 1")
    parser.add_argument("--warmup_iter", type=int, default=0, help="calls before the timed ones; default: 0")
    parser.add_argument("--input_tensor_path", type=Path, help="a tensor of torch.save; default: a random one")
    parser.add_argument("--output_tensor_path", type=Path, help="where torch.save writes the output")
    parser.add_argument("--device", default="CPU", help="CPU, GPU, NPU; default: CPU")
    parser.add_argument("--random_weights", action="store_true", help="do not download trained ones")
    options = parser.parse_args(arguments)
    if (options.quantize or options.validate) and options.suite == "huggingface":
        parser.error("--quantize and --validate are for images: the suites timm and torchvision")
    if (options.quantize or options.validate) and options.dataset is None:
        parser.error("--quantize and --validate need --dataset")
    if options.num_iter < 1 or options.warmup_iter < 0 or (options.batch_size or 1) < 1:
        parser.error("--num_iter and --batch_size are at least 1, --warmup_iter at least 0")
    return options


def run(options: argparse.Namespace) -> None:
    """Carries out the options. Raises ValueError, RuntimeError or OSError."""
    model = load_model(options.suite, options.model, options.random_weights)
    shape = options.input_shape or default_shape(options.suite, model, options.batch_size or 1)
    if options.batch_size:
        shape = (options.batch_size, *shape[1:])
    images = Images(options.dataset, shape) if options.quantize or options.validate else None
    sample = make_input(options.suite, model, shape)
    if options.input_tensor_path:
        sample = torch.load(options.input_tensor_path, weights_only=True)
        if tuple(sample.shape) != shape:
            raise ValueError(f"{options.input_tensor_path} has the shape {list(sample.shape)}, expected {list(shape)}")
    with torch.no_grad():
        if options.quantize and images is not None:
            model = quantize(model, sample, images)
        edge = lower(model, sample, options.device)
    print(get_delegation_info(edge.exported_program().graph_module).get_summary(), end="")
    buffer = edge.to_executorch().buffer
    if options.export:
        path = options.model_file_name or Path(f"{Path(options.model).name}.pte")
        path.write_bytes(buffer)
        print(f"Model exported and saved as {path} on {options.device}.")
    if not options.validate and not options.infer:
        return
    program = _load_for_executorch_from_buffer(buffer)
    if options.validate and images is not None:
        print(f"Accuracy on {options.dataset}: {accuracy(program, images):.4f}")
    if options.infer:
        output, milliseconds = infer(program, sample, options.num_iter, options.warmup_iter)
        if options.output_tensor_path:
            torch.save(output, options.output_tensor_path)
        print(f"Average inference time: {milliseconds:.3f} ms")


def main(arguments: list[str] | None = None) -> int:
    """The command. Returns the exit status."""
    options = _options(arguments)
    try:
        run(options)
    except (ImportError, OSError, RuntimeError, ValueError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
