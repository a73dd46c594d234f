# SPDX-License-Identifier: BSD-3-Clause
"""Arguments that are accepted and never read: what they ask for would be left out without a word.

Such an argument is in the docstring, which says why it has no effect, or the function has a signature that another
library or a sibling gives it.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import sdk

ROOT = Path(sdk.__file__).parent
FOLDERS = ("extension/llm", "examples", "llm", "asr", "command", "debug", "inspect", "run", "test", "bench", "wrap")
GIVEN = {
    "__exit__": "Python's",
    "__torch_function__": "torch's",
    "quantized_moe_ffn_meta": "the schema of the operator",
    "_custom_sdpa_meta": "the schema of the operator",
    "_sdpa_with_kv_cache_meta": "the schema of the operator",
    "_quantized_meta": "the schema of the operator",
    "_linear_meta": "the schema of the operator",
    "_embedding_meta": "the schema of the operator",
    "_sample": "signal.signal()'s",
    "make": "a sibling's: Replace",
    "identity": "a sibling's: Convert",
    "to_exportable": "a sibling's: Convert",
    "take_names_of_executorch": "torch's: a hook of load_state_dict()",
    "_nothing": "a sibling's: a branch of torch.cond()",
    "_torch": "a sibling's: a reader of inputs",
}
"""Functions whose signature is given, and by whom."""


def unread(source: str) -> Iterator[tuple[ast.FunctionDef, str, str]]:
    """Functions, arguments that they do not read, and the documentation of the arguments."""
    for owner in ast.walk(ast.parse(source)):
        for node in ast.iter_child_nodes(owner):
            if not isinstance(node, ast.FunctionDef):
                continue
            body = [s for s in node.body if not (isinstance(s, ast.Expr) and isinstance(s.value, ast.Constant))]
            if all(isinstance(statement, (ast.Raise, ast.Pass)) for statement in body):
                continue  # a declaration
            read = {name.id for s in body for name in ast.walk(s) if isinstance(name, ast.Name)}
            text = ast.get_docstring(node) or ""
            if isinstance(owner, ast.ClassDef):
                text += ast.get_docstring(owner) or ""
            taken = node.args
            for argument in (*taken.posonlyargs, *taken.args, *taken.kwonlyargs, taken.vararg, taken.kwarg):
                if argument is not None and argument.arg not in read | {"self", "cls"} and argument.arg[0] != "_":
                    yield node, argument.arg, text


def is_registered(node: ast.FunctionDef) -> bool:
    """Whether a decorator gives the function to torch, whose call it has to accept."""
    return node.name == "_" and bool(node.decorator_list)


def test_arguments_are_read() -> None:
    found, used = [], set()
    for path in (path for folder in FOLDERS for path in sorted((ROOT / folder).rglob("*.py"))):
        for node, argument, text in unread(path.read_text(encoding="utf-8")):
            if node.name in GIVEN:
                used.add(node.name)
            elif not is_registered(node) and f"`{argument}`" not in text and f"`{argument}=" not in text:
                found.append(f"{path.relative_to(ROOT)}:{node.lineno} {node.name}({argument})")
    assert not found, "\n".join(found)
    assert used == set(GIVEN)  # no entry is left over


def test_an_unread_argument_is_found() -> None:
    source = "def f(a, b, *, c=1):\n    return a\n\n\nclass K:\n    def g(self, d):\n        raise ValueError\n"
    assert [(node.name, argument) for node, argument, _ in unread(source)] == [("f", "b"), ("f", "c")]
