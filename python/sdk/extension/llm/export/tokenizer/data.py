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
    # As in transformers, config.json has the settings if the model has no settings of generation.
    named = (_json(folder / name).get("eos_token_id") for name in ("generation_config.json", "config.json"))
    ends = next((ids for ids in named if ids is not None), tokenizer.eos_id())
    ends = ends if isinstance(ends, list) else [] if ends is None else [ends]
    template_file = folder / "chat_template.jinja"
    has_file = template_file.exists()
    template = read_file(template_file).decode() if has_file else _default_template(config.get("chat_template"))
    data = {TOKENIZER_KEY: compile_tokenizer(content, config_json)}
    return _with_template(data, content, template, tokenizer.bos_id(), ends)


def _default_template(found: Any) -> str | None:
    """A model with several templates lists them; the one for conversations is called `default`."""
    if isinstance(found, list):
        named = {entry.get("name"): entry.get("template") for entry in found if isinstance(entry, dict)}
        found = named.get("default")
    return found if isinstance(found, str) else None


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
