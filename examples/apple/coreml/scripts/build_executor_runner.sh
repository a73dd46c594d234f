#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Builds cmake-out/examples/apple/coreml/coreml_executor_runner; the arguments go to CMake. See ../../build_runner.
exec "$(dirname "$0")/../../build_runner" coreml "$@"
