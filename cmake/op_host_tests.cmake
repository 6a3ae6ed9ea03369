# SPDX-License-Identifier: Apache-2.0
# C++ tests of op_host: one executable per area, run by ctest.
add_library(op_host_for_tests STATIC $<TARGET_OBJECTS:room_op_host>)
set_target_properties(op_host_for_tests PROPERTIES LINKER_LANGUAGE CXX)

function(add_op_host_test name)
  add_executable(test_op_host_${name} ${ROOT}/tests/op_host/test_${name}.cpp)
  target_include_directories(test_op_host_${name} PRIVATE ${HOST_INCLUDES} ${ROOT}/tests)
  target_link_libraries(test_op_host_${name} PRIVATE op_host_for_tests)
  target_compile_options(test_op_host_${name} PRIVATE ${UNHURRIED} ${HOST_DEBUG_INFO})
  add_test(NAME op_host_${name} COMMAND test_op_host_${name} ${ARGN})
endfunction()

add_op_host_test(common)
add_op_host_test(prepare)
add_op_host_test(lower)
add_op_host_test(lower_keys)
add_op_host_test(plan)
add_op_host_test(split)
add_op_host_test(fuzz ${ROOT}/tests/conformance)
# The cases are data; the sources tell which rules there are, so that none stays without a case.
add_op_host_test(rules ${ROOT}/tests/conformance ${ROOT}/op_host)
# Tests that take long start first.
set_tests_properties(op_host_fuzz PROPERTIES COST 3)
set_tests_properties(op_host_lower PROPERTIES COST 2)
add_executable(bench_op_host ${ROOT}/tests/op_host/bench_checks.cpp)
target_include_directories(bench_op_host PRIVATE ${HOST_INCLUDES} ${ROOT}/tests)
target_link_libraries(bench_op_host PRIVATE op_host_for_tests)
target_compile_options(bench_op_host PRIVATE ${UNHURRIED} ${HOST_DEBUG_INFO})
if(ASCEND_ATTENTION_TORCH_DIR)
  # Built by scripts/bench_host when it is wanted.
  add_library(bench_empty_operator MODULE EXCLUDE_FROM_ALL ${ROOT}/tests/op_host/bench_empty_operator.cpp)
  set_target_properties(bench_empty_operator PROPERTIES PREFIX "")
  build_with_torch(bench_empty_operator)
endif()
