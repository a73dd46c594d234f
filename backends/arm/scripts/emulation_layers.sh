# SPDX-License-Identifier: BSD-3-Clause
# To be sourced. emulation_layers PACKAGES FOLDER: prints the lines that turn on the ML emulation layers for Vulkan, and writes
# their manifests into FOLDER. The folder PACKAGES has the Python package ai_ml_emulation_layer_for_vulkan. Each layer has its own
# folder, and VK_LAYER_PATH lists the folders in the layers' order: loaders before 1.3.280 ignore the order in VK_INSTANCE_LAYERS.
emulation_layers() {
  local packages="$1" folder="$2" name library
  local deployed="${packages}/emulation_layer/deploy"
  for name in Graph Tensor; do
    library="$(find "${deployed}" -name "libVkLayer_${name}.*" -print -quit)"
    [[ -n "${library}" ]] || { echo "error: ${deployed} has no layer ${name}" >&2; return 1; }
    mkdir -p "${folder}/${name}" || return
    sed "s#\"library_path\": *\"[^\"]*\"#\"library_path\": \"${library}\"#" \
      "$(find "${deployed}" -name "VkLayer_${name}.json" -print -quit)" > "${folder}/${name}/${name}.json" || return
  done
  printf 'export VK_LAYER_PATH="%s" VK_INSTANCE_LAYERS="%s"\n' "${folder}/Graph:${folder}/Tensor" \
    "VK_LAYER_ML_Graph_Emulation:VK_LAYER_ML_Tensor_Emulation"
}
