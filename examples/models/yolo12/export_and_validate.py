# SPDX-License-Identifier: BSD-3-Clause
"""Exports a YOLO12 detection model for OpenVINO or XNNPACK, and validates it:

    python export_and_validate.py --model_name yolo12s --input_dims "[1920, 1080]" --backend openvino --device CPU

writes yolo12s_fp32_openvino.pte, for Yolo12DetectionDemo in this folder. The program takes images
[1, 3, height, width] in RGB with values from 0 to 1, and gives [1, 4 + classes, boxes]: the centre, width and height
of each box in pixels of the input, and its score for each class. Its method `class_names` returns the names of the
classes, one in each line.

The model is that of the package ultralytics, whose licence is AGPL-3.0: install it yourself (`pip install ultralytics`)
if that suits you. The rest of this project does not need it.
"""

from __future__ import annotations

import argparse
import ast
import itertools
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from sdk.devtools.backend_debug import get_delegation_info
from sdk.exir import to_edge_transform_and_lower
from sdk.exir.backend.backend_details import CompileSpec
from sdk.runtime import Runtime

MODELS = tuple(f"yolo12{size}" for size in "nsmlx")
_STRIDE = 32  # the coarsest grid of the model has a cell for so many pixels
_PADDING = 114 / 255  # grey, as in training


class Detections(nn.Module):
    """The boxes and scores of a model of ultralytics, without the feature maps that it returns beside them."""

    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        self.model = model

    def forward(self, images: Tensor) -> Tensor:
        found = self.model(images)
        return found[0] if isinstance(found, (tuple, list)) else found


def load_yolo(name: str, random_weights: bool = False) -> Any:
    """ultralytics' model. Its trained weights are downloaded."""
    from ultralytics import YOLO

    return YOLO(f"{name}.yaml" if random_weights else f"{name}.pt")


