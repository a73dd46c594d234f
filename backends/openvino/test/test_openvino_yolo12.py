# SPDX-License-Identifier: BSD-3-Clause
"""examples/models/yolo12: the export, and the boxes that the demo draws. ultralytics is not needed: a small detector
with outputs of the same form replaces its models; the last test, which is skipped without the package, uses those.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import types
from pathlib import Path
from typing import Any

import pytest
import torch
from examples.models.yolo12 import export_and_validate as example
from torch import Tensor, nn

from sdk.exir import to_edge_transform_and_lower
from sdk.runtime import Runtime
from zoo.libraries import packages

ROOT = Path(__file__).resolve().parents[3]
BUILT = ROOT / "build" / "package" / "examples" / "models" / "yolo12" / "Yolo12DetectionDemo"
DEMO = Path(os.environ.get("SDK_YOLO12_DEMO", BUILT))
NAMES = {0: "person", 1: 'a "quoted" name', 2: "kite"}


class Detector(nn.Module):
    """Returns a box and three scores for each cell of 16 pixels, from random weights, and feature maps."""

    def __init__(self) -> None:
        super().__init__()
        self.features = nn.Conv2d(3, 8, 16, stride=16)
        self.head = nn.Conv2d(8, 4 + len(NAMES), 1)

    def forward(self, images: Tensor) -> tuple[Tensor, Tensor]:
        features = torch.nn.functional.silu(self.features(8 * images - 4))
        found = self.head(features).flatten(2)
        rows, columns = features.shape[2:]
        y, x = torch.meshgrid(torch.arange(rows) + 0.5, torch.arange(columns) + 0.5, indexing="ij")
        centre = torch.stack([x.flatten(), y.flatten()]) * 16 + found[:, :2]
        return torch.cat([centre, 45 + 10 * found[:, 2:4].tanh(), (4 * found[:, 4:]).sigmoid()], dim=1), features


@pytest.fixture
def yolo(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Replaces ultralytics' model by `Detector`."""
    torch.manual_seed(1)
    model = types.SimpleNamespace(model=Detector(), names=NAMES)
    monkeypatch.setattr(example, "load_yolo", lambda *_: model)
    return model


def _picture(height: int, width: int, seed: int = 0) -> Tensor:
    return torch.randint(0, 256, (height, width, 3), dtype=torch.uint8, generator=torch.Generator().manual_seed(seed))


def _ppm(picture: Tensor) -> bytes:
    height, width = picture.shape[:2]
    return b"P6\n# a comment\n%d %d\n255\n" % (width, height) + picture.numpy().tobytes()


def _demo(*arguments: str, data: bytes | None = None) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run([str(DEMO), *arguments], input=data, capture_output=True, check=False)


def _expected(output: Tensor, picture: Tensor, size: tuple[int, int], confidence: float, overlap: float) -> list[Any]:
    """The boxes [x, y, width, height] in pixels of the picture with score and class, by falling score: from eager's
    output [1, 4 + classes, boxes] by torchvision's rule for suppressing boxes, class by class."""
    scores, classes = output[0, 4:].max(dim=0)
    x, y, width, height = output[0, :4]
    corners = torch.stack([x - width / 2, y - height / 2, x + width / 2, y + height / 2], dim=1)
    kept = []
    for number in classes.unique():
        chosen = ((classes == number) & (scores >= confidence)).nonzero()[:, 0]
        kept += chosen[packages.non_maximum_suppression(corners[chosen], scores[chosen], overlap)].tolist()
    kept.sort(key=lambda index: -float(scores[index]))
    rows, columns = picture.shape[:2]
    scale = min(size[0] / rows, size[1] / columns)
    inside = round(columns * scale), round(rows * scale)
    left, top = (size[1] - inside[0]) // 2, (size[0] - inside[1]) // 2
    boxes = []
    for index in kept:
        x1, y1, x2, y2 = corners[index].tolist()
        x1, x2 = (min(max((value - left) * columns / inside[0], 0), columns) for value in (x1, x2))
        y1, y2 = (min(max((value - top) * rows / inside[1], 0), rows) for value in (y1, y2))
        boxes.append(([x1, y1, x2 - x1, y2 - y1], float(scores[index]), int(classes[index])))
    return boxes


