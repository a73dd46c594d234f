# SPDX-License-Identifier: BSD-3-Clause
"""Qwen2-VL and Qwen2.5-VL: pixels, logits and texts equal those of transformers. The models take pictures of any size
as patches, whose rotary positions have a row and a column."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from multimodal_models import (
    BEGIN,
    END,
    IMAGE,
    continued,
    image_processor,
    program_of,
    qwen2_5_vl,
    qwen2_vl,
    save,
)
from test_pictures import picture
from test_runner import greedy, ids

from sdk.backends.registry import default_backend
from sdk.extension.llm.export.checkpoint import CheckpointError
from sdk.extension.llm.export.settings import SettingsError
from sdk.extension.llm.model.model_args import ModelArgs
from sdk.extension.llm.model.rope import Rope
from sdk.extension.llm.runner import Image, MultimodalRunner, make_image_input, make_text_input, make_token_input
from sdk.extension.pybindings.portable_lib import ExecuTorchError
from sdk.runtime import Runtime

SIZES = [(40, 24), (16, 56), (8, 8), (20, 36), (300, 211), (7, 90), (200, 1), (44, 44)]
"""Heights and widths. Some are multiples of 8 (the side of the patches of one token), some are halfway between two
multiples (rounded to the even one), and some are too large or too small."""


@pytest.fixture(scope="module", params=[qwen2_5_vl, qwen2_vl], ids=["qwen2_5_vl", "qwen2_vl"])
def seeing(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Any, str]:
    """A model and its program. That of Qwen2.5-VL uses the attention operator and the default backend."""
    model, folder = request.param(), tmp_path_factory.mktemp("qwen")
    save(model, folder, images=True)
    settings = ["export.max_context_length=128"]
    if request.param is qwen2_5_vl:
        settings.append("model.use_sdpa_with_kv_cache=true")
        if (backend := default_backend()) is not None:
            settings.append(f"backend.{backend.identifier}.enabled=true")
    return model, str(program_of(folder, *settings))


def processed(model: Any, *pictures: Any) -> Any:
    """Returns the output of the processor of transformers."""
    processor = image_processor(model.config.model_type)
    return processor(list(pictures), return_tensors="pt", input_data_format="channels_first")


def places(given: Any) -> list[list[int]]:
    """The tokens of each picture."""
    return [[IMAGE] * (int(grid.prod()) // 4) for grid in given.image_grid_thw]


@pytest.mark.parametrize("size", SIZES, ids=lambda size: f"{size[0]}x{size[1]}")
def test_embeddings_of_pictures_of_any_size(seeing: tuple[Any, str], size: tuple[int, int]) -> None:
    """ECO-07: patches and embeddings, with windows that the picture does not fill."""
    model, program = seeing
    given = processed(model, picture(*size))
    methods = Runtime.get().load_program(program)
    encoder, preprocessor = (methods.load_method(name) for name in ("vision_encoder", "vision_preprocessor"))
    assert encoder is not None and preprocessor is not None
    steps = json.loads(str(methods.load_method("get_image_processor").execute([])[0]))  # type: ignore[union-attr]
    assert steps["least_pixels"] == 128 and steps["most_pixels"] == 1920
    patches = given.pixel_values.unflatten(1, (3, 2, 4, 4))[:, :, 0]
    mean, deviation = (
        torch.tensor(getattr(image_processor("qwen2_vl"), name))[:, None, None] for name in ("image_mean", "image_std")
    )
    raw = ((patches * deviation + mean) * 255).round().to(torch.uint8)
    torch.testing.assert_close(preprocessor.execute([raw])[0], patches, rtol=0, atol=1e-5)
    with torch.no_grad():
        found = model.model.get_image_features(given.pixel_values, given.image_grid_thw, return_dict=True)
    grid = given.image_grid_thw[0, 1:] // 2
    embeddings = encoder.execute([patches.contiguous(), grid])[0]
    torch.testing.assert_close(embeddings[0], torch.cat(list(found.pooler_output)), rtol=0, atol=1e-4)


@pytest.mark.parametrize("size", SIZES, ids=lambda size: f"{size[0]}x{size[1]}")
def test_text_after_a_picture_of_any_size(seeing: tuple[Any, str], size: tuple[int, int]) -> None:
    """ECO-07: from pixels to tokens; prompt_of() keeps the texts that the prompt has around a picture."""
    model, program = seeing
    given = processed(model, picture(*size))
    tokens = [*ids("ab"), BEGIN, *places(given)[0], END, *ids("cd")]
    media = {"pixel_values": given.pixel_values, "image_grid_thw": given.image_grid_thw}
    wanted, _ = continued(model, tokens, 6, **media)
    runner = MultimodalRunner(program)
    prompt = runner.prompt_of(f"ab<{BEGIN}><{IMAGE}><{END}>cd", [Image(picture(*size))])
    image = next(part.get_image() for part in prompt if part.is_image())
    rows, columns = (given.image_grid_thw[0, 1:] // 2).tolist()
    assert (image.height, image.width) == (8 * rows, 8 * columns)
    found = torch.tensor(image.uint8_data, dtype=torch.uint8).reshape(3, rows, 2, 4, columns, 2, 4)
    patches = found.permute(1, 4, 2, 5, 0, 3, 6).reshape(-1, 3, 4, 4).contiguous()
    method = Runtime.get().load_program(program).load_method("vision_preprocessor")
    assert method is not None
    pixels = given.pixel_values.unflatten(1, (3, 2, 4, 4))[:, :, 0]
    torch.testing.assert_close(method.execute([patches])[0], pixels, rtol=0, atol=1e-5)
    assert [part.get_tokens() for part in prompt if not part.is_image()] == [[*ids("ab"), BEGIN], [END, *ids("cd")]]
    runner.generate(prompt, greedy(6))
    assert runner.generated_tokens == wanted
    assert runner.position >= len(tokens)


def test_logits_after_two_pictures(seeing: tuple[Any, str]) -> None:
    """ECO-07: the program computes what transformers computes; positions go on after the longer side of a picture."""
    model, program = seeing
    given = processed(model, picture(16, 56), picture(40, 24))
    first, second = places(given)
    media = {"pixel_values": given.pixel_values, "image_grid_thw": given.image_grid_thw}
    _, wanted = continued(model, [*ids("ab"), *first, *ids("cd"), *second, *ids("x")], 1, **media)
    loaded = Runtime.get().load_program(program)
    methods = {name: loaded.load_method(name) for name in loaded.method_names if "get_" not in name}

    def logits(transposed: bool) -> torch.Tensor:
        position, found = 0, torch.empty(0)
        patches = iter(given.pixel_values.unflatten(1, (3, 2, 4, 4))[:, :, 0].split([len(first) * 4, len(second) * 4]))
        for part in (ids("ab"), given.image_grid_thw[0], ids("cd"), given.image_grid_thw[1], ids("x")):
            is_picture = isinstance(part, torch.Tensor)
            grid = part[1:] // 2 if is_picture else torch.empty(0)
            name, inputs = ("vision_encoder", [next(patches).contiguous(), grid]) if is_picture else (None, [])
            rows = methods[name or "token_embedding"].execute(inputs or [torch.tensor([part])])[0].clone()
            begin = [position, *(grid.flip(0) if transposed else grid).tolist()]
            for chunk in rows.split(3, dim=1):
                more = [torch.tensor(begin, dtype=torch.int64)] if is_picture else []
                decoder = methods["picture_decoder" if is_picture else "text_decoder"]
                found = decoder.execute([chunk.contiguous(), torch.tensor([position]), *more])[0].clone()
                position += chunk.shape[1]
        return found[0]

    torch.testing.assert_close(logits(False), wanted, rtol=0, atol=1e-4)
    assert (logits(True) - wanted).abs().max() > 1e-3  # swapped rows and columns give other logits


def test_conversations_with_pictures(seeing: tuple[Any, str]) -> None:
    """A conversation goes on after a picture, goes back, and begins anew."""
    model, program = seeing
    one, two = picture(16, 56), picture(24, 24)
    given = processed(model, one, two)
    first, second = places(given)
    alone = {"pixel_values": given.pixel_values[: 4 * len(first)], "image_grid_thw": given.image_grid_thw[:1]}
    both = {"pixel_values": given.pixel_values, "image_grid_thw": given.image_grid_thw}
    wanted, _ = continued(model, [*ids("a"), *first, *ids("b")], 4, **alone)
    runner = MultimodalRunner(program)
    start = [make_text_input("a"), make_image_input(torch.from_numpy(one)), make_text_input("b")]
    runner.generate(start, greedy(4))
    assert runner.generated_tokens == wanted
    following = [*ids("a"), *first, *ids("b"), *wanted, *ids("c"), *second]
    after, _ = continued(model, following, 4, **both)
    back = runner.position
    for _ in range(2):
        runner.generate([make_text_input("c"), make_image_input(torch.from_numpy(two))], greedy(4))
        assert runner.generated_tokens == after
        runner.rewind(back)
    again, _ = continued(model, [*ids("a"), *first, *ids("b"), *wanted, *ids("x")], 4, **alone)
    runner.generate("x", greedy(4))
    assert runner.generated_tokens == again
    runner.reset()
    runner.generate(start, greedy(4))
    assert runner.generated_tokens == wanted


def test_prompts_of_a_processor(seeing: tuple[Any, str]) -> None:
    """Patches, as Hugging Face's processor returns them."""
    model, program = seeing
    given = processed(model, picture(16, 56), picture(40, 24))
    first, second = places(given)
    tokens = [*ids("a"), *first, *ids("b"), *second, *ids("c")]
    media = {"pixel_values": given.pixel_values, "image_grid_thw": given.image_grid_thw}
    wanted, _ = continued(model, tokens, 5, **media)
    runner = MultimodalRunner(program)
    inputs = {"input_ids": torch.tensor([tokens]), **media}
    runner.generate_hf(inputs, greedy(5), image_token_id=IMAGE)
    assert runner.generated_tokens == wanted
    wrong: list[tuple[dict[str, Any], str]] = [
        ({"pixel_values": given.pixel_values[:4]}, "expected the patches of the pictures in 'image_grid_thw'"),
        ({"pixel_values": 3}, "found int"),
        ({"image_grid_thw": given.image_grid_thw * torch.tensor([2, 1, 1])}, "no videos"),
        ({"image_grid_thw": given.image_grid_thw[:, :2]}, r"\[pictures, 3\]: .* found torch.int64 \[2, 2\]"),
        ({"image_grid_thw": given.image_grid_thw[0]}, r"found torch.int64 \[3\]"),
        ({"image_grid_thw": given.image_grid_thw * 0}, r"whole numbers above 0, .*: \[\[0, 0, 0\], \[0, 0, 0\]\]"),
        ({"image_grid_thw": given.image_grid_thw.float()}, "found torch.float32"),
        ({"image_grid_thw": [[1, 4, 14], [1, 10, 6]]}, "found list"),
        ({"input_ids": torch.tensor([*ids("a"), *first])}, "have 2 pictures in 'pixel_values', and 1 runs"),
        ({"input_ids": torch.tensor([*first[1:], *ids("b"), *second])}, "13 tokens; expected a token for a square"),
    ]
    for more, message in wrong:
        with pytest.raises(RuntimeError, match=message):
            runner.generate_hf({**inputs, **more}, greedy(1), image_token_id=IMAGE)


