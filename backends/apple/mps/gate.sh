# SPDX-License-Identifier: BSD-3-Clause
# The step of Metal Performance Shaders, for scripts/test.sh. It needs no package: the interpreter is PyTorch.
gate_step mps 2

step_mps() {
  "${python}" -m pytest -q -m "$(marks_of_backend)" -n "${jobs}" --dist worksteal backends/apple/mps/test
}
