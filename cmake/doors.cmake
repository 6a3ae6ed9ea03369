# SPDX-License-Identifier: Apache-2.0
# The thin doors: _core (pybind11, no torch) and _torch_ops (torch's stable ABI, no Python), with a library that makes
# the latter faster in the torch release that it was built with.
find_package(Python 3.10 COMPONENTS Interpreter Development.Module)
if(Python_FOUND AND NOT pybind11_DIR)
  execute_process(COMMAND ${Python_EXECUTABLE} -m pybind11 --cmakedir
                  OUTPUT_VARIABLE pybind11_DIR OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
endif()
set(PYBIND11_FINDPYTHON ON)
find_package(pybind11 2.12 CONFIG QUIET)

if(ASCEND_ATTENTION_BUILD_CORE AND pybind11_FOUND)
  file(GLOB core_sources CONFIGURE_DEPENDS ${ROOT}/csrc/python/*.cpp)
  # NO_EXTRAS: link-time optimisation costs memory and a binding layer gains nothing from it.
  pybind11_add_module(_core MODULE NO_EXTRAS ${core_sources})
  target_include_directories(_core PRIVATE ${ROOT}/csrc ${HOST_INCLUDES} ${SIM_INCLUDES})
  target_link_libraries(_core PRIVATE ascend_attention)
  if(ASCEND_ATTENTION_SANITIZE)
    # It only carries calls, and would be a fifth of the instrumented build.
    target_compile_options(_core PRIVATE -O0 -fno-sanitize=all)
  else()
    target_compile_options(_core PRIVATE -O1 ${HOST_DEBUG_INFO})  # for the same reason: half the time to compile
  endif()
  # pybind11's headers alone take seconds to compile in every file: a few files at a time share them.
  if(ASCEND_ATTENTION_ONE_SHOT)
    set(files_at_a_time 8)
  else()
    set(files_at_a_time 4)
  endif()
  set_target_properties(_core PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE ${files_at_a_time})
  install(TARGETS _core LIBRARY DESTINATION .)
elseif(ASCEND_ATTENTION_BUILD_CORE)
  set(message "pybind11 or the Python headers were not found by '${Python_EXECUTABLE}': _core cannot be built. "
              "Give -DPython_EXECUTABLE=<python with pybind11>, or: pip install pybind11")
  if(ASCEND_ATTENTION_REQUIRE_DOORS)
    message(FATAL_ERROR ${message})
  endif()
  message(WARNING ${message})
endif()

# The stable ABI of torch 2.10: the library then loads into that release and every later one.
function(build_with_torch library)
  target_compile_definitions(${library} PRIVATE TORCH_TARGET_VERSION=0x020a000000000000)
  target_include_directories(${library} PRIVATE ${ROOT}/csrc ${HOST_INCLUDES})
  target_include_directories(${library} SYSTEM PRIVATE ${ASCEND_ATTENTION_TORCH_DIR}/include)
  target_link_directories(${library} PRIVATE ${ASCEND_ATTENTION_TORCH_DIR}/lib)
  target_link_libraries(${library} PRIVATE ascend_attention torch_cpu)
  target_link_options(${library} PRIVATE ${NO_UNDEFINED})
endfunction()

if(ASCEND_ATTENTION_TORCH_DIR)
  file(GLOB torch_sources CONFIGURE_DEPENDS ${ROOT}/csrc/torch/*.cpp)
  add_library(_torch_ops MODULE ${torch_sources})
  set_target_properties(_torch_ops PROPERTIES PREFIX "")
  build_with_torch(_torch_ops)
  install(TARGETS _torch_ops LIBRARY DESTINATION .)

  # The C++ interface of one release, which wants C++20 from some release on. _torch_derivative.py looks for the file by
  # the version that is running.
  file(STRINGS ${ASCEND_ATTENTION_TORCH_DIR}/version.py torch_version REGEX "^__version__ = ")
  string(REGEX REPLACE "^__version__ = '(.*)'.*" "\\1" torch_version "${torch_version}")
  add_library(_torch_pass_by MODULE ${ROOT}/csrc/torch/pass_by/pass_by.cpp)
  set_target_properties(_torch_pass_by PROPERTIES PREFIX "" OUTPUT_NAME "_torch_pass_by-${torch_version}" CXX_STANDARD 20)
  target_compile_options(_torch_pass_by PRIVATE -O1)  # it passes calls on; the headers alone take ten seconds
  target_include_directories(_torch_pass_by PRIVATE ${ROOT}/csrc ${HOST_INCLUDES})
  target_include_directories(_torch_pass_by SYSTEM PRIVATE ${ASCEND_ATTENTION_TORCH_DIR}/include)
  target_link_directories(_torch_pass_by PRIVATE ${ASCEND_ATTENTION_TORCH_DIR}/lib)
  target_link_libraries(_torch_pass_by PRIVATE torch_cpu c10)
  target_link_options(_torch_pass_by PRIVATE ${NO_UNDEFINED})
  install(TARGETS _torch_pass_by LIBRARY DESTINATION .)
endif()
