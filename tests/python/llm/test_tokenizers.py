# SPDX-License-Identifier: BSD-3-Clause
"""Tokenizers against Hugging Face's `tokenizers`, on small ones that are trained here."""

from __future__ import annotations

import json
import random
import time
import unicodedata
from collections.abc import Callable
from typing import Any

import pytest
from llm_texts import GPT4, TRAINING, texts
from tokenizers import AddedToken, Regex, decoders, models, normalizers, pre_tokenizers, processors, trainers
from tokenizers import Tokenizer as Reference

from sdk.extension.llm import tokenizers as sdk_tokenizers

TEXTS = list(texts(300))
# Texts with only characters of Unicode 3.2, because the reference's tables are of several versions.
OLD = [text for text in TEXTS if all(unicodedata.ucd_3_2_0.category(c) != "Cn" for c in text)]


def trained(model: str, **parts: Any) -> Reference:
    """A small tokenizer of Hugging Face with these parts."""
    special = ["<unk>", "<s>", "</s>", "[CLS]", "[SEP]"]
    kinds = {
        "BPE": (models.BPE(unk_token="<unk>"), trainers.BpeTrainer),
        "WordPiece": (models.WordPiece(unk_token="<unk>"), trainers.WordPieceTrainer),
        "WordLevel": (models.WordLevel(unk_token="<unk>"), trainers.WordLevelTrainer),
        "Unigram": (models.Unigram(), trainers.UnigramTrainer),
    }
    made, trainer = kinds[model]
    extra = {"unk_token": "<unk>"} if model == "Unigram" else {}
    reference = Reference(made)
    for name, part in parts.items():
        if name not in ("post_processor", "decoder"):
            setattr(reference, name, part)
    reference.train_from_iterator(
        TRAINING, trainer(vocab_size=900, special_tokens=special, show_progress=False, **extra)
    )
    for name in ("post_processor", "decoder"):
        if name in parts:
            setattr(reference, name, parts[name])
    return reference


def loaded(reference: Reference) -> Any:
    tokenizer = sdk_tokenizers.CppHFTokenizer()
    tokenizer.load_from_buffer(reference.to_str().encode())
    return tokenizer


def compare(reference: Reference, some: list[str] | None = None) -> None:
    """Compares the ids, with and without special tokens, and the text decoded from ids."""
    tokenizer = loaded(reference)
    assert tokenizer.vocab_size() == reference.get_vocab_size()
    for text in OLD if some is None else some:
        expected = reference.encode(text, add_special_tokens=False).ids
        assert tokenizer.encode(text) == expected, text
        assert tokenizer.encode_with_post_processor(text) == reference.encode(text).ids, text
        for skip in (False, True):
            assert tokenizer.decode_batch(expected, skip) == reference.decode(expected, skip_special_tokens=skip), text


PRE_TOKENIZERS = {
    "ByteLevel": pre_tokenizers.ByteLevel(),
    "ByteLevel without prefix": pre_tokenizers.ByteLevel(add_prefix_space=False),
    "GPT-4": pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(GPT4), "isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    ),
    "Bert": pre_tokenizers.BertPreTokenizer(),
    "CharDelimiterSplit": pre_tokenizers.CharDelimiterSplit("e"),
    "Digits": pre_tokenizers.Digits(),
    "single Digits": pre_tokenizers.Digits(individual_digits=True),
    "FixedLength": pre_tokenizers.FixedLength(3),
    "Metaspace": pre_tokenizers.Metaspace(),
    "Metaspace first": pre_tokenizers.Sequence(
        [pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Metaspace(prepend_scheme="first")]
    ),
    "Metaspace never": pre_tokenizers.Metaspace(prepend_scheme="never", split=False),
    "Punctuation": pre_tokenizers.Punctuation(),
    "UnicodeScripts": pre_tokenizers.UnicodeScripts(),
    "Whitespace": pre_tokenizers.Whitespace(),
    "WhitespaceSplit": pre_tokenizers.WhitespaceSplit(),
    **{
        f"Split {behavior} {invert}": pre_tokenizers.Split(Regex(r"\p{L}\d?|,"), behavior, invert)
        for behavior in ("removed", "isolated", "merged_with_previous", "merged_with_next", "contiguous")
        for invert in (False, True)
    },
    "Split string": pre_tokenizers.Split("a", "merged_with_next"),
}


