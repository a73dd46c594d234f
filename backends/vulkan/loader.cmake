# SPDX-License-Identifier: BSD-3-Clause
# For the backends that run on Vulkan: EXECUTORCH_VULKAN_INCLUDE_DIR and, if the headers are there, the library vulkan_loader, which
# opens libvulkan at run time and lists the devices. Nothing is linked.
include_guard(GLOBAL)
find_path(EXECUTORCH_VULKAN_INCLUDE_DIR vulkan/vulkan.h HINTS "$ENV{VULKAN_SDK}/include" ENV CPATH
  DOC "Folder of the headers of Vulkan 1.1 or newer")
if(EXECUTORCH_VULKAN_INCLUDE_DIR)
  set(sources functions physical_device)
  list(TRANSFORM sources REPLACE "(.+)" "${CMAKE_CURRENT_LIST_DIR}/runtime/gpu/vulkan/\\1.cpp")
  executorch_library(vulkan_loader SOURCES ${sources} LIBS extension_shared_library)
  target_include_directories(vulkan_loader PUBLIC "$<BUILD_INTERFACE:${CMAKE_CURRENT_LIST_DIR}/runtime>")
  target_include_directories(vulkan_loader SYSTEM PUBLIC "$<BUILD_INTERFACE:${EXECUTORCH_VULKAN_INCLUDE_DIR}>")
endif()
