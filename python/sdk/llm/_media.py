# SPDX-License-Identifier: BSD-3-Clause
"""Pictures and sound as parts of a prompt of `sdk llm run`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from sdk.command import CommandError, describe, existing

if TYPE_CHECKING:
    from sdk.extension.llm.runner import MultimodalInput, MultimodalRunner

_METHODS = {"--image": "vision_encoder", "--audio": "audio_encoder"}
_TOKENS = {"--image": "get_image_token_id", "--audio": "get_audio_token_id"}
_SAMPLES_A_SECOND = 16000


def methods_of(model: Path) -> set[str]:
    """The names of a program's methods. Raises CommandError."""
    from sdk.command.programs import load

    return set(load(model, str(model)).method_names)


def takes_media(methods: set[str]) -> bool:
    """Whether a program with these methods accepts pictures or sound besides text."""
    return {"token_embedding", "text_decoder"} <= methods


def check_methods(methods: set[str], images: list[Path], sounds: list[Path]) -> None:
    """Raises CommandError for pictures or sound that the program does not take."""
    for option, files in (("--image", images), ("--audio", sounds)):
        if files and _METHODS[option] not in methods:
            raise CommandError(f"{option}: the program has no method `{_METHODS[option]}`")


def content_of(prompt: str, images: list[Path], sounds: list[Path]) -> str | list[dict[str, str]]:
    """Returns the content of a message in the form that chat templates expect."""
    if not images and not sounds:
        return prompt
    parts = [{"type": "image"} for _ in images] + [{"type": "audio"} for _ in sounds]
    return [*parts, {"type": "text", "text": prompt}]


def with_pictures(runner: MultimodalRunner, text: str, images: list[Path], add_bos: bool) -> list[MultimodalInput]:
    """Returns the parts of a prompt with pictures, prepared like in the model's processor.

    `add_bos`: whether the tokens that the tokenizer itself adds come first. Raises CommandError.
    """
    import numpy as np

    from sdk.extension.llm.runner import Image, make_token_input
    from sdk.run._pictures import opened

    pictures = [np.asarray(opened(existing(file), 3)).transpose(2, 0, 1) for file in images]
    first = runner.encode("") if add_bos else []
    try:
        parts = runner.prompt_of(text, [Image(np.ascontiguousarray(pixels)) for pixels in pictures])
        return [make_token_input(first), *parts] if first else parts
    except RuntimeError as error:
        raise CommandError(f"--image: {describe(error)}") from None


def inputs_of(runner: Any, tokens: list[int], images: list[Path], sounds: list[Path], model: Path) -> list[Any]:
    """Returns the parts of a prompt. Each run of tokens that mark a picture or sound is replaced by the next picture or
    sound. If the prompt has no such tokens, pictures and sound come first. Raises CommandError if the numbers
    differ."""
    from sdk.extension.llm.runner import make_token_input

    left = {"--image": [_picture(file, model) for file in images], "--audio": [_sound(file) for file in sounds]}
    places = {runner.metadata[_TOKENS[option]]: option for option in left if _TOKENS[option] in runner.metadata}
    if not places.keys() & set(tokens):
        return [*left["--image"], *left["--audio"], make_token_input(tokens)]
    found: list[MultimodalInput] = []
    text: list[int] = []
    for before, token in zip([None, *tokens[:-1]], tokens, strict=True):
        option = places.get(token)
        if option is None:
            text.append(token)
        elif token != before:
            if text:
                found.append(make_token_input(text))
                text = []
            if not left[option]:
                raise CommandError(f"{option}: the prompt has a place for another file")
            found.append(left[option].pop(0))
    for option, rest in left.items():
        if rest:
            raise CommandError(f"{option}: the prompt has no place for {len(rest)} of the files")
    return [*found, make_token_input(text)] if text else found


def _picture(file: Path, model: Path) -> MultimodalInput:
    """A picture of the size that the program takes: cropped to its middle if the ratio of its sides differs."""
    from sdk.command.programs import load, load_method, slots
    from sdk.extension.llm.runner import make_image_input
    from sdk.run._pictures import PictureOptions, as_input

    program = load(model, str(model))
    name = "vision_preprocessor" if "vision_preprocessor" in program.method_names else "vision_encoder"
    slot = slots(load_method(program, str(model), name))[0]
    found = as_input(existing(file), slot, PictureOptions())
    return make_image_input(found[0] if found.ndim == 4 else found)


def _sound(file: Path) -> MultimodalInput:
    from sdk.extension.llm.runner import make_raw_audio_input, read_wav

    try:
        samples, rate = read_wav(str(existing(file)))
    except RuntimeError as error:
        raise CommandError(f"--audio: {describe(error)}") from None
    if rate != _SAMPLES_A_SECOND:
        raise CommandError(
            f"--audio: `{file}` has {rate} samples a second, expected {_SAMPLES_A_SECOND}: convert it, such as with "
            f"`ffmpeg -i {file} -ar {_SAMPLES_A_SECOND} out.wav`"
        )
    return make_raw_audio_input(samples)
