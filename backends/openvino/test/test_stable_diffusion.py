# SPDX-License-Identifier: BSD-3-Clause
"""examples/openvino/stable_diffusion, on a small latent consistency model with random weights, against diffusers' own
pipeline in eager mode. Most tests need diffusers, which the gate does not install, and are skipped without it:
`pip install --no-deps diffusers`."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest
import torch
from examples.openvino.stable_diffusion import export_lcm, openvino_lcm

from sdk.exir._serialize._program import deserialize_pte_binary

PROMPT = "a b c"
SIZE = ["--height", "32", "--width", "16"]


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A pipeline that diffusers has saved: images of 16 x 16 pixels from latents of 8 x 8."""
    diffusers = pytest.importorskip("diffusers", reason="the gate does not install it")
    from transformers import CLIPTextConfig, CLIPTextModel, CLIPTokenizer

    folder = tmp_path_factory.mktemp("lcm")
    letters = [chr(97 + i) for i in range(26)]
    words = [*letters, *(f"{letter}</w>" for letter in letters), "<|startoftext|>", "<|endoftext|>"]
    (folder / "vocab.json").write_text(json.dumps({word: number for number, word in enumerate(words)}))
    (folder / "merges.txt").write_text("#version: 0.2\n")
    tokenizer = CLIPTokenizer(str(folder / "vocab.json"), str(folder / "merges.txt"), model_max_length=12)
    torch.manual_seed(0)
    text = CLIPTextConfig(
        vocab_size=len(words), hidden_size=32, intermediate_size=64, num_hidden_layers=2, num_attention_heads=4,
        max_position_embeddings=12, bos_token_id=52, eos_token_id=53, pad_token_id=53, projection_dim=32,
    )  # fmt: skip
    unet = diffusers.UNet2DConditionModel(
        sample_size=8, block_out_channels=(32, 64), layers_per_block=1, norm_num_groups=8, cross_attention_dim=32,
        down_block_types=("DownBlock2D", "CrossAttnDownBlock2D"), up_block_types=("CrossAttnUpBlock2D", "UpBlock2D"),
        attention_head_dim=8, time_cond_proj_dim=16,
    )  # fmt: skip
    blocks = {"down_block_types": ["DownEncoderBlock2D"] * 2, "up_block_types": ["UpDecoderBlock2D"] * 2}
    vae = diffusers.AutoencoderKL(block_out_channels=[32, 64], latent_channels=4, norm_num_groups=8, **blocks)
    pipeline = diffusers.LatentConsistencyModelPipeline(
        vae=vae, text_encoder=CLIPTextModel(text), tokenizer=tokenizer, unet=unet, scheduler=diffusers.LCMScheduler(),
        safety_checker=None, feature_extractor=None, requires_safety_checker=False,
    )  # fmt: skip
    pipeline.save_pretrained(folder / "model")
    return folder / "model"


def _eager(model: Path, dtype: torch.dtype = torch.float32, **options: Any) -> torch.Tensor:
    """diffusers' image [3, height, width]."""
    pipeline = export_lcm.load_pipeline(str(model), dtype)
    pipeline.set_progress_bar_config(disable=True)
    generator = torch.Generator().manual_seed(options.pop("seed"))
    with torch.no_grad():
        return pipeline(PROMPT, generator=generator, output_type="pt", **options).images[0]


@pytest.mark.parametrize(("dtype", "tolerance"), [("fp32", 1e-4), ("fp16", 2e-2)])
def test_the_image_is_that_of_diffusers(dtype: str, tolerance: float, model: Path, tmp_path: Path) -> None:
    """ECO-05: text encoder, UNet and VAE decoder in OpenVINO generate the image that diffusers generates from the same
    seed."""
    command = ["--model_id", str(model), "--output_dir", str(tmp_path), "--device", "CPU", "--dtype", dtype, *SIZE]
    assert export_lcm.main(command) == 0
    for name in openvino_lcm.PROGRAMS:
        plan = deserialize_pte_binary((tmp_path / f"{name}.pte").read_bytes()).program.execution_plan[0]
        assert {delegate.id for delegate in plan.delegates} == {"OpenvinoBackend"}, name
        heavy = [operator.name for operator in plan.operators if "conv" in operator.name or "mm" in operator.name]
        assert not heavy, name
    pipeline = openvino_lcm.OpenVINOLCMPipeline(tmp_path)
    for steps, guidance in ((4, 8.5), (1, 1.0)):
        found = pipeline(PROMPT, steps, guidance, seed=7)
        options = {"num_inference_steps": steps, "guidance_scale": guidance, "height": 32, "width": 16, "seed": 7}
        expected = _eager(model, export_lcm.DTYPES[dtype], **options)
        assert found.shape == (3, 32, 16) and expected.std() > 0.01
        assert (found.float() - expected.float()).abs().max() <= tolerance
    assert not torch.equal(pipeline(PROMPT, 4, 8.5, seed=7), pipeline(PROMPT, 4, 1.0, seed=7))
    assert not torch.equal(pipeline(PROMPT, seed=7), pipeline("x y z", seed=7))


