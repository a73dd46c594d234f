# SPDX-License-Identifier: BSD-3-Clause
"""Whether a server listens on this machine."""

from __future__ import annotations

import socket
import subprocess
import time

_HOST = "localhost"
_WAIT_S = 30


def is_listening(port: int) -> bool:
    """Whether a server accepts connections at a port of this machine."""
    with socket.socket() as client:
        client.settimeout(1)
        return client.connect_ex((_HOST, port)) == 0


def wait_for_server(server: subprocess.Popen[bytes], port: int) -> None:
    """Waits until a started server accepts connections. Raises RuntimeError if it exits, TimeoutError if it takes too
    long."""
    end = time.monotonic() + _WAIT_S
    while not is_listening(port):
        if server.poll() is not None:
            raise RuntimeError(f"Model Explorer's server has ended with status {server.returncode}; it says why above")
        if time.monotonic() > end:
            raise TimeoutError(f"Model Explorer's server does not listen at port {port} after {_WAIT_S} s")
        time.sleep(0.05)
