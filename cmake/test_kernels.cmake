# SPDX-License-Identifier: Apache-2.0
# Small kernels that tests launch: tests/kernels/*.cpp, one kernel per file, as two libraries like the real ones.
#
#   add_test_kernels(<machine library>)  ->  ascend_attention_test_kernels_cube, ascend_attention_test_kernels_vector
#
# Tests find the libraries in build/<python tag>/lib, or in the directory ASCEND_ATTENTION_TEST_KERNELS.
get_filename_component(TEST_KERNELS_ROOT ${CMAKE_CURRENT_LIST_DIR} DIRECTORY)

function(add_test_kernels machine)
  file(GLOB sources CONFIGURE_DEPENDS ${TEST_KERNELS_ROOT}/tests/kernels/*.cpp)
  foreach(type cube vector)
    set(target ascend_attention_test_kernels_${type})
    add_library(${target} SHARED ${sources})
    target_include_directories(${target} PRIVATE ${TEST_KERNELS_ROOT}/simulator/include ${TEST_KERNELS_ROOT}/tests/kernels)
    if(type STREQUAL "cube")
      target_compile_definitions(${target} PRIVATE __DAV_C220_CUBE__ __CCE_AICORE__=220)
    else()
      target_compile_definitions(${target} PRIVATE __DAV_C220_VEC__ __CCE_AICORE__=220)
    endif()
    set_target_properties(${target} PROPERTIES
      CXX_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON
      BUILD_RPATH_USE_ORIGIN ON INSTALL_RPATH "$ORIGIN")
    target_link_libraries(${target} PRIVATE ${machine})
  endforeach()
endfunction()

if(TARGET ascend_attention)
  add_test_kernels(ascend_attention)
endif()