def test_the_commands_of_the_page(model: Path, tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    """ECO-05: the models are quantised with prompts, and the image that they write to a file is near that of the float
    models."""
    from PIL import Image

    (tmp_path / "prompts.txt").write_text("a cat\n\na dog\n")
    arguments = ["--model_id", str(model), "--output_dir", str(tmp_path / "made"), "--quantize"]
    assert export_lcm.main([*arguments, "--prompts", str(tmp_path / "prompts.txt"), "--steps", "2"]) == 0
    run = ["--models_dir", str(tmp_path / "made"), "--prompt", PROMPT, "--seed", "7", "--output_dir", str(tmp_path)]
    assert openvino_lcm.main([*run, "--steps", "2", "--filename", "image.png"]) == 0
    assert "image made in" in capsys.readouterr().out
    with Image.open(tmp_path / "image.png") as image:
        pixels = torch.frombuffer(bytearray(image.tobytes()), dtype=torch.uint8).reshape(16, 16, 3) / 255
    expected = _eager(model, num_inference_steps=2, guidance_scale=8.5, height=16, width=16, seed=7)
    assert (pixels.permute(2, 0, 1) - expected).abs().mean() < 0.1 * (expected.max() - expected.min())
    assert openvino_lcm.main([*run, "--dtype", "fp16"]) == 1
    assert "the programs compute in torch.float32" in capsys.readouterr().err
    (tmp_path / "made" / "unet.pte").unlink()
    assert openvino_lcm.main(run) == 1
    assert "has no unet.pte; export_lcm.py writes them" in capsys.readouterr().err


def test_a_failed_export_leaves_nothing(model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lower = export_lcm.lower

    def fail_on_the_decoder(part: Any, *rest: Any) -> Any:
        if isinstance(part, export_lcm.VAEDecoder):
            raise RuntimeError("no memory")
        return lower(part, *rest)

    monkeypatch.setattr(export_lcm, "lower", fail_on_the_decoder)
    assert export_lcm.main(["--model_id", str(model), "--output_dir", str(tmp_path), "--dtype", "fp32"]) == 1
    assert not list(tmp_path.iterdir())


def test_wrong_sizes_and_models_are_said(model: Path, tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    arguments = ["--output_dir", str(tmp_path), "--model_id"]
    assert export_lcm.main([*arguments, str(model), "--width", "15"]) == 1
    assert "16 x 15 pixels; expected positive multiples of 2" in capsys.readouterr().err
    assert export_lcm.main([*arguments, str(tmp_path / "nowhere")]) == 1
    assert capsys.readouterr().err.startswith("error: ")


def test_wrong_options_say_what_to_do(
    tmp_path: Path, capsys: pytest.CaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    for arguments, says in (
        (["--quantize"], "--quantize needs --prompts"),
        (["--prompts", "p.txt"], "--prompts is for --quantize"),
        (["--quantize", "--prompts", "p.txt", "--dtype", "fp16"], "--quantize needs --dtype fp32"),
        (["--steps", "0"], "--steps is 0; expected at least 1"),
    ):
        with pytest.raises(SystemExit):
            export_lcm.main(["--output_dir", str(tmp_path), *arguments])
        assert says in capsys.readouterr().err
    with pytest.raises(SystemExit):
        openvino_lcm.main(["--models_dir", str(tmp_path), "--steps", "0"])
    assert "--steps is 0; expected at least 1" in capsys.readouterr().err
    monkeypatch.setitem(sys.modules, "diffusers", None)
    for script, option in ((export_lcm, "--output_dir"), (openvino_lcm, "--models_dir")):
        for name in openvino_lcm.PROGRAMS:
            (tmp_path / f"{name}.pte").touch()
        assert script.main([option, str(tmp_path)]) == 1
        (line,) = capsys.readouterr().err.splitlines()
        assert line.startswith("error: ") and "pip install diffusers transformers" in line


def test_the_embedding_of_the_guidance_scale() -> None:
    """sin and cos of 1000 * (scale - 1) times 10000^(-i / (half - 1)), by arithmetic."""
    found = openvino_lcm.guidance_embedding(1.5, 6)[0]
    angles = torch.tensor([500.0, 500 * 10000**-0.5, 500 * 10000**-1.0], dtype=torch.float64)
    assert torch.allclose(found.double(), torch.cat([angles.sin(), angles.cos()]), atol=1e-4)
