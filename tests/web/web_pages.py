# SPDX-License-Identifier: BSD-3-Clause
"""What the tests in Chromium share: a server of pages, and where the package and its programs are."""

from __future__ import annotations

import contextlib
import importlib.machinery
import importlib.util
import sys
import threading
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "page"))

from browser import EXECUTABLE, Browser, browser

__all__ = ["DATA", "PACKAGE", "ROOT", "Browser", "browser", "chromium", "needs_package", "serve", "served"]

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "build" / "web-package"
DATA = ROOT / "tests" / "data"

_loader = importlib.machinery.SourceFileLoader("serve", str(ROOT / "sdk" / "web" / "page" / "serve"))
_spec = importlib.util.spec_from_loader("serve", _loader)
assert _spec is not None
serve = importlib.util.module_from_spec(_spec)
_loader.exec_module(serve)

needs_package = pytest.mark.skipif(
    EXECUTABLE is None or not (PACKAGE / "dist" / "executorch.wasm").exists(),
    reason="needs Chromium, and the package that sdk/web/build makes",
)


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    with browser() as found:
        yield found


@contextlib.contextmanager
def served(folder: Path, headers: dict[str, str], others: Mapping[str, Path] | None = None) -> Iterator[str]:
    """The address of a server of `folder`, the package and tests/data, and of `others` by their names."""
    folders = {"": folder, "package": PACKAGE, "data": DATA, **(others or {})}
    with serve.server(0, folders, headers) as found:
        thread = threading.Thread(target=found.serve_forever, daemon=True)
        thread.start()
        try:
            yield f"http://127.0.0.1:{found.server_port}/"
        finally:
            found.shutdown()
            thread.join()
