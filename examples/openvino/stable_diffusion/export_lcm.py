# SPDX-License-Identifier: BSD-3-Clause
"""Exports a latent consistency model (LCM) of Stable Diffusion for OpenVINO:

    python export_lcm.py --model_id SimianLuo/LCM_Dreamshaper_v7 --output_dir ./lcm_models --device CPU --dtype fp16

writes text_encoder.pte, unet.pte and vae_decoder.pte, and beside them the folders `tokenizer` and `scheduler`, with
which openvino_lcm.py makes images. diffusers and transformers must be installed; the weights are downloaded, or read
from a folder that diffusers has saved.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from sdk.backends.openvino.partitioner import OpenvinoPartitioner
from sdk.backends.openvino.quantizer import QuantizationMode, quantize_model
from sdk.devtools.backend_debug import get_delegation_info
from sdk.exir import to_edge_transform_and_lower
from sdk.exir.backend.backend_details import CompileSpec

DTYPES = {"fp16": torch.float16, "fp32": torch.float32}
Inputs = tuple[Tensor, ...]


class TextEncoder(nn.Module):
    """Token ids, int64 [1, length], to embeddings [1, length, width]."""

    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        self.model = model

    def forward(self, ids: Tensor) -> Tensor:
        return self.model(ids, return_dict=False)[0]


class UNet(nn.Module):
    """The noise in latents [1, channels, height, width] at a timestep, int64 [1], for the embeddings of the prompt.

    `guidance`: the embedding of the guidance scale, [1, time_cond_proj_dim], of models that were distilled with one.
    """

    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        self.model = model

    def forward(self, latents: Tensor, timestep: Tensor, embeddings: Tensor, guidance: Tensor | None = None) -> Tensor:
        return self.model(latents, timestep, embeddings, timestep_cond=guidance, return_dict=False)[0]


class VAEDecoder(nn.Module):
    """Latents [1, channels, height, width] to an image [1, 3, height, width] with values from 0 to 1, in RGB."""

    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        self.model = model

    def forward(self, latents: Tensor) -> Tensor:
        image = self.model.decode(latents / self.model.config.scaling_factor, return_dict=False)[0]  # type: ignore[operator, union-attr]
        return (image / 2 + 0.5).clamp(0, 1)


def load_pipeline(model_id: str, dtype: torch.dtype) -> Any:
    """diffusers' pipeline of a model, without the filter for images that are not safe for work.

    Raises ValueError for a pipeline of another kind, and OSError if the model is not found.
    """
    from diffusers import DiffusionPipeline, LatentConsistencyModelPipeline

    pipeline = DiffusionPipeline.from_pretrained(model_id, safety_checker=None, requires_safety_checker=False)
    if not isinstance(pipeline, LatentConsistencyModelPipeline):
        raise ValueError(
            f"{model_id} is a {type(pipeline).__name__}; expected a LatentConsistencyModelPipeline with one text "
            "encoder, such as SimianLuo/LCM_Dreamshaper_v7"
        )
    return pipeline.to(dtype)


def components(
    pipeline: Any, height: int | None = None, width: int | None = None
) -> dict[str, tuple[nn.Module, Inputs]]:
    """The models of the pipeline by the names of their files, with example inputs.

    `height`, `width`: of the image in pixels, multiples of the pipeline's factor between image and latents; by default
    those that the model was trained for. Raises ValueError for others.
    """
    unet, factor = pipeline.unet, pipeline.vae_scale_factor
    trained = unet.config.sample_size * factor
    sizes = [size if size is not None else trained for size in (height, width)]
    if any(size < factor or size % factor for size in sizes):
        raise ValueError(
            f"the image would have {sizes[0]} x {sizes[1]} pixels; expected positive multiples of {factor}"
        )
    dtype = unet.dtype
    ids = torch.zeros(1, pipeline.tokenizer.model_max_length, dtype=torch.int64)
    latents = torch.randn(1, unet.config.in_channels, *(size // factor for size in sizes)).to(dtype)
    embeddings = torch.randn(1, ids.shape[1], unet.config.cross_attention_dim).to(dtype)
    inputs: Inputs = (latents, torch.tensor([1]), embeddings)
    if unet.config.time_cond_proj_dim is not None:
        inputs = (*inputs, torch.randn(1, unet.config.time_cond_proj_dim).to(dtype))
    return {
        "text_encoder": (TextEncoder(pipeline.text_encoder).eval(), (ids,)),
        "unet": (UNet(unet).eval(), inputs),
        "vae_decoder": (VAEDecoder(pipeline.vae).eval(), (latents,)),
    }


def unet_inputs(pipeline: Any, prompts: list[str], steps: int, height: int, width: int) -> Iterator[Inputs]:
    """The UNet's inputs while the pipeline makes an image for each prompt in eager mode."""
    seen: list[Inputs] = []

    def record(_: nn.Module, args: tuple[Any, ...], named: dict[str, Any]) -> None:
        latents, timestep = args[:2]
        guidance = named.get("timestep_cond")
        call = (latents, timestep.reshape(1), named["encoder_hidden_states"])
        seen.append(call if guidance is None else (*call, guidance))

    hook = pipeline.unet.register_forward_pre_hook(record, with_kwargs=True)
    try:
        for number, prompt in enumerate(prompts):
            seen.clear()
            generator = torch.Generator().manual_seed(number)
            options = {"height": height, "width": width, "num_inference_steps": steps, "generator": generator}
            pipeline(prompt, output_type="latent", **options)
            yield from list(seen)
    finally:
        hook.remove()


