# SPDX-License-Identifier: BSD-3-Clause
"""examples/openvino/aot_optimize_and_infer.py with its documented options."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from examples.openvino import aot_optimize_and_infer as example

from sdk.extension.pybindings.portable_lib import _load_for_executorch
from zoo.libraries import packages


@pytest.fixture(autouse=True)
def suites() -> None:
    """timm and torchvision, which the step of OpenVINO installs."""
    packages.enable()


def _dataset(folder: Path, count: int) -> Path:
    """Noise of two classes."""
    from PIL import Image

    for number in range(count):
        path = folder / f"class_{number % 2}"
        path.mkdir(parents=True, exist_ok=True)
        pixels = torch.randint(0, 256, (40, 40, 3), dtype=torch.uint8, generator=torch.Generator().manual_seed(number))
        Image.fromarray(pixels.numpy()).save(path / f"{number}.png")
    return folder


def test_a_model_of_torchvision(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture) -> None:
    """OVN-04: the script exports, runs the program on a tensor file and writes its result, which is eager's."""
    monkeypatch.chdir(tmp_path)
    torch.manual_seed(0)
    expected_model = example.load_model("torchvision", "squeezenet1_1", random_weights=True)
    image = torch.randn(1, 3, 64, 64)
    torch.save(image, "input.pt")
    monkeypatch.setattr(example, "load_model", lambda *arguments: expected_model)
    arguments = "--export --suite torchvision --model squeezenet1_1 --device CPU --infer --warmup_iter 1 --num_iter 2"
    files = ["--input_tensor_path", "input.pt", "--output_tensor_path", "output.pt"]
    assert example.main([*arguments.split(), "--input_shape", "(1, 3, 64, 64)", *files]) == 0
    said = capsys.readouterr().out
    assert "saved as squeezenet1_1.pte on CPU" in said and "Average inference time: " in said
    with torch.no_grad():
        expected = expected_model(image)
    found = torch.load("output.pt")
    assert (found - expected).abs().max() <= 1e-5 * expected.abs().max()
    (again,) = _load_for_executorch("squeezenet1_1.pte").forward((image,))
    assert torch.equal(again, found)
    assert example.main([*arguments.split(), "--input_shape", "[1, 3, 32, 32]", *files]) == 1
    assert "input.pt has the shape [1, 3, 64, 64], expected [1, 3, 32, 32]" in capsys.readouterr().err


def test_a_model_of_timm_is_quantized_and_validated(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    """OVN-04: the script quantises with a dataset (--quantize, --dataset, --batch_size), validates (--validate) and
    uses the name of --model_file_name."""
    data, program = _dataset(tmp_path / "data", 4), tmp_path / "small.pte"
    arguments = ["--suite", "timm", "--model", "test_resnet", "--random_weights", "--dataset", str(data)]
    arguments += ["--input_shape", "[1, 3, 32, 32]", "--export", "--model_file_name", str(program)]
    assert example.main([*arguments, "--batch_size", "2", "--quantize", "--validate"]) == 0
    said = capsys.readouterr().out
    (accuracy,) = (float(line.rpartition(" ")[2]) for line in said.splitlines() if line.startswith("Accuracy"))
    loaded = _load_for_executorch(str(program))
    images = list(example.Images(data, (2, 3, 32, 32)))
    right = sum(int((loaded.forward((pixels,))[0].argmax(-1) == classes).sum()) for pixels, classes in images)
    assert len(images) == 2 and accuracy == right / 4
    program.unlink()
    assert example.main([*arguments, "--batch_size", "3", "--validate"]) == 1
    assert "4 images, which is not a multiple of the batch size 3" in capsys.readouterr().err
    assert not program.exists()


def test_a_model_of_hugging_face(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """OVN-04: the name of a model may be a folder; such a model gets token ids."""
    from transformers import BertConfig, BertModel

    monkeypatch.chdir(tmp_path)
    sizes = {"hidden_size": 32, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 64}
    model = BertModel(BertConfig(vocab_size=100, **sizes)).eval()
    model.save_pretrained(tmp_path / "tiny-bert")
    arguments = ["--suite", "huggingface", "--model", str(tmp_path / "tiny-bert"), "--input_shape", "(1, 12)"]
    assert example.main([*arguments, "--export"]) == 0
    ids = torch.randint(0, 100, (1, 12))
    (found,) = _load_for_executorch("tiny-bert.pte").forward((ids,))
    with torch.no_grad():
        expected = model(ids).last_hidden_state
    assert (found - expected).abs().max() <= 1e-5 * expected.abs().max()


def test_wrong_options_say_what_to_do(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    for arguments, says in (
        (["--suite", "timm", "--model", "x", "--input_shape", "1x3"], "'1x3' is not a shape; expected a list or tuple"),
        (["--suite", "timm", "--model", "x", "--input_shape", "(0, 3)"], "'(0, 3)' is not a shape"),
        (["--suite", "timm", "--model", "x", "--validate"], "--quantize and --validate need --dataset"),
        (["--suite", "huggingface", "--model", "x", "--quantize", "--dataset", "d"], "are for images"),
        (["--suite", "timm", "--model", "x", "--num_iter", "0"], "--num_iter and --batch_size are at least 1"),
        (["--suite", "keras", "--model", "x"], "invalid choice: 'keras'"),
    ):
        with pytest.raises(SystemExit):
            example.main(arguments)
        assert says in capsys.readouterr().err
    for suite in ("timm", "torchvision"):
        assert example.main(["--suite", suite, "--model", "no_such_model"]) == 1
        assert f"Model no_such_model not found in {suite}" in capsys.readouterr().err
    (tmp_path / "empty").mkdir()
    arguments = ["--suite", "torchvision", "--model", "squeezenet1_1", "--random_weights", "--validate"]
    assert example.main([*arguments, "--dataset", str(tmp_path / "empty")]) == 1
    assert "expected a folder of images for each class" in capsys.readouterr().err