@pytest.mark.parametrize("name", PRE_TOKENIZERS)
def test_pre_tokenizers(name: str) -> None:
    """LR-09: every pre-tokenizer, before the model BPE."""
    compare(trained("BPE", pre_tokenizer=PRE_TOKENIZERS[name]))


NORMALIZERS = {
    "NFC": normalizers.NFC(),
    "NFD": normalizers.NFD(),
    "NFKC": normalizers.NFKC(),
    "NFKD": normalizers.NFKD(),
    "Bert": normalizers.BertNormalizer(),
    "Bert cased": normalizers.BertNormalizer(lowercase=False, strip_accents=True),
    "ByteLevel": normalizers.ByteLevel(),
    "Lowercase": normalizers.Lowercase(),
    "Nmt": normalizers.Nmt(),
    "Prepend": normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")]),
    "Replace": normalizers.Replace(Regex(r"\s+|a(?=b)"), "-"),
    "Strip": normalizers.Strip(),
    "Strip left": normalizers.Strip(right=False),
    "StripAccents": normalizers.Sequence([normalizers.NFD(), normalizers.StripAccents()]),
}


@pytest.mark.parametrize("name", NORMALIZERS)
def test_normalizers(name: str) -> None:
    """LR-09: for every normalizer, the ids of a text equal those of the text that the reference normalises."""
    compare(trained("BPE", normalizer=NORMALIZERS[name]))


MODELS = {
    "WordPiece": {
        "model": "WordPiece",
        "pre_tokenizer": pre_tokenizers.BertPreTokenizer(),
        "decoder": decoders.WordPiece(),
    },
    "WordLevel": {"model": "WordLevel", "pre_tokenizer": pre_tokenizers.Whitespace()},
    "Unigram": {"model": "Unigram", "pre_tokenizer": pre_tokenizers.Metaspace(), "decoder": decoders.Metaspace()},
    "Unigram of a whole text": {"model": "Unigram", "normalizer": normalizers.Replace(" ", "▁")},
    "WordPiece ByteLevel": {
        "model": "WordPiece",
        "pre_tokenizer": pre_tokenizers.ByteLevel(),
        "decoder": decoders.ByteLevel(),
    },
}


@pytest.mark.parametrize("name", MODELS)
def test_models(name: str) -> None:
    """LR-09: the models other than BPE."""
    compare(trained(**MODELS[name]))


DECODERS = {
    "ByteLevel": decoders.ByteLevel(),
    "BPE": decoders.BPEDecoder(suffix="e"),
    "CTC": decoders.CTC(pad_token="<s>", word_delimiter_token="a"),
    "Llama": decoders.Sequence(
        [decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse(), decoders.Strip(" ", 1, 0)]
    ),
    "Metaspace": decoders.Metaspace(),
    "Replace": decoders.Replace(Regex("[aeo]"), "*"),
    "Strip": decoders.Strip("a", 1, 0),
    "WordPiece": decoders.WordPiece(prefix="e"),
}


@pytest.mark.parametrize("name", DECODERS)
def test_decoders(name: str) -> None:
    compare(trained("BPE", pre_tokenizer=pre_tokenizers.Metaspace(), decoder=DECODERS[name]), TEXTS[:200])


PROCESSORS = {
    "Bert": processors.BertProcessing(("[SEP]", 4), ("[CLS]", 3)),
    "Roberta": processors.RobertaProcessing(("</s>", 2), ("<s>", 1)),
    "Template": processors.TemplateProcessing(
        "<s> [CLS] $A </s>", special_tokens=[("<s>", 1), ("[CLS]", 3), ("</s>", 2)]
    ),
    "Sequence": processors.Sequence(
        [processors.ByteLevel(), processors.TemplateProcessing("<s> $A", special_tokens=[("<s>", 1)])]
    ),
}


@pytest.mark.parametrize("name", PROCESSORS)
def test_post_processors(name: str) -> None:
    compare(trained("BPE", pre_tokenizer=pre_tokenizers.ByteLevel(), post_processor=PROCESSORS[name]), TEXTS[:100])


