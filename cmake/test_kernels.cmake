# SPDX-License-Identifier: Apache-2.0
# Small kernels that tests launch: tests/kernels/*.cpp, one kernel per file, as two libraries like the real ones.
# Tests find them in build/<python tag>/lib, or in the directory ASCEND_ATTENTION_TEST_KERNELS.
include(${CMAKE_CURRENT_LIST_DIR}/device_libraries.cmake)
file(GLOB test_kernel_sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_LIST_DIR}/../tests/kernels/*.cpp)
add_device_libraries(ascend_attention_test_kernels ${test_kernel_sources})
foreach(core_type cube vector)
  target_compile_options(ascend_attention_test_kernels_${core_type} PRIVATE ${UNHURRIED})
  if(ASCEND_ATTENTION_ONE_SHOT)
    # Not always: compiler caches do not look into precompiled headers.
    target_precompile_headers(ascend_attention_test_kernels_${core_type} PRIVATE
                              ${ROOT}/simulator/include/kernel_operator.h)
  endif()
endforeach()
