# Third-party sources are never vendored. `scripts/third_party` puts pinned, hash-checked sources under
# <repo>/.cache/third_party; this file turns them into targets.
set(EXECUTORCH_THIRD_PARTY_DIR "${CMAKE_CURRENT_LIST_DIR}/../.cache/third_party" CACHE PATH "Where scripts/third_party unpacks")

if(NOT EXISTS "${EXECUTORCH_THIRD_PARTY_DIR}/flatbuffers/include/flatbuffers/flatbuffers.h")
  execute_process(
    COMMAND "${CMAKE_CURRENT_LIST_DIR}/../scripts/third_party" --output "${EXECUTORCH_THIRD_PARTY_DIR}" flatbuffers
    RESULT_VARIABLE fetch_result)
  if(NOT fetch_result EQUAL 0)
    message(FATAL_ERROR "The flatbuffers headers could not be fetched; the lines above say what was tried and what to do.")
  endif()
endif()
add_library(executorch_flatbuffers INTERFACE)
target_include_directories(executorch_flatbuffers SYSTEM INTERFACE
  "$<BUILD_INTERFACE:${EXECUTORCH_THIRD_PARTY_DIR}/flatbuffers/include>")

if(EXECUTORCH_BUILD_TESTS)
  find_package(GTest REQUIRED)
endif()
