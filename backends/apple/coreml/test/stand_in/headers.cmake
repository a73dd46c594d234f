# SPDX-License-Identifier: BSD-3-Clause
# Headers to compile Objective-C with clang where Apple's are not: GNUstep's Foundation, and the stand-in of CoreML.framework.

# executorch_objc_headers(variable): the compile options for them.
function(executorch_objc_headers variable)
  find_path(GNUSTEP_INCLUDE_DIR Foundation/Foundation.h PATHS /usr/include PATH_SUFFIXES GNUstep NO_CMAKE_FIND_ROOT_PATH
    DOC "Headers of GNUstep")
  file(GLOB gcc_folders /usr/lib/gcc/*/*)
  find_path(GCC_OBJC_INCLUDE_DIR objc/objc.h HINTS ${gcc_folders} PATH_SUFFIXES include NO_CMAKE_FIND_ROOT_PATH
    DOC "Headers of GCC's Objective-C")
  if(NOT GNUSTEP_INCLUDE_DIR OR NOT GCC_OBJC_INCLUDE_DIR)
    message(FATAL_ERROR "Core ML's delegate is Objective-C++, whose headers are missing. On Debian: apt-get install "
      "libgnustep-base-dev")
  endif()
  # GCC's folder has headers of the compiler, too, which clang must not read: only those of Objective-C are taken. One reads a
  # member of `id`, which ARC does not allow, and GNUstep includes one for blocks that GCC does not have.
  set(headers "${CMAKE_CURRENT_BINARY_DIR}/objc_headers")
  file(GLOB files "${GCC_OBJC_INCLUDE_DIR}/objc/*.h")
  foreach(file IN LISTS files)
    file(READ "${file}" text)
    string(REPLACE "return object->class_pointer" "return *(__unsafe_unretained Class*)(__bridge void*)object" text "${text}")
    cmake_path(GET file FILENAME name)
    file(CONFIGURE OUTPUT "${headers}/objc/${name}" CONTENT "#pragma GCC system_header\n${text}" @ONLY)
  endforeach()
  file(CONFIGURE OUTPUT "${headers}/objc/blocks_runtime.h" CONTENT "" @ONLY)
  # With -I they precede those of other systems, which have some of the same names.
  set(${variable} "-I${headers}" -isystem "${GNUSTEP_INCLUDE_DIR}" "-I${CMAKE_CURRENT_FUNCTION_LIST_DIR}" -DGNUSTEP
    -DGNUSTEP_BASE_LIBRARY=1 PARENT_SCOPE)
endfunction()