@pytest.mark.parametrize("backend", ["openvino", "xnnpack"])
def test_the_demo_finds_the_boxes_of_eager(backend: str, yolo: Any, tmp_path: Path) -> None:
    """ECO-05: a program for either backend finds boxes in images whose proportions differ from the input's."""
    arguments = ["--model_name", "yolo12n", "--backend", backend, "--input_dims", "[96, 150]"]
    assert example.main([*arguments, "--output_dir", str(tmp_path)]) == 0
    program = tmp_path / f"yolo12n_fp32_{backend}.pte"
    pictures = [_picture(96, 160), _picture(60, 50, 1), _picture(33, 300, 2)]
    (tmp_path / "in.ppm").write_bytes(b"".join(map(_ppm, pictures)))
    places = ["-input_path", str(tmp_path / "in.ppm"), "-output_path", str(tmp_path / "out.ppm"), "-detections", "-"]
    done = _demo("-model_path", str(program), *places, "-conf", "0.8", "-iou", "0.3")
    assert done.returncode == 0, done.stderr.decode()
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    for frame, picture in enumerate(pictures):
        with torch.no_grad():
            output, _ = yolo.model(example.letterbox(picture, 96, 160))
        expected = _expected(output, picture, (96, 160), 0.8, 0.3)
        found = [line for line in lines if line["frame"] == frame]
        assert 0 < len(expected) < int((output[0, 4:].amax(0) >= 0.8).sum()) < output.shape[2]
        assert len({class_id for _, _, class_id in expected}) > 1
        assert len(found) == len(expected)
        for ours, (box, score, class_id) in zip(found, expected, strict=True):
            assert (ours["class_id"], ours["class"]) == (class_id, NAMES[class_id])
            assert abs(ours["confidence"] - score) < 1e-4
            assert torch.allclose(torch.tensor(ours["box"]), torch.tensor(box), atol=0.02)
    # The demo draws frames into the pictures. Their sizes stay the same, and so do the pixels outside of all frames.
    written = (tmp_path / "out.ppm").read_bytes()
    assert written.startswith(b"P6\n160 96\n255\n")
    drawn = torch.frombuffer(bytearray(written[14 : 14 + 96 * 160 * 3]), dtype=torch.uint8).reshape(96, 160, 3)
    edges = torch.zeros(96, 160, dtype=torch.bool)
    for line in lines:
        if line["frame"] == 0:
            x, y, width, height = (int(value) for value in line["box"])
            frame_of_box = torch.zeros_like(edges)
            frame_of_box[y : y + height, x : x + width] = True
            frame_of_box[y + 2 : y + height - 2, x + 2 : x + width - 2] = False
            edges |= frame_of_box
    assert torch.equal(drawn[~edges], pictures[0][~edges]) and not torch.equal(drawn, pictures[0])
    assert len(written) == sum(len(b"P6\n%d %d\n255\n" % p.shape[1::-1]) + p.numel() for p in pictures)


