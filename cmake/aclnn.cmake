# SPDX-License-Identifier: Apache-2.0
# libascend_attention_aclnn.so: the operators in C, in two phases, with the part of the acl interface that their callers
# use over the simulator. It exports what the headers in include/ declare.
# csrc/aclnn knows no runtime: csrc/aclnn/sim ties it to csrc/acl, and is what a device build has to put CANN's in place
# of. include/acl and include/aclnn are the simulator's too: CANN has its own.
file(GLOB aclnn_sources CONFIGURE_DEPENDS
     ${ROOT}/csrc/acl/*.cpp ${ROOT}/csrc/aclnn/*.cpp ${ROOT}/csrc/aclnn/sim/*.cpp)
add_library(ascend_attention_aclnn SHARED ${aclnn_sources})
target_compile_definitions(ascend_attention_aclnn PRIVATE FUNC_VISIBILITY)
target_include_directories(ascend_attention_aclnn PRIVATE ${ROOT}/include ${ROOT}/csrc ${HOST_INCLUDES} ${SIM_INCLUDES})
target_compile_options(ascend_attention_aclnn PRIVATE ${UNHURRIED} ${HOST_DEBUG_INFO})  # it carries calls
target_link_libraries(ascend_attention_aclnn PRIVATE ascend_attention Threads::Threads)
# Nothing of the C++ library's templates either.
target_link_options(ascend_attention_aclnn PRIVATE ${NO_UNDEFINED}
                    -Wl,--version-script=${ROOT}/cmake/aclnn_symbols.map)
set_target_properties(ascend_attention_aclnn PROPERTIES LINK_DEPENDS ${ROOT}/cmake/aclnn_symbols.map)
join_directories_of(ascend_attention_aclnn)
# As a user's project finds it: find_package(AscendAttention), wherever the package was moved to.
set_target_properties(ascend_attention_aclnn PROPERTIES EXPORT_NAME aclnn)
set_target_properties(ascend_attention PROPERTIES EXPORT_NAME core)
install(TARGETS ascend_attention ascend_attention_aclnn EXPORT AscendAttentionTargets
        LIBRARY DESTINATION . INCLUDES DESTINATION include)
install(EXPORT AscendAttentionTargets NAMESPACE AscendAttention:: DESTINATION cmake)
install(FILES ${ROOT}/cmake/AscendAttentionConfig.cmake DESTINATION cmake)
install(DIRECTORY ${ROOT}/include/ DESTINATION include)
