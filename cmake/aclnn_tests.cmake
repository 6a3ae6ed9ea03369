# SPDX-License-Identifier: Apache-2.0
# The C interface from a C++ program, as a user's: it sees the installed headers and one library.
add_executable(test_aclnn ${ROOT}/tests/aclnn/test_aclnn.cpp ${ROOT}/tests/aclnn/runtime.cpp)
target_include_directories(test_aclnn PRIVATE ${ROOT}/include ${ROOT}/tests)
target_link_libraries(test_aclnn PRIVATE ascend_attention_aclnn Threads::Threads)
target_compile_options(test_aclnn PRIVATE ${UNHURRIED} ${HOST_DEBUG_INFO})
set_target_properties(test_aclnn PROPERTIES BUILD_RPATH ${CMAKE_LIBRARY_OUTPUT_DIRECTORY}
                                            INSTALL_RPATH ${CMAKE_LIBRARY_OUTPUT_DIRECTORY})
add_dependencies(test_aclnn ascend_attention_kernels_cube ascend_attention_kernels_vector)
if(ASCEND_ATTENTION_SANITIZE OR CMAKE_CROSSCOMPILING)
  set(pairs 300)  # a sanitizer sees what is left of one pair, and an emulator is slow
else()
  set(pairs 10000)
endif()
add_test(NAME aclnn COMMAND test_aclnn ${pairs})
