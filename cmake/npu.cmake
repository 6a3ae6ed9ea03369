# SPDX-License-Identifier: Apache-2.0
# The place of the device build: finds the CANN toolkit, as `source set_env.sh` or CMake's own variable tells it.
set(ASCEND_CANN_PACKAGE_PATH "$ENV{ASCEND_HOME_PATH}" CACHE PATH "CANN toolkit, for example .../ascend-toolkit/latest")

if(NOT ASCEND_CANN_PACKAGE_PATH)
  message(FATAL_ERROR
    "RUN_MODE=npu needs the CANN toolkit, and neither ASCEND_HOME_PATH nor ASCEND_CANN_PACKAGE_PATH is set.\n"
    "Run `source <toolkit>/set_env.sh`, or pass -DASCEND_CANN_PACKAGE_PATH=<toolkit>.\n"
    "Without a toolkit, build with RUN_MODE=sim (the default).")
endif()

# Where the toolkit keeps the rules that compile Ascend C; the place moved between releases.
find_file(ASCENDC_CMAKE ascendc.cmake NO_DEFAULT_PATH
  PATHS ${ASCEND_CANN_PACKAGE_PATH}
  PATH_SUFFIXES
    tools/tikcpp/ascendc_kernel_cmake
    compiler/tikcpp/ascendc_kernel_cmake
    ${CMAKE_HOST_SYSTEM_PROCESSOR}-linux/tikcpp/ascendc_kernel_cmake
    ascendc_devkit/tikcpp/samples/cmake)
if(NOT ASCENDC_CMAKE)
  message(FATAL_ERROR
    "RUN_MODE=npu: '${ASCEND_CANN_PACKAGE_PATH}' is not a CANN toolkit: it holds no ascendc.cmake "
    "(looked below tools/tikcpp, compiler/tikcpp, ${CMAKE_HOST_SYSTEM_PROCESSOR}-linux/tikcpp and ascendc_devkit). Allowed: a CANN toolkit of version 8.0 or later.")
endif()

message(FATAL_ERROR
  "RUN_MODE=npu: found the CANN toolkit rules in '${ASCENDC_CMAKE}', but this version of ascend-attention does not "
  "build for the device yet: it runs its kernels on the simulator only. Build with RUN_MODE=sim.")
