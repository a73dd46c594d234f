#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# backends/arm/scripts/build_executor_runner.sh --pte=FILE.pte [option ...]: builds arm_executor_runner, the firmware of
# examples/arm/executor_runner, with the program.
#   --pte=FILE              the program
#   --target=NPU            ethos-u55-128 by default
#   --memory_mode=MODE      Sram_Only, Shared_Sram or Dedicated_Sram: that of the program's export
#   --system_config=NAME    that of the program's export
#   --output=FOLDER         by default <program>_<target> beside the program
#   --build_type=TYPE       MinSizeRel by default
#   --bundleio              run the cases of the bundled program beside it (FILE.bpte)
#   --etdump                write etdump.etdp, with times in cycles
#   --core_driver=FOLDER    Arm's core driver; without it, the model of the NPU computes
#   --extra_build_flags=... further options of CMake
set -euo pipefail
here="$(cd -P "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
root="${here}/../../.."
name="build_executor_runner.sh"
fail() { echo "${name}: error: $*" >&2; exit 1; }
pte='' target=ethos-u55-128 mode='' system='' output='' type=MinSizeRel bundle=OFF etdump=OFF driver='' extra=()
for argument in "$@"; do
  value="${argument#*=}"
  case "${argument}" in
    --pte=*) pte="${value}" ;;
    --target=*) target="${value}" ;;
    --memory_mode=*) mode="${value}" ;;
    --system_config=*) system="${value}" ;;
    --output=*) output="${value}" ;;
    --build_type=*) type="${value}" ;;
    --bundleio) bundle=ON ;;
    --etdump) etdump=ON ;;
    --core_driver=*) driver="$(realpath "${value}")" ;;
    --extra_build_flags=*) read -r -a flags <<< "${value}"; extra+=("${flags[@]}") ;;
    -h | --help) sed -n '3,14s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"; exit 0 ;;
    *) fail "unknown option ${argument}; see --help" ;;
  esac
done
[[ -n "${pte}" ]] || fail "--pte=FILE.pte is missing; see --help"
[[ -f "${pte}" ]] || fail "${pte} is not a file; python -m examples.arm.aot_arm_compiler makes one"
command -v arm-none-eabi-g++ > /dev/null ||
  fail "arm-none-eabi-g++ is missing (Debian: gcc-arm-none-eabi libnewlib-arm-none-eabi libstdc++-arm-none-eabi-newlib)"
pte="$(realpath "${pte}")"
[[ -n "${output}" ]] || output="${pte%.pte}_${target}"
devtools=OFF
if [[ "${bundle}${etdump}" == *ON* ]]; then devtools=ON; fi
if [[ -z "${mode}" ]]; then
  mode=Shared_Sram
  if [[ "${target}" == ethos-u65-* ]]; then mode=Dedicated_Sram; fi
fi
# All settings are named, because a folder may have others from an earlier call.
extra=(-DMEMORY_MODE="${mode}" -DSYSTEM_CONFIG="${system}" -DETHOS_U_CORE_DRIVER_PATH="${driver}" -DET_BUNDLE_IO="${bundle}"
  -DEXECUTORCH_BUILD_DEVTOOLS="${devtools}" -DEXECUTORCH_BUILD_ARM_ETDUMP="${etdump}"
  -DEXECUTORCH_ENABLE_EVENT_TRACER="${etdump}" "${extra[@]}")
generator=()
if command -v ninja > /dev/null; then generator=(-G Ninja); fi
cmake -S "${root}/examples/arm/executor_runner" -B "${output}" "${generator[@]}" -DCMAKE_BUILD_TYPE="${type}" \
  -DCMAKE_TOOLCHAIN_FILE="${root}/examples/arm/ethos-u-setup/arm-none-eabi-gcc.cmake" -DET_PTE_FILE_PATH="${pte}" \
  -DETHOSU_TARGET_NPU_CONFIG="${target}" -DPython3_EXECUTABLE="$(command -v "${PYTHON:-python3}")" "${extra[@]}"
cmake --build "${output}" --parallel "${JOBS:-$(nproc)}" --target arm_executor_runner
echo "Wrote ${output}/arm_executor_runner"