def letterbox(image: Tensor, height: int, width: int) -> Tensor:
    """The model's input [1, 3, height, width] of an image of bytes [rows, columns, 3] in RGB: scaled to fit, centred,
    and padded with grey. `ImageProcessor` of the C++ library does the same."""
    rows, columns = image.shape[:2]
    scale = min(height / rows, width / columns)
    inside = [min(max(round(length * scale), 1), most) for length, most in ((rows, height), (columns, width))]
    scaled = nn.functional.interpolate(image.permute(2, 0, 1)[None].float() / 255, inside, mode="bilinear")
    top, left = ((most - length) // 2 for most, length in zip((height, width), inside, strict=True))
    padded = torch.full((1, 3, height, width), _PADDING)
    padded[:, :, top : top + inside[0], left : left + inside[1]] = scaled
    return padded


def images_of(path: Path) -> Iterator[Tensor]:
    """The images of a folder (with Pillow), or the frames of a video (with OpenCV): bytes [rows, columns, 3] in RGB.

    Raises ValueError if there are no images.
    """
    if path.is_dir():
        from PIL import Image

        files = sorted(file for file in path.iterdir() if file.suffix.lower() in Image.registered_extensions())
        if not files:
            raise ValueError(f"{path} has no images")
        for file in files:
            with Image.open(file) as image:
                yield torch.frombuffer(bytearray(image.convert("RGB").tobytes()), dtype=torch.uint8).reshape(
                    image.height, image.width, 3
                )
        return
    import cv2

    video = cv2.VideoCapture(str(path))
    try:
        is_frame, frame = video.read()
        if not is_frame:
            raise ValueError(f"{path} is neither a video that OpenCV can read nor a folder of images")
        while is_frame:
            yield torch.from_numpy(frame[:, :, ::-1].copy())
            is_frame, frame = video.read()
    finally:
        video.release()


def quantize(model: nn.Module, calls: list[Tensor], backend: str) -> nn.Module:
    """int8 weights and activations, calibrated with `calls`."""
    from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e, prepare_pt2e

    captured = torch.export.export(model, (calls[0],)).module()
    if backend == "openvino":
        from sdk.backends.openvino.quantizer import OpenVINOQuantizer, QuantizationMode

        quantizer: Any = OpenVINOQuantizer(mode=QuantizationMode.INT8_TRANSFORMER)
    else:
        from sdk.backends.xnnpack.quantizer.xnnpack_quantizer import XNNPACKQuantizer, get_symmetric_quantization_config

        quantizer = XNNPACKQuantizer().set_global(get_symmetric_quantization_config(is_per_channel=True))
    prepared = prepare_pt2e(captured, quantizer)  # type: ignore[arg-type]
    with torch.no_grad():
        for call in calls:
            prepared(call)
    return convert_pt2e(prepared)


def lower(model: nn.Module, sample: Tensor, backend: str, device: str, class_names: list[str]) -> Any:
    """The edge program, with the operators that the backend supports delegated to it."""
    partitioner: Any
    if backend == "openvino":
        from sdk.backends.openvino.partitioner import OpenvinoPartitioner

        partitioner = OpenvinoPartitioner([CompileSpec("device", device.encode())])
    else:
        from sdk.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner

        partitioner = XnnpackPartitioner()
    exported = torch.export.export(model, (sample,))
    names = {"class_names": "\n".join(class_names)}
    return to_edge_transform_and_lower(exported, partitioner=[partitioner], constant_methods=names)


def validate(yolo: Any, program: bytes, dataset: str, size: int) -> dict[str, float]:
    """ultralytics' metrics of the program on a detection dataset, by name. `size`: height and width of the input."""
    method = Runtime.get().load_program(program).load_method("forward")
    model = yolo.model
    in_eager = model.forward

    def forward(images: Tensor, *_: Any, **__: Any) -> Tensor:
        return torch.cat([method.execute([image[None].contiguous()])[0] for image in images])

    model.forward = forward
    try:
        metrics = yolo.val(data=dataset, imgsz=size, batch=1, rect=False, device="cpu", plots=False, verbose=False)
    finally:
        model.forward = in_eager
    return {name: float(value) for name, value in metrics.results_dict.items()}


def read_dims(text: str) -> tuple[int, int]:
    """`[height, width]`, each rounded up to a multiple of the stride."""
    try:
        dims = ast.literal_eval(text)
    except (SyntaxError, ValueError):
        dims = None
    if not isinstance(dims, (list, tuple)) or len(dims) != 2 or any(type(size) is not int or size < 1 for size in dims):
        raise argparse.ArgumentTypeError(f"{text!r}: expected '[height, width]' in pixels, such as '[640, 640]'")
    height, width = (-(-size // _STRIDE) * _STRIDE for size in dims)
    return height, width


def _options(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Exports a YOLO12 model, and validates it.")
    parser.add_argument("--model_name", choices=MODELS, default="yolo12s", help="default: yolo12s")
    parser.add_argument("--input_dims", type=read_dims, default=(640, 640), help="[height, width]; multiples of 32")
    parser.add_argument("--backend", choices=("openvino", "xnnpack"), default="openvino", help="default: openvino")
    parser.add_argument("--device", default="CPU", help="OpenVINO's device: CPU, GPU, NPU; default: CPU")
    parser.add_argument("--quantize", action="store_true", help="quantise to int8, calibrated with --video_path")
    parser.add_argument("--video_path", "--video_input", type=Path, help="a video, or a folder of images")
    parser.add_argument("--subset_size", type=int, default=300, help="frames that calibrate; default: 300")
    parser.add_argument("--validate", nargs="?", const="coco128.yaml", metavar="DATASET", help="default: coco128.yaml")
    parser.add_argument("--output_dir", type=Path, default=Path(), help="default: the working directory")
    parser.add_argument("--random_weights", action="store_true", help="do not download trained ones")
    options = parser.parse_args(arguments)
    if options.quantize != (options.video_path is not None):
        parser.error("--quantize needs --video_path, and --video_path is for --quantize")
    if options.subset_size < 1:
        parser.error(f"--subset_size is {options.subset_size}; expected at least 1")
    if options.validate and options.input_dims[0] != options.input_dims[1]:
        parser.error(f"--validate needs a square input, found {list(options.input_dims)}")
    return options


def run(options: argparse.Namespace) -> None:
    """Carries out the options. Raises ImportError, OSError, RuntimeError or ValueError."""
    yolo = load_yolo(options.model_name, options.random_weights)
    model = Detections(yolo.model.float().eval())
    height, width = options.input_dims
    sample = torch.rand(1, 3, height, width)
    if options.quantize:
        images = itertools.islice(images_of(options.video_path), options.subset_size)
        calls = [letterbox(image, height, width) for image in images]
    with torch.no_grad():
        model(sample)  # computes the positions of the boxes, which are constants of the program
        ready = quantize(model, calls, options.backend) if options.quantize else model
        names = [name for _, name in sorted(yolo.names.items())]
        edge = lower(ready, sample, options.backend, options.device, names)
    print(get_delegation_info(edge.exported_program().graph_module).get_summary(), end="")
    program = edge.to_executorch().buffer
    options.output_dir.mkdir(parents=True, exist_ok=True)
    precision = "int8" if options.quantize else "fp32"
    path = options.output_dir / f"{options.model_name}_{precision}_{options.backend}.pte"
    path.write_bytes(program)
    print(f"Model exported and saved as {path}; its input is [1, 3, {height}, {width}].")
    if options.validate:
        for name, value in validate(yolo, program, options.validate, height).items():
            print(f"{name}: {value:.4f}")


def main(arguments: list[str] | None = None) -> int:
    """The command. Returns the exit status."""
    options = _options(arguments)
    try:
        run(options)
    except ImportError as error:
        print(f"error: {error}. Install it: pip install {_PACKAGES.get(error.name or '', error.name)}", file=sys.stderr)
        return 1
    except (OSError, RuntimeError, ValueError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


_PACKAGES = {"cv2": "opencv-python", "PIL": "pillow", "ultralytics": "ultralytics (AGPL-3.0)"}

if __name__ == "__main__":
    sys.exit(main())