def quantize(name: str, model: nn.Module, inputs: Inputs, calls: list[Inputs]) -> nn.Module:
    """The UNet gets int8 weights and activations, calibrated with `calls`; the others int8 weights."""
    captured = torch.export.export(model, inputs).module()
    if name == "unet":
        return quantize_model(captured, calls, mode=QuantizationMode.INT8_TRANSFORMER, subset_size=len(calls))  # type: ignore[arg-type]
    return quantize_model(captured, [inputs], mode=QuantizationMode.INT8WO_ASYM)  # type: ignore[arg-type]


def lower(model: nn.Module, inputs: Inputs, device: str) -> Any:
    """The edge program, with the operators that OpenVINO supports delegated to it."""
    partitioner = OpenvinoPartitioner([CompileSpec("device", device.encode())])
    return to_edge_transform_and_lower(torch.export.export(model, inputs), partitioner=[partitioner])


@contextmanager
def _all_or_nothing(folder: Path) -> Iterator[Path]:
    """A folder whose contents move to `folder` if all went well."""
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder, prefix=".export-") as made:
        yield Path(made)
        for path in sorted(Path(made).rglob("*")):
            if path.is_file():
                target = folder / path.relative_to(made)
                target.parent.mkdir(exist_ok=True)
                path.replace(target)


def export(pipeline: Any, folder: Path, options: argparse.Namespace) -> None:
    """Writes the programs, the tokenizer and the scheduler."""
    parts = components(pipeline, options.height, options.width)
    calls: list[Inputs] = []
    if options.prompts is not None:
        prompts = [line.strip() for line in options.prompts.read_text().splitlines() if line.strip()]
        if not prompts:
            raise ValueError(f"--prompts {options.prompts} is empty; expected a prompt in each line")
        height, width = (size * pipeline.vae_scale_factor for size in parts["unet"][1][0].shape[2:])
        calls = list(unet_inputs(pipeline, prompts, options.steps, height, width))
    with _all_or_nothing(folder) as made, torch.no_grad():
        for name, (part, inputs) in parts.items():
            model = quantize(name, part, inputs, calls) if options.quantize else part
            edge = lower(model, inputs, options.device)
            print(f"{name}:\n{get_delegation_info(edge.exported_program().graph_module).get_summary()}", end="")
            edge.to_executorch().save(str(made / f"{name}.pte"))
        pipeline.tokenizer.save_pretrained(made / "tokenizer")
        pipeline.scheduler.save_pretrained(made / "scheduler")
    print(f"{', '.join(f'{name}.pte' for name in parts)} are in {folder}.")


def _options(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Exports a latent consistency model for OpenVINO.")
    parser.add_argument(
        "--model_id", default="SimianLuo/LCM_Dreamshaper_v7", help="a model of the Hugging Face hub, or a folder"
    )
    parser.add_argument("--output_dir", required=True, type=Path)
    parser.add_argument("--device", choices=("CPU", "GPU", "NPU"), default="CPU", help="default: CPU")
    parser.add_argument("--dtype", choices=sorted(DTYPES), help="default: fp16, with --quantize fp32")
    parser.add_argument("--height", type=int, help="pixels of the image; default: as the model was trained")
    parser.add_argument("--width", type=int, help="see --height")
    parser.add_argument(
        "--quantize", action="store_true", help="use int8: weights and activations of the UNet, weights of the others"
    )
    parser.add_argument(
        "--prompts", type=Path, help="a text file with a prompt in each line, which calibrates the UNet"
    )
    parser.add_argument("--steps", type=int, default=4, help="steps for each image of the calibration; default: 4")
    options = parser.parse_args(arguments)
    if options.quantize != (options.prompts is not None):
        parser.error("--quantize needs --prompts, and --prompts is for --quantize")
    if options.quantize and options.dtype == "fp16":
        parser.error("--quantize needs --dtype fp32: scales are computed from float32")
    if options.steps < 1:
        parser.error(f"--steps is {options.steps}; expected at least 1")
    options.dtype = DTYPES[options.dtype or ("fp32" if options.quantize else "fp16")]
    return options


def main(arguments: list[str] | None = None) -> int:
    """The command. Returns the exit status."""
    options = _options(arguments)
    try:
        export(load_pipeline(options.model_id, options.dtype), options.output_dir, options)
    except ImportError as error:
        print(
            f"error: {error}. Install diffusers and transformers: pip install diffusers transformers", file=sys.stderr
        )
        return 1
    except (OSError, RuntimeError, ValueError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