def test_a_score_that_is_not_a_number_is_none(tmp_path: Path) -> None:
    """A box keeps its other scores; one without a number as its score, or without a finite place, is left out."""
    nan, boxes = (
        torch.nan,
        torch.tensor([[20.0, 20, 10, 10], [20, 60, 10, 10], [60, 20, 10, 10], [60, torch.nan, 10, 10]]),
    )
    scores = torch.tensor([[nan, 0.9, 0.2], [0.7, nan, 0.8], [nan, nan, nan], [0.9, 0.9, 0.9]])

    class Fixed(nn.Module):
        def forward(self, images: Tensor) -> Tensor:
            return torch.cat([boxes, scores], dim=1).t()[None] + 0 * images.sum()

    program = tmp_path / "fixed.pte"
    exported = torch.export.export(Fixed(), (torch.rand(1, 3, 96, 96),))
    program.write_bytes(to_edge_transform_and_lower(exported).to_executorch().buffer)
    done = _demo("-model_path", str(program), "-input_path", "-", "-detections", "-", data=_ppm(_picture(96, 96)))
    assert done.returncode == 0, done.stderr.decode()
    found = [json.loads(line) for line in done.stdout.splitlines()]
    assert [(box["class_id"], round(box["confidence"], 5), box["box"]) for box in found] == [
        (1, 0.9, [15.0, 15.0, 10.0, 10.0]),
        (2, 0.8, [15.0, 55.0, 10.0, 10.0]),
    ]


@pytest.mark.parametrize("backend", ["openvino", "xnnpack"])
def test_an_int8_model_is_calibrated_with_images(backend: str, yolo: Any, tmp_path: Path) -> None:
    """ECO-05: --quantize, --video_path with a folder, --subset_size: results are close to float32's, but not equal."""
    from PIL import Image

    (tmp_path / "images").mkdir()
    for number in range(3):
        Image.fromarray(_picture(64, 64, number).numpy()).save(tmp_path / "images" / f"{number}.png")
    arguments = ["--quantize", "--video_path", str(tmp_path / "images"), "--subset_size", "2", "--backend", backend]
    arguments += ["--input_dims", "[64, 64]", "--output_dir", str(tmp_path)]
    assert example.main(arguments) == 0
    method = Runtime.get().load_program(tmp_path / f"yolo12s_int8_{backend}.pte").load_method("forward")
    image = example.letterbox(_picture(64, 64), 64, 64)
    (found,) = method.execute([image])
    with torch.no_grad():
        expected, _ = yolo.model(image)
    assert 0 < (found - expected).norm() < 0.05 * expected.norm()


def test_the_letterbox_is_that_of_pytorch() -> None:
    picture = _picture(20, 40)
    same = example.letterbox(picture, 30, 40)
    assert torch.equal(same[0, :, 5:25], picture.permute(2, 0, 1) / 255) and torch.all(same[0, :, :5] == 114 / 255)
    larger = example.letterbox(picture, 100, 80)
    pixels = picture.permute(2, 0, 1)[None] / 255
    expected = nn.functional.interpolate(pixels, (40, 80), mode="bilinear", align_corners=False)
    assert torch.allclose(larger[:, :, 30:70], expected) and torch.all(larger[0, :, 70:] == 114 / 255)