def test_pictures_that_cannot_be_used(seeing: tuple[Any, str]) -> None:
    """The message says what does not fit; the runner stays usable."""
    model, program = seeing
    runner = MultimodalRunner(program)
    wrong: list[tuple[Any, str]] = [
        (picture(201, 1), "expected a side that is at most 200 times the other"),
        (
            picture(8, 400),
            "400 x 8 pixels, which the processor scales to 304 x 8; the program takes at most 1920 pixels",
        ),
        (picture(12, 16).astype(np.float32), "16 x 12 pixels; expected sides that are multiples of 8"),
        (np.zeros((1, 16, 16), np.uint8), r"4n, 3, 4, 4\), found \(16, 1, 4, 4\)"),
        (np.zeros((3, 8, 512), np.float32), "'vision_encoder' takes"),
    ]
    for pixels, message in wrong:
        with pytest.raises(ExecuTorchError, match=message):
            runner.prefill([make_image_input(torch.from_numpy(pixels))])
        assert runner.position == 0
    given = processed(model, picture(16, 16))
    media = {"pixel_values": given.pixel_values, "image_grid_thw": given.image_grid_thw}
    wanted, _ = continued(model, [*places(given)[0], *ids("x")], 3, **media)
    normalised = given.pixel_values.unflatten(1, (3, 2, 4, 4))[:, :, 0]
    pixels = normalised.unflatten(0, (2, 2, 2, 2)).permute(4, 0, 2, 5, 1, 3, 6).reshape(3, 16, 16).contiguous()
    runner.generate([make_image_input(pixels), make_token_input(ids("x"))], greedy(3))
    assert runner.generated_tokens == wanted


