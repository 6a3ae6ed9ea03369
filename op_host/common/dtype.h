// SPDX-License-Identifier: Apache-2.0
// Element types, named as torch spells them.
#pragma once

#include <cstdint>
#include <string>

namespace ascend_attention {

enum class DType : uint8_t {
    kFloat16,
    kBFloat16,
    kFloat32,
    kFloat64,
    kInt8,
    kUInt8,
    kInt16,
    kInt32,
    kInt64,
    kBool,
    kUInt64,
    kFloat8E4M3FN,
    kOther,  // anything the operators never accept (complex, uint16, ...): TensorView keeps its name
};

// Bytes of one element; 0 for kOther.
int64_t SizeOf(DType dtype);
// "float16", "bfloat16", "bool", ...; "other" for kOther.
const char* NameOf(DType dtype);
// `name` without a "torch." prefix.
std::string BareDTypeName(const std::string& name);
// The inverse of NameOf, also with a "torch." prefix; kOther when the name is unknown.
DType DTypeFromName(const std::string& name);

constexpr bool IsHalfWidth(DType dtype) { return dtype == DType::kFloat16 || dtype == DType::kBFloat16; }

}  // namespace ascend_attention