def test_added_tokens() -> None:
    """Tokens of the text itself, with spaces around them, inside words, normalised and not."""
    reference = trained("BPE", normalizer=normalizers.Lowercase(), pre_tokenizer=pre_tokenizers.ByteLevel())
    reference.add_special_tokens(
        ["<|end|>", "<|end|>x", AddedToken("<|LEFT|>", lstrip=True), AddedToken("<|right|>", rstrip=True)]
    )
    reference.add_tokens(
        [AddedToken("Word", single_word=True), AddedToken("NORM", normalized=True), AddedToken("Raw", normalized=False)]
    )
    parts = [
        "<|end|>",
        "<|end|>x",
        "<|LEFT|>",
        "<|left|>",
        "<|right|>",
        "Word",
        "word",
        "NORM",
        "norm",
        "Raw",
        "raw",
        " ",
        "  ",
        "a",
        "é",
        "_",
    ]
    choose = random.Random(0)
    compare(reference, ["".join(choose.choices(parts, k=choose.randrange(1, 9))) for _ in range(2000)])


def test_added_tokens_of_spaces() -> None:
    """Tokens that begin with spaces which the token before them takes, too."""
    reference = trained("BPE", pre_tokenizer=pre_tokenizers.ByteLevel(add_prefix_space=False))
    reference.add_special_tokens(
        [AddedToken("<r>", rstrip=True), AddedToken("\n", rstrip=True), AddedToken("\t", lstrip=True), "  x", "\u3000"]
    )
    choose = random.Random(0)
    parts = ["<r>", "\n", "\t", " ", "  x", "\u3000", "a"]

    def has_result(text: str) -> bool:
        try:
            reference.encode(text)
        except BaseException as error:  # a panic of the reference, where pieces overlap
            assert type(error).__name__ == "PanicException", error
            return False
        return True

    some = ["".join(choose.choices(parts, k=choose.randrange(1, 9))) for _ in range(1000)]
    whole = [text for text in some if has_result(text)]
    assert len(whole) > 800
    compare(reference, whole)


def test_spaces_that_many_tokens_take_end_with_an_error() -> None:
    """Each of the matches takes all spaces behind it."""
    reference = trained("BPE", pre_tokenizer=pre_tokenizers.ByteLevel(add_prefix_space=False))
    reference.add_special_tokens([AddedToken(" ", rstrip=True)])
    tokenizer = loaded(reference)
    assert len(tokenizer.encode(" " * 1000)) == 1000
    with pytest.raises((RuntimeError, ValueError)):
        tokenizer.encode(" " * 60_000)


def test_spaces_that_a_token_has_taken_are_read_once() -> None:
    """A million matches among the spaces that `X` takes: none of them reads the spaces behind it."""
    reference = trained("BPE", pre_tokenizer=pre_tokenizers.ByteLevel(add_prefix_space=False))
    reference.add_special_tokens([AddedToken("X", rstrip=True), AddedToken(" ", lstrip=True, rstrip=True)])
    compare(reference, ["X" + " " * count + end for count in (1, 2, 9) for end in ("", "a", "X")])
    tokenizer = loaded(reference)
    assert tokenizer.encode("X" + " " * 1_000_000) == tokenizer.encode("X")


@pytest.mark.parametrize("ignore_merges", [False, True])
@pytest.mark.parametrize("fuse_unk", [False, True])
@pytest.mark.parametrize("byte_fallback", [False, True])
def test_bpe_options(byte_fallback: bool, fuse_unk: bool, ignore_merges: bool) -> None:
    """BPE as in models of SentencePiece: a whole text, bytes for unknown characters."""
    reference = trained(
        "BPE", normalizer=normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")])
    )
    content = json.loads(reference.to_str())
    model = content["model"]
    model.update(byte_fallback=byte_fallback, fuse_unk=fuse_unk, ignore_merges=ignore_merges)
    for character in "abcdefghijz世你":  # unknown from now on, unless as bytes
        for token in [token for token in model["vocab"] if character in token and token not in ("<unk>", "</s>")]:
            del model["vocab"][token]
    model["merges"] = [pair for pair in model["merges"] if all(t in model["vocab"] for t in [*pair, "".join(pair)])]
    free = max(model["vocab"].values()) + 1
    model["vocab"].update({f"<0x{byte:02X}>": free + byte for byte in range(256)})
    reference = Reference.from_str(json.dumps(content))
    tokenizer = loaded(reference)
    for text in TEXTS:
        assert tokenizer.encode(text) == reference.encode(text, add_special_tokens=False).ids, text


