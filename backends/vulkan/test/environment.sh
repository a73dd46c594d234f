# SPDX-License-Identifier: BSD-3-Clause
# To be sourced from the root of the repository. Unpacks Debian's packages into .cache/vulkan: glslc, Vulkan's headers and loader,
# the validation layers, and lavapipe, which is Mesa's Vulkan driver for CPUs. Sets the variables with which they are found. The
# packages are not installed, because installing the driver upgrades other packages of Mesa.
vulkan_root="${PWD}/.cache/vulkan"
vulkan_packages=(glslc libshaderc1 libvulkan1 libvulkan-dev mesa-vulkan-drivers vulkan-validationlayers)
# The libraries that these packages link; all of them are small, and most machines have them.
vulkan_libraries=(libllvm15 libdrm-amdgpu1 libdrm2 libelf1 libwayland-client0 libx11-xcb1 libxcb-dri3-0 libxcb-present0 libxcb-randr0
  libxcb-shm0 libxcb-sync1 libxcb-xfixes0 libxcb1 libxshmfence1 libzstd1 libx11-6 libxau6 libxdmcp6 libffi8 libedit2 libz3-4 libbsd0
  libmd0 libtinfo6 libicu72 libxml2 libexpat1)

vulkan_unpack() {
  [[ ! -f "${vulkan_root}/complete" ]] || return 0
  rm -rf "${vulkan_root}" && mkdir -p "${vulkan_root}/packages" || return
  apt-cache show glslc >/dev/null 2>&1 || apt-get update || return
  (
    cd "${vulkan_root}/packages" || exit
    apt-get download -o APT::Sandbox::User=root "${vulkan_packages[@]}" || exit
    local name
    for name in "${vulkan_libraries[@]}"; do
      dpkg -s "${name}" >/dev/null 2>&1 || apt-get download -o APT::Sandbox::User=root "${name}" || exit
    done
    for name in *.deb; do
      dpkg -x "${name}" "${vulkan_root}" || exit
    done
  ) || return
  rm -rf "${vulkan_root}/packages"
  local libraries
  libraries="$(dirname "$(find "${vulkan_root}/usr/lib" -name libvulkan_lvp.so)")"
  sed "s#\"/usr/lib/[^\"]*/#\"${libraries}/#" "${vulkan_root}"/usr/share/vulkan/icd.d/lvp_icd.*.json >"${vulkan_root}/lavapipe.json"
  mkdir -p "${vulkan_root}/layers"
  sed "s#\"libVkLayer#\"${libraries}/libVkLayer#" \
    "${vulkan_root}/usr/share/vulkan/explicit_layer.d/VkLayer_khronos_validation.json" >"${vulkan_root}/layers/validation.json"
  # The compiler needs its own library only.
  printf '#!/bin/sh\nLD_LIBRARY_PATH="%s" exec "%s" "$@"\n' "${libraries}" "${vulkan_root}/usr/bin/glslc" >"${vulkan_root}/glslc"
  chmod +x "${vulkan_root}/glslc"
  printf '%s' "${libraries}" >"${vulkan_root}/complete"
}

vulkan_unpack || return
export VK_ICD_FILENAMES="${vulkan_root}/lavapipe.json" VK_LAYER_PATH="${vulkan_root}/layers"
LD_LIBRARY_PATH="$(cat "${vulkan_root}/complete")${LD_LIBRARY_PATH:+:${LD_LIBRARY_PATH}}"
export LD_LIBRARY_PATH
