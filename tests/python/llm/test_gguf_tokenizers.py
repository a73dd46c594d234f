# SPDX-License-Identifier: BSD-3-Clause
"""Tokenizers of GGUF files against those that the files were made from."""

from __future__ import annotations

import io
import json
import re
from pathlib import Path
from typing import Any

import gguf
import pytest
import sentencepiece
from llm_texts import TRAINING, texts
from test_tokenizers import OLD, trained
from tokenizers import Regex, decoders, normalizers, pre_tokenizers, processors
from tokenizers import Tokenizer as Reference

from sdk.extension.llm import tokenizers as sdk_tokenizers
from sdk.extension.llm.export.gguf import GGUFError, GGUFFile
from sdk.extension.llm.export.gguf.tokenizer import gguf_tokenizer

LLAMA3 = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+"
    r"|\s+(?!\S)|\s+"
)
QWEN2 = LLAMA3.replace("{1,3}", "")
QWEN35 = QWEN2.replace(r"\p{L}+", r"[\p{L}\p{M}]+").replace(r"[^\s\p{L}\p{N}]", r"[^\s\p{L}\p{M}\p{N}]")
TEKKEN = (
    r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+"
    r"|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*"
    r"|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
BYTES = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
GPT2 = pre_tokenizers.ByteLevel(add_prefix_space=False)
DIGIT_BY_DIGIT = pre_tokenizers.Sequence([pre_tokenizers.Digits(individual_digits=True), GPT2])


def split(*expressions: str, then: Any = BYTES) -> Any:
    return pre_tokenizers.Sequence([*(pre_tokenizers.Split(Regex(text), "isolated") for text in expressions), then])


BLOOM = r" ?[^(\s|.,!?…。，、।۔،)]+"
FAMILIES: dict[str, dict[str, Any]] = {
    "gpt-2": {"pre_tokenizer": pre_tokenizers.ByteLevel(add_prefix_space=False)},
    "smollm": {
        "pre_tokenizer": pre_tokenizers.Sequence(
            [pre_tokenizers.Digits(individual_digits=True), pre_tokenizers.ByteLevel(add_prefix_space=False)]
        )
    },
    "llama-bpe": {
        "pre_tokenizer": pre_tokenizers.Sequence(
            [
                pre_tokenizers.Split(Regex(LLAMA3), "isolated"),
                pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
            ]
        )
    },
    "qwen2": {
        "normalizer": normalizers.NFC(),
        "pre_tokenizer": pre_tokenizers.Sequence(
            [
                pre_tokenizers.Split(Regex(QWEN2), "isolated"),
                pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
            ]
        ),
    },
    "command-r": {"normalizer": normalizers.NFC(), "pre_tokenizer": DIGIT_BY_DIGIT},
    "deepseek-coder": {
        "pre_tokenizer": split(
            "[\r\n]",
            r"\s?\p{L}+",
            r"\s?\p{P}+",
            "[一-龥\u0800-一가-\ud7ff]+",
            then=pre_tokenizers.Sequence([pre_tokenizers.Digits(individual_digits=True), BYTES]),
        )
    },
    "deepseek-v3": {
        "pre_tokenizer": split(
            r"\p{N}{1,3}",
            "[一-龥\u3040-ゟ゠-ヿ]+",
            r"""[!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+"""
            r"| ?[\p{P}\p{S}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+",
        )
    },
    "falcon": {
        "pre_tokenizer": pre_tokenizers.Sequence(
            [
                pre_tokenizers.Punctuation("contiguous"),
                GPT2,
                pre_tokenizers.Digits(individual_digits=False),
                pre_tokenizers.Split(Regex("[0-9][0-9][0-9]"), "isolated"),
            ]
        )
    },
    "a.x-4.0": {"pre_tokenizer": GPT2},
    "bloom": {"pre_tokenizer": split(BLOOM)},
    "dbrx": {"pre_tokenizer": split(LLAMA3)},
    "megrez": {"normalizer": normalizers.NFC(), "pre_tokenizer": split(QWEN2)},
    "mellum": {"pre_tokenizer": GPT2},
    "midm-2.0": {"pre_tokenizer": split(LLAMA3)},
    "seed-coder": {
        "pre_tokenizer": split(
            r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1}| ?[^\s\p{L}\p{N}\r\n]+|\s*[\r\n]+"
            r"|\s+(?!\S)|\s+"
        )
    },
    "superbpe": {"pre_tokenizer": split(r"\p{N}+", r"(?=(\d{3})+(?!\d))")},
    "trillion": {"pre_tokenizer": GPT2},
    "viking": {
        "pre_tokenizer": split(
            BLOOM, then=pre_tokenizers.Sequence([pre_tokenizers.Digits(individual_digits=True), BYTES])
        )
    },
    "minerva-7b": {"pre_tokenizer": DIGIT_BY_DIGIT},
    "smaug-bpe": {"pre_tokenizer": split(LLAMA3)},
    "mpt": {"normalizer": normalizers.NFC(), "pre_tokenizer": GPT2},
    "qwen35": {"normalizer": normalizers.NFC(), "pre_tokenizer": split(QWEN35)},
    "refact": {"pre_tokenizer": DIGIT_BY_DIGIT},
    "starcoder": {"pre_tokenizer": DIGIT_BY_DIGIT},
    "tekken": {"pre_tokenizer": split(TEKKEN)},
}
TAKE_WHOLE_WORDS = ("llama-bpe", "midm-2.0", "tekken")
"""Tokenizers that do not split words of the vocabulary, and begin a text with <s>."""


