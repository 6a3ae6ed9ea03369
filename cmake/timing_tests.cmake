# SPDX-License-Identifier: Apache-2.0
# The timing replay on streams made by hand: it needs nothing of the machine but the names of things.
set(TIMING ${ROOT}/simulator/src/timing)
add_executable(test_timing ${ROOT}/tests/timing/test_replay.cpp ${TIMING}/csv.cpp ${TIMING}/cost_table.cpp
               ${TIMING}/memory_system.cpp ${TIMING}/replay.cpp ${TIMING}/critical_path.cpp ${TIMING}/summary.cpp ${TIMING_DATA} ${ROOT}/simulator/src/core/findings.cpp)
target_include_directories(test_timing PRIVATE ${SIM_INCLUDES} ${ROOT}/tests)
add_test(NAME timing COMMAND test_timing)
add_executable(test_report_log ${ROOT}/tests/timing/test_report_log.cpp ${ROOT}/csrc/launch/sim/report_log.cpp
               ${TIMING}/record.cpp)
target_include_directories(test_report_log PRIVATE ${ROOT}/csrc ${SIM_INCLUDES} ${ROOT}/tests)
add_test(NAME report_log COMMAND test_report_log)
