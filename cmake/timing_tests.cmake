# SPDX-License-Identifier: Apache-2.0
# The timing replay on streams made by hand: it needs nothing of the machine but the names of things.
add_library(timing_for_tests STATIC $<TARGET_OBJECTS:room_sim_timing> $<TARGET_OBJECTS:room_sim_core>
            $<TARGET_OBJECTS:room_sim_vector>)
set_target_properties(timing_for_tests PROPERTIES LINKER_LANGUAGE CXX)
# As for the library: compiled several files at a time, the machine's pieces ask for each other.
target_link_options(timing_for_tests INTERFACE -Wl,--wrap=__gxx_personality_v0)
target_include_directories(timing_for_tests PUBLIC ${SIM_INCLUDES} ${ROOT}/tests)
foreach(name costs replay timeline)
  add_executable(test_timing_${name} ${ROOT}/tests/timing/test_${name}.cpp)
  target_link_libraries(test_timing_${name} PRIVATE timing_for_tests)
  target_compile_options(test_timing_${name} PRIVATE ${UNHURRIED} ${HOST_DEBUG_INFO})
  add_test(NAME timing_${name} COMMAND test_timing_${name})
endforeach()
set_tests_properties(timing_timeline PROPERTIES COST 4)
add_executable(test_report_log ${ROOT}/tests/timing/test_report_log.cpp ${ROOT}/csrc/launch/sim/report_log.cpp)
target_include_directories(test_report_log PRIVATE ${ROOT}/csrc)
target_link_libraries(test_report_log PRIVATE timing_for_tests)
target_compile_options(test_report_log PRIVATE ${UNHURRIED} ${HOST_DEBUG_INFO})
add_test(NAME report_log COMMAND test_report_log)
