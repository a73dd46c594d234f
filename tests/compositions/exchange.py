# SPDX-License-Identifier: BSD-3-Clause
"""Random programs that both SDKs lower: each SDK runs its own program and the other's, compared with eager.

    python -m compositions.exchange --seeds 0 100            # from tests/, with the environment of the tests

A finding is a program of the original that its runtime computes correctly and ours does not, and the reverse. Programs
that the original cannot lower, or computes wrong by itself, are only counted.
"""

from __future__ import annotations

import argparse
import inspect
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch

import runtime_under_test

runtime_under_test.load()

from backends.targets import Target, targets  # noqa: E402
from compositions.examine import (  # noqa: E402
    Call,
    Capture,
    LoweringError,
    NotCapturedError,
    capture,
    computes_in_half,
    difference,
    lower,
    run_and_compare,
)
from compositions.int8 import capture_int8, make_int8  # noqa: E402
from compositions.original import Original  # noqa: E402
from compositions.program import Program, make  # noqa: E402
from interop import original_lowering  # noqa: E402
from interop.originals import FIRST, NEWER, make_oracle  # noqa: E402
from sdk.devtools.report._operators import _executorch_operators, program_operators  # noqa: E402
from sdk.exir._serialize import _deserialize_pte_binary  # noqa: E402

VERSION = "1.4"
BATCH = 25
"""Programs that a process of the original gets."""


@dataclass(frozen=True)
class Exchanged:
    """The outcome of a program on a target.

    Attributes:
        outcome: What to count.
        what: What goes wrong.
        is_finding: Whether it is a defect of this SDK.
    """

    outcome: str
    what: str = ""
    is_finding: bool = False


@dataclass(frozen=True)
class Exchange:
    """Exchanges random programs between both SDKs.

    Attributes:
        targets: The targets that the programs are lowered for.
        python: The Python of the original's environment.
        capture: How programs are captured.
    """

    targets: Sequence[Target]
    python: str
    capture: Capture = capture

    def __call__(self, programs: Mapping[str, Program]) -> Iterator[tuple[str, Target, Exchanged]]:
        """The outcome of each program, by its name, on each target."""
        with tempfile.TemporaryDirectory() as path:
            folder = Path(path)
            calls: dict[str, list[Call]] = {}
            for name, program in programs.items():
                try:
                    captured, made = self.capture(program)
                except NotCapturedError:
                    continue
                if not made:
                    continue
                calls[name] = made
                torch.save([("forward", call.inputs) for call in made], folder / f"{name}.calls.pt")
                torch.export.save(captured, folder / f"{name}.pt2")
                for target in self.targets:
                    try:
                        _ours(folder, name, target).write_bytes(lower(captured, _partitioners(target)))
                    except NotCapturedError:
                        continue
                    except LoweringError as error:
                        yield name, target, Exchanged("ours is wrong here", str(error), True)
            pairs = [(name, target) for target in self.targets for name in calls]
            lowered = [(name, target) for name, target in pairs if _ours(folder, name, target).exists()]
            original = self._both_run(lowered, folder)
            for name, target in lowered:
                in_half = computes_in_half(programs[name], target)
                yield name, target, Judge(f"{name}.{target.name}", target, original, calls[name], in_half).outcome()

    def _both_run(self, lowered: list[tuple[str, Target]], folder: Path) -> Original:
        """Lets the original lower the programs, each for its target, and run them and ours. Returns the results."""
        original = Original(self.python, folder)
        names = []
        for name, target in lowered:
            for whose in ("theirs", "ours"):
                names.append(f"{name}.{target.name}.{whose}")
                (folder / f"{names[-1]}.calls.pt").symlink_to(f"{name}.calls.pt")
            (folder / f"{name}.{target.name}.theirs.pt2").symlink_to(f"{name}.pt2")
        original("lower,run", names)
        return original

    def shortest(self, program: Program, target: Target) -> tuple[Program, Exchanged] | None:
        """Returns the shortest start of the program that is also a finding on the target, with its outcome."""
        parts = {str(n): program.cut(n) for n in range(1, len(program.texts) + 1)}
        outcomes = {n: one for n, _, one in replace(self, targets=[target])(parts)}
        return next(((parts[n], outcomes[n]) for n in parts if n in outcomes and outcomes[n].is_finding), None)


def _ours(folder: Path, name: str, target: Target) -> Path:
    return folder / f"{name}.{target.name}.ours.pte"


def _partitioners(target: Target) -> list[Any]:
    """The target's partitioners, restricted where possible to operators that the original's runtime takes."""
    if target.backend is None:
        return []
    make_partitioner = target.backend.find("partitioner")
    keeps = "compat" in inspect.signature(make_partitioner).parameters
    return [make_partitioner(compat=VERSION) if keeps else make_partitioner()]