def test_attention_sinks_are_refused(tmp_path: Path) -> None:
    """Attention sinks store positions in a ring buffer, which cannot represent the rows and columns of a picture."""
    save(qwen2_vl(num_hidden_layers=1), tmp_path, images=True)
    with pytest.raises(SettingsError, match=r"model\.use_attention_sink: .* rotate by rows and columns \(M-RoPE\)"):
        program_of(tmp_path, "model.use_attention_sink='4,20'")


def test_weights_that_are_missing(tmp_path: Path) -> None:
    from safetensors.torch import load_file, save_file

    save(qwen2_vl(num_hidden_layers=1), tmp_path, images=True)
    path = tmp_path / "model.safetensors"
    weights = load_file(path)
    lost = next(name for name in weights if name.endswith("merger.mlp.0.weight"))
    save_file({name: value for name, value in weights.items() if name != lost}, path, {"format": "pt"})
    with pytest.raises(CheckpointError, match=r"its files lack weights of the model: .*merger\.mlp\.0\.weight$"):
        program_of(tmp_path)


def test_pictures_of_one_position(tmp_path: Path) -> None:
    """If the limits of pixels allow only pictures of one position, the program has no dynamic size."""
    model = qwen2_5_vl(num_hidden_layers=1)
    save(model, tmp_path, images=True)
    path = tmp_path / "preprocessor_config.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "min_pixels": 64, "max_pixels": 64}))
    runner = MultimodalRunner(str(program_of(tmp_path)))
    given = image_processor("qwen2_5_vl")(
        [picture(8, 8)], return_tensors="pt", input_data_format="channels_first", do_resize=False
    )
    media = {"pixel_values": given.pixel_values, "image_grid_thw": given.image_grid_thw}
    assert places(given) == [[IMAGE]]
    wanted, _ = continued(model, [IMAGE, *ids("x")], 3, **media)
    runner.generate([make_image_input(torch.from_numpy(picture(8, 8))), make_text_input("x")], greedy(3))
    assert runner.generated_tokens == wanted


