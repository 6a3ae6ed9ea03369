// SPDX-License-Identifier: Apache-2.0
#include "interpreter_lock.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <cstdlib>
#include <exception>

namespace ascend_attention::python {
namespace {

std::terminate_handler previous = nullptr;

void ParkOrTerminate() {
    const bool main_thread = syscall(SYS_gettid) == getpid();
    if (!main_thread && PythonIsEnding()) {
        doors::ParkThread();
    }
    if (previous != nullptr) {
        previous();
    }
    std::abort();
}

}  // namespace

void ParkThreadsThatPythonEnds() {
    doors::SetInterpreterProbe(&PythonIsEnding);
    const std::terminate_handler replaced = std::set_terminate(&ParkOrTerminate);
    if (replaced != &ParkOrTerminate) {  // the second time it would call itself
        previous = replaced;
    }
}

}  // namespace ascend_attention::python
