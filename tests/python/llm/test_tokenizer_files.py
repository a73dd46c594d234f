# SPDX-License-Identifier: BSD-3-Clause
"""The other formats of tokenizers, against `tiktoken` and `sentencepiece`, and the errors for bad files."""

from __future__ import annotations

import base64
import pathlib
import struct
from random import Random

import pytest
from llm_texts import GPT4, TRAINING, WORDS, texts

from sdk.extension.llm import tokenizers as sdk_tokenizers

TEXTS = list(texts(300))


def tiktoken_file(folder: pathlib.Path) -> str:
    ranks = [bytes([byte]) for byte in range(256)]
    for word in sorted({w for w in WORDS if w}, key=lambda w: (len(w), w)):
        data = word.encode()
        ranks += [data[:end] for end in range(2, len(data) + 1) if data[:end] not in ranks]
    lines = [base64.b64encode(token) + b" " + str(rank).encode() for rank, token in enumerate(ranks)]
    path = folder / "tokenizer.model"
    path.write_bytes(b"\n".join(lines) + b"\n")
    return str(path)


def test_tiktoken(tmp_path: pathlib.Path) -> None:
    """LR-09: the ids of tiktoken, with and without special tokens; load_tokenizer detects the format by the content."""
    path = tiktoken_file(tmp_path)
    tokenizer = sdk_tokenizers.TiktokenTokenizer(path)
    tiktoken = pytest.importorskip("tiktoken")
    ranks = {
        base64.b64decode(a): int(b) for a, b in (line.split() for line in pathlib.Path(path).read_bytes().splitlines())
    }
    reference = tiktoken.Encoding("test", pat_str=GPT4, mergeable_ranks=ranks, special_tokens=tokenizer.special_tokens)
    for text in [*TEXTS, "<|eot_id|>a<|image|>", "<|end_of_text|>"]:
        ids = tokenizer.encode(text, bos=False, eos=False)
        assert ids == reference.encode(text, disallowed_special=()), text
        assert tokenizer.decode(ids) == text
        for allowed in ("all", {"<|eot_id|>"}):
            assert tokenizer.encode(text, bos=False, eos=False, allowed_special=allowed) == reference.encode(
                text, allowed_special=allowed, disallowed_special=()
            )
    assert tokenizer.encode("a", bos=True, eos=True) == [
        tokenizer.bos_id,
        *tokenizer.encode("a", bos=False, eos=False),
        tokenizer.eos_id,
    ]
    with pytest.raises(ValueError, match="disallowed_special"):
        tokenizer.encode("<|eot_id|>", bos=False, eos=False, disallowed_special="all")
    assert isinstance(sdk_tokenizers.load_tokenizer(path), sdk_tokenizers.CppTiktoken)
    assert isinstance(sdk_tokenizers.get_tokenizer(path), sdk_tokenizers.TiktokenTokenizer)


@pytest.mark.parametrize("kind", ["unigram", "bpe", "char", "word"])
@pytest.mark.parametrize("rule", ["nmt_nfkc", "identity", "nmt_nfkc_cf"])
def test_sentencepiece(tmp_path: pathlib.Path, kind: str, rule: str) -> None:
    """LR-09: the ids and texts of SentencePiece, and of the file of llama2.c that is made of a model."""
    sentencepiece = pytest.importorskip("sentencepiece")
    prefix = str(tmp_path / "model")
    sentencepiece.SentencePieceTrainer.Train(
        sentence_iterator=iter([text.replace("\0", "") for text in TRAINING]),
        model_prefix=prefix,
        model_type=kind,
        vocab_size=1200,
        normalization_rule_name=rule,
        byte_fallback=kind == "bpe",
        user_defined_symbols=["<user>"],
        hard_vocab_limit=False,
        character_coverage=0.98,
        remove_extra_whitespaces=rule != "identity",
        treat_whitespace_as_suffix=rule == "nmt_nfkc_cf",
        minloglevel=2,
    )
    reference = sentencepiece.SentencePieceProcessor(model_file=prefix + ".model")
    tokenizer = sdk_tokenizers.load_tokenizer(prefix + ".model")
    assert isinstance(tokenizer, sdk_tokenizers.CppSPTokenizer)
    assert (tokenizer.vocab_size(), tokenizer.bos_tok(), tokenizer.eos_tok()) == (
        len(reference),
        reference.bos_id(),
        reference.eos_id(),
    )
    for text in [*TEXTS, "a<user>b <user>"]:
        ids = reference.encode(text)
        assert tokenizer.encode(text) == ids, text
    if rule != "nmt_nfkc_cf":  # in this rule, marks of spaces follow words
        assert sdk_tokenizers.Llama2cTokenizer(prefix + ".model").decode(reference.encode("the of and")) == "the of and"


