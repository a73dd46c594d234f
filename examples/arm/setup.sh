#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# examples/arm/setup.sh --i-agree-to-the-contained-eula [--disable-ethos-u-deps] [--enable-mlsdk-deps]: installs Vela and the
# TOSA reference model into examples/arm/arm-scratch. With --enable-mlsdk-deps it also installs the model converter, the VGF
# library and the emulation layer. Writes setup_path.sh there: a shell that sources this file has the programs on its path and
# the layers turned on. Arm's simulators (FVP) come from Arm only, and are not installed.
set -euo pipefail
usage="usage: examples/arm/setup.sh --i-agree-to-the-contained-eula [--disable-ethos-u-deps] [--enable-mlsdk-deps]"
agreed='' ethos=1 mlsdk=''
for option in "$@"; do
  case "${option}" in
    --i-agree-to-the-contained-eula) agreed=1 ;;
    --disable-ethos-u-deps) ethos='' ;;
    --enable-mlsdk-deps) mlsdk=1 ;;
    *) echo "error: unknown option ${option}; ${usage}" >&2; exit 2 ;;
  esac
done
[[ -n "${agreed}" ]] || { echo "error: the packages have licences of Arm's; ${usage}" >&2; exit 2; }
[[ -n "${ethos}${mlsdk}" ]] || { echo "error: nothing to install; ${usage}" >&2; exit 2; }

here="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
scratch="${here}/arm-scratch"
packages="${scratch}/packages"
mkdir -p "${scratch}"
unwanted='^$'
[[ -n "${ethos}" ]] || unwanted='^ethos-u-vela'
[[ -n "${mlsdk}" ]] || unwanted='^ai_ml_'
grep -v "${unwanted}" "${here}/../../backends/arm/requirements.txt" > "${scratch}/requirements.txt"
"${PYTHON:-python3}" -m pip install --quiet --no-deps --upgrade --target "${packages}" -r "${scratch}/requirements.txt"
layers=''
if [[ -n "${mlsdk}" ]]; then
  source "${here}/../../backends/arm/scripts/emulation_layers.sh"
  layers="$(emulation_layers "${packages}" "${scratch}/layers")"
fi
cat > "${scratch}/setup_path.sh" <<SETUP
export PATH="${packages}/model_converter/binaries/bin:${packages}/vgf_lib/binaries/bin:\${PATH}"
export PYTHONPATH="${packages}\${PYTHONPATH:+:\${PYTHONPATH}}"
${layers}
SETUP
echo "Wrote ${scratch}/setup_path.sh: source it in each shell"
if [[ -n "${ethos}" ]]; then
  echo "Arm's simulators, FVP_Corstone_SSE-300 and FVP_Corstone_SSE-320, are not installed: Arm has them; put them on PATH yourself"
fi
