# SPDX-License-Identifier: BSD-3-Clause
"""Texts in which tokenizers differ: every block of Unicode, mixed scripts, emoji, marks, runs of spaces, code."""

from __future__ import annotations

import random
import unicodedata
from collections.abc import Callable, Iterator

ASSIGNED = [
    chr(code)
    for code in range(1, 0x20000)
    if unicodedata.category(chr(code)) not in ("Cn", "Cs", "Co") and not 0xE000 <= code <= 0xF8FF
]
SPACES = " \t\n\r\u000b\u000c\u0085\u00a0\u1680\u2003\u2028\u2029\u202f\u205f\u3000\u200b\ufeff"
MARKS = [c for c in ASSIGNED if unicodedata.category(c) in ("Mn", "Mc")][:600]
EMOJI = ["😀", "👩‍👩‍👧", "🇩🇪", "👍🏽", "❤️", "🏴󠁧󠁢󠁥󠁮󠁧󠁿", "1️⃣", "🫠"]
LINE = (
    "the of and to a in is it you that he was for on are with as I his they be at one have this from or had by "
    "don't we're it's I'll they've you'd CAN'T café cafe\u0301 naïve Straße Ωμέγα Привет мир "
    "你好 世界 こんにちは カタカナ "
    "한국어 안녕하세요 שלום العربية हिन्दी ไทย Tiếng Việt İstanbul ﬁnal ½ ２０２４ ＡＢＣ 12345 3.14159 1,000,000 "
    'print("x") != == -> :: /* */ // <html> </div> {} [] () https://example.org/a?b=c&d=%20 user@host.example '
    "<s> </s> <unk> <|endoftext|> <|im_start|> [CLS] [SEP] ##ing ▁ ▁▁a Ġ Ċ \u00ad \u200d \u180e \ufffd "
    "\x00 \x7f _ __init__"
)
WORDS = LINE.split(" ")
KNOWN = [
    "",
    " ",
    "  ",
    "\n",
    "a",
    " a",
    "a ",
    "  a  b  ",
    "Hello, world!",
    "Hello\n\n\nworld\r\n\tx",
    "café cafe\u0301",
    "x" * 300,
    " " * 300 + "y",
    "\n" * 65,
    "aaaa bbbb" * 40,
    "I'm you're it'S WE'LL",
    "ſ's 'ſ",
    "e\u0301\u0327\u0323 \u1e69 \u0073\u0323\u0307 \uac00 \u1100\u1161\u11a8 \u212b \u2126",
    "ﷺ ﬃ Ǆ ㌔ ① ²",
]


def text(choose: random.Random) -> str:
    """Returns a text of a random kind."""

    def many(most: int, pick: Callable[[], str]) -> str:
        return "".join(pick() for _ in range(choose.randrange(1, most)))

    kind = choose.random()
    if kind < 0.4:  # words of many languages
        return many(20, lambda: choose.choice(WORDS) + choose.choice([" ", " ", " ", "", "  ", "\n", ", "]))
    if kind < 0.6:  # one block
        start = choose.randrange(len(ASSIGNED))
        block = ASSIGNED[start : start + 100]
        return many(60, lambda: choose.choice(block) if choose.random() < 0.85 else " ")
    if kind < 0.75:  # any sequence of characters
        return many(40, lambda: choose.choice(ASSIGNED))
    if kind < 0.85:
        return many(40, lambda: choose.choice(SPACES if choose.random() < 0.7 else "ab1."))
    if kind < 0.93:
        return many(15, lambda: choose.choice("aeo가か ") + "".join(choose.choices(MARKS, k=choose.randrange(4))))
    return many(10, lambda: choose.choice(EMOJI) * choose.randrange(1, 3) + " ")


def texts(count: int, seed: int = 0) -> Iterator[str]:
    """`count` texts: the known ones, then random ones, the same for the same seed."""
    yield from KNOWN[:count]
    choose = random.Random(seed)
    for _ in range(count - len(KNOWN)):
        yield text(choose)


# The expression of Llama 3.
GPT4 = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*"
    r"|\s*[\r\n]+|\s+(?!\S)|\s+"
)

LETTERS = random.Random(1)
TRAINING = [" ".join(LETTERS.choices(WORDS, k=20)).replace("\0", "") for _ in range(400)]