def field(number: int, content: bytes) -> bytes:
    """A field of protobuf, of at most 127 bytes, that holds a message or a text."""
    return bytes([number << 3 | 2, len(content)]) + content


def unigram(pieces: list[tuple[str, float, int]]) -> bytes:
    """A model of SentencePiece that changes no text: pieces of a text, a score and a kind, 1 or 4 (user-defined)."""
    special = [("<unk>", 0.0, 2), ("<s>", 0.0, 3), ("</s>", 0.0, 3)]
    parts = [
        field(1, field(1, text.encode()) + b"\x15" + struct.pack("<f", score) + bytes([0x18, kind]))
        for text, score, kind in [*special, *pieces]
    ]
    return b"".join(parts) + field(2, b"\x18\x01") + field(3, field(1, b"identity") + b"\x18\x00\x20\x00\x28\x00")


@pytest.mark.parametrize("user_defined", [0.0, 0.3])
def test_equal_scores_of_sentencepiece(user_defined: float) -> None:
    """Sums of scores that are equal, or differ by less than a float32 can tell, give sentencepiece's tokens."""
    sentencepiece = pytest.importorskip("sentencepiece")
    random = Random(5)
    scores = [0.1, 0.3, 0.5, 1.0, 1.1, 1.7, 2.0, 2.2, 3.0]
    compared = 0
    for _ in range(400):
        texts = set("abé")
        while len(texts) < 12:
            texts.add("".join(random.choices("abé", k=random.randint(2, 4))))
        pieces = []
        for text in sorted(texts):
            factor = len(text) if len(text) == 1 or random.random() < 0.5 else 1
            pieces.append((text, -random.choice(scores) * factor, 4 if random.random() < user_defined else 1))
        if all(kind == 4 for *_, kind in pieces):
            continue
        model = unigram(pieces)
        reference = sentencepiece.SentencePieceProcessor(model_proto=model)
        tokenizer = sdk_tokenizers.CppSPTokenizer()
        tokenizer.load_from_buffer(model)
        for _ in range(6):
            text = "".join(random.choices("abé", k=random.randint(2, 14)))
            assert tokenizer.encode(text) == reference.encode(text), (text, pieces)
            compared += 1
    assert compared > 2000


def test_llama2c(tmp_path: pathlib.Path) -> None:
    """LR-09: a file of llama2.c, made of a model of SentencePiece, merges as that model does."""
    sentencepiece = pytest.importorskip("sentencepiece")
    prefix = str(tmp_path / "model")
    sentencepiece.SentencePieceTrainer.Train(
        sentence_iterator=iter([text.replace("\0", "") for text in TRAINING]),
        model_prefix=prefix,
        model_type="bpe",
        vocab_size=800,
        normalization_rule_name="identity",
        byte_fallback=True,
        remove_extra_whitespaces=False,
        minloglevel=2,
    )
    sdk_tokenizers.Llama2cTokenizer(prefix + ".model").export(prefix + ".bin")
    tokenizer = sdk_tokenizers.load_tokenizer(prefix + ".bin")
    assert isinstance(tokenizer, sdk_tokenizers.CppLlama2cTokenizer)
    reference = sentencepiece.SentencePieceProcessor(model_file=prefix + ".model")
    for text in TEXTS:
        if "▁" not in text and "\0" not in text:
            ids = reference.encode(text)
            assert tokenizer.encode(text) == ids, text
            assert tokenizer.decode_batch(ids) == text


