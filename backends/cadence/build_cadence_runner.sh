#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Builds cadence_runner, which runs bundled programs on a CPU, with the calls of event tracers:
#
#     ./backends/cadence/build_cadence_runner.sh
#     ./cmake-out/backends/cadence/cadence_runner --bundled_program_path CadenceDemoModel.bpte --print_output
#
# The variables and the arguments are those of build_example_runner.sh.
set -euo pipefail
cd "$(dirname "$0")/../.."
RUNNER=cadence_runner exec ./examples/devtools/build_example_runner.sh \
  -DEXECUTORCH_BUILD_CADENCE=ON -DEXECUTORCH_CADENCE_CPU_RUNNER=ON "$@"
