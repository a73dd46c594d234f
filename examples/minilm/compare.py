# SPDX-License-Identifier: BSD-3-Clause
"""Compares sentences: PyTorch, the `.pte` in Python and the same `.pte` in C++.

    python examples/minilm/compare.py minilm.pte [--runner PATH/TO/executor_runner]

Exits with status 1 if an embedding differs from PyTorch's by more than 1e-4.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import torch
from torch import Tensor

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from sdk.runtime import Runtime

import cpp_runner
from model import SENTENCES, sentence_encoder, tokenize
from timing import milliseconds

TOLERANCE = 1e-4
_LONGEST = 128  # tokens; the largest size that the program was exported for


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", type=Path, help="the exported MiniLM")
    parser.add_argument("--runner", type=Path, help="also run it in C++, with this executor_runner")
    arguments = parser.parse_args()

    answers: dict[str, list[Tensor]] = {"PyTorch": in_pytorch(), ".pte in Python": in_python(arguments.program)}
    if arguments.runner is not None:
        answers[".pte in C++"] = in_cpp(arguments.program, arguments.runner)
    show(answers)
    show_times(arguments.program)
    return (
        0 if all(agree(name, found, answers["PyTorch"]) for name, found in answers.items() if name != "PyTorch") else 1
    )


def in_pytorch() -> list[Tensor]:
    """An embedding for each sentence."""
    encoder = sentence_encoder()
    with torch.no_grad():
        return [encoder(*tokenize([sentence]))[0] for sentence in SENTENCES]


def in_python(program: Path) -> list[Tensor]:
    """The same with `sdk.runtime`, at each sentence's own length."""
    forward = Runtime.get().load_program(program).load_method("forward")
    return [forward.execute(tokenize([sentence]))[0][0].clone() for sentence in SENTENCES]


def in_cpp(program: Path, runner: Path) -> list[Tensor]:
    """The same with executor_runner, at the largest size, its default: the mask excludes the padding."""
    embeddings = []
    for sentence in SENTENCES:
        tokens, mask = (torch.nn.functional.pad(t, (0, _LONGEST - t.shape[1])) for t in tokenize([sentence]))
        embeddings.append(cpp_runner.run(runner, program, [tokens, mask], [torch.empty(1, 384)])[0][0])
    return embeddings


def show(answers: dict[str, list[Tensor]]) -> None:
    """The cosine similarity of some pairs of sentences, with a column for each engine."""
    width = max(map(len, SENTENCES)) + 2
    print(f"  {'similarity of two sentences':<{2 * width}}" + "".join(f"{name:>16}" for name in answers))
    for first, second in ((0, 1), (4, 5), (0, 2), (2, 3), (1, 4)):
        pair = f"{SENTENCES[first]:<{width}}{SENTENCES[second]:<{width}}"
        figures = "".join(f"{float(found[first] @ found[second]):16.4f}" for found in answers.values())
        print(f"  {pair}{figures}")


def show_times(program: Path) -> None:
    """A call with the first sentence."""
    encoder, inputs = sentence_encoder(), tokenize(SENTENCES[:1])
    forward = Runtime.get().load_program(program).load_method("forward")
    with torch.no_grad():
        eager = milliseconds(lambda: encoder(*inputs))
    in_program = milliseconds(lambda: forward.execute(inputs))
    print(f"  A sentence takes {in_program:.1f} ms; PyTorch eager takes {eager:.1f} ms (medians, on this machine).")


def agree(name: str, found: list[Tensor], expected: list[Tensor]) -> bool:
    """Prints the largest difference between elements of the embeddings, and whether it is within the tolerance."""
    worst = max(float((a - b).abs().max()) for a, b in zip(found, expected, strict=True))
    verdict = "" if worst <= TOLERANCE else "  TOO MUCH"
    print(f"  {name}: the embeddings differ from PyTorch's by at most {worst:.1e} ({TOLERANCE:g} is allowed){verdict}")
    return worst <= TOLERANCE


if __name__ == "__main__":
    sys.exit(main())
