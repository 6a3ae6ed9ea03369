# SPDX-License-Identifier: Apache-2.0
# libascend_attention.so: operator checks, planner, machine and launch. Everything else links to it.
add_library(ascend_attention SHARED
  $<TARGET_OBJECTS:room_sim_core>
  $<TARGET_OBJECTS:room_sim_timing>
  $<TARGET_OBJECTS:room_sim_vector>
  $<TARGET_OBJECTS:room_sim_move>
  $<TARGET_OBJECTS:room_op_host>
  $<TARGET_OBJECTS:room_doors>)
set_target_properties(ascend_attention PROPERTIES LINKER_LANGUAGE CXX)
target_link_libraries(ascend_attention PRIVATE Threads::Threads ${CMAKE_DL_LIBS} rt)
# simulator/include/machine/personality.h
target_link_options(ascend_attention PRIVATE ${NO_UNDEFINED} -Wl,--wrap=__gxx_personality_v0)
# The headers of device code: users' own kernels are compiled against them (python/ascend_attention/sim).
install(DIRECTORY ${ROOT}/simulator/include/ DESTINATION include)