def test_settings_that_do_not_belong_to_the_model(tmp_path: Path) -> None:
    save(qwen2_5_vl(num_hidden_layers=1), tmp_path, images=True)
    path = tmp_path / "preprocessor_config.json"
    given = json.loads(path.read_text())
    wrong: list[tuple[dict[str, Any], str]] = [
        ({"patch_size": 14}, "patch_size of the image processor: expected 4, as in the vision_config, found 14"),
        ({"merge_size": 1}, "merge_size of the image processor: expected 2"),
        ({"do_resize": False}, "expected a preprocessor_config.json with do_resize"),
        ({"max_pixels": "many"}, "max_pixels of the image processor: expected a whole number, found 'many'"),
        ({"min_pixels": 10000, "max_pixels": 20000}, "the smallest picture has 10000 pixels"),
    ]
    for more, message in wrong:
        path.write_text(json.dumps({**given, **more}))
        with pytest.raises(CheckpointError, match=message):
            program_of(tmp_path)
    path.unlink()
    with pytest.raises(CheckpointError, match="as the vision encoder takes only sides of certain lengths; found none"):
        program_of(tmp_path)
    with pytest.raises(ValueError, match=r"mrope_section=\[1, 2\]: expected numbers whose sum is 4"):
        Rope(ModelArgs(head_dim=8, mrope_section=[1, 2]))