def test_wrong_options_and_files_say_what_to_do(yolo: Any, tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    for arguments, says in (
        (["--input_dims", "640"], "'640': expected '[height, width]' in pixels"),
        (["--input_dims", "[0, 640]"], "'[0, 640]': expected"),
        (["--quantize"], "--quantize needs --video_path"),
        (["--validate", "--input_dims", "[64, 96]"], "--validate needs a square input, found [64, 96]"),
        (["--model_name", "yolo11n"], "invalid choice: 'yolo11n'"),
    ):
        with pytest.raises(SystemExit):
            example.main(arguments)
        assert says in capsys.readouterr().err
    (tmp_path / "empty").mkdir()
    arguments = ["--quantize", "--video_path", str(tmp_path / "empty"), "--output_dir", str(tmp_path / "made")]
    assert example.main(arguments) == 1
    assert "empty has no images" in capsys.readouterr().err and not (tmp_path / "made").exists()


def test_without_ultralytics_one_line_says_what_to_install(
    capsys: pytest.CaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """ultralytics has another licence than this project, so no requirement names it."""
    monkeypatch.setitem(sys.modules, "ultralytics", None)
    assert example.main([]) == 1
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("error: ") and line.endswith("pip install ultralytics (AGPL-3.0)")


def test_the_demo_refuses_what_it_cannot_use(yolo: Any, tmp_path: Path) -> None:
    assert example.main(["--input_dims", "[32, 32]", "--output_dir", str(tmp_path)]) == 0
    program = tmp_path / "yolo12s_fp32_openvino.pte"
    good = _ppm(_picture(32, 32))
    for data, says in (
        (b"", "the input - has no image"),
        (b"P5\n1 1\n255\nx", "image 0: expected a binary PPM image (P6)"),
        (b"P6\n0 1\n255\n", "expected a PPM image with a width and a height"),
        (b"P6\n99999 99999\n255\n", "at most 2^26 pixels"),
        (b"P6\n1 1\n65535\nxxxxxx", "values up to 255"),
        (good[:-1], "image 0: the PPM image ends after 31 of 32 rows"),
        (good + good[:-1], "image 1: the PPM image ends after 31 of 32 rows"),
        (b"P6", "expected a PPM image"),
    ):
        done = _demo("-model_path", str(program), "-input_path", "-", data=data)
        assert done.returncode == 1 and says in done.stderr.decode(), done.stderr
    (tmp_path / "other.pte").write_bytes(_program_that_adds())
    for arguments, status, says in (
        ([], 2, "-model_path and -input_path are needed"),
        (["-model_path", str(program), "-input_path", "-", "-conf", "2"], 2, "-conf and -iou are numbers from 0 to 1"),
        (["-model_path", "nowhere.pte", "-input_path", "-"], 1, "the program nowhere.pte cannot be loaded"),
        (["-model_path", str(tmp_path / "other.pte"), "-input_path", "-"], 1, "is not a detector: expected an input"),
        (["-model_path", str(program), "-input_path", "nowhere.ppm"], 1, "the input nowhere.ppm cannot be read"),
    ):
        done = _demo(*arguments)
        assert done.returncode == status and says in done.stderr.decode(), done.stderr


def _program_that_adds() -> bytes:
    from sdk.exir import to_edge

    class Add(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            return x + 1

    return to_edge(torch.export.export(Add(), (torch.ones(3),))).to_executorch().buffer


def test_the_models_of_ultralytics(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    """ECO-05: yolo12n with random weights gives the boxes and scores of eager; ultralytics validates the program."""
    packages.enable()  # torchvision, for its validation
    pytest.importorskip("ultralytics", reason="AGPL-3.0: the gate does not install it")
    from PIL import Image

    for number in range(2):
        for folder in ("images", "labels"):
            (tmp_path / folder).mkdir(exist_ok=True)
        Image.fromarray(_picture(64, 64, number).numpy()).save(tmp_path / "images" / f"{number}.png")
        (tmp_path / "labels" / f"{number}.txt").write_text("0 0.5 0.5 0.4 0.4\n")
    names = "\n".join(f"  {number}: class{number}" for number in range(80))
    dataset = tmp_path / "tiny.yaml"
    dataset.write_text(f"path: {tmp_path}\ntrain: images\nval: images\nnames:\n{names}\n")
    arguments = ["--model_name", "yolo12n", "--random_weights", "--input_dims", "[64, 64]"]
    torch.manual_seed(0)
    assert example.main([*arguments, "--validate", str(dataset), "--output_dir", str(tmp_path)]) == 0
    said = capsys.readouterr().out
    assert "metrics/mAP50-95(B): " in said
    torch.manual_seed(0)
    model = example.Detections(example.load_yolo("yolo12n", random_weights=True).model.float().eval())
    image = torch.rand(1, 3, 64, 64, generator=torch.Generator().manual_seed(1))
    method = Runtime.get().load_program(tmp_path / "yolo12n_fp32_openvino.pte").load_method("forward")
    (found,) = method.execute([image])
    with torch.no_grad():
        expected = model(image)
    assert found.shape == (1, 84, 84) and torch.allclose(found, expected, rtol=1e-4, atol=1e-3)
