# SPDX-License-Identifier: BSD-3-Clause
"""Pre-tokenizers by the names in `tokenizer.ggml.pre`: how text is split into words before byte-level BPE.

The names are llama.cpp's, the expressions those of the models' own `tokenizer.json`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

_CONTRACTIONS = "(?i:'s|'t|'re|'ve|'m|'ll|'d)"
_ENDS = r"\s*[\r\n]+|\s+(?!\S)|\s+"


def _words(digits: str, marks: str = "", after_signs: str = r"[\r\n]*") -> str:
    """Words with the character before them, numbers, punctuation, spaces: the expression of Llama 3 and of Qwen 2.

    `marks`: characters that are part of a word besides letters. `after_signs`: what belongs to punctuation before it.
    """
    letters = rf"[\p{{L}}{marks}]" if marks else r"\p{L}"
    signs = rf" ?[^\s\p{{L}}{marks}\p{{N}}]+{after_signs}"
    return rf"{_CONTRACTIONS}|[^\r\n\p{{L}}\p{{N}}]?{letters}+|{digits}|{signs}|{_ENDS}"


def _cased_words(tail: str, digits: str) -> str:
    """Words that begin with capitals or go on in small letters: the expression of o200k and of Tekken."""
    upper, lower = r"[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]", r"[\p{Ll}\p{Lm}\p{Lo}\p{M}]"
    first = r"[^\r\n\p{L}\p{N}]?"
    words = f"{first}{upper}*{lower}+{tail}|{first}{upper}+{lower}*{tail}"
    return rf"{words}|{digits}| ?[^\s\p{{L}}\p{{N}}]+[\r\n/]*|{_ENDS}"


def byte_level(use_regex: bool) -> dict[str, Any]:
    """The part that turns bytes into characters, with the expression of GPT-2 if `use_regex`."""
    return {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": use_regex}


def _split(*expressions: str) -> tuple[dict[str, Any], ...]:
    return tuple(
        {"type": "Split", "pattern": {"Regex": expression}, "behavior": "Isolated", "invert": False}
        for expression in expressions
    )


def _digits(individual: bool) -> dict[str, Any]:
    return {"type": "Digits", "individual_digits": individual}


@dataclass(frozen=True)
class Family:
    """The pre-tokenizer that a name in `tokenizer.ggml.pre` selects."""

    splits: tuple[dict[str, Any], ...]
    """Pre-tokenizers of Hugging Face's form, in sequence."""
    nfc: bool = False
    """The text is normalised first."""
    ignore_merges: bool = False
    """A word that is a token becomes that token, even if the merges give something else."""
    adds_bos: bool = False


# Letters of alphabets that have cases, as DeepSeek's first tokenizer lists them.
_DEEPSEEK_LETTERS = (
    r"A-Za-zµÀ-ÖØ-öø-ƺƼ-ƿǄ-ʓʕ-ʯͰ-ͳͶͷͻ-ͽͿΆΈ-ΊΌΎ-ΡΣ-ϵϷ-ҁҊ-ԯԱ-ՖႠ-ჅᎠ-Ᏽᏸ-ᏽᲐ-ᲺᲽ-Ჿᴀ-ᴫᵫ-ᵷᵹ-ᶚḀ-ἕἘ-Ἕἠ-ὅὈ-Ὅὐ-ὗὙὛὝὟ-\x{1f7d}ᾀ-ᾴᾶ"
    r"-ᾼ\x{1fbe}ῂ-ῄῆ-ῌῐ-\x{1fd3}ῖ-\x{1fdb}ῠ-Ῥῲ-ῴῶ-ῼℂℇℊ-ℓℕℙ-ℝℤ\x{2126}ℨ\x{212a}-ℭℯ-ℴℹℼ-ℿⅅ-ⅉⅎↃↄⰀ-ⱻⱾ-ⳤⳫ-ⳮⳲⳳꙀ-ꙭꚀ-ꚛꜢ-ꝯꝱ-ꞇ"
    r"Ꞌ-ꞎꭰ-ꮿﬀ-ﬆﬓ-ﬗＡ-Ｚａ-ｚ𐐀-𐑏𐒰-𐓓𐓘-𐓻𐲀-𐲲𐳀-𐳲𑢠-𑣟𞤀-𞥃"
)
_DEEPSEEK_CJK = "[一-龥ࠀ-一가-퟿]+"
_DEEPSEEK3 = (
    r"[!\"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+"
    rf"| ?[\p{{P}}\p{{S}}]+[\r\n]*|{_ENDS}"
)

