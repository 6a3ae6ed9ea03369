# SPDX-License-Identifier: Apache-2.0
# find_package(AscendAttention) gives the target AscendAttention::aclnn: the aclnn operators in C and, in this build, the
# acl interface over the simulator.
include("${CMAKE_CURRENT_LIST_DIR}/AscendAttentionTargets.cmake")
