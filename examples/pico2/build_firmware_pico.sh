#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# examples/pico2/build_firmware_pico.sh [--model=FILE.pte] [--operators=add,mul] [--build=FOLDER]: makes
# executorch_pico.elf, and .uf2 if picotool is installed. Without --model, it exports the model of the digits. The
# firmware has the operators of the program; --operators adds others.
set -euo pipefail
here="$(cd -P "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
root="${here}/../.."
build="${root}/build/pico2" model='' operators=''
for argument in "$@"; do
  case "${argument}" in
    --model=*) model="$(realpath "${argument#*=}")" ;;
    --operators=*) operators="${argument#*=}" ;;
    --build=*) build="${argument#*=}" ;;
    -h | --help) sed -n '3,5s/^# //p' "${BASH_SOURCE[0]}"; exit 0 ;;
    *) echo "build_firmware_pico.sh: there is no option ${argument}; see --help" >&2; exit 1 ;;
  esac
done
command -v arm-none-eabi-g++ >/dev/null || {
  echo "build_firmware_pico.sh: arm-none-eabi-g++ is missing (Debian: gcc-arm-none-eabi libnewlib-arm-none-eabi libstdc++-arm-none-eabi-newlib)" >&2
  exit 1
}
python="${PYTHON:-python3}"
if [[ -z "${PICO_SDK_PATH:-}" ]]; then
  PICO_SDK_PATH="$(realpath "$("${root}/scripts/third_party" --print pico-sdk)")"
fi
if [[ -z "${model}" ]]; then
  "${python}" "${here}/export_mlp_mnist.py" --output "${build}/model"
  model="${build}/model/balanced_tiny_mlp_mnist.pte"
fi
picotool=()
command -v picotool >/dev/null || picotool=(-DPICO_NO_PICOTOOL=1)
cmake -S "${here}" -B "${build}" -G Ninja -DCMAKE_BUILD_TYPE=MinSizeRel -DPICO_SDK_PATH="${PICO_SDK_PATH}" \
  -DET_PTE_FILE_PATH="${model}" -DET_OPERATORS="${operators}" -DPython3_EXECUTABLE="$(command -v "${python}")" "${picotool[@]}"
cmake --build "${build}" --target executorch_pico
arm-none-eabi-size "${build}/executorch_pico.elf"
[[ -f "${build}/executorch_pico.uf2" ]] ||
  echo "No executorch_pico.uf2: install picotool, or convert executorch_pico.elf with it on another machine."
