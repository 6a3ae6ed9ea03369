# SPDX-License-Identifier: Apache-2.0
# The stress test of the machine's threading, a C++ program: Python under ThreadSanitizer reports Python.
add_executable(test_threads ${ROOT}/tests/threads/stress.cpp)
target_include_directories(test_threads PRIVATE ${SIM_INCLUDES} ${ROOT}/tests)
target_link_libraries(test_threads PRIVATE ascend_attention Threads::Threads)
set_target_properties(test_threads PROPERTIES BUILD_RPATH ${CMAKE_LIBRARY_OUTPUT_DIRECTORY}
                                              INSTALL_RPATH ${CMAKE_LIBRARY_OUTPUT_DIRECTORY})
add_dependencies(test_threads ascend_attention_test_kernels_cube ascend_attention_test_kernels_vector)
add_test(NAME threads COMMAND test_threads $<TARGET_FILE:ascend_attention_test_kernels_cube>
                              $<TARGET_FILE:ascend_attention_test_kernels_vector>)
