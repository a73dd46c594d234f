#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Builds the OpenVINO backend and executor_runner in cmake-out, at the root of the repository:
#   cmake-out/backends/openvino/libopenvino_backend.a, and cmake-out/examples/portable/executor_runner/executor_runner
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../../.."

cmake -S . -B cmake-out -DCMAKE_BUILD_TYPE=Release -DEXECUTORCH_BUILD_OPENVINO=ON -DEXECUTORCH_BUILD_EXECUTOR_RUNNER=ON \
  -DEXECUTORCH_BUILD_TESTS=OFF "$@"
cmake --build cmake-out --parallel --target openvino_backend executor_runner