@pytest.mark.parametrize("affix", [{"continuing_subword_prefix": "##"}, {"end_of_word_suffix": "</w>"}])
def test_bpe_affixes(affix: dict[str, str]) -> None:
    reference = Reference(models.BPE(unk_token="<unk>", **affix))
    reference.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    reference.train_from_iterator(
        TRAINING, trainers.BpeTrainer(vocab_size=900, special_tokens=["<unk>"], show_progress=False, **affix)
    )
    compare(reference)


def test_accents_stay() -> None:
    """The letter of a normalised "café" keeps its accent: NFC of Qwen 3."""
    tokenizer = loaded(
        trained(
            "BPE",
            normalizer=normalizers.NFC(),
            pre_tokenizer=pre_tokenizers.ByteLevel(add_prefix_space=False),
            decoder=decoders.ByteLevel(),
        )
    )
    assert tokenizer.decode_batch(tokenizer.encode("café")) == "café"
    assert tokenizer.encode("cafe\u0301") == tokenizer.encode("café")


def test_stream_has_whole_characters() -> None:
    """The parts of a stream, joined, are the text, and each is whole characters."""
    tokenizer = loaded(
        trained("BPE", pre_tokenizer=pre_tokenizers.ByteLevel(add_prefix_space=False), decoder=decoders.ByteLevel())
    )
    for text in TEXTS:
        if any(name in text for name in ("<s>", "</s>", "<unk>")):
            continue
        stream = sdk_tokenizers.StreamDecoder(tokenizer)
        ids = tokenizer.encode(text)
        parts = [stream.push(token) for token in ids] + [stream.finish()]
        if tokenizer.decode_batch(ids) == text:  # all of its bytes are tokens
            assert "".join(parts) == text
            assert all("\ufffd" not in part for part in parts) or "\ufffd" in text


def test_time_is_linear() -> None:
    """A text that is ten times as long takes at most thirty times as long, even if it is one word."""
    reference = trained(
        "BPE", normalizer=normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")])
    )
    for tokenizer in (
        loaded(reference),
        loaded(trained("BPE", normalizer=normalizers.NFC(), pre_tokenizer=pre_tokenizers.ByteLevel())),
    ):
        for text in ("the", "thatisone", " ", "a\u0316\u0301", "😀", "\n"):
            seconds = []
            for count in (20_000, 200_000):
                long_text = text * (count // len(text))
                start = time.process_time()
                tokenizer.encode(long_text)
                seconds.append(time.process_time() - start)
            assert seconds[1] < 30 * seconds[0] + 0.05, (text, seconds)


def test_several_threads() -> None:
    """A tokenizer is used by several threads at a time."""
    from concurrent.futures import ThreadPoolExecutor

    tokenizer = loaded(trained("BPE", pre_tokenizer=pre_tokenizers.ByteLevel()))
    expected = [tokenizer.encode(text) for text in TEXTS]
    fresh = loaded(trained("BPE", pre_tokenizer=pre_tokenizers.ByteLevel()))
    with ThreadPoolExecutor(4) as pool:
        for ids in pool.map(lambda _: [fresh.encode(text) for text in TEXTS], range(8)):
            assert ids == expected


@pytest.mark.parametrize("choice", [lambda i: f"{i:05}x|", lambda i: "a?"], ids=["alternatives", "repetitions"])
def test_each_choice_of_a_regular_expression_is_charged(choice: Callable[[int], str]) -> None:
    """Each alternative and each repetition that is tried counts towards the limit of steps, so that a text of 10 KB is
    refused."""
    pattern = "".join(map(choice, range(3000))) + "b"
    vocabulary = {chr(code): code for code in range(33, 127)}
    settings = {
        "model": {"type": "BPE", "vocab": vocabulary, "merges": []},
        "pre_tokenizer": {"type": "Split", "pattern": {"Regex": pattern}, "behavior": "Isolated", "invert": False},
    }
    tokenizer = sdk_tokenizers.CppHFTokenizer()
    tokenizer.load_from_buffer(json.dumps(settings).encode())
    assert len(tokenizer.encode("c" * 100)) == 100
    with pytest.raises(ValueError, match="encoding this text takes more than"):
        tokenizer.encode("c" * 10_000)
