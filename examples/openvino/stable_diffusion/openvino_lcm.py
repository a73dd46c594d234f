# SPDX-License-Identifier: BSD-3-Clause
"""Makes an image with the programs that export_lcm.py has written:

    python openvino_lcm.py --models_dir ./lcm_models --prompt "a beautiful sunset over mountains" --steps 4

diffusers, transformers and Pillow must be installed.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from sdk.exir.tensor import get_scalar_type
from sdk.runtime import Method, Runtime

PROGRAMS = ("text_encoder", "unet", "vae_decoder")
_DTYPES = {"fp16": torch.float16, "fp32": torch.float32}


def guidance_embedding(scale: float, size: int) -> Tensor:
    """The embedding [1, size] of a guidance scale: of 1000 * (scale - 1), as sinusoidal embeddings of positions
    (Vaswani et al., Attention Is All You Need, 2017, section 3.5) with sines before cosines. `size` is even.
    """
    half = size // 2
    frequencies = torch.exp(-torch.log(torch.tensor(10000.0)) / (half - 1) * torch.arange(half, dtype=torch.float32))
    angles = torch.tensor([[scale - 1]]) * 1000 * frequencies
    return torch.cat([torch.sin(angles), torch.cos(angles)], dim=1)


class OpenVINOLCMPipeline:
    """Text to images by a latent consistency model (Luo et al., Latent Consistency Models, 2023).

    Args:
        models_dir: The folder that export_lcm.py has written.
        tokenizer_path, scheduler: Replacements of those in that folder: a folder or an id of the hub.

    Raises:
        OSError: a file is missing.
        RuntimeError: a program cannot be loaded.
        ValueError: the programs do not fit each other.
    """

    def __init__(self, models_dir: Path, tokenizer_path: str | None = None, scheduler: str | None = None) -> None:
        from diffusers import LCMScheduler
        from transformers import CLIPTokenizer

        paths = [models_dir / f"{name}.pte" for name in PROGRAMS]
        missing = [path.name for path in paths if not path.is_file()]
        if missing:
            raise FileNotFoundError(f"{models_dir} has no {', '.join(missing)}; export_lcm.py writes them")
        start = time.perf_counter()
        runtime = Runtime.get()
        self._methods = [runtime.load_program(path).load_method("forward") for path in paths]
        self.load_time = time.perf_counter() - start
        """Seconds that loading the programs took."""
        encoder, unet, decoder = (_inputs(method) for method in self._methods)
        self.latent_shape, self.dtype = unet[0]
        if decoder[0] != unet[0] or len(unet) not in (3, 4):
            raise ValueError(f"{models_dir}: unet.pte makes latents {unet[0]}, and vae_decoder.pte takes {decoder[0]}")
        self._length = encoder[0][0][1]
        self._guidance_size = unet[3][0][1] if len(unet) == 4 else None
        self._tokenizer = CLIPTokenizer.from_pretrained(tokenizer_path or str(models_dir / "tokenizer"))
        self._scheduler = LCMScheduler.from_pretrained(scheduler or str(models_dir / "scheduler"))

    def __call__(self, prompt: str, steps: int = 4, guidance: float = 8.5, seed: int | None = None) -> Tensor:
        """The image [3, height, width] with values from 0 to 1, in RGB.

        `steps`: 4 to 8 are usual. `guidance`: how closely to follow the prompt; models without an embedding of it
        ignore it. `seed`: the same number gives the same image.
        """
        text_encoder, unet, vae_decoder = self._methods
        generator = torch.Generator()
        if seed is None:
            generator.seed()
        else:
            generator.manual_seed(seed)
        tokens = self._tokenizer(
            prompt, padding="max_length", max_length=self._length, truncation=True, return_tensors="pt"
        )
        (embeddings,) = text_encoder.execute([tokens.input_ids])
        self._scheduler.set_timesteps(steps)
        latents = torch.randn(self.latent_shape, generator=generator, dtype=self.dtype)
        latents = denoised = latents * self._scheduler.init_noise_sigma
        extra = []
        if self._guidance_size is not None:
            extra = [guidance_embedding(guidance, self._guidance_size).to(self.dtype)]
        for timestep in self._scheduler.timesteps:
            inputs = [latents.to(self.dtype), timestep.reshape(1), embeddings, *extra]
            (noise,) = unet.execute(inputs)
            latents, denoised = self._scheduler.step(noise, timestep, latents, generator=generator, return_dict=False)
        (image,) = vae_decoder.execute([denoised.to(self.dtype)])
        return image[0]


def _inputs(method: Method) -> list[tuple[tuple[int, ...], torch.dtype]]:
    """The shape and the dtype of each input."""
    infos = [method.metadata.input_tensor_meta(position) for position in range(method.metadata.num_inputs())]
    return [(tuple(info.sizes()), get_scalar_type(info.dtype())) for info in infos]


def to_pixels(image: Tensor) -> Any:
    """Pillow's image of a tensor [3, height, width] with values from 0 to 1."""
    from PIL import Image

    return Image.fromarray((image.float().permute(1, 2, 0) * 255).round().to(torch.uint8).numpy())


def _options(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Makes an image with a latent consistency model on OpenVINO.")
    parser.add_argument("--models_dir", required=True, type=Path, help="the folder that export_lcm.py has written")
    parser.add_argument("--prompt", default="a serene landscape")
    parser.add_argument("--steps", type=int, default=4, help="default: 4")
    parser.add_argument("--guidance", type=float, default=8.5, help="how closely to follow the prompt; default: 8.5")
    parser.add_argument("--seed", type=int, help="the same number gives the same image")
    parser.add_argument(
        "--dtype", choices=sorted(_DTYPES), help="the dtype of the programs; a different one is an error"
    )
    parser.add_argument("--output_dir", type=Path, default=Path("lcm_outputs"))
    parser.add_argument(
        "--filename", default="output.jpg", help="the image, whose suffix sets the format; default: output.jpg"
    )
    parser.add_argument("--tokenizer_path", help="a tokenizer to use instead of that beside the programs")
    parser.add_argument(
        "--original_model_id", help="the model whose scheduler is used instead of that beside the programs"
    )
    options = parser.parse_args(arguments)
    if options.steps < 1:
        parser.error(f"--steps is {options.steps}; expected at least 1")
    return options


def run(options: argparse.Namespace) -> None:
    """Carries out the options. Raises OSError, RuntimeError or ValueError."""
    pipeline = OpenVINOLCMPipeline(options.models_dir, options.tokenizer_path, options.original_model_id)
    if options.dtype is not None and _DTYPES[options.dtype] is not pipeline.dtype:
        raise ValueError(f"--dtype {options.dtype}: the programs compute in {pipeline.dtype}; export them again")
    start = time.perf_counter()
    image = pipeline(options.prompt, options.steps, options.guidance, options.seed)
    seconds = time.perf_counter() - start
    options.output_dir.mkdir(parents=True, exist_ok=True)
    path = options.output_dir / options.filename
    to_pixels(image).save(path)
    print(f"Programs loaded in {pipeline.load_time:.3f} s, image made in {seconds:.3f} s: {path}")


def main(arguments: list[str] | None = None) -> int:
    """The command. Returns the exit status."""
    options = _options(arguments)
    try:
        run(options)
    except ImportError as error:
        print(f"error: {error}. Install them: pip install diffusers transformers pillow", file=sys.stderr)
        return 1
    except (OSError, RuntimeError, ValueError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
