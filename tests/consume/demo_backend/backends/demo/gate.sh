# SPDX-License-Identifier: BSD-3-Clause
# The steps of the demo backend, for scripts/test.sh.
gate_step demo-tests 2 30

step_demo-tests() { build_for_aarch64 demo_backend; }
