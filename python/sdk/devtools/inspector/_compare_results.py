# SPDX-License-Identifier: BSD-3-Clause
"""The quality of a method's outputs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from sdk.devtools.inspector._distance import calculate_cosine_similarity, calculate_mse, calculate_snr

_METRICS: dict[str, Callable[[Sequence[Any], Sequence[Any]], list[float]]] = {
    "snr": calculate_snr,
    "mse": calculate_mse,
    "cosine_similarity": calculate_cosine_similarity,
}


def compare_results(
    reference_output: Sequence[Any],
    run_output: Sequence[Any],
    metrics: list[str] | None = None,
    plot: bool = False,
) -> dict[str, list[float]]:
    """Compares outputs with expected ones.

    Args:
        reference_output: The expected outputs, for instance from eager mode.
        run_output: The same number of outputs: `EventBlock.run_output`.
        metrics: Any of `snr` (in dB), `mse` and `cosine_similarity`; by default all.
        plot: Also show them as bars, and write these to `METRIC.png` in the current folder. Needs matplotlib.

    Returns:
        For each metric, a value for each output.

    Raises:
        ValueError: The numbers of outputs or their sizes differ, or the metric is unknown.
    """
    wanted = list(_METRICS) if metrics is None else metrics
    if unknown := [name for name in wanted if name not in _METRICS]:
        raise ValueError(f"there is no metric {unknown[0]!r}; expected {', '.join(map(repr, _METRICS))}")
    if len(reference_output) != len(run_output):
        raise ValueError(f"expected {len(reference_output)} outputs, as the reference has, found {len(run_output)}")
    results = {name: _METRICS[name](reference_output, run_output) for name in wanted}
    if plot:
        for name, values in results.items():
            _plot(name, values)
    return results


def _plot(name: str, values: Sequence[float]) -> None:
    try:
        from matplotlib import pyplot  # type: ignore[import-not-found,unused-ignore]
    except ImportError as error:
        raise ImportError("compare_results(plot=True) needs matplotlib: pip install matplotlib") from error
    figure, axes = pyplot.subplots()
    axes.bar(range(len(values)), values)
    axes.set_xlabel("output")
    axes.set_ylabel(name)
    figure.savefig(Path(f"{name}.png"))
    pyplot.show(block=False)
    pyplot.close(figure)
