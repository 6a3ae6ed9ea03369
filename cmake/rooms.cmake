# SPDX-License-Identifier: Apache-2.0
# One object library per room; a room sees only what design lets it see.
find_package(Threads REQUIRED)

function(add_room name)
  cmake_parse_arguments(ROOM "" "" "SOURCES;INCLUDES" ${ARGN})
  file(GLOB_RECURSE room_sources CONFIGURE_DEPENDS ${ROOM_SOURCES})
  add_library(${name} OBJECT ${room_sources})
  target_include_directories(${name} PRIVATE ${ROOM_INCLUDES})
  target_compile_options(${name} PRIVATE ${HOST_DEBUG_INFO})
endfunction()

# In a tree that is built once, the files of each directory of a room are compiled as one. By directory: whoever gives
# names to things knows the files they must not clash with, and a new file does not change which others are together.
function(join_directories_of name)
  if(NOT ASCEND_ATTENTION_ONE_SHOT)
    return()
  endif()
  get_target_property(room_sources ${name} SOURCES)
  foreach(source ${room_sources})
    get_filename_component(directory ${source} DIRECTORY)
    get_filename_component(group ${directory} NAME)
    set_source_files_properties(${source} PROPERTIES UNITY_GROUP ${group})
  endforeach()
  set_target_properties(${name} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
endfunction()

set(ROOT ${CMAKE_CURRENT_SOURCE_DIR})
set(SIM_INCLUDES ${ROOT}/simulator/include ${ROOT}/simulator/src)
set(HOST_INCLUDES ${ROOT}/op_host ${ROOT}/op_kernel)

add_room(room_sim_core SOURCES ${ROOT}/simulator/src/core/*.cpp ${ROOT}/simulator/src/run/*.cpp INCLUDES ${SIM_INCLUDES})
include(${CMAKE_CURRENT_LIST_DIR}/timing_data.cmake)
write_timing_data()
add_room(room_sim_timing SOURCES ${ROOT}/simulator/src/timing/*.cpp INCLUDES ${SIM_INCLUDES})
target_sources(room_sim_timing PRIVATE ${TIMING_DATA})
add_room(room_sim_vector SOURCES ${ROOT}/simulator/src/numerics/*.cpp ${ROOT}/simulator/src/vector/*.cpp INCLUDES ${SIM_INCLUDES})
# Element loops: the floating-point exception flags and errno are never read, and without these two GCC keeps selects
# and square roots out of vector code. Results do not change.
target_compile_options(room_sim_vector PRIVATE -fno-trapping-math -fno-math-errno)
add_room(room_sim_move SOURCES ${ROOT}/simulator/src/move/*.cpp ${ROOT}/simulator/src/cube/*.cpp INCLUDES ${SIM_INCLUDES})
add_room(room_op_host SOURCES ${ROOT}/op_host/*.cpp INCLUDES ${HOST_INCLUDES})
foreach(room room_op_host room_sim_core room_sim_timing)
  join_directories_of(${room})
endforeach()
if(ASCEND_ATTENTION_ONE_SHOT)
  # Many small files whose names clash. Not always: compiler caches do not look into precompiled headers.
  target_precompile_headers(room_sim_vector PRIVATE ${ROOT}/simulator/src/vector/elementwise.h)
  target_precompile_headers(room_sim_move PRIVATE ${ROOT}/simulator/src/core/core.h)
endif()
# The launch interface and the operators' entry points: the only code that sees both the host side and the machine.
add_room(room_doors SOURCES ${ROOT}/csrc/launch/sim/*.cpp ${ROOT}/csrc/doors/*.cpp
         INCLUDES ${ROOT}/csrc ${HOST_INCLUDES} ${SIM_INCLUDES})