def written(
    path: Path, template: str = "{{ messages }}", architecture: str = "llama", name: str = "", **entries: Any
) -> GGUFFile:
    """A GGUF file with these entries `tokenizer.ggml.*`, and a template."""
    writer = gguf.GGUFWriter(path, architecture)
    writer.add_name(name)
    for entry, value in entries.items():
        key = f"tokenizer.ggml.{entry}"
        add = {list: writer.add_array, str: writer.add_string, bool: writer.add_bool, int: writer.add_uint32}
        add[type(value)](key, value)  # type: ignore[operator]
    writer.add_chat_template(template)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.close()
    return GGUFFile(path)


def bpe_entries(reference: Reference, pre: str) -> dict[str, Any]:
    """Returns the entries that a converter writes for a byte-level tokenizer."""
    model = json.loads(reference.to_str())["model"]
    vocabulary = reference.get_vocab()
    tokens = sorted(vocabulary, key=vocabulary.__getitem__)
    special = {token.content for token in reference.get_added_tokens_decoder().values()}
    return {
        "model": "gpt2",
        "pre": pre,
        "tokens": tokens,
        "token_type": [3 if token in special else 1 for token in tokens],
        "merges": [merge if isinstance(merge, str) else " ".join(merge) for merge in model["merges"]],
        "bos_token_id": vocabulary["<s>"],
        "eos_token_id": vocabulary["</s>"],
    }


@pytest.mark.parametrize("pre", FAMILIES)
def test_byte_level_tokenizers_of_gguf_files(pre: str, tmp_path: Path) -> None:
    reference = trained("BPE", decoder=decoders.ByteLevel(), **FAMILIES[pre])
    # A byte-level model knows every byte, so it has no unknown token. Llama 3 does not split words of its vocabulary.
    content = json.loads(reference.to_str())
    content["model"] |= {"unk_token": None, "ignore_merges": pre in TAKE_WHOLE_WORDS}
    reference = Reference.from_str(json.dumps(content))
    if pre in TAKE_WHOLE_WORDS:
        s = ("<s>", reference.token_to_id("<s>"))
        reference.post_processor = processors.TemplateProcessing(
            single="<s> $A", pair="<s> $A <s> $B", special_tokens=[s]
        )
    found = gguf_tokenizer(written(tmp_path / "model.gguf", **bpe_entries(reference, pre)))
    assert json.loads(found.tokenizer_json)["model"]["vocab"] == reference.get_vocab()
    tokenizer = sdk_tokenizers.CppHFTokenizer()
    tokenizer.load_from_buffer(found.tokenizer_json, found.config_json)
    for text in OLD:
        assert tokenizer.encode_with_post_processor(text) == reference.encode(text).ids, text
        ids = tokenizer.encode(text)
        assert tokenizer.decode_batch(ids) == reference.decode(ids, skip_special_tokens=False)
    assert (found.bos_id, found.eos_ids) == (reference.token_to_id("<s>"), (reference.token_to_id("</s>"),))
    assert (tokenizer.bos_id(), tokenizer.eos_id()) == (found.bos_id, found.eos_ids[0])
    assert found.chat_template == "{{ messages }}"


def sentencepiece_model(prefix: bool) -> sentencepiece.SentencePieceProcessor:
    """BPE like in Llama 2: characters without a token become bytes, and the text is not normalised."""
    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(TRAINING),
        model_writer=model,
        model_type="bpe",
        vocab_size=800,
        byte_fallback=True,
        normalization_rule_name="identity",
        remove_extra_whitespaces=False,
        add_dummy_prefix=prefix,
        character_coverage=0.99,
        minloglevel=2,
    )
    return sentencepiece.SentencePieceProcessor(model_proto=model.getvalue())


@pytest.mark.parametrize("prefix", [True, False])
def test_sentencepiece_of_gguf_files(prefix: bool, tmp_path: Path) -> None:
    model = sentencepiece_model(prefix)
    count = model.get_piece_size()

    def kind(i: int) -> int:
        return 2 if model.is_unknown(i) else 3 if model.is_control(i) else 6 if model.is_byte(i) else 1

    found = gguf_tokenizer(
        written(
            tmp_path / "model.gguf",
            model="llama",
            tokens=[model.id_to_piece(i) for i in range(count)],
            scores=[float(model.get_score(i)) for i in range(count)],
            token_type=[kind(i) for i in range(count)],
            bos_token_id=model.bos_id(),
            eos_token_id=model.eos_id(),
            add_space_prefix=prefix,
        )
    )
    tokenizer = sdk_tokenizers.CppHFTokenizer()
    tokenizer.load_from_buffer(found.tokenizer_json, found.config_json)
    compared = 0
    for text in texts(400):
        # In SentencePiece, a null character ends the text, and special tokens are ordinary text.
        if "\0" in text or any(name in text for name in ("<s>", "</s>", "<unk>")) or not text:
            continue
        ids, expected = tokenizer.encode(text), model.encode(text)
        assert ids == expected, text
        assert tokenizer.decode_batch(ids) == model.decode(expected), text
        compared += 1
    assert compared > 200
    assert tokenizer.encode_with_post_processor("a")[0] == model.bos_id()


