#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Builds the OpenVINO backend and a runner in cmake-out, at the root of the repository:
#   openvino_build.sh [--cpp_runtime]   cmake-out/backends/openvino/libopenvino_backend.a, and
#                                       cmake-out/examples/portable/executor_runner/executor_runner
#   openvino_build.sh --llama_runner    cmake-out/examples/models/llama/llama_main, with the backend
# Other arguments go to CMake. The Python package has the backend: `pip install .`.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../../.."

targets=(openvino_backend executor_runner)
options=(-DCMAKE_BUILD_TYPE=Release -DEXECUTORCH_BUILD_OPENVINO=ON -DEXECUTORCH_BUILD_EXECUTOR_RUNNER=ON
  -DEXECUTORCH_BUILD_TESTS=OFF)
case "${1:-}" in
--cpp_runtime) shift ;;
--llama_runner)
  shift
  targets=(llama_main)
  options+=(-DEXECUTORCH_BUILD_PRESET_FILE=cmake/preset/llm.cmake)
  ;;
--enable_python)
  echo "openvino_build.sh --enable_python: the Python package has the backend; run 'pip install .' in $(pwd)" >&2
  exit 2
  ;;
esac

cmake -S . -B cmake-out "${options[@]}" "$@"
cmake --build cmake-out --parallel --target "${targets[@]}"
