# SPDX-License-Identifier: BSD-3-Clause
"""Turn a model of embeddings into a program that makes vectors of texts, with its pooling and its tokenizer inside.

MODEL is a folder with config.json, .safetensors files and tokenizer.json. A folder of sentence-transformers, with
modules.json, says how the vectors of tokens become one; for others, --pooling does. `sdk llm embed` runs the program.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from sdk.command import OK, CommandError, Parser, check_writable, describe, finish, print_json
from sdk.command.arguments import chosen_backend, count
from sdk.extension.llm.export.pooling_modes import POOLINGS
from sdk.util.paths import file_path

_EPILOG = """\
examples
  sdk llm embedder all-MiniLM-L6-v2 -o minilm.pte
  sdk llm embedder Qwen3-Embedding-0.6B -o qwen3.pte --pooling last --normalize --max-length 2048
"""


def main(argv: Sequence[str], prog: str) -> int:
    """Exports a model; returns the exit status."""
    parser = Parser(prog, __doc__ or "", "is not used", _EPILOG, extra="examples")
    parser.add_argument("model", type=file_path, metavar="MODEL", help="a folder of Hugging Face's form")
    parser.add_argument("-o", "--output", type=file_path, required=True, metavar="OUT.pte", help="the program to write")
    parser.add_argument(
        "--pooling",
        choices=POOLINGS,
        help="how the vectors of tokens become one (the folder's)",
    )
    parser.add_argument(
        "--normalize", action=argparse.BooleanOptionalAction, help="give vectors the length 1 (as the folder says)"
    )
    parser.add_argument("--max-length", type=count(2), help="maximum number of tokens of a text (the folder's)")
    parser.add_argument("--backend", help="the backend, or `portable` for no backend (the one for CPUs)")
    return finish(parser, argv, _export)


def _export(options: argparse.Namespace) -> int:
    output: Path = options.output
    if output.suffix != ".pte":
        raise CommandError(f"--output: expected a file that ends in .pte, found `{output}`")
    check_writable([output])
    if not (options.model / "config.json").is_file():
        raise CommandError(f"`{options.model}` is not a model: expected a folder with a config.json")
    backend = chosen_backend(options.backend)
    from sdk.extension.llm.export.embedding import export_embedding

    try:
        program = export_embedding(options.model, backend, options.pooling, options.normalize, options.max_length)
        program.save(output)
    except (ValueError, RuntimeError) as error:
        raise CommandError(describe(error)) from None
    if options.json:
        print_json({"program": str(output), "bytes": output.stat().st_size})
    else:
        print(f"written: {output} ({output.stat().st_size / 1e6:.1f} MB)")
    return OK
