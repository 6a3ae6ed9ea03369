// SPDX-License-Identifier: Apache-2.0
// What the executors of all instruction families share: parameters, operand counts, element sizes.
#pragma once

#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <cstdint>
#include <string>
#include <vector>

#include "machine/call.h"

namespace ascend_attention::python {

using Operands = std::vector<sim::Operand>;

// Reads parameters and notices misspelt ones: a test that sets a field no instruction knows must fail.
class Params {
public:
    explicit Params(const pybind11::dict& given) : given_(given) {}

    bool Has(const char* name) const { return given_.contains(name); }
    template <typename T>
    T Get(const char* name, T missing) {
        return Has(name) ? pybind11::cast<T>(Take(name)) : missing;
    }
    std::uint32_t U32(const char* name, std::uint32_t missing = 0) { return Get(name, missing); }
    // For results that the call returns through its parameters.
    void Set(const char* name, std::uint64_t value) {
        auto writable = pybind11::reinterpret_borrow<pybind11::dict>(given_);
        writable[name] = value;
    }
    void Done() const {
        if (used_ != given_.size()) {
            throw pybind11::value_error("the instruction does not know all of these parameters: " +
                                        pybind11::cast<std::string>(pybind11::repr(given_)));
        }
    }

protected:
    pybind11::object Take(const char* name) {
        ++used_;
        return given_[name];
    }

private:
    const pybind11::dict& given_;
    std::size_t used_ = 0;
};

inline void RequireOperands(const Operands& operands, std::size_t least, std::size_t most) {
    if (operands.size() < least || operands.size() > most) {
        throw pybind11::value_error("wrong number of operands");
    }
}
inline void RequireOperands(const Operands& operands, std::size_t count) { RequireOperands(operands, count, count); }

inline std::uint32_t ElementBits(sim::DType dtype) {
    switch (dtype) {
        case sim::DType::kInt4:
            return 4;
        case sim::DType::kInt8:
        case sim::DType::kUint8:
            return 8;
        case sim::DType::kFloat16:
        case sim::DType::kBfloat16:
        case sim::DType::kInt16:
        case sim::DType::kUint16:
            return 16;
        case sim::DType::kInt64:
        case sim::DType::kUint64:
            return 64;
        default:
            return 32;
    }
}

// As copies count: two 4-bit elements to a byte.
inline std::uint32_t ElementBytes(sim::DType dtype) { return dtype == sim::DType::kInt4 ? 1 : ElementBits(dtype) / 8; }

// The head of a call with one destination and one source.
template <typename CallType>
CallType Copy(const Operands& operands, const sim::Site& site) {
    RequireOperands(operands, 2);
    CallType call;
    call.site = site;
    call.target = operands[0];
    call.source = operands[1];
    return call;
}

}  // namespace ascend_attention::python
