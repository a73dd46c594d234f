#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Builds example_runner, with the calls of event tracers:
#
#     ./examples/devtools/build_example_runner.sh
#     ./cmake-out/examples/devtools/example_runner --bundled_program_path model.bpte --output_verification
#
# CMAKE_OUT: the build folder (default: cmake-out). CMAKE_BUILD_PARALLEL_LEVEL: the number of compilers that run at once
# (default: the number of processors). RUNNER: the program (default: example_runner). Further arguments go to CMake.
set -euo pipefail
cd "$(dirname "$0")/../.."
build=${CMAKE_OUT:-cmake-out}

cmake -S . -B "$build" -DCMAKE_BUILD_TYPE=Release -DEXECUTORCH_BUILD_DEVTOOLS=ON -DEXECUTORCH_ENABLE_EVENT_TRACER=ON \
  -DEXECUTORCH_BUILD_EXTENSION_{DATA_LOADER,FLAT_TENSOR,NAMED_DATA_MAP,MODULE,EVALUE_UTIL}=ON \
  -DEXECUTORCH_BUILD_TESTS=OFF -DEXECUTORCH_INSTALL=OFF "$@"
cmake --build "$build" --target "${RUNNER:-example_runner}" \
  --parallel "${CMAKE_BUILD_PARALLEL_LEVEL:-$(getconf _NPROCESSORS_ONLN)}"
