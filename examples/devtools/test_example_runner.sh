#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Builds example_runner, exports MobileNetV2 with test cases, runs each, and verifies the outputs.
#
#     ./examples/devtools/test_example_runner.sh
#
# The runner may add in another order than PyTorch, so outputs may differ by 1e-4.
#
# PYTHON: the Python with the SDK's requirements (default: python3); MODEL: another model of export_bundled_program;
# EXAMPLE_RUNNER: a runner that is already built. build_example_runner.sh lists further variables.
set -euo pipefail
cd "$(dirname "$0")/../.."
model=${MODEL:-mv2}
cases=2
runner=${EXAMPLE_RUNNER:-}

if [[ -z "$runner" ]]; then
  ./examples/devtools/build_example_runner.sh
  runner=${CMAKE_OUT:-cmake-out}/examples/devtools/example_runner
fi
runner=$(realpath "$runner")
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
PYTHONPATH="python:.${PYTHONPATH:+:$PYTHONPATH}" "${PYTHON:-python3}" -m examples.devtools.scripts.export_bundled_program \
  --model_name="$model" --dir="$folder" --cases="$cases"
for ((index = 0; index < cases; index++)); do
  # Run it in the folder, because a runner that traces writes etdump.etdp to the working directory.
  (cd "$folder" && "$runner" --bundled_program_path "${model}_bundled.bpte" --output_verification \
    --bundleio_rtol=1e-4 --bundleio_atol=1e-4 --testset_idx="$index")
done
echo "The outputs of $cases test cases are right."
