# SPDX-License-Identifier: BSD-3-Clause
"""Turn a model of SentencePiece into a file of llama2.c.

python -m sdk.extension.llm.tokenizers.tools.llama2c.convert -t tokenizer.model
"""

from __future__ import annotations

import argparse
import pathlib

from sdk.extension.llm.tokenizers.llama2c import Llama2cTokenizer


def main() -> None:
    """The command: converts one file."""
    parser = argparse.ArgumentParser(description="Turn a model of SentencePiece into a file of llama2.c.")
    parser.add_argument("-t", "--tokenizer-model", default="tokenizer.model", help="the model (default: %(default)s)")
    parser.add_argument("-o", "--output-path", help="the file to write (default: the model's name with .bin)")
    parser.add_argument("-p", "--prepend-padding", action="store_true", help='put a token "<pad>" before all others')
    arguments = parser.parse_args()
    output = arguments.output_path or str(pathlib.Path(arguments.tokenizer_model).with_suffix(".bin"))
    Llama2cTokenizer(arguments.tokenizer_model).export(output, prepend_padding=arguments.prepend_padding)


if __name__ == "__main__":
    main()
