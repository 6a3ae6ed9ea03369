# SPDX-License-Identifier: Apache-2.0
# The kernels: one per file of op_kernel/variants, entry name = file name.
include(${CMAKE_CURRENT_LIST_DIR}/device_libraries.cmake)
file(GLOB variant_sources CONFIGURE_DEPENDS ${ROOT}/op_kernel/variants/*.cpp)
add_device_libraries(ascend_attention_kernels ${variant_sources})
install(TARGETS ascend_attention_kernels_cube ascend_attention_kernels_vector LIBRARY DESTINATION .)
