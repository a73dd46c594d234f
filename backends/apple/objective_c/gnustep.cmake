# SPDX-License-Identifier: BSD-3-Clause
# Compiles Objective-C with clang on systems without Apple's headers: with GNUstep's Foundation, and stand-ins of Apple's frameworks.

# executorch_objc_headers(variable folder): the compile options for GNUstep's headers and the stand-ins in `folder`.
function(executorch_objc_headers variable folder)
  find_path(GNUSTEP_INCLUDE_DIR Foundation/Foundation.h PATHS /usr/include PATH_SUFFIXES GNUstep NO_CMAKE_FIND_ROOT_PATH
    DOC "Headers of GNUstep")
  file(GLOB gcc_folders /usr/lib/gcc/*/*)
  find_path(GCC_OBJC_INCLUDE_DIR objc/objc.h HINTS ${gcc_folders} PATH_SUFFIXES include NO_CMAKE_FIND_ROOT_PATH
    DOC "Headers of GCC's Objective-C")
  if(NOT GNUSTEP_INCLUDE_DIR OR NOT GCC_OBJC_INCLUDE_DIR)
    message(FATAL_ERROR "The delegates for Apple's systems are Objective-C++, whose headers are missing. On Debian: apt-get install "
      "libgnustep-base-dev")
  endif()
  # GCC's folder also has headers of the compiler, which clang must not read, so only the headers of Objective-C are taken. One of them
  # reads a member of `id`, which ARC does not allow. GNUstep includes a header for blocks that GCC lacks.
  set(headers "${CMAKE_CURRENT_BINARY_DIR}/objc_headers")
  file(GLOB files "${GCC_OBJC_INCLUDE_DIR}/objc/*.h")
  foreach(file IN LISTS files)
    file(READ "${file}" text)
    string(REPLACE "return object->class_pointer" "return *(__unsafe_unretained Class*)(__bridge void*)object" text "${text}")
    cmake_path(GET file FILENAME name)
    file(CONFIGURE OUTPUT "${headers}/objc/${name}" CONTENT "#pragma GCC system_header\n${text}" @ONLY)
  endforeach()
  file(CONFIGURE OUTPUT "${headers}/objc/blocks_runtime.h" CONTENT "" @ONLY)
  # With -I these headers precede those of other systems, some of which have the same names. Apple's header of objects, which C has,
  # too, is read as C, because its classes are not GNUstep's.
  set(${variable} "-I${headers}" -isystem "${GNUSTEP_INCLUDE_DIR}" "-I${folder}" -DGNUSTEP
    -DGNUSTEP_BASE_LIBRARY=1 -DOS_OBJECT_HAVE_OBJC_SUPPORT=0 PARENT_SCOPE)
endfunction()

# executorch_objc_gnustep(variable libraries [option...]): sets `variable` to these compile options and those to run Objective-C
# here, and `libraries` to the libraries that it needs.
function(executorch_objc_gnustep variable libraries)
  if(NOT CMAKE_CXX_COMPILER_ID MATCHES "Clang")
    message(FATAL_ERROR "Stand-ins of Apple's frameworks need clang, found ${CMAKE_CXX_COMPILER}: set CMAKE_C_COMPILER and "
      "CMAKE_CXX_COMPILER.")
  endif()
  find_library(GNUSTEP_LIBRARY gnustep-base DOC "Library of GNUstep")
  file(GLOB gcc_folders /usr/lib/gcc/*/*)
  find_library(GCC_OBJC_LIBRARY objc HINTS ${gcc_folders} DOC "GCC's runtime of Objective-C")
  if(NOT GNUSTEP_LIBRARY OR NOT GCC_OBJC_LIBRARY)
    message(FATAL_ERROR "Stand-ins of Apple's frameworks need GNUstep. On Debian: apt-get install libgnustep-base-dev")
  endif()
  set(${variable} ${ARGN} -fblocks -fexceptions -fobjc-exceptions -fobjc-runtime=gcc -fconstant-string-class=NSConstantString
    -D_NATIVE_OBJC_EXCEPTIONS PARENT_SCOPE)
  set(${libraries} "${GNUSTEP_LIBRARY}" "${GCC_OBJC_LIBRARY}" PARENT_SCOPE)
endfunction()
