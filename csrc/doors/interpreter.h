// SPDX-License-Identifier: Apache-2.0
// The end of a Python process whose daemon threads are still in a call. Once Python shuts down, a thread that asks for
// its lock is ended by force, which aborts the process if it happens below a destructor. Such a thread has to stop
// where it is; the process ends without it. (Python 3.14 does this by itself.)
#pragma once

#include "doors/export.h"

namespace ascend_attention::doors {

// Installed by `_core`: whether Python is shutting down. Without it: never.
ASCEND_ATTENTION_API void SetInterpreterProbe(bool (*is_ending)());
ASCEND_ATTENTION_API bool InterpreterIsEnding();
// Stops the calling thread for good.
[[noreturn]] ASCEND_ATTENTION_API void ParkThread();

// Made while Python is known to let this thread run, asked when the thread is about to need Python's lock again. A
// call that began during the shutdown is one of the thread that shuts down, which keeps the lock.
class InterpreterWatch {
public:
    void ParkIfPythonEnded() const {
        if (!was_ending_ && InterpreterIsEnding()) {
            ParkThread();
        }
    }

private:
    bool was_ending_ = InterpreterIsEnding();
};

}  // namespace ascend_attention::doors
