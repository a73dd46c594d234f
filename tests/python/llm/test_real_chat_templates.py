# SPDX-License-Identifier: BSD-3-Clause
"""The chat templates of real models, which the source distribution of llama_cpp_python carries: every text is that of
transformers, to the byte, and nothing is refused that transformers renders."""

from __future__ import annotations

import ast
import re
import tarfile
from functools import cache

import pytest
from chat_conversations import REAL_CONVERSATIONS, REAL_VARIABLES
from test_chat_templates import REFUSALS, reference
from test_real_tokenizers import llama_cpp_sources

from sdk.extension.llm.runner import ChatTemplate
from sdk.extension.pybindings.portable_lib import ExecuTorchError

PARTS = 8


@cache
def real_templates() -> dict[str, str]:
    """Name and text of each template: the .jinja files, and the literals in llama.cpp's own test. A download that fails
    skips the test."""
    found = {}
    with tarfile.open(llama_cpp_sources()) as archive:
        for member in archive:
            is_file, is_test = member.name.endswith(".jinja"), member.name.endswith("/test-chat-template.cpp")
            content = archive.extractfile(member) if is_file or is_test else None
            if content is None:
                continue
            text = content.read().decode()
            found.update({member.name.rsplit("/", 1)[-1]: text} if is_file else literals_of(text))
    return found


def literals_of(cpp: str) -> dict[str, str]:
    """The templates of a table whose entries have a name and a template, as literals of C++."""
    literal = r'((?:"(?:[^"\\\n]|\\.)*"\s*)+)'
    entry = re.compile(r"/\* \.name= \*/\s*" + literal + r",\s*(?://[^\n]*\s*)*/\* \.template_str= \*/\s*" + literal)
    # Python and C++ have these literals' escapes in common.
    return {ast.literal_eval(f"({name})"): ast.literal_eval(f"({text})") for name, text in entry.findall(cpp)}


@pytest.mark.slow
@pytest.mark.parametrize("part", range(PARTS))
def test_every_real_template_renders_as_in_transformers(part: int):
    templates = real_templates()
    assert len(set(templates.values())) >= 94
    wrong, rendered = [], 0
    for name in sorted(templates)[part::PARTS]:
        template = ChatTemplate(templates[name])
        for title, conversation in REAL_CONVERSATIONS.items():
            for number, more in enumerate(REAL_VARIABLES):
                for add in (False, True):
                    variables = {"bos_token": "<s>", "eos_token": "</s>", "unk_token": "<unk>", **more}
                    try:
                        expected = reference(templates[name], conversation, add, **variables)
                    except REFUSALS:
                        expected = None
                    try:
                        found = template.render(conversation, add, **variables)
                    except ExecuTorchError as error:
                        found = None if expected is None else str(error)
                    rendered += expected is not None
                    if found != expected:
                        wrong.append((name, title, number, add))
    assert not wrong, f"{len(wrong)} differ: {wrong[:5]}"
    assert rendered > 1000
