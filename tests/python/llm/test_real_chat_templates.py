# SPDX-License-Identifier: BSD-3-Clause
"""The chat templates of real models, which the source distribution of llama_cpp_python carries: every text is that of
transformers, to the byte, and nothing is refused that transformers renders."""

from __future__ import annotations

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
    """Name and text of each template; a download that fails skips the test."""
    found = {}
    with tarfile.open(llama_cpp_sources()) as archive:
        for member in archive:
            content = archive.extractfile(member) if member.name.endswith(".jinja") else None
            if content is not None:
                found[member.name.rsplit("/", 1)[-1]] = content.read().decode()
    return found


@pytest.mark.slow
@pytest.mark.parametrize("part", range(PARTS))
def test_every_real_template_renders_as_in_transformers(part: int):
    templates = real_templates()
    assert len(templates) >= 70
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