_GPT2 = Family((byte_level(True),))
_DIGIT_BY_DIGIT = (_digits(True), byte_level(True))
_BLOOM = _split(r" ?[^(\s|.,!?…。，、।۔،)]+")
_CL100K = Family((*_split(_words(r"\p{N}{1,3}")), byte_level(False)))
_LLAMA3 = replace(_CL100K, ignore_merges=True, adds_bos=True)
_QWEN2 = Family((*_split(_words(r"\p{N}")), byte_level(False)), nfc=True)
_O200K = Family((*_split(_cased_words(f"{_CONTRACTIONS}?", r"\p{N}{1,3}")), byte_level(False)))
FAMILIES = {
    "a.x-4.0": _GPT2,
    "bloom": Family((*_BLOOM, byte_level(False))),
    "command-r": Family(_DIGIT_BY_DIGIT, nfc=True),
    "dbrx": _CL100K,
    "deepseek-coder": Family(
        (*_split("[\r\n]", r"\s?\p{L}+", r"\s?\p{P}+", _DEEPSEEK_CJK), _digits(True), byte_level(False))
    ),
    "deepseek-llm": Family(
        (
            *_split("[\r\n]", rf"\s?[{_DEEPSEEK_LETTERS}]+", r"\s?[!-/:-~！-／：-～‘-‟　-。]+", r"\s+$", _DEEPSEEK_CJK),
            _digits(True),
            byte_level(False),
        )
    ),
    "deepseek-r1-qwen": _QWEN2,
    "deepseek-v3": Family((*_split(r"\p{N}{1,3}", "[一-龥぀-ゟ゠-ヿ]+", _DEEPSEEK3), byte_level(False))),
    "exaone4": _GPT2,
    "falcon": Family(
        (
            {"type": "Punctuation", "behavior": "Contiguous"},
            byte_level(True),
            _digits(False),
            *_split("[0-9][0-9][0-9]"),
        )
    ),
    "f2llmv2": _QWEN2,
    "falcon-h1": _LLAMA3,
    "falcon3": _LLAMA3,
    "gigachat": _GPT2,
    "gpt-2": _GPT2,
    "gpt-4o": _O200K,
    "gpt3-finnish": Family((*_BLOOM, byte_level(False))),
    "granite-docling": _GPT2,
    "jina-v5-nano": _LLAMA3,
    "kanana2": _O200K,
    "kormo": _QWEN2,
    "lfm2": _LLAMA3,
    "llama-bpe": _LLAMA3,
    "llama-v3": _LLAMA3,
    "llama3": _LLAMA3,
    "llama4": _O200K,
    "megrez": _QWEN2,
    "mellum": _GPT2,
    "midm-2.0": _LLAMA3,
    "minerva-7b": Family(_DIGIT_BY_DIGIT),
    "mpt": Family((byte_level(True),), nfc=True),
    "olmo": _GPT2,
    "phi-2": _GPT2,
    "pixtral": _LLAMA3,
    "poro-chat": Family((*_BLOOM, byte_level(False))),
    "qwen2": _QWEN2,
    "qwen35": Family((*_split(_words(r"\p{N}", r"\p{M}")), byte_level(False)), nfc=True),
    "refact": Family(_DIGIT_BY_DIGIT),
    "seed-coder": Family((*_split(_words(r"\p{N}", after_signs="")), byte_level(False))),
    "smaug-bpe": _CL100K,
    "smollm": Family(_DIGIT_BY_DIGIT),
    "starcoder": Family(_DIGIT_BY_DIGIT),
    "superbpe": Family((*_split(r"\p{N}+", r"(?=(?:\d{3})++(?!\d))"), byte_level(False))),
    "talkie": _O200K,
    "tekken": Family((*_split(_cased_words("", r"\p{N}")), byte_level(False)), ignore_merges=True, adds_bos=True),
    "trillion": _GPT2,
    "viking": Family((*_BLOOM, _digits(True), byte_level(False))),
}
