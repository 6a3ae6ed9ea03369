// SPDX-License-Identifier: Apache-2.0
// Mmad: C = A * B, C += A * B, or bias + A * B. A lies in L0A as rows of fractals (ZZ), B in L0B as rows of fractals
// whose columns are stored as rows (ZN), C in L0C as columns of 16 x 16 fractals (NZ). Lanes beyond m, n and k take no
// part: they are not read as operands, and of C they hold nothing afterwards.
#include "cube/mmad_kernel.h"

#include <algorithm>
#include <cstring>
#include <functional>
#include <vector>

#include "core/core.h"
#include "cube/fractal.h"
#include "cube/unit_flags.h"
#include "machine/cube_calls.h"
#include "move/regions.h"
#include "timing/recorder.h"

namespace ascend_attention::sim {

namespace {

constexpr std::uint64_t kResultFractalBytes = 1024;
constexpr std::uint64_t kResultRowBytes = 64;  // 16 columns of 4 bytes

void RequireTypes(Access& access, const MmadCall& mmad) {
    const DType type = mmad.left.dtype;
    const bool floating = type == DType::kFloat16 || type == DType::kBfloat16 || type == DType::kFloat32;
    if (mmad.sparse) {
        access.Require(type == DType::kInt8, "dtype of fm", static_cast<int>(type), "int8_t");
    }
    const char* allowed =
        "int8_t*int8_t or int4b_t*int4b_t->int32_t, half*half, bfloat16_t*bfloat16_t or float*float->float";
    access.Require(floating || type == DType::kInt8 || type == DType::kInt4, "dtype of fm", static_cast<int>(type),
                   allowed);
    access.Require(mmad.right.dtype == type, "dtype of filter", static_cast<int>(mmad.right.dtype), allowed);
    const DType result = floating ? DType::kFloat32 : DType::kInt32;
    access.Require(mmad.target.dtype == result, "dtype of dst", static_cast<int>(mmad.target.dtype), allowed);
    if (mmad.has_bias) {
        access.Require(mmad.bias.dtype == result, "dtype of bias", static_cast<int>(mmad.bias.dtype),
                       "the dtype of dst");
        access.Require(type != DType::kInt4, "bias", 1, "none with int4b_t");
    }
}

void RequireRanges(Access& access, const MmadCall& mmad) {
    access.RequireSpace(mmad.target, "dst", Space::kL0C);
    access.RequireSpace(mmad.left, "fm", Space::kL0A);
    access.RequireSpace(mmad.right, "filter", Space::kL0B);
    RequireTypes(access, mmad);
    access.Require(mmad.m <= 4095, "m", mmad.m, "0..4095");
    access.Require(mmad.n <= 4095, "n", mmad.n, "0..4095");
    access.Require(mmad.k <= 4095, "k", mmad.k, "0..4095");
    access.RequireAligned(mmad.target, "dst", kResultFractalBytes);
    access.RequireAligned(mmad.left, "fm", kFractalBytes);
    access.RequireAligned(mmad.right, "filter", kFractalBytes);
    if (mmad.has_bias) {
        access.RequireSpace(mmad.bias, "bias", Space::kBias);
        access.RequireAligned(mmad.bias, "bias", 64);
        access.Require(!mmad.c_init_zero, "cmatrixInitVal", 1,
                       "false with a bias: true starts C at zero and the bias is never read");
    }
}

// Declares the read of `rows` x k elements stored as 16-row fractals; returns the first byte.
struct FractalGrid {
    std::uint64_t rows;
    std::uint64_t k;
    std::uint64_t group;         // elements along k in 32 bytes
    std::uint64_t row_stride;    // bytes between 16-row bands
    std::uint64_t group_stride;  // bytes between neighbours along k
};

const std::byte* ReadFractals(Access& access, const Operand& operand, const char* name, const FractalGrid& grid) {
    const std::uint64_t bands = grid.rows / kFractalRows;
    const std::uint64_t groups = grid.k / grid.group;
    const std::uint64_t row_tail = grid.rows % kFractalRows;
    const std::uint64_t k_tail = CeilDivide(grid.k % grid.group * kBlockBytes, grid.group);
    const std::byte* data = nullptr;
    if (bands != 0 && groups != 0) {
        const bool dense = grid.row_stride * bands == bands * groups * kFractalBytes ||
                           grid.group_stride * groups == bands * groups * kFractalBytes;
        const Region whole{0, bands * groups * kFractalBytes};
        data = access.Reads(
            operand, name, dense ? whole : Region{0, kFractalBytes, groups, grid.group_stride, bands, grid.row_stride});
    }
    if (bands != 0 && k_tail != 0) {
        const std::uint64_t offset = groups * grid.group_stride;
        for (std::uint64_t band = 0; band < bands; ++band) {
            data =
                access.Reads(operand, name, Region{offset + band * grid.row_stride, k_tail, kFractalRows, kBlockBytes});
        }
    }
    if (row_tail != 0 && groups != 0) {
        data = access.Reads(operand, name,
                            Region{bands * grid.row_stride, row_tail * kBlockBytes, groups, grid.group_stride});
    }
    if (row_tail != 0 && k_tail != 0) {
        data = access.Reads(
            operand, name, Region{bands * grid.row_stride + groups * grid.group_stride, k_tail, row_tail, kBlockBytes});
    }
    return data;
}

struct ResultGrid {
    std::uint64_t m;
    std::uint64_t n;
    std::uint64_t strips;
    std::uint64_t strip_bytes;
};

// How many of the leading columns hold values. Kernels round n up: a bias and an accumulator may end in columns that
// nothing has written, whole ones, and the result is undefined there. Anything else undefined counts as used.
std::uint64_t DefinedColumns(const ResultGrid& grid, std::uint64_t rows,
                             const std::function<bool(std::uint64_t)>& strip,
                             const std::function<bool(std::uint64_t, std::uint64_t)>& element) {
    std::uint64_t defined = 0;
    for (std::uint64_t index = 0; index < grid.strips; ++index) {
        const std::uint64_t end = std::min<std::uint64_t>(grid.n, (index + 1) * 16);
        if (strip(index)) {
            if (defined != index * 16) {
                return grid.n;
            }
            defined = end;
            continue;
        }
        for (std::uint64_t column = index * 16; column < end; ++column) {
            std::uint64_t count = 0;
            for (std::uint64_t row = 0; row < rows; ++row) {
                count += element(row, column) ? 1 : 0;
            }
            if (count == rows && defined == column) {
                ++defined;
            } else if (count != 0) {
                return grid.n;
            }
        }
    }
    return defined == 0 ? grid.n : defined;
}

// C of an accumulation. Returns the columns that hold values.
std::uint64_t ReadResult(Access& access, const Operand& target, const ResultGrid& grid) {
    const auto at = [&](std::uint64_t row, std::uint64_t column) {
        return column / 16 * grid.strip_bytes + row * kResultRowBytes + column % 16 * 4;
    };
    std::uint64_t columns = grid.n;
    if (access.ChecksInitialisation()) {
        columns = DefinedColumns(
            grid, grid.m,
            [&](std::uint64_t strip) {
                return access.AllDefined(target, strip * grid.strip_bytes, grid.m * kResultRowBytes);
            },
            [&](std::uint64_t row, std::uint64_t column) { return access.AllDefined(target, at(row, column), 4); });
    }
    const std::uint64_t full = columns / 16;
    const std::uint64_t tail = columns % 16;
    if (full != 0) {
        access.Reads(target, "dst", Pieces(0, grid.m * kResultRowBytes, full, grid.strip_bytes));
    }
    if (tail != 0) {
        access.Reads(target, "dst", Region{full * grid.strip_bytes, tail * 4, grid.m, kResultRowBytes});
    }
    return columns;
}

// What the m rows of C hold before the first product. Returns the columns that hold values.
std::uint64_t StartResult(Access& access, const MmadCall& mmad, std::byte* c, const ResultGrid& grid) {
    if (mmad.c_init_zero) {
        for (std::uint64_t strip = 0; strip < grid.strips; ++strip) {
            std::memset(c + strip * grid.strip_bytes, 0, grid.m * kResultRowBytes);
        }
        return grid.n;
    }
    Operand bias = mmad.bias;
    if (!mmad.has_bias) {
        bias = Operand{Space::kBias, mmad.target.dtype, 0, 0, 0};  // cmatrixSource without a tensor: the table's start
    }
    std::uint64_t defined = grid.n;
    if (access.ChecksInitialisation()) {
        const auto element = [&](std::uint64_t, std::uint64_t column) {
            return access.AllDefined(bias, column * 4, 4);
        };
        defined = DefinedColumns(grid, 1, [](std::uint64_t) { return false; }, element);
    }
    const std::byte* values = access.ReadsToCarry(bias, "bias", Region{0, grid.n * 4});
    access.Reads(bias, "bias", Region{0, defined * 4});
    for (std::uint64_t strip = 0; strip < grid.strips; ++strip) {
        const std::uint64_t columns = strip * 16 + 16 <= grid.n ? 16 : grid.n % 16;
        for (std::uint64_t row = 0; row < grid.m; ++row) {
            std::memcpy(c + strip * grid.strip_bytes + row * kResultRowBytes, values + strip * kResultRowBytes,
                        columns * 4);
        }
    }
    return defined;
}

// The fractals are written whole; what is not part of the first `columns` of m rows is left without a value.
void UndefinePadding(Access& access, const Operand& target, std::byte* c, const ResultGrid& grid,
                     std::uint64_t columns) {
    const std::uint64_t row_bytes = grid.strip_bytes - grid.m * kResultRowBytes;
    if (row_bytes != 0) {
        for (std::uint64_t strip = 0; strip < grid.strips; ++strip) {
            Poison(c + strip * grid.strip_bytes + grid.m * kResultRowBytes, row_bytes);
        }
        access.Undefines(target, Region{grid.m * kResultRowBytes, row_bytes, grid.strips, grid.strip_bytes});
    }
    for (std::uint64_t column = columns; column < grid.strips * 16; column = (column / 16 + 1) * 16) {
        const std::uint64_t first = column / 16 * grid.strip_bytes + column % 16 * 4;
        const std::uint64_t bytes = (16 - column % 16) * 4;
        for (std::uint64_t row = 0; row < grid.m; ++row) {
            Poison(c + first + row * kResultRowBytes, bytes);
        }
        access.Undefines(target, Region{first, bytes, grid.m, kResultRowBytes});
    }
}

// What LoadDataWithSparse has left beside B's fractals.
const std::byte* Indices(Access& access, const MmadCall& mmad) {
    const std::vector<std::byte>& indices = access.core().state.sparse_indices;
    access.Require(!indices.empty(), "filter", 0, "fractals that LoadDataWithSparse has loaded");
    return indices.data() + mmad.right.address / 4;
}

void Multiply(Access& access, const MmadCall& mmad, std::byte* c, const std::byte* left, const std::byte* right,
              MmadShape shape) {
    const DType type = mmad.left.dtype;
    auto* integers = reinterpret_cast<std::int32_t*>(c);
    if (mmad.sparse) {
        access.Require(MultiplySparse(integers, left, right, Indices(access, mmad), shape), "index", 3, "0..2");
    } else if (type == DType::kInt8 || type == DType::kInt4) {
        MultiplyIntegers(integers, left, right, type, shape);
    } else {
        const Hf32State& hf32 = access.core().state.hf32;
        if (hf32.enabled && type == DType::kFloat32) {
            shape.hf32 = hf32.ties_to_zero ? Hf32::kTiesToZero : Hf32::kTiesToEven;
        }
        MultiplyFloat(reinterpret_cast<float*>(c), left, right, type, shape);
    }
}

}  // namespace

void Execute(const MmadCall& mmad) {
    const Call call{mmad.sparse ? "MmadWithSparse" : "Mmad", Pipe::kCube, mmad.site};
    Access access(CurrentCore(), call);
    RequireRanges(access, mmad);
    if (mmad.m == 0 || mmad.n == 0 || mmad.k == 0) {
        return;
    }
    const std::uint64_t group = GroupElements(mmad.left.dtype);
    const std::uint64_t strips = CeilDivide(mmad.n, 16);
    std::uint64_t left_row_fractals = CeilDivide(mmad.k, group);
    if (mmad.k_direction_align && mmad.left.dtype == DType::kFloat32) {
        left_row_fractals = RoundUp(mmad.k, 16) / group;
    }
    const MmadShape shape{mmad.m, mmad.n, mmad.k, left_row_fractals, mmad.m == 1};
    access.Work(CeilDivide(mmad.m, 16) * strips * CeilDivide(mmad.k, group));
    if (mmad.left.dtype == DType::kFloat32 && access.core().state.hf32.enabled && access.core().recorder() != nullptr) {
        access.core().recorder()->CostsAs("Mmad HF32");
    }
    access.Products(std::uint64_t{mmad.m} * mmad.n * mmad.k);
    const ResultGrid grid{mmad.m, mmad.n, strips, CeilDivide(mmad.m, 16) * kResultFractalBytes};

    const UnitSpan units{mmad.target, grid.strip_bytes / kResultFractalBytes, strips, grid.strip_bytes};
    // The scheduler keeps dependent accumulations apart by itself once a product covers ten fractals.
    access.AccumulationIsOrdered((mmad.m / 16) * (mmad.n / 16) >= 10);
    WaitForUnits(access, call, mmad.unit_flag, units);

    const std::byte* left =
        shape.left_is_vector ? access.Reads(mmad.left, "fm", Region{0, CeilDivide(mmad.k * kBlockBytes, group)})
                             : ReadFractals(access, mmad.left, "fm",
                                            {mmad.m, mmad.k, group, left_row_fractals * kFractalBytes, kFractalBytes});
    const std::byte* right =
        ReadFractals(access, mmad.right, "filter",
                     {mmad.n, mmad.sparse ? SparseRows(mmad.k) : mmad.k, group, kFractalBytes, strips * kFractalBytes});
    const bool continues = !mmad.c_init_zero && !mmad.has_bias && !mmad.c_from_bias_table;
    std::uint64_t columns = mmad.n;
    if (continues) {
        columns = ReadResult(access, mmad.target, grid);
        // The lanes of the last fractals beyond m x n are accumulated on too; nobody may use what is in them.
        access.ReadsToCarry(mmad.target, "dst", Region{0, strips * grid.strip_bytes});
    }
    std::byte* c = access.Writes(mmad.target, "dst", Region{0, strips * grid.strip_bytes});
    if (!continues) {
        columns = StartResult(access, mmad, c, grid);
    }
    Multiply(access, mmad, c, left, right, shape);
    UndefinePadding(access, mmad.target, c, grid, columns);
    HandOverUnits(access, call, mmad.unit_flag, units);
}

void SetHf32(bool enabled, const Site& site) {
    const Call call{"SetHF32Mode", Pipe::kScalar, site};
    Access access(CurrentCore(), call);
    access.core().state.hf32.enabled = enabled;
}

void SetHf32TiesToZero(bool ties_to_zero, const Site& site) {
    const Call call{"SetHF32TransMode", Pipe::kScalar, site};
    Access access(CurrentCore(), call);
    access.core().state.hf32.ties_to_zero = ties_to_zero;
}

void SetMatrixLayout(const char* name, const Site& site) {
    const Call call{name, Pipe::kScalar, site};
    Access access(CurrentCore(), call);
}

}  // namespace ascend_attention::sim
