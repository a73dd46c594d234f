# SPDX-License-Identifier: BSD-3-Clause
"""Turn the checkpoint of a language model into a program with its cache, tokenizer and chat template.

MODEL is a .gguf file (its weights keep their quantisation), a folder with config.json, .safetensors files and
tokenizer.json, or the id of such a model on the Hugging Face hub, which is downloaded. The program answers prompts with
`sdk llm run`, and in every runtime.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from sdk.command import OK, CommandError, Parser, check_writable, describe, existing, finish, print_json
from sdk.command.arguments import chosen_backend, count
from sdk.util.paths import file_path

_CONTEXT = 2048
"""The default limit of the positions of the cache, which takes memory whether it is used or not."""
_CHUNK = 512
"""Tokens of a prompt that one call takes."""
_EPILOG = """\
examples
  sdk llm export SmolLM2-135M-Instruct.Q4_1.gguf -o smollm2.pte
  sdk llm export Qwen/Qwen3-0.6B -o qwen3.pte --context 8192 --set quantization.qmode=8da4w
"""


def main(argv: Sequence[str], prog: str) -> int:
    """Exports a model; returns the exit status."""
    parser = Parser(prog, __doc__ or "", "is not used", _EPILOG, extra="llm")
    parser.add_argument(
        "model", type=file_path, metavar="MODEL", help="a .gguf file, a folder of Hugging Face's form, or an id"
    )
    parser.add_argument("-o", "--output", type=file_path, required=True, metavar="OUT.pte", help="the program to write")
    parser.add_argument("--context", type=count(1), help=f"positions of the cache (the model's, {_CONTEXT} at most)")
    parser.add_argument("--chunk", type=count(1), help=f"tokens that one call takes ({_CHUNK}, or the context)")
    parser.add_argument("--backend", help="the backend, or `portable` for no backend (the one for CPUs)")
    parser.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="GROUP.KEY=VALUE",
        help="any setting of export_llm (docs/llm.md); repeatable",
    )
    return finish(parser, argv, _export)


def _export(options: argparse.Namespace) -> int:
    output: Path = options.output
    if output.suffix != ".pte":
        raise CommandError(f"--output: expected a file that ends in .pte, found `{output}`")
    check_writable([output])
    _check(options.model)
    from sdk.extension.llm.export._torchao import import_torchao

    import_torchao()
    options.model = _found(options.model)
    from sdk.extension.llm.export.export_llm import export

    try:
        written = export(None, _settings(options))
    except (ValueError, RuntimeError) as error:
        raise CommandError(describe(error)) from None
    if options.json:
        print_json({"program": str(written), "bytes": written.stat().st_size})
    else:
        print(f"written: {written} ({written.stat().st_size / 1e6:.1f} MB)")
    return OK


def _check(model: Path) -> None:
    """Raises CommandError for a path that is not a checkpoint, before packages are imported that may be missing."""
    if model.is_dir():
        if not (model / "config.json").exists():
            raise CommandError(f"`{model}` is not a model: a folder of Hugging Face's form has a config.json")
    elif model.exists():
        if model.suffix.lower() != ".gguf":
            raise CommandError(f"expected a .gguf file or a folder, found `{model}`")
        with existing(model).open("rb") as file:
            head = file.read(4)
        if head != b"GGUF":
            raise CommandError(f"`{model}` is not a GGUF file: expected GGUF as its first 4 bytes, found {head!r}")
    elif len(model.parts) != 2 or model.is_absolute() or model.suffix.lower() == ".gguf":
        raise CommandError(_missing(model))


def _missing(model: Path) -> str:
    return (
        f"there is no file or folder `{model}`; expected a .gguf file, a folder with config.json and .safetensors "
        "files, or the id of a model on the hub, such as Qwen/Qwen3-0.6B"
    )


def _found(model: Path) -> Path:
    """The file or folder of a model, which is downloaded if it is one of the hub. Raises CommandError."""
    from sdk.extension.llm.export.checkpoint._hub import downloaded, is_hub_id

    if model.exists() or not is_hub_id(str(model)):
        return model
    try:
        return downloaded(str(model))
    except ValueError as error:
        raise CommandError(describe(error)) from None


def _settings(options: argparse.Namespace) -> list[str]:
    from sdk.extension.llm.export.config.backend_config import BackendConfig

    longest = context_of(options.model)
    context = options.context or min(_CONTEXT, longest or _CONTEXT)
    if longest is not None and context > longest:
        raise CommandError(f"--context: {context} is more than the {longest} positions that the model supports")
    if options.chunk is not None and options.chunk > context:
        raise CommandError(f"--chunk: {options.chunk} tokens of a call do not fit into the context of {context}")
    settings: dict[str, Any] = {
        "base.checkpoint": options.model,
        "model.use_kv_cache": "true",
        "model.use_sdpa_with_kv_cache": "true",
        "export.max_context_length": context,
        "export.max_seq_length": min(options.chunk or _CHUNK, context),
        "export.embed_tokenizer": "true",
        "export.output_dir": options.output.parent,
        "export.output_name": options.output.name,
    }
    if (backend := chosen_backend(options.backend)) is not None:
        settings[f"backend.{backend.name}.enabled"] = "true"
        if hasattr(getattr(BackendConfig(), backend.name, None), "extended_ops"):
            settings[f"backend.{backend.name}.extended_ops"] = "true"
    return [*(f"{name}={value}" for name, value in settings.items()), *options.set]


def context_of(model: Path) -> int | None:
    """Positions that a model was trained for; None if its checkpoint does not say. Raises CommandError for a path that
    is not a checkpoint."""
    _check(model)
    if model.is_dir():
        from sdk.exir._serialize._regular_file import JSONFileError, read_json

        config = model / "config.json"
        try:
            read = read_json(config)
        except JSONFileError as error:
            raise CommandError(str(error)) from None
        found = read.get("max_position_embeddings", read.get("text_config", {}).get("max_position_embeddings"))
        return found if isinstance(found, int) else None
    if not model.exists():
        raise CommandError(_missing(model))
    from sdk.extension.llm.export.gguf import GGUFFile

    try:
        metadata = GGUFFile(model).metadata
    except ValueError as error:
        raise CommandError(describe(error)) from None
    found = metadata.get(f"{metadata.get('general.architecture')}.context_length")
    return found if isinstance(found, int) else None
