# SPDX-License-Identifier: BSD-3-Clause
"""Pictures of any size: runners prepare them like the processors of transformers, pixel by pixel."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from multimodal_models import (
    BEGIN,
    EOS,
    IMAGE,
    continued,
    gemma3,
    image_processor,
    llava,
    program_of,
    save,
    smolvlm,
    text_around,
)
from test_runner import greedy, ids

from sdk.extension.llm.export.checkpoint import CheckpointError
from sdk.extension.llm.export.image_processor import _DEFAULT_RESAMPLE, picture_steps
from sdk.extension.llm.export.settings import SettingsError
from sdk.extension.llm.runner import Image, MultimodalRunner, make_image_input
from sdk.extension.pybindings.portable_lib import ExecuTorchError
from sdk.runtime import Runtime

KINDS = {"llava": llava, "gemma3": gemma3, "smolvlm": smolvlm}
SIZES = [(28, 28), (56, 56), (61, 17), (9, 40), (300, 211), (29, 28), (100, 1)]
"""Heights and widths: those of the encoder, larger and smaller ones, and other ratios."""


@pytest.fixture(scope="module", params=KINDS)
def seeing(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Any, str]:
    """A model that takes pictures, and its program with room for several."""
    model, folder = KINDS[request.param](), tmp_path_factory.mktemp(request.param)
    save(model, folder, images=True)
    return model, str(program_of(folder, "export.max_seq_length=64", "export.max_context_length=700"))


def picture(height: int, width: int) -> Any:
    """uint8 [3, height, width]: slopes, with noise and sharp edges."""
    random = np.random.default_rng(height * 1000 + width)
    slope = np.add.outer(np.arange(height) * 3, np.arange(width) * 2)[None] + np.array([0, 60, 120])[:, None, None]
    edges = np.where(random.random((3, height, width)) < 0.1, 255, slope % 256)
    return np.clip(edges + random.integers(-20, 20, edges.shape), 0, 255).astype(np.uint8)


@pytest.mark.parametrize("size", SIZES, ids=lambda size: f"{size[0]}x{size[1]}")
def test_pixels_are_those_of_the_processor(seeing: tuple[Any, str], size: tuple[int, int]) -> None:
    """ECO-07: pixels, the text around pictures and the number of tiles are those of transformers."""
    model, program = seeing
    kind = model.config.model_type
    runner = MultimodalRunner(program)
    image = picture(*size)
    parts = runner.prompt_of(f"ab<{BEGIN if kind == 'gemma3' else IMAGE}>cd", [Image(image)])
    extra = {"return_row_col_info": True} if kind == "smolvlm" else {}
    wanted = image_processor(kind)(image, return_tensors="pt", input_data_format="channels_first", **extra)
    pixels = wanted.pixel_values.flatten(0, -4)
    pictures = [np.array(part.get_image().uint8_data, np.uint8) for part in parts if part.is_image()]
    assert len(pictures) == len(pixels)
    method = Runtime.get().load_program(program).load_method("vision_preprocessor")
    assert method is not None
    for found, one in zip(pictures, pixels, strict=True):
        given = torch.from_numpy(found.reshape(3, 28, 28))
        torch.testing.assert_close(method.execute([given])[0][0], one, rtol=0, atol=1e-5)
    rows, columns = (wanted["rows"][0][0], wanted["cols"][0][0]) if kind == "smolvlm" else (0, 0)
    tokens = runner.encode("ab" + text_around(kind, rows, columns) + "cd", add_bos=False)
    found_tokens: list[int] = []
    for part in parts:
        found_tokens += [IMAGE] if part.is_image() else part.get_tokens()
    assert found_tokens == tokens


def test_text_after_a_picture_of_any_size(seeing: tuple[Any, str]) -> None:
    """ECO-07: the tokens that follow a picture are those that transformers generates."""
    model, program = seeing
    kind = model.config.model_type
    runner = MultimodalRunner(program)
    image = picture(45, 31)
    given = image_processor(kind)(image, return_tensors="pt", input_data_format="channels_first")
    parts = runner.prompt_of("what?", [Image(image)])
    tokens: list[int] = []
    for part in parts:
        tokens += [IMAGE] * 4 if part.is_image() else part.get_tokens()
    wanted, _ = continued(model, tokens, 6, pixel_values=given.pixel_values.flatten(0, -4))
    runner.generate(parts, greedy(6))
    assert runner.generated_tokens == wanted
    assert runner.position == len(tokens) + len(wanted) - wanted.count(EOS)


def test_an_input_of_another_size_is_scaled(seeing: tuple[Any, str]) -> None:
    """An input of another size is scaled like a picture that the processor does not cut into tiles."""
    model, program = seeing
    kind = model.config.model_type
    image = picture(300, 211)
    extra = {"do_image_splitting": False} if kind == "smolvlm" else {}
    given = image_processor(kind)(image, return_tensors="pt", input_data_format="channels_first", **extra)
    wanted, _ = continued(model, [*[IMAGE] * 4, *ids("x")], 4, pixel_values=given.pixel_values.flatten(0, -4))
    runner = MultimodalRunner(program)
    runner.generate([make_image_input(torch.from_numpy(image))], greedy(1))
    runner.reset()
    runner.prefill([make_image_input(torch.from_numpy(image))])
    runner.generate("x", greedy(4))
    assert runner.generated_tokens == wanted


def test_prompts_that_cannot_be_made(seeing: tuple[Any, str], tmp_path: Path) -> None:
    """The message says what does not fit; the runner stays usable."""
    model, program = seeing
    runner = MultimodalRunner(program)
    place = f"<{BEGIN if model.config.model_type == 'gemma3' else IMAGE}>"
    with pytest.raises(ExecuTorchError, match=r"each place in the prompt, '<9\d>': found 1 pictures and 2"):
        runner.prompt_of(f"{place} and {place}", [Image(picture(4, 4))])
    with pytest.raises(ExecuTorchError, match="float32 cannot be scaled"):
        runner.prompt_of("a", [Image(picture(4, 4).astype(np.float32))])
    with pytest.raises(ExecuTorchError, match="picture is empty"):
        runner.prompt_of("a", [Image()])
    if model.config.model_type == "gemma3":
        with pytest.raises(ExecuTorchError, match=f"the text '<{IMAGE}>' stands for a position of a picture"):
            runner.prompt_of(f"a<{IMAGE}>", [])
    assert [part.get_tokens() for part in runner.prompt_of("ab", [])] == [ids("ab")]


def test_programs_without_a_processor(tmp_path: Path) -> None:
    model = llava(num_hidden_layers=1)
    save(model, tmp_path)
    runner = MultimodalRunner(str(program_of(tmp_path)))
    with pytest.raises(ExecuTorchError, match="no method 'get_image_processor'"):
        runner.prompt_of("a", [Image(picture(28, 28))])


def test_settings_that_are_not_supported(tmp_path: Path) -> None:
    good: dict[str, Any] = {"size": {"height": 28, "width": 28}, "resample": 2}
    assert picture_steps(good, 28, False) == {"height": 28, "width": 28, "resample": 2}
    assert picture_steps({"do_resize": False}, 28, False) == {}
    wrong: list[tuple[dict[str, Any], str]] = [
        ({"resample": 0}, r"one of 1 \(Lanczos\), 2 \(bilinear\), 3 \(bicubic\), found 0"),
        ({"resample": [3]}, r"one of 1 .*, found \[3\]"),
        ({"resample": True}, "one of 1 .*, found True"),
        ({"resample": None}, "one of 1 .*, found None"),
        ({"size": {"shortest_edge": True}, "crop_size": good["size"]}, "whole number as shortest_edge, found True"),
        ({"do_pan_and_scan": True}, "do_pan_and_scan"),
        ({"size": {"height": 30, "width": 28}}, "size of the image processor: expected .*28.*, found .*30"),
        ({"size": {"shortest_edge": 28}}, "crop_size of the image processor: expected"),
        ({"size": {"shortest_edge": 0}, "crop_size": good["size"]}, "whole number as shortest_edge, found 0"),
        ({"do_center_crop": True, "crop_size": {"height": 9, "width": 9}}, "crop_size of the image processor"),
    ]
    for more, message in wrong:
        with pytest.raises(CheckpointError, match=message):
            picture_steps({**good, **more}, 28, False)
    with pytest.raises(CheckpointError, match="max_image_size of the image processor"):
        picture_steps(good, 28, True)
    with pytest.raises(CheckpointError, match="longest_edge of at most 4096, found 5000"):
        picture_steps({**good, "size": {"longest_edge": 5000}, "max_image_size": {"longest_edge": 28}}, 28, True)
    save(gemma3(num_hidden_layers=3), tmp_path)
    with pytest.raises(SettingsError, match=r"export\.max_seq_length: expected at least 4, the positions of a picture"):
        program_of(tmp_path, "export.max_seq_length=3")


@pytest.mark.parametrize("name", _DEFAULT_RESAMPLE)
def test_a_missing_filter_is_that_of_the_processors_class(name: str) -> None:
    """A class of transformers has its default filter as an attribute."""
    pil = pytest.importorskip("transformers.models.auto.image_processing_auto")
    kind = pil.get_image_processor_class_from_name(f"{name}Pil")
    settings = {"size": {"height": 28, "width": 28}}
    for type_name in ({"image_processor_type": name}, {"image_processor_type": f"{name}Fast"}):
        assert picture_steps({**settings, **type_name}, 28, False)["resample"] == int(kind.resample)
    for unknown in ({}, {"image_processor_type": "OtherImageProcessor"}, {"image_processor_type": [name]}):
        with pytest.raises(CheckpointError, match="or an image_processor_type whose filter is known"):
            picture_steps({**settings, **unknown}, 28, False)


def test_settings_in_the_processors_file(tmp_path: Path) -> None:
    """Newer folders have the settings inside of processor_config.json."""
    save(smolvlm(num_hidden_layers=1), tmp_path, images=True)
    inner = json.loads((tmp_path / "preprocessor_config.json").read_text())
    (tmp_path / "preprocessor_config.json").unlink()
    (tmp_path / "processor_config.json").write_text(json.dumps({"image_processor": inner, "image_seq_len": 4}))
    runner = MultimodalRunner(str(program_of(tmp_path)))
    assert sum(part.is_image() for part in runner.prompt_of("", [Image(picture(50, 20))])) == 3
