# SPDX-License-Identifier: BSD-3-Clause
"""Turn texts into vectors: a line of numbers for each text. The dot product of two vectors of length 1 says how alike
the texts are.

Some models expect a prefix that names the task before each text ("query: "); the model's page says which.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from sdk.command import OK, CommandError, Parser, describe, existing, finish, print_json
from sdk.command.arguments import count
from sdk.llm._media import methods_of
from sdk.util.paths import file_path

_EPILOG = """\
examples
  sdk llm embed minilm.pte "How is the weather?" "Will it rain today?"
  sdk llm embed minilm.pte --json "Will it rain today?"
"""


def main(argv: Sequence[str], prog: str) -> int:
    """Prints the vectors; returns the exit status."""
    parser = Parser(prog, __doc__ or "", "is not used", _EPILOG)
    parser.add_argument("model", type=file_path, metavar="MODEL.pte", help="a program of `sdk llm embedder`")
    parser.add_argument("texts", nargs="+", metavar="TEXT", help="the texts")
    parser.add_argument("--tokenizer", type=file_path, help="its tokenizer (the one inside the program)")
    parser.add_argument("--threads", type=count(1), help="how many threads kernels run on (one for each fast core)")
    parser.add_argument("--truncate", action="store_true", help="leave out the end of a text that is too long")
    return finish(parser, argv, _embed)


def _embed(options: argparse.Namespace) -> int:
    from sdk.command.programs import program_file, set_threads

    set_threads(options.threads)
    model = program_file(options.model)
    tokenizer = None if options.tokenizer is None else str(existing(options.tokenizer))
    if "embed" not in methods_of(model):
        raise CommandError(f"`{model}` does not turn texts into vectors: expected a program of `sdk llm embedder`")
    from sdk.extension.llm.runner import TextEmbedder

    vectors = []
    try:
        embedder = TextEmbedder(str(model), tokenizer)
        for text in options.texts:
            vectors.append([float(value) for value in embedder.embed(text, truncate=options.truncate)])
    except (RuntimeError, ValueError) as error:
        raise CommandError(describe(error)) from None
    if options.json:
        print_json({"vectors": vectors})
    else:
        for vector in vectors:
            print(" ".join(f"{value:.9g}" for value in vector))
    return OK
