# SPDX-License-Identifier: BSD-3-Clause
"""The tokens that end an answer, found in a GGUF file's tokens, the settings in a folder, and the chat template."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from test_gguf_tokenizers import ENTRIES, written

from sdk.extension.llm import tokenizers as sdk_tokenizers
from sdk.extension.llm.export.gguf import GGUFFile
from sdk.extension.llm.export.gguf.tokenizer import gguf_tokenizer
from sdk.extension.llm.export.settings import SettingsError
from sdk.extension.llm.export.tokenizer.data import tokenizer_data
from sdk.extension.llm.export.tokenizer.end_of_turn import end_of_turn

ENDINGS = [
    (("<|end|>",), ("<|end|>",)),
    (("<|eot_id|>", "<|eom_id|>"), ("<|eot_id|>", "<|eom_id|>")),
    (("<|im_end|>", "<|fim_pad|>", "<|file_sep|>"), ("<|im_end|>", "<|fim_pad|>", "<|file_sep|>")),
    (("<end_of_turn>", "<|other|>"), ("<end_of_turn>",)),
    (("<|end|>", "<|return|>", "<|call|>"), ("<|return|>", "<|call|>")),
    (("<|user|>", "<s>"), ()),
    (("<|im_end|>", "<eos>", "<PAD>", "<reponame>"), ("<|im_end|>", "<eos>", "<PAD>", "<reponame>")),
]


@pytest.mark.parametrize(("names", "expected"), ENDINGS)
@pytest.mark.parametrize("kind", [1, 3, 4])
def test_tokens_that_end_a_turn_are_found_by_their_text(
    names: tuple[str, ...], expected: tuple[str, ...], kind: int, tmp_path: Path
) -> None:
    """As in llama.cpp, the tokens may have any type. The tokenizer also finds them in a text."""
    tokens = ["a", "b", "ab", "</s>", *names]
    entries = {"tokens": tokens, "token_type": [1, 1, 1, 3, *[kind] * len(names)], "eos_token_id": 3}
    found = gguf_tokenizer(written(tmp_path / "model.gguf", **{**ENTRIES, **entries}))
    assert found.eos_ids == (3, *(tokens.index(name) for name in expected))
    tokenizer = sdk_tokenizers.CppHFTokenizer()
    tokenizer.load_from_buffer(found.tokenizer_json, found.config_json)
    for name in expected:
        assert tokenizer.encode(f"ab{name}a") == [2, tokens.index(name), 0]


@pytest.mark.parametrize(
    ("other", "ends"), [("<|im_end|>", True), ("<|tool_response>", False), ("<|plamo:eos|>", False)]
)
def test_the_end_of_a_text_ends_an_answer_too(other: str, ends: bool, tmp_path: Path) -> None:
    """</s> also ends the answers of a model whose turns end with another token, unless </s> is text in the model."""
    entries = {"tokens": ["a", "b", "ab", "</s>", other], "token_type": [1, 1, 1, 1, 3], "eos_token_id": 4}
    found = gguf_tokenizer(written(tmp_path / "model.gguf", **{**ENTRIES, **entries}))
    assert found.eos_ids == ((4, 3) if ends else (4,))
    added = {token["content"] for token in json.loads(found.tokenizer_json)["added_tokens"]}
    assert added == ({other, "</s>"} if ends else {other})


TEMPLATES = [
    ("{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}", "<|im_end|>"),
    ("{% for m in messages %}<|{{ m.role }}|>\n{{ m.content }}<|end|>\n{% endfor %}<|endoftext|>", "<|end|>"),
    (
        "{% for m in messages %}{{ m.content }}{% if m.role == 'assistant' %} {{ eos_token }}{% endif %}{% endfor %}",
        "</s>",
    ),
    # The next turn ends the answer.
    ("{% for m in messages %}<|{{ m.role }}|>\n{{ m.content }}{% endfor %}", "<|user|>"),
    # The last answer ends with another token than the earlier ones.
    (
        "{% for m in messages %}<|{{ m.role }}|>{{ m.content }}"
        "{% if loop.last %}<|return|>{% else %}<|end|>{% endif %}{% endfor %}",
        "<|return|>",
    ),
    # Templates of tools, which read them without a check, and one whose content is parts.
    ("{% for t in tools %}{% endfor %}{% for m in messages %}{{ m.content }}<|im_end|>{% endfor %}", "<|im_end|>"),
    ("{{ 'F: ' + functions }}{% for m in messages %}{{ m.content }}<|im_end|>{% endfor %}", "<|im_end|>"),
    (
        "{% for m in messages %}{% for p in m.content if p.text %}{{ p.text }}{% endfor %}<|end|>{% endfor %}",
        "<|end|>",
    ),
    ("{% for m in messages %}{{ m.role }}: {{ m.content }}\n{% endfor %}", None),
    ("{% for m in messages %}{{ m.content }} ### <|end|>{% endfor %}", None),
    ("{{ raise_exception('no') }}", None),
    ("{% if %}", None),
]


@pytest.mark.parametrize(("template", "expected"), TEMPLATES)
def test_the_token_that_ends_a_turn_is_that_of_the_template(template: str, expected: str | None) -> None:
    names = ["</s>", "<|im_start|>", "<|im_end|>", "<|end|>", "<|endoftext|>", "<|user|>", "<|return|>", "<|en"]
    added = [{"id": 10 + i, "content": name} for i, name in enumerate(names)]
    found = end_of_turn(template, added, "</s>")
    assert found == (None if expected is None else 10 + names.index(expected))


def test_the_template_names_an_end_that_the_file_does_not(tmp_path: Path) -> None:
    template = "{% for m in messages %}{{ m.content }}<|fertig|>{% endfor %}"
    tokens = ["a", "b", "ab", "</s>", "<|fertig|>"]
    entries = {**ENTRIES, "tokens": tokens, "token_type": [1, 1, 1, 3, 3], "eos_token_id": 3}
    written(tmp_path / "model.gguf", template=template, **entries)
    assert tokenizer_data(str(tmp_path / "model.gguf"), None).metadata["get_eos_ids"] == [3, 4]
    # The same in Hugging Face's form.
    found = gguf_tokenizer(GGUFFile(tmp_path / "model.gguf"))
    (tmp_path / "tokenizer.json").write_bytes(found.tokenizer_json)
    (tmp_path / "tokenizer_config.json").write_text(json.dumps({"eos_token": "</s>", "chat_template": template}))
    assert tokenizer_data(str(tmp_path), None).metadata["get_eos_ids"] == [3, 4]
    (tmp_path / "config.json").write_text(json.dumps({"eos_token_id": [2, 3]}))
    assert tokenizer_data(str(tmp_path), None).metadata["get_eos_ids"] == [2, 3, 4]
    (tmp_path / "generation_config.json").write_text(json.dumps({"eos_token_id": []}))
    assert tokenizer_data(str(tmp_path), None).metadata["get_eos_ids"] == [2, 3, 4]
    (tmp_path / "generation_config.json").write_text(json.dumps({"eos_token_id": 3}))
    assert tokenizer_data(str(tmp_path), None).metadata["get_eos_ids"] == [3, 4]


def in_folder(folder: Path) -> dict[str, Any]:
    """The metadata of a folder with a tokenizer of four tokens and what the caller has written there."""
    tokens = {"tokens": ["a", "b", "ab", "</s>"], "token_type": [1, 1, 1, 3], "eos_token_id": 3}
    found = gguf_tokenizer(written(folder / "model.gguf", **{**ENTRIES, **tokens}))
    (folder / "tokenizer.json").write_bytes(found.tokenizer_json)
    return tokenizer_data(str(folder), None).metadata


@pytest.mark.parametrize("name", ["generation_config.json", "config.json"])
@pytest.mark.parametrize("value", ["3", -1, 3.0, True, [3, "</s>"], [None], [[3]], {"id": 3}])
def test_an_end_that_is_no_token_is_an_error(value: Any, name: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text(json.dumps({"eos_token_id": value}))
    with pytest.raises(SettingsError, match=f"{name}: eos_token_id is .*, expected the number of a token, or a list"):
        in_folder(tmp_path)


def test_ends_beyond_the_vocabulary_are_an_error_if_no_other_is_left(tmp_path: Path) -> None:
    path = tmp_path / "generation_config.json"
    path.write_text(json.dumps({"eos_token_id": [3, 4]}))  # models pad their vocabulary
    assert in_folder(tmp_path)["get_eos_ids"] == [3, 4]
    path.write_text(json.dumps({"eos_token_id": [4, 10**30]}))
    with pytest.raises(SettingsError, match="but the tokenizer has 4 tokens, so that no token would end an answer"):
        in_folder(tmp_path)


def test_templates_by_name_and_what_is_no_template(tmp_path: Path) -> None:
    template = "{% for m in messages %}{{ m.content }}</s>{% endfor %}"
    config = tmp_path / "tokenizer_config.json"
    for found in ({"default": template, "rag": ""}, [{"name": "default", "template": template}]):
        config.write_text(json.dumps({"chat_template": found}))
        assert in_folder(tmp_path)["get_eos_ids"] == [3]
    for wrong in (5, {"default": 5}, [{"name": "default", "template": []}]):
        config.write_text(json.dumps({"chat_template": wrong}))
        with pytest.raises(
            SettingsError, match=r"tokenizer_config\.json: chat_template is of type .*, expected a text"
        ):
            in_folder(tmp_path)
    (tmp_path / "chat_template.jinja").write_bytes(b"a\xff")
    with pytest.raises(SettingsError, match=r"chat_template\.jinja is not UTF-8: invalid start byte at byte 1"):
        in_folder(tmp_path)
