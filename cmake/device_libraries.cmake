# SPDX-License-Identifier: Apache-2.0
# Device code for the simulator. As with the device toolchain, every kernel source is compiled once per core type, and
# the core type is a compile-time constant there.
include_guard()
include(CheckCXXCompilerFlag)
# A frame larger than the guard area below a fiber's stack would step over it; with this it touches every page.
check_cxx_compiler_flag(-fstack-clash-protection DEVICE_STACK_PROBES)
get_filename_component(DEVICE_ROOT ${CMAKE_CURRENT_LIST_DIR} DIRECTORY)
set(DEVICE_DEFINITIONS_cube __DAV_C220_CUBE__ __DAV_CUBE__)
set(DEVICE_DEFINITIONS_vector __DAV_C220_VEC__ __DAV_VEC__)

# add_device_libraries(<name> <source>...): lib<name>_cube.so and lib<name>_vector.so.
# Include directories are those of the device build and no others, so that host code cannot slip in.
function(add_device_libraries name)
  foreach(core_type cube vector)
    set(library ${name}_${core_type})
    add_library(${library} SHARED ${ARGN} ${DEVICE_ROOT}/simulator/src/device/personality.cpp)
    target_compile_definitions(${library} PRIVATE __CCE_AICORE__=220 __DAV_C220__ ${DEVICE_DEFINITIONS_${core_type}})
    target_include_directories(${library} PRIVATE ${DEVICE_ROOT}/simulator/include ${DEVICE_ROOT}/op_kernel)
    if(DEVICE_STACK_PROBES)
      target_compile_options(${library} PRIVATE -fstack-clash-protection)
    endif()
    target_link_libraries(${library} PRIVATE ascend_attention)
    target_link_options(${library} PRIVATE ${NO_UNDEFINED} -Wl,--wrap=__gxx_personality_v0)
  endforeach()
endfunction()
