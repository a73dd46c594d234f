# SPDX-License-Identifier: BSD-3-Clause
"""Examines models, each in a separate process with a time limit."""

from __future__ import annotations

import argparse
import contextlib
import json
import multiprocessing
import os
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from zoo.libraries import packages

LIMIT = 300.0
"""Seconds that one model may take."""


def load(package: str = "sdk") -> None:
    """Imports the libraries and the compiler once, before processes are forked: each takes seconds."""
    import importlib
    import logging

    warnings.simplefilter("ignore")
    packages.install()
    packages.enable()
    from zoo.libraries import timm_models, torchaudio_models, torchvision_models, transformers_models  # noqa: F401

    for module in ("exir", "runtime", "backends.xnnpack.partition.xnnpack_partitioner"):
        importlib.import_module(f"{package}.{module}")
    logging.disable(logging.WARNING)
    _lower_a_model(package)


def _lower_a_model(package: str) -> None:
    """Lowers a small model, so that everything that lowering imports is imported."""
    import torch

    from zoo.libraries.examine import BACKENDS, lower

    exported = torch.export.export(torch.nn.Linear(2, 2), (torch.ones(1, 2),))
    for backend in BACKENDS:
        lower(exported, backend, package)


def names() -> list[str]:
    from zoo.libraries.case import MAKERS

    return list(MAKERS)


FEW = (
    "timm/repvgg_a0", "timm/resnet32ts", "torchaudio/conv_tasnet", "torchaudio/tacotron2_postnet",
    "torchvision/googlenet", "transformers/bert", "transformers/fnet", "transformers/gpt_neo", "transformers/llava",
    "transformers/mpnet",
)  # fmt: skip
"""The models that the gate examines: fast ones, of several kinds."""


def tenth(all_names: Sequence[str], commits: int) -> list[str]:
    """Returns a tenth of the models, a different one for each number of commits."""
    return list(all_names[commits % 10 :: 10])


def commits() -> int:
    """Returns the number of commits up to this one; 0 outside of a checkout."""
    command = ["git", "-C", str(Path(__file__).parent), "rev-list", "--count", "HEAD"]
    counted = subprocess.run(command, capture_output=True, text=True, check=False)
    return int(counted.stdout) if counted.returncode == 0 else 0


def examine_all(
    wanted: Sequence[str],
    *,
    at_once: int = 2,
    limit: float = LIMIT,
    within: float = float("inf"),
    log: Path | None = None,
    **options: Any,
) -> Iterator[dict[str, Any]]:
    """The results, in the order in which models are ready. A model that crashes or takes more than `limit` seconds
    has a result as well; no model is begun after `within` seconds."""
    waiting, running = list(wanted), []
    last = time.monotonic() + within
    with tempfile.TemporaryDirectory() as folder:
        while waiting or running:
            if time.monotonic() > last:
                waiting.clear()
            while waiting and len(running) < at_once:
                name = waiting.pop(0)
                path = Path(folder) / name.replace("/", "-")
                process = multiprocessing.get_context("fork").Process(target=_examine, args=(name, path, log, options))
                process.start()
                running.append((name, path, process, time.monotonic() + limit))
            for job in list(running):
                name, path, process, end = job
                late = time.monotonic() > end
                if late:
                    process.kill()
                process.join(0.05)
                if process.is_alive():
                    continue
                running.remove(job)
                result = json.loads(path.read_text())
                if late:
                    result["failure"] = f"not done after {limit:.0f} s ({result['stage']})"
                elif process.exitcode:
                    result["failure"] = f"the process ended with {process.exitcode} ({result['stage']})"
                yield result


def _examine(name: str, path: Path, log: Path | None, options: dict[str, Any]) -> None:
    from zoo.libraries.examine import Result, examine

    # The output of libraries and the log of the runtime would hide the results.
    out = os.open(log or os.devnull, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    os.dup2(out, 1)
    os.dup2(out, 2)

    def write(result: Result) -> None:
        temporary = path.with_suffix(".new")
        temporary.write_text(json.dumps(result.as_dict()))
        temporary.replace(path)

    write(Result(name, options.get("package", "sdk"), options.get("rounds", 1)))
    write(examine(name, progress=write, **options))


def text_of_page(files: Sequence[Path]) -> str:
    """docs/generated/models.md from files of results, for `scripts/pages models`."""
    from zoo.libraries import page

    load()
    return page.render([result for file in files for result in page.read(file)], names())


def main() -> int:
    parser = argparse.ArgumentParser(prog="scripts/zoo", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help="library/model, or the beginning of one")
    parser.add_argument("--all", action="store_true", help="every model")
    parser.add_argument("--tenth", action="store_true", help="a tenth of them, another one after each commit")
    parser.add_argument("--few", action="store_true", help="those of the gate")
    parser.add_argument("--list", action="store_true", help="print the names")
    parser.add_argument("--package", choices=("sdk", "executorch"), default="sdk", help="whose compiler and runtime")
    parser.add_argument("--shapes", nargs="+", choices=("fixed", "dynamic"), default=("fixed", "dynamic"))
    parser.add_argument("--backends", nargs="+", choices=("portable", "xnnpack"), default=("portable", "xnnpack"))
    parser.add_argument("--results", type=Path, metavar="FILE", help="append a line of JSON for each model")
    parser.add_argument("--rounds", type=int, default=1, help="number of runs; the latency is that of the fastest")
    parser.add_argument("--jobs", type=int, default=2, help="models at once")
    parser.add_argument("--limit", type=float, default=LIMIT, help="seconds that one model may take")
    parser.add_argument("--within", type=float, default=float("inf"), help="seconds after which no model is begun")
    parser.add_argument("--log", type=Path, help="a file for the output of the processes")
    options = parser.parse_args()
    load(options.package)
    wanted = names() if options.all or options.list or options.tenth else list(FEW) if options.few else []
    for prefix in options.names:
        found = [name for name in names() if name == prefix] or [name for name in names() if name.startswith(prefix)]
        if not found:
            parser.error(f"there is no model {prefix}; --list names them all")
        wanted += found
    if options.tenth:
        wanted = tenth(wanted, commits())
    if options.list:
        print("\n".join(wanted))
        return 0
    done = set()
    if options.results and options.results.exists():
        done = {json.loads(line)["name"] for line in options.results.read_text().splitlines()}
    failed = 0
    with contextlib.ExitStack() as stack:
        results = stack.enter_context(options.results.open("a")) if options.results else None
        for result in examine_all(
            [name for name in wanted if name not in done],
            at_once=options.jobs, limit=options.limit, within=options.within, log=options.log, package=options.package,
            shapes=tuple(options.shapes), backends=tuple(options.backends), rounds=options.rounds,
        ):  # fmt: skip
            if results:
                results.write(json.dumps(result) + "\n")
                results.flush()
            failed += report(result)
    return 1 if failed else 0


def report(result: dict[str, Any]) -> bool:
    """Prints the result on one line; returns whether it failed."""
    from zoo.libraries.examine import Result

    known = Result.read(result)
    cells = known.cells
    text = " ".join(
        f"{key}: " + (cell.reason or f"{cell.error:.0e} lowered in {cell.cpu:.1f} s") for key, cell in cells.items()
    )
    refused = " ".join(f"{kind} not captured: {reason}" for kind, reason in known.captured.items() if reason)
    print(f"{'ok  ' if known.works else 'FAIL'} {known.name} {known.failure} {text} {refused}"[:600], flush=True)
    return not known.works


if __name__ == "__main__":
    sys.exit(main())