ENTRIES = {"model": "gpt2", "pre": "gpt-2", "tokens": ["a", "b", "ab"], "merges": ["a b"], "token_type": [1, 1, 1]}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"model": "t5"}, "tokenizer.ggml.model is 't5'; supported are 'gpt2'"),
        ({"pre": "unheard-of"}, "tokenizer.ggml.pre is 'unheard-of'; supported are a.x-4.0, bloom, command-r, dbrx"),
        ({"pre": ["gpt-2"]}, "tokenizer.ggml.pre is ['gpt-2']; supported are a.x-4.0"),
        ({"tokens": [1, 2]}, "tokenizer.ggml.tokens must be strings"),
        ({"tokens": ["a", "a", "ab"]}, "tokenizer.ggml.tokens has a token twice"),
        ({"token_type": [1]}, "tokenizer.ggml.token_type has 1 numbers, expected one for each of the 3 tokens"),
        ({"eos_token_id": 3}, "tokenizer.ggml.eos_token_id is 3, expected one of the 3 tokens"),
        ({"model": "llama"}, "tokenizer.ggml.scores is missing"),
    ],
)
def test_what_is_wrong_with_a_gguf_tokenizer_is_named(change: dict[str, Any], message: str, tmp_path: Path) -> None:
    file = written(tmp_path / "model.gguf", **{**ENTRIES, **change})
    with pytest.raises(GGUFError, match=re.escape(message)):
        gguf_tokenizer(file)
    assert gguf_tokenizer(written(tmp_path / "right.gguf", **ENTRIES)).eos_ids == ()


def test_a_file_must_say_how_text_is_split(tmp_path: Path) -> None:
    entries = {name: value for name, value in ENTRIES.items() if name != "pre"}
    with pytest.raises(GGUFError, match=r"tokenizer\.ggml\.pre is missing, which says how text is split into words"):
        gguf_tokenizer(written(tmp_path / "model.gguf", **entries))


@pytest.mark.parametrize(
    ("name", "same"),
    [("falcon3", "llama-bpe"), ("pixtral", "llama-bpe"), ("llama4", "gpt-4o"), ("olmo", "gpt-2"), ("exaone4", "gpt-2")],
)
def test_other_names_of_a_pre_tokenizer(name: str, same: str, tmp_path: Path) -> None:
    files = [written(tmp_path / f"{pre}.gguf", **{**ENTRIES, "pre": pre}) for pre in (name, same)]
    first, second = (gguf_tokenizer(file).tokenizer_json for file in files)
    assert first == second


@pytest.mark.parametrize(("architecture", "name"), [("phi3", "x"), ("llama", "Phi-3 mini"), ("llama", "x")])
def test_special_tokens_of_phi3_take_the_spaces_behind_them(architecture: str, name: str, tmp_path: Path) -> None:
    tokens = ["<unk>", "<s>", "</s>", "<0x0A>", "▁", "a", "▁a", "<|endoftext|>", "<|user|>", "<|end|>"]
    kinds = [2, 3, 3, 6, 1, 1, 1, 3, 4, 3]
    entries = {"model": "llama", "tokens": tokens, "token_type": kinds, "scores": [0.0] * 5 + [-1.0] * 5}
    file = written(tmp_path / "model.gguf", architecture=architecture, name=name, **entries)
    content = json.loads(gguf_tokenizer(file).tokenizer_json)
    strips = {token["content"]: token["rstrip"] for token in content["added_tokens"]}
    takes = ["</s>", "<|user|>", "<|end|>"] if name != "x" or architecture == "phi3" else []
    assert [token for token in strips if strips[token]] == takes
    tokenizer, reference = sdk_tokenizers.CppHFTokenizer(), Reference.from_str(json.dumps(content))
    tokenizer.load_from_buffer(json.dumps(content).encode())
    for text in ("<|user|>\na<|end|>\n", "<|user|> \n a</s> <|endoftext|>\na", "<s> a"):
        assert tokenizer.encode(text) == reference.encode(text, add_special_tokens=False).ids
    expected = ["<|user|>", "▁a", "<|end|>"] if takes else ["<|user|>", "▁", "<0x0A>", "a", "<|end|>", "▁", "<0x0A>"]
    assert tokenizer.encode("<|user|>\na<|end|>\n") == [tokens.index(token) for token in expected]
