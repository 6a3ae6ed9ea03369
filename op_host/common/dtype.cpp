// SPDX-License-Identifier: Apache-2.0
#include "common/dtype.h"

#include <array>

namespace ascend_attention {
namespace {

struct DTypeRow {
    DType dtype;
    int64_t bytes;
    const char* name;
};

constexpr std::array<DTypeRow, 13> kRows = {{
    {DType::kFloat16, 2, "float16"},
    {DType::kBFloat16, 2, "bfloat16"},
    {DType::kFloat32, 4, "float32"},
    {DType::kFloat64, 8, "float64"},
    {DType::kInt8, 1, "int8"},
    {DType::kUInt8, 1, "uint8"},
    {DType::kInt16, 2, "int16"},
    {DType::kInt32, 4, "int32"},
    {DType::kInt64, 8, "int64"},
    {DType::kBool, 1, "bool"},
    {DType::kUInt64, 8, "uint64"},
    {DType::kFloat8E4M3FN, 1, "float8_e4m3fn"},
    {DType::kOther, 0, "other"},
}};

}  // namespace

int64_t SizeOf(DType dtype) { return kRows[static_cast<size_t>(dtype)].bytes; }

const char* NameOf(DType dtype) { return kRows[static_cast<size_t>(dtype)].name; }

std::string BareDTypeName(const std::string& name) {
    const std::string prefix = "torch.";
    return name.compare(0, prefix.size(), prefix) == 0 ? name.substr(prefix.size()) : name;
}

DType DTypeFromName(const std::string& name) {
    const std::string bare = BareDTypeName(name);
    for (const DTypeRow& row : kRows) {
        if (bare == row.name) {
            return row.dtype;
        }
    }
    return DType::kOther;
}

}  // namespace ascend_attention
