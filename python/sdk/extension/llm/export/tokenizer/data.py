# SPDX-License-Identifier: BSD-3-Clause
"""The tokenizer and the chat template of a model, in the form in which programs store them."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sdk.exir._serialize._regular_file import JSONFileError, read_file, read_json
from sdk.extension.llm.export.gguf import GGUFError, GGUFFile
from sdk.extension.llm.export.gguf.tokenizer import gguf_tokenizer
from sdk.extension.llm.export.settings import SettingsError
from sdk.extension.llm.export.tokenizer.end_of_turn import end_of_turn
from sdk.extension.llm.tokenizers import CppHFTokenizer, load_tokenizer_from_buffer
from sdk.extension.llm.tokenizers.compiled import compile_tokenizer

TOKENIZER_KEY = "tokenizer"
CHAT_TEMPLATE_KEY = "chat_template"
"""Names of the data in a program, as in `extension/llm/tokenizers/embedded.h`."""


@dataclass(frozen=True)
class TokenizerData:
    """The data of a tokenizer that a program stores."""

    named_data: dict[str, bytes]
    """Value of `ExecutorchBackendConfig.named_data`."""
    metadata: dict[str, Any]
    """Methods without inputs: `get_bos_id` and `get_eos_ids`, where the tokenizer names these tokens."""


def tokenizer_data(checkpoint: str | None, tokenizer_path: str | None) -> TokenizerData:
    """Reads the tokenizer of a file or folder, or that of a checkpoint: a GGUF file or a folder of Hugging Face's form.

    Raises SettingsError if it is missing, `GGUFError`, ValueError or RuntimeError for one that cannot be used.
    """
    source = Path(tokenizer_path or checkpoint or "")
    if source.suffix.lower() == ".gguf":
        return _of_gguf(source)
    if source.is_dir() and (source / "tokenizer.json").exists():
        return _of_folder(source, source / "tokenizer.json")
    if source.is_file() and source.suffix == ".json":
        return _of_folder(source.parent, source)
    if tokenizer_path is not None:
        content = read_file(source)
        tokenizer = load_tokenizer_from_buffer(content)
        ends = {"get_bos_id": tokenizer.bos_tok(), "get_eos_ids": [tokenizer.eos_tok()]}
        return TokenizerData({TOKENIZER_KEY: content}, ends)
    raise SettingsError(
        "export.embed_tokenizer: the checkpoint has no tokenizer; name its file in base.tokenizer_path "
        "(tokenizer.json, tokenizer.model, a file of tiktoken or a GGUF file)"
    )


def _of_gguf(path: Path) -> TokenizerData:
    found = gguf_tokenizer(GGUFFile(path))
    try:
        data = {TOKENIZER_KEY: compile_tokenizer(found.tokenizer_json, found.config_json)}
    except (RuntimeError, ValueError) as error:
        raise GGUFError(f"{path}: the tokenizer cannot be used: {error}") from None
    return _with_template(data, found.tokenizer_json, found.chat_template, found.bos_id, list(found.eos_ids))


def _of_folder(folder: Path, tokenizer_json: Path) -> TokenizerData:
    content = read_file(tokenizer_json)
    config = _json(folder / "tokenizer_config.json")
    config_json = json.dumps(config).encode() if config else b""
    tokenizer = CppHFTokenizer()
    tokenizer.load_from_buffer(content, config_json)
    ends = _ends(folder, tokenizer)
    template_file = folder / "chat_template.jinja"
    if template_file.exists():
        template: str | None = _text(template_file)
    else:
        template = _default_template(config.get("chat_template"), folder / "tokenizer_config.json")
    data = {TOKENIZER_KEY: compile_tokenizer(content, config_json)}
    return _with_template(data, content, template, tokenizer.bos_id(), ends)


def _ends(folder: Path, tokenizer: CppHFTokenizer) -> list[int]:
    """The tokens that end a text. As in transformers, config.json has the settings if the model has no settings of
    generation."""
    for path in (folder / "generation_config.json", folder / "config.json"):
        found = _json(path).get("eos_token_id")
        if found is None or found == []:
            continue
        ends = found if isinstance(found, list) else [found]
        if not all(isinstance(end, int) and not isinstance(end, bool) and end >= 0 for end in ends):
            raise SettingsError(f"{path}: eos_token_id is {found!r}, expected the number of a token, or a list of them")
        if ends and min(ends) >= tokenizer.vocab_size():
            raise SettingsError(
                f"{path}: eos_token_id is {found!r}, but the tokenizer has {tokenizer.vocab_size()} tokens, so that no "
                "token would end an answer. Do both files belong to one model?"
            )
        return ends
    end = tokenizer.eos_id()
    return [] if end is None else [end]


def _text(path: Path) -> str:
    try:
        return read_file(path).decode()
    except UnicodeDecodeError as error:
        raise SettingsError(f"{path} is not UTF-8: {error.reason} at byte {error.start}") from None


def _default_template(found: Any, path: Path) -> str | None:
    """A model with several templates has them by name, or lists them; the one for conversations is called `default`."""
    if isinstance(found, list):
        found = {entry.get("name"): entry.get("template") for entry in found if isinstance(entry, dict)}
    if isinstance(found, dict):
        found = found.get("default")
    if not (found is None or isinstance(found, str)):
        raise SettingsError(
            f"{path}: chat_template is of type {type(found).__name__}, expected a text, or texts by name"
        )
    return found


def _with_template(
    data: dict[str, bytes], tokenizer_json: bytes, template: str | None, bos: int | None, eos: list[int]
) -> TokenizerData:
    if template is not None:
        data[CHAT_TEMPLATE_KEY] = template.encode()
        added = json.loads(tokenizer_json).get("added_tokens") or []
        text = next((token["content"] for token in added if token["id"] in eos[:1]), "")
        end = end_of_turn(template, added, text)
        eos = [*eos, *(token for token in (end,) if token is not None and token not in (*eos, bos))]
    metadata: dict[str, Any] = {} if bos is None else {"get_bos_id": bos}
    if eos:
        metadata["get_eos_ids"] = eos
    return TokenizerData(data, metadata)


def _json(path: Path) -> dict[str, Any]:
    if not path.exists():
        return {}
    try:
        read = read_json(path)
    except JSONFileError as error:
        raise SettingsError(str(error)) from None
    return read if isinstance(read, dict) else {}
