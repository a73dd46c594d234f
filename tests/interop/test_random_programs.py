# SPDX-License-Identifier: BSD-3-Clause
"""Random programs of many operators: each SDK runs its own and the other's, with both releases of the original.
`python -m compositions.exchange` runs more of them."""

from __future__ import annotations

import runpy
import subprocess
from collections.abc import Iterable

import pytest

from backends.targets import targets
from compositions.exchange import Exchange, Exchanged
from compositions.program import make
from interop import original_lowering, originals
from interop.originals import FIRST, NEWER

pytestmark = [pytest.mark.oracle, pytest.mark.network]


def outcomes(python: str, seeds: Iterable[int]) -> list[Exchanged]:
    chosen = [target for target in targets() if hasattr(original_lowering, target.name)]
    found = [one for _, _, one in Exchange(chosen, python)({str(seed): make(seed) for seed in seeds})]
    assert not [one for one in found if one.is_finding]
    return found


@pytest.mark.parametrize(("oracle_python", "seed"), [(FIRST, 5005), (NEWER, 5006)], indirect=["oracle_python"])
def test_both_ways(oracle_python: str, seed: int) -> None:
    assert {one.outcome for one in outcomes(oracle_python, [seed])} == {"right"}


@pytest.mark.slow
@pytest.mark.parametrize("oracle_python", [FIRST, NEWER], indirect=True)
def test_more_both_ways(oracle_python: str) -> None:
    """The original may compute some of these wrong, so only half of them must be right."""
    found = [one.outcome for one in outcomes(oracle_python, range(5007, 5017))]
    assert found.count("right") > len(found) / 2


@pytest.mark.parametrize("oracle_python", [FIRST, NEWER], indirect=True)
def test_the_environments_have_one_release_each(oracle_python: str, request: pytest.FixtureRequest) -> None:
    """Packages of two releases would mix in the namespace `executorch`."""
    program = "import executorch as e, executorch.version as v; print(v.__version__.partition('+')[0], len(e.__path__))"
    said = subprocess.run([oracle_python, "-c", program], capture_output=True, text=True, check=True).stdout.split()
    assert said == [request.node.callspec.params["oracle_python"], "1"]


@pytest.mark.parametrize("release", [None, FIRST, NEWER, "1.5"])
def test_the_environment_names_the_release_of_all_tests(release: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SDK_ORACLE_RELEASE", raising=False)
    if release is not None:
        monkeypatch.setenv("SDK_ORACLE_RELEASE", release)
    if release not in (None, FIRST, NEWER):
        with pytest.raises(pytest.UsageError, match=r"SDK_ORACLE_RELEASE is '1\.5', expected 1\.4\.1 or 1\.5\.1"):
            runpy.run_path(originals.__file__)
        return
    found = runpy.run_path(originals.__file__)
    assert found["RELEASE"] == (release or FIRST)
    assert len(found["in_both_releases"].args[1]) == (2 if release is None else 1)
