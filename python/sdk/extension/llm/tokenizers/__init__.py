# SPDX-License-Identifier: BSD-3-Clause
"""Tokenizers: text into token ids and back.

    tokenizer = get_tokenizer("tokenizer.json")
    ids = tokenizer.encode("Hello", bos=True, eos=False)
    text = tokenizer.decode(ids)

The names are the same as in the package `pytorch_tokenizers`. All run in C++ and need no other package. The classes
`Cpp...` are the C++ ones themselves, `load_tokenizer` finds the format of a file by its content, and `StreamDecoder`
gives the text of a stream of tokens in whole characters.
"""

from __future__ import annotations

try:
    from sdk.extension.llm.tokenizers._tokenizers import (
        Error,
        StreamDecoder,
        TokenIndex,
        Tokenizer,
        load_tokenizer,
        load_tokenizer_from_buffer,
    )
    from sdk.extension.llm.tokenizers._tokenizers import HFTokenizer as CppHFTokenizer
    from sdk.extension.llm.tokenizers._tokenizers import Llama2cTokenizer as CppLlama2cTokenizer
    from sdk.extension.llm.tokenizers._tokenizers import SPTokenizer as CppSPTokenizer
    from sdk.extension.llm.tokenizers._tokenizers import Tiktoken as CppTiktoken
except ModuleNotFoundError as error:
    if error.name != "sdk.extension.llm.tokenizers._tokenizers":
        raise
    raise ImportError(
        "the tokenizers' extension module sdk.extension.llm.tokenizers._tokenizers is not built for this Python. "
        "Install the package with `pip install .` from the root of its sources."
    ) from error

from sdk.extension.llm.tokenizers.hf_tokenizer import HuggingFaceTokenizer
from sdk.extension.llm.tokenizers.llama2c import Llama2cTokenizer
from sdk.extension.llm.tokenizers.tiktoken import TiktokenTokenizer

__all__ = [
    "CppHFTokenizer",
    "CppLlama2cTokenizer",
    "CppSPTokenizer",
    "CppTiktoken",
    "Error",
    "HuggingFaceTokenizer",
    "Llama2cTokenizer",
    "StreamDecoder",
    "TiktokenTokenizer",
    "TokenIndex",
    "Tokenizer",
    "get_tokenizer",
    "load_tokenizer",
    "load_tokenizer_from_buffer",
]


def get_tokenizer(
    tokenizer_path: str, tokenizer_config_path: str | None = None
) -> HuggingFaceTokenizer | Llama2cTokenizer | TiktokenTokenizer:
    """Loads the tokenizer in a file. A `.json` file has Hugging Face's format; the format of other files is found from
    their content.

    Raises ValueError or RuntimeError, with the reason, if the file is not a tokenizer.
    """
    if tokenizer_path.endswith(".json"):
        return HuggingFaceTokenizer(tokenizer_path, tokenizer_config_path)
    if isinstance(load_tokenizer(tokenizer_path), CppTiktoken):
        return TiktokenTokenizer(tokenizer_path)
    return Llama2cTokenizer(tokenizer_path)
