# SPDX-License-Identifier: Apache-2.0
# The timing replay on streams made by hand: it needs nothing of the machine but the names of things.
set(TIMING ${ROOT}/simulator/src/timing)
add_library(timing_for_tests STATIC EXCLUDE_FROM_ALL ${TIMING}/csv.cpp ${TIMING}/cost_table.cpp
            ${TIMING}/memory_system.cpp ${TIMING}/replay.cpp ${TIMING}/replay_issue.cpp ${TIMING}/critical_path.cpp ${TIMING}/summary.cpp
            ${TIMING}/memory_words.cpp ${TIMING_DATA} ${ROOT}/simulator/src/core/findings.cpp)
target_include_directories(timing_for_tests PUBLIC ${SIM_INCLUDES} ${ROOT}/tests)
foreach(name replay timeline)
  add_executable(test_timing_${name} ${ROOT}/tests/timing/test_${name}.cpp)
  target_link_libraries(test_timing_${name} PRIVATE timing_for_tests)
  add_test(NAME timing_${name} COMMAND test_timing_${name})
endforeach()
add_executable(test_report_log ${ROOT}/tests/timing/test_report_log.cpp ${ROOT}/csrc/launch/sim/report_log.cpp
               ${TIMING}/record.cpp)
target_include_directories(test_report_log PRIVATE ${ROOT}/csrc ${SIM_INCLUDES} ${ROOT}/tests)
add_test(NAME report_log COMMAND test_report_log)
