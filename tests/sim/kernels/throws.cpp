// SPDX-License-Identifier: Apache-2.0
// One way to throw a case; a comment marks the line that the error must name. `guilty` is the core that throws:
// a vector core by its number, a cube core by -1, -2 and so on.
#include <algorithm>
#include <exception>
#include <new>
#include <stdexcept>
#include <string>
#include <vector>

#include "kernel_operator.h"

using namespace AscendC;

namespace {

template <typename T>
T Hide(T value) {
    volatile T hidden = value;
    return hidden;
}

struct Plain {
    int64_t value;
};

struct Own : std::exception {
    const char* what() const noexcept override { return "an exception of the kernel's own"; }
};

inline void Inlined(int64_t value) {
    if (value != 0) {
        throw std::runtime_error("from a helper");  // 6: in an inlined helper
    }
}

__attribute__((noinline)) void Check(int64_t value) {
    if (value != 0) {
        throw std::runtime_error("from a function");  // 7: in a function
    }
}

struct Cleaner {
    ~Cleaner() {
        try {
            Check(Hide(1));
        } catch (const std::exception&) {
            *count += 1;
        }
    }
    int64_t* count;
};

template <typename Function>
void Again(Function function) {
    try {
        function();
    } catch (...) {
        throw;  // 21: again
    }
}

void Quiet(int64_t value) noexcept {
    int64_t count = 0;
    const Cleaner cleaner{&count};
    throw Plain{value};  // 30: where nothing may be thrown
}

void Simple(int64_t which) {
    switch (which) {
        case 1:
            throw 5;  // 1: int
        case 2:
            throw "a text";  // 2: a text
        case 3:
            throw std::runtime_error("a runtime error");  // 3: of the standard library
        case 4:
            throw Plain{7};  // 4: of no base
        case 5:
            throw Own();  // 5: derived
        case 6:
            Inlined(Hide(1));
            break;
        case 7:
            Check(Hide(1));
            break;
        case 8:
            std::for_each(&which, &which + 1, [](int64_t value) {
                throw std::to_string(value);  // 8: in a lambda
            });
            break;
        default:
            break;
    }
}

void Library(int64_t which) {
    std::vector<int> values(3);
    switch (which) {
        case 10:
            values[0] = values.at(static_cast<size_t>(Hide(9)));  // 10: at
            break;
        case 11:
            values[0] = std::stoi("no number");  // 11: stoi
            break;
        case 12:
            values[0] = *Hide(new int[static_cast<size_t>(Hide<int64_t>(int64_t{1} << 60))]);  // 12: no memory
            break;
        case 13:
            values.reserve(~static_cast<size_t>(Hide(0)));  // 13: reserve
            break;
        case 14:
            values[0] = std::string("text").substr(static_cast<size_t>(Hide(9))).empty() ? 1 : 2;  // 14: substr
            break;
        default:
            break;
    }
    Hide(values[0]);
}

// Exceptions that a kernel handles, before one that it does not.
void Nested(int64_t which) {
    int64_t count = 0;
    switch (which) {
        case 20:
            try {
                Check(Hide(1));
            } catch (const std::runtime_error&) {
                ++count;
            }
            throw Plain{count};  // 20: a later one
        case 21:
            Again([] { throw 21; });  // 21: the first place
            break;
        case 22:
            try {
                Check(Hide(1));
            } catch (...) {
                throw Own();  // 22: another from a handler
            }
        case 23:
            try {
                throw Own();  // 23: the outer one
            } catch (...) {
                try {
                    Check(Hide(1));
                } catch (...) {
                    ++count;
                }
                throw;  // 23: again
            }
        case 24: {
            const Cleaner cleaner{&count};
            throw Own();  // 24: destructors throw and catch meanwhile
        }
        case 25:
            for (int64_t i = 0; i < 1000; ++i) {
                try {
                    Check(Hide(1));
                } catch (...) {
                    ++count;
                }
            }
            throw Own();  // 25: after a thousand
        case 26: {
            std::exception_ptr kept;
            try {
                Check(Hide(1));
            } catch (...) {
                kept = std::current_exception();
            }
            std::rethrow_exception(kept);  // 26: kept for later
        }
        case 27:
            Again([] { Again([] { (void)std::stoi("no number"); }); });  // 27: the library's, twice again
            break;
        default:
            break;
    }
}

}  // namespace

extern "C" __global__ __aicore__ void throws(GM_ADDR y, int64_t which, int64_t guilty) {
    const int64_t here = g_coreType == AIC ? -1 - GetBlockIdx() : GetBlockIdx();
    if (here == guilty) {
        Simple(which);
        Library(which);
        Nested(which);
        if (which == 30) {
            Quiet(which);
        }
        if (which == 31) {
            throw;  // nothing that could be thrown again
        }
    }
    int64_t caught = 0;
    try {
        Check(Hide(1));
    } catch (const std::runtime_error&) {
        ++caught;
    }
    GlobalTensor<int64_t> to;
    to.SetGlobalBuffer(reinterpret_cast<__gm__ int64_t*>(y));
    to.SetValue(static_cast<uint64_t>(8 * (16 + here)), caught);
    DataCacheCleanAndInvalid<int64_t, CacheLine::ENTIRE_DATA_CACHE, DcciDst::CACHELINE_OUT>(to);
}