def test_llama2c_with_padding(tmp_path: pathlib.Path) -> None:
    """A token for padding comes before all others, and every id of the file is one more than the model's."""
    sentencepiece = pytest.importorskip("sentencepiece")
    prefix = str(tmp_path / "model")
    sentencepiece.SentencePieceTrainer.Train(
        sentence_iterator=iter([text.replace("\0", "") for text in TRAINING]),
        model_prefix=prefix,
        model_type="bpe",
        vocab_size=800,
        normalization_rule_name="identity",
        byte_fallback=True,
        remove_extra_whitespaces=False,
        minloglevel=2,
    )
    reference = sentencepiece.SentencePieceProcessor(model_file=prefix + ".model")
    model = sdk_tokenizers.Llama2cTokenizer(prefix + ".model")
    model.export(prefix + ".bin", prepend_padding=True)
    written = pathlib.Path(prefix + ".bin").read_bytes()
    count, bos, eos = struct.unpack("<3i", written[:12])
    assert (count, bos, eos) == (801, reference.bos_id() + 1, reference.eos_id() + 1)
    # ExecuTorch's converter writes the number and the ids of the model, which do not count the padding.
    old = struct.pack("<3i", count - 1, bos - 1, eos - 1) + written[12:]
    pathlib.Path(prefix + ".old.bin").write_bytes(old)
    for name in (".bin", ".old.bin"):
        tokenizer = sdk_tokenizers.load_tokenizer(prefix + name)
        assert tokenizer.vocab_size() == 801 and tokenizer.id_to_piece(0) == b"<pad>"
        assert (tokenizer.bos_tok(), tokenizer.eos_tok()) == (bos, eos)
        for text in (*TEXTS, "\u2603 not in the training"):
            if "▁" not in text and "\0" not in text:
                ids = [token + 1 for token in reference.encode(text)]
                assert tokenizer.encode(text) == ids, text
                assert tokenizer.decode_batch(ids) == text


BAD_JSON = {
    "syntax": ('{\n  "model": {"type": "BPE",]\n}', "line 2, column"),
    "array": ("[]", "is array, expected an object"),
    "no model": ("{}", "model is absent"),
    "unknown model": ('{"model": {"type": "Magic"}}', '"Magic" is not supported'),
    "bad id": ('{"model": {"type": "BPE", "vocab": {"a": -1}, "merges": []}}', r'vocab\["a"\] is sint'),
    "large id": ('{"model": {"type": "BPE", "vocab": {"a": 4000000000}, "merges": []}}', "4000000000"),
    "bad merge": ('{"model": {"type": "BPE", "vocab": {"a": 0}, "merges": ["a"]}}', r"merges\[0\]"),
    "merge of nothing": (
        '{"model": {"type": "BPE", "vocab": {"a": 0, "b": 1}, "merges": ["a b"]}}',
        r'merges\[0\] needs the token "ab"',
    ),
    "unknown normalizer": (
        '{"normalizer": {"type": "Magic"}, "model": {}}',
        'normalizer: the normalizer "Magic" is not supported',
    ),
    "unknown pre-tokenizer": ('{"pre_tokenizer": {"type": "Magic"}, "model": {}}', "pre-tokenizer"),
    "bad regex": ('{"pre_tokenizer": {"type": "Split", "pattern": {"Regex": "(a"}}, "model": {}}', "wrong at byte 2"),
}


@pytest.mark.parametrize("name", BAD_JSON)
def test_bad_json(name: str) -> None:
    text, message = BAD_JSON[name]
    tokenizer = sdk_tokenizers.CppHFTokenizer()
    with pytest.raises((ValueError, RuntimeError), match=message):
        tokenizer.load_from_buffer(text.encode())
    assert not tokenizer.is_loaded()
    with pytest.raises(RuntimeError, match="not loaded"):
        tokenizer.encode("a")


def test_bad_files(tmp_path: pathlib.Path) -> None:
    for content, message in [
        (b"YQ== 0\nYg== x\n", "line 2 is not a line of tiktoken"),
        (b"Y?== 0\n", "llama2.c"),
        (b"\x0a\x04\x0a\x02ab", "no piece for unknown text"),
        (b"\x0a\x04\x0a\x02ab\xff", "protobuf"),
        (b"\x01", "llama2.c"),
        (b"", "llama2.c"),
    ]:
        path = tmp_path / "file"
        path.write_bytes(content)
        with pytest.raises(RuntimeError, match=message):
            sdk_tokenizers.load_tokenizer(str(path))
    with pytest.raises(RuntimeError, match="cannot be opened"):
        sdk_tokenizers.load_tokenizer(str(tmp_path / "missing"))
