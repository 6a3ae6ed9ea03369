// SPDX-License-Identifier: Apache-2.0
#include "core/fault_context.h"

#include <dlfcn.h>
#include <ucontext.h>
#include <unwind.h>

#include <algorithm>
#include <cstring>
#include <iterator>

namespace ascend_attention::sim {

namespace {

_Unwind_Reason_Code VisitFrame(_Unwind_Context* frame, void* argument) {
    CallChain& chain = *static_cast<CallChain*>(argument);
    const auto pc = static_cast<std::uint64_t>(_Unwind_GetIP(frame));
    if (!chain.begun) {
        chain.begun = pc == chain.pc;
        if (!chain.begun) {
            return _URC_NO_REASON;
        }
    }
    // A return address may already belong to the next function.
    const std::uint64_t call = pc == chain.pc ? pc : pc - 1;
    if (chain.code->Device(call) != nullptr) {
        chain.device = call;
        return _URC_END_OF_STACK;
    }
    if (chain.code->machine.Holds(call)) {
        chain.machine = true;
    } else if (!chain.machine) {
        chain.outermost_foreign = call;
    }
    return _URC_NO_REASON;
}

}  // namespace

std::uint64_t ProgramCounter(const void* context) {
    [[maybe_unused]] const auto& machine = static_cast<const ucontext_t*>(context)->uc_mcontext;
#if defined(__x86_64__)
    return static_cast<std::uint64_t>(machine.gregs[REG_RIP]);
#elif defined(__aarch64__)
    return machine.pc;
#else
    return 0;
#endif
}

std::uint64_t StackPointer(const void* context) {
    [[maybe_unused]] const auto& machine = static_cast<const ucontext_t*>(context)->uc_mcontext;
#if defined(__x86_64__)
    return static_cast<std::uint64_t>(machine.gregs[REG_RSP]);
#elif defined(__aarch64__)
    return machine.sp;
#else
    return 0;
#endif
}

std::uint64_t ReturnAddress(const void* context) {
    [[maybe_unused]] const auto& machine = static_cast<const ucontext_t*>(context)->uc_mcontext;
#if defined(__x86_64__)
    return *reinterpret_cast<const std::uint64_t*>(machine.gregs[REG_RSP]);
#elif defined(__aarch64__)
    return machine.regs[30];
#else
    return 0;
#endif
}

FaultAccess AccessOf([[maybe_unused]] const void* context) {
#if defined(__x86_64__)
    // The page fault's error code: bit 1 is a write, bit 4 an instruction fetch.
    constexpr greg_t kPageFault = 14;
    const auto& machine = static_cast<const ucontext_t*>(context)->uc_mcontext;
    if (machine.gregs[REG_TRAPNO] != kPageFault) {
        return FaultAccess::kUnknown;
    }
    const greg_t error = machine.gregs[REG_ERR];
    return (error & 16) != 0 ? FaultAccess::kFetch : (error & 2) != 0 ? FaultAccess::kWrite : FaultAccess::kRead;
#else
    return FaultAccess::kUnknown;
#endif
}

CallChain WalkCalls(const LaunchCode& code, std::uint64_t pc) {
    CallChain chain{&code, pc};
    _Unwind_Backtrace(&VisitFrame, &chain);
    return chain;
}

// Exported functions are what dladdr knows, and the outermost frame of the C library is one.
bool InAllocator(const CallChain& chain) {
    static const char* const kAllocators[] = {"malloc",       "free",           "calloc",        "realloc",
                                              "cfree",        "posix_memalign", "aligned_alloc", "memalign",
                                              "reallocarray", "__libc_malloc",  "__libc_free"};
    Dl_info info{};
    if (chain.outermost_foreign == 0 || dladdr(reinterpret_cast<void*>(chain.outermost_foreign), &info) == 0 ||
        info.dli_sname == nullptr) {
        return false;
    }
    return std::any_of(std::begin(kAllocators), std::end(kAllocators),
                       [&](const char* name) { return std::strcmp(name, info.dli_sname) == 0; });
}

}  // namespace ascend_attention::sim
