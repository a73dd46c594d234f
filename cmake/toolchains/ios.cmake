# SPDX-License-Identifier: BSD-3-Clause
# iOS with the compiler of Xcode.
if(NOT CMAKE_HOST_APPLE)
  message(FATAL_ERROR "Building for iOS needs a Mac with Xcode; this machine runs ${CMAKE_HOST_SYSTEM_NAME}.")
endif()
set(CMAKE_SYSTEM_NAME iOS)
set(CMAKE_OSX_DEPLOYMENT_TARGET "13.0" CACHE STRING "Oldest iOS that the libraries run on")
