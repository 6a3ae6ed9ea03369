// SPDX-License-Identifier: Apache-2.0
// Python's lock, released and taken so that a thread which Python ends while it shuts down stops instead of unwinding:
// pybind11's guards take the lock in destructors, where an unwinding thread aborts the process.
#pragma once

#include <pybind11/pybind11.h>

#if defined(__GLIBCXX__)
#include <cxxabi.h>
#endif

#include "doors/interpreter.h"

namespace ascend_attention::python {

inline bool PythonIsEnding() {
#if PY_VERSION_HEX >= 0x030D0000
    return Py_IsFinalizing() != 0;
#else
    return _Py_IsFinalizing() != 0;
#endif
}

// When settings are first read; again does nothing. Torch takes the lock in a destructor after each kernel: a thread
// that Python ends there reaches std::terminate, and stops in it instead of aborting a process that is about to end.
void ParkThreadsThatPythonEnds();

// Runs something that takes the lock. Python ends other threads than the one that shuts down inside it, up to 3.13 by
// pthread_exit, which unwinds: caught and never released.
template <class Take>
auto TakeOrPark(Take take) {
#if defined(__GLIBCXX__)
    try {
        return take();
    } catch (abi::__forced_unwind&) {
        doors::ParkThread();
    }
#else
    return take();
#endif
}

// Without the lock while it lives. For threads that hold it.
class AllowThreads {
public:
    AllowThreads() : state_(PyEval_SaveThread()) {}
    AllowThreads(const AllowThreads&) = delete;
    AllowThreads& operator=(const AllowThreads&) = delete;
    ~AllowThreads() {
        watch_.ParkIfPythonEnded();
        TakeOrPark([this] { PyEval_RestoreThread(state_); });
    }

private:
    doors::InterpreterWatch watch_;  // before the lock is released
    PyThreadState* state_;
};

// With the lock while it lives. For any thread, whether it holds the lock or not.
class HoldLock {
public:
    HoldLock() : state_(TakeOrPark([] { return PyGILState_Ensure(); })) {}
    HoldLock(const HoldLock&) = delete;
    HoldLock& operator=(const HoldLock&) = delete;
    ~HoldLock() { PyGILState_Release(state_); }

private:
    PyGILState_STATE state_;
};

}  // namespace ascend_attention::python
