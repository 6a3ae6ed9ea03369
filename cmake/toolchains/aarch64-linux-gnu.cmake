# SPDX-License-Identifier: Apache-2.0
# Cross-compiles for 64-bit Arm Linux with the compiler of Debian and Ubuntu (package g++-aarch64-linux-gnu). Programs of
# the build tree run under an emulator when there is one (package qemu-user).
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)
find_program(QEMU_AARCH64 qemu-aarch64)
if(QEMU_AARCH64)
  set(CMAKE_CROSSCOMPILING_EMULATOR ${QEMU_AARCH64} -L /usr/aarch64-linux-gnu)
endif()