@dataclass(frozen=True)
class Judge:
    """Compares the results of the programs NAME.ours.pte and NAME.theirs.pte in both SDKs with eager's calls. Programs
    of the original return the inputs that they write to, and then the results."""

    name: str
    target: Target
    original: Original
    calls: list[Call]
    in_half: bool

    def outcome(self) -> Exchanged:
        extra = self.calls[0].written
        ours, theirs = (self.original.folder / f"{self.name}.{whose}.pte" for whose in ("ours", "theirs"))
        if wrong := run_and_compare(ours.read_bytes(), self.target, self.calls, self.in_half):
            return Exchanged("ours is wrong here", wrong, True)
        right, there = self._right_calls("theirs", extra)
        right_calls = self.calls[:right]
        if right and (wrong := run_and_compare(theirs.read_bytes(), self.target, right_calls, self.in_half, extra)):
            return Exchanged("theirs is wrong here only", wrong, True)
        ours_right, wrong = self._right_calls("ours", 0)
        if not wrong:
            lowered = "is wrong" if theirs.exists() else "is not lowered"
            return Exchanged(f"ours is right, theirs {lowered}" if there else "right", there)
        if missing := _operators_without_kernels(ours):
            return Exchanged("ours needs a kernel", ", ".join(sorted(missing)))
        if theirs.exists() and right <= ours_right:
            return Exchanged("both are wrong there", f"theirs: {there}\n  ours: {wrong}")
        return Exchanged("ours is wrong there only", wrong, True)

    def _right_calls(self, whose: str, extra: int) -> tuple[int, str]:
        """Returns how many calls gave eager's results in the original, and what went wrong in the next call."""
        outputs = self.original.folder / f"{self.name}.{whose}.outputs.pt"
        found = torch.load(outputs) if outputs.exists() else []
        for number, (results, call) in enumerate(zip(found, self.calls, strict=False)):
            if differs := difference(list(results[extra:]), call, self.in_half):
                return number, f"call {number}, {call.inputs[0].shape[0]} rows: {differs}"
        return len(found), self.original.error(f"{self.name}.{whose}")


def _operators_without_kernels(file: Path) -> set[str]:
    """The operators of a program for which the original's package has no kernels."""
    program = _deserialize_pte_binary(file.read_bytes()).program
    used = {name for names in program_operators(program).values() for name in names}
    return {name for name in used if not name.startswith("executorch_prim::")} - set(_executorch_operators())


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", nargs=2, type=int, default=(0, 100), metavar=("FIRST", "END"))
    parser.add_argument("--targets", nargs="+", help="kernels and names of backends (default: all that both have)")
    parser.add_argument(
        "--release", default=FIRST, choices=(FIRST, NEWER), help="of the original (default: %(default)s)"
    )
    parser.add_argument("--verbose", action="store_true", help="also print what the original cannot do")
    parser.add_argument("--shorten", action="store_true", help="also look for the shortest start that is a finding")
    parser.add_argument("--int8", action="store_true", help="quantised programs")
    options = parser.parse_args()
    made, captured = (make_int8, capture_int8) if options.int8 else (make, capture)
    here = {target.name: target for target in targets() if hasattr(original_lowering, target.name)}
    if missing := set(options.targets or ()) - here.keys():
        sys.exit(f"error: no target {', '.join(sorted(missing))}; this runtime has {', '.join(here)}")
    started, findings = time.monotonic(), 0
    exchange = Exchange(
        [here[name] for name in options.targets or here], make_oracle(release=options.release), captured
    )
    counted: dict[str, Counter[str]] = {target.name: Counter() for target in exchange.targets}
    first, end = options.seeds
    for batch in range(first, end, BATCH):
        programs = {str(seed): made(seed) for seed in range(batch, min(end, batch + BATCH))}
        for name, target, one in exchange(programs):
            counted[target.name][one.outcome] += 1
            if one.is_finding or (options.verbose and one.what):
                print(f"seed {name}, {target.name}: {one.outcome}: {one.what}", flush=True)
            if one.is_finding:
                findings += 1
                shorter = exchange.shortest(programs[name], target) if options.shorten else None
                part, again = shorter or (programs[name], one)
                print(f"  {again.outcome}: {again.what}", *part.texts, sep="\n    ")
                print(f"    return {part.model.outputs}", flush=True)
        for name, outcomes in counted.items():
            print(f"to seed {batch + len(programs)}, {name}: {dict(outcomes)}", flush=True)
    print(f"{findings} findings in {time.monotonic() - started:.0f} s")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
