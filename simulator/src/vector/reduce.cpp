// SPDX-License-Identifier: Apache-2.0
// Reductions within a repeat, a data block or a pair of elements.
//
// Sums are binary trees over neighbouring elements, each addition rounded to the element type, as documented. Inactive
// lanes take no part: the tree sees an identity (-0 for sums, so that a lone -0 stays -0). The maximum or minimum of
// values with a NaN among them is NaN (the index is the first NaN's); of equal values the lowest index is reported.
#include <algorithm>
#include <array>
#include <cmath>

#include "core/core.h"
#include "vector/elementwise.h"
#include "vector/reduce.h"

namespace ascend_attention::sim {

namespace {

// In place: the result of elements 2i and 2i+1 goes to element i. Written to a second array, because neighbours would
// be a loop-carried dependence.
#define ASCEND_SIM_PAIR_LOOP(Name, Expression)                                                       \
    ASCEND_SIM_CLONES void Name(float* __restrict d, const float* __restrict a, std::size_t pairs) { \
        for (std::size_t i = 0; i < pairs; ++i) {                                                    \
            const float x = a[2 * i];                                                                \
            const float y = a[2 * i + 1];                                                            \
            d[i] = Expression;                                                                       \
        }                                                                                            \
    }

ASCEND_SIM_PAIR_LOOP(PairSum, x + y)
ASCEND_SIM_PAIR_LOOP(PairMax, x != x ? x : (x >= y ? x : y))
ASCEND_SIM_PAIR_LOOP(PairMin, x != x ? x : (x <= y ? x : y))

// Eight floats as one value: a register, two, or four, as the target has them.
using Eight = float __attribute__((vector_size(32)));

// The largest (smallest) of every eighth element of a row: rows of a repeat become eight values each. A vector wide, so
// that extremes need three folds of neighbours instead of six or seven.
#define ASCEND_SIM_COLUMN_LOOP(Name, Comparison)                                               \
    ASCEND_SIM_CLONES void Name(float* d, const float* a, std::size_t rows, std::size_t row) { \
        for (std::size_t r = 0; r < rows; ++r) {                                               \
            Eight x;                                                                           \
            std::memcpy(&x, a + r * row, sizeof(x));                                           \
            for (std::size_t k = 8; k < row; k += 8) {                                         \
                Eight y;                                                                       \
                std::memcpy(&y, a + r * row + k, sizeof(y));                                   \
                x = ((x != x) | (x Comparison y)) ? x : y;                                     \
            }                                                                                  \
            std::memcpy(d + r * 8, &x, sizeof(x));                                             \
        }                                                                                      \
    }

ASCEND_SIM_COLUMN_LOOP(ColumnMax, >=)
ASCEND_SIM_COLUMN_LOOP(ColumnMin, <=)

void FoldOnce(float* d, const float* a, std::size_t pairs, ReduceOp op) {
    if (op == ReduceOp::kSum) {
        PairSum(d, a, pairs);
    } else if (op == ReduceOp::kMax) {
        PairMax(d, a, pairs);
    } else {
        PairMin(d, a, pairs);
    }
}

constexpr DTypeSet kFloats(DType::kFloat16, DType::kFloat32);
constexpr std::uint8_t kValueIndex = 0;
constexpr std::uint8_t kIndexValue = 1;
constexpr std::uint8_t kOnlyValue = 2;
constexpr std::uint8_t kOnlyIndex = 3;

// Where results lie.
struct ResultLayout {
    std::uint64_t bytes = 0;        // of one result, which is also its alignment for whole repeats
    std::uint64_t per_repeat = 1;   // results of one repeat
    std::uint64_t repeat_unit = 0;  // of dstRepStride, in bytes
    std::uint64_t alignment = 0;
};

ResultLayout LayoutOf(ReduceOp op, ReduceScope scope, std::uint8_t order, std::uint64_t element, std::uint32_t lanes) {
    ResultLayout layout;
    if (scope == ReduceScope::kRepeat) {
        layout.bytes = op == ReduceOp::kSum || order == kOnlyValue ? element : order == kOnlyIndex ? 4 : 2 * element;
        layout.repeat_unit = layout.bytes;
        layout.alignment = layout.bytes;
    } else if (scope == ReduceScope::kBlock) {
        layout.bytes = element;
        layout.per_repeat = 8;
        layout.repeat_unit = 8 * element;
        layout.alignment = 8 * element;
    } else {
        layout.bytes = element;
        layout.per_repeat = lanes / 2;
        layout.repeat_unit = kRepeatBytes / 2;
        layout.alignment = kBlockBytes;
    }
    return layout;
}

// Which results of a repeat exist: those with an active lane below them.
struct Active {
    std::array<bool, kMaxLanes> result{};
    std::uint64_t count = 0;
};

Active ActiveResults(const Lanes& lanes, std::uint64_t repeat, std::uint64_t results) {
    Active active;
    const std::uint64_t span = lanes.per_repeat / results;
    for (std::uint64_t i = 0; i < results; ++i) {
        for (std::uint64_t lane = i * span; lane < (i + 1) * span && !active.result[i]; ++lane) {
            active.result[i] = lanes.Active(repeat, static_cast<std::uint32_t>(lane));
        }
        active.count += active.result[i] ? 1 : 0;
    }
    return active;
}

void DeclareResults(Access& access, const Operand& dst, const ResultLayout& layout, std::uint64_t repeat_step,
                    const Active& active, std::uint64_t first, std::uint64_t repeats) {
    for (std::uint64_t i = 0; i < layout.per_repeat;) {
        std::uint64_t end = i;
        while (end < layout.per_repeat && active.result[end]) {
            ++end;
        }
        if (end != i && repeats != 0) {
            access.Writes(
                dst, "dst",
                Region{first * repeat_step + i * layout.bytes, (end - i) * layout.bytes, repeats, repeat_step, 1, 0});
        }
        i = end == i ? i + 1 : end;
    }
}

void StoreIndex(std::byte* to, std::uint32_t index, std::uint64_t bytes) { std::memcpy(to, &index, bytes); }

void StoreWithIndex(std::byte* to, float value, std::uint32_t index, std::uint8_t order, std::uint32_t bits) {
    const std::uint64_t element = bits / 8;
    if (order == kValueIndex) {
        StoreValue(to, value, bits);
        StoreIndex(to + element, index, element);
    } else if (order == kIndexValue) {
        StoreIndex(to, index, element);
        StoreValue(to + element, value, bits);
    } else {
        StoreIndex(to, index, 4);
    }
}

}  // namespace

float ReduceIdentity(ReduceOp op) { return op == ReduceOp::kSum ? -0.0F : op == ReduceOp::kMax ? -INFINITY : INFINITY; }

ReduceSource::ReduceSource(const Stream& stream, const Lanes& lanes, const std::byte* memory, ReduceOp op)
    : stream_(stream), lanes_(lanes), mover_(stream, lanes), memory_(memory), identity_(ReduceIdentity(op)) {}

const float* ReduceSource::Read(float* values, std::uint64_t repeat, std::uint64_t count) const {
    const std::size_t elements = count * lanes_.per_repeat;
    const bool whole = repeat < lanes_.body && lanes_.full;
    const std::byte* dense = nullptr;
    alignas(64) std::byte scratch[kReduceGroup * kRepeatBytes];
    if (whole && stream_.block_step == kBlockBytes && (stream_.repeat_step == kRepeatBytes || count == 1)) {
        dense = memory_ + repeat * stream_.repeat_step;
        if (stream_.bits == 32) {
            return As<float>(dense);
        }
    } else {
        if (!whole) {
            std::memset(scratch, 0, sizeof(scratch));
        }
        mover_.Gather(scratch, memory_, repeat, count);
        dense = scratch;
    }
    if (stream_.bits == 32) {
        std::memcpy(values, dense, elements * sizeof(float));
    } else {
        HalfToFloat(values, As<std::uint16_t>(dense), elements);
    }
    if (!whole) {
        for (std::size_t i = 0; i < elements; ++i) {
            const auto lane = static_cast<std::uint32_t>(i % lanes_.per_repeat);
            values[i] = lanes_.Active(repeat, lane) ? values[i] : identity_;
        }
    }
    return values;
}

// The index of the first active lane that holds `value` (or a NaN, if that is the value).
std::uint32_t FirstIndex(const float* values, float value, const Lanes& lanes, std::uint64_t repeat) {
    for (std::uint32_t lane = 0; lane < lanes.per_repeat; ++lane) {
        if (lanes.Active(repeat, lane) && (values[lane] == value || (value != value && values[lane] != values[lane]))) {
            return lane;
        }
    }
    return 0;
}

void StoreValue(std::byte* to, float value, std::uint32_t bits) {
    if (bits == 32) {
        std::memcpy(to, &value, sizeof(value));
    } else {
        const std::uint16_t half = FloatToHalf(value);
        std::memcpy(to, &half, sizeof(half));
    }
}

const float* FoldTree(const float* values, FoldBuffers& buffers, std::size_t count, std::size_t span, ReduceOp op,
                      bool half) {
    const bool columns = op != ReduceOp::kSum && span > 16;
    const std::size_t row = span;
    const float* from = values;
    float* to = buffers.first;
    float* spare = buffers.second;
    if (columns) {
        (op == ReduceOp::kMax ? ColumnMax : ColumnMin)(to, from, count / span, span);
        count = count / span * 8;
        span = 8;
        from = to;
        std::swap(to, spare);
    }
    for (; span > 1; span /= 2) {
        count /= 2;
        FoldOnce(to, from, count, op);
        if (half && op == ReduceOp::kSum) {
            RoundThroughHalf(to, count);
        }
        from = to;
        std::swap(to, spare);
    }
    if (columns) {
        // Columns lose the order of lanes, which only shows in the sign of a zero: the first zero's counts.
        for (std::size_t r = 0; r < count; ++r) {
            const float* first = values + r * row;
            to[r] = from[r] == 0.0F ? *std::find(first, first + row, 0.0F) : from[r];
        }
        from = to;
    }
    return from;
}

namespace {

// Puts the results of a group of repeats where they belong.
struct ResultWriter {
    const Lanes& lanes;
    const ResultLayout& layout;
    std::byte* out;
    std::uint64_t repeat_step;
    std::uint32_t bits;
    std::uint8_t order;
    bool indexed;

    void Write(const float* values, const float* folded, std::uint64_t repeat, std::uint64_t count,
               const Active& active) const {
        if (!indexed && active.count == layout.per_repeat) {
            WriteAll(folded, repeat, count);
            return;
        }
        for (std::uint64_t i = 0; i < count; ++i) {
            std::byte* to = out + (repeat + i) * repeat_step;
            for (std::uint64_t k = 0; k < layout.per_repeat; ++k) {
                const float value = folded[i * layout.per_repeat + k];
                if (active.result[k] && indexed) {
                    const float* row = values + i * lanes.per_repeat;
                    StoreWithIndex(to, value, FirstIndex(row, value, lanes, repeat + i), order, bits);
                } else if (active.result[k]) {
                    StoreValue(to + k * layout.bytes, value, bits);
                }
            }
        }
    }

    // Every result exists: whole runs at a time.
    void WriteAll(const float* folded, std::uint64_t repeat, std::uint64_t count) const {
        const bool packed = repeat_step == layout.per_repeat * layout.bytes;
        const std::uint64_t runs = packed ? 1 : count;
        const std::uint64_t length = packed ? count * layout.per_repeat : layout.per_repeat;
        for (std::uint64_t i = 0; i < runs; ++i) {
            std::byte* to = out + (repeat + i) * repeat_step;
            if (bits == 32) {
                std::memcpy(to, folded + i * length, length * sizeof(float));
            } else {
                FloatToHalf(As<std::uint16_t>(to), folded + i * length, length);
            }
        }
    }
};

}  // namespace

namespace {

// The extreme over all repeats, which the scalar unit can read. The index counts lanes from the first repeat on.
class ExtremeRegister {
public:
    ExtremeRegister(Access& access, const VectorCall& call, const Lanes& lanes, ReduceOp op, ReduceScope scope)
        : state_(access.core().state), lanes_(lanes), op_(op), used_(scope == ReduceScope::kRepeat) {
        if (!used_) {
            return;
        }
        ReductionRegister& result = op == ReduceOp::kSum ? state_.sum : state_.extreme;
        result = ReductionRegister{};
        if (op == ReduceOp::kSum) {
            used_ = false;  // only ReduceSum's is documented
            return;
        }
        access.WritesRegister(VectorRegister::kExtreme);
        result.specified = call.src0_stride.block == 1 && call.src0_stride.repeat == 8 && !state_.mask.counter_mode;
        result.dtype = call.dst.dtype;
    }

    void Add(const float* values, const float* folded, std::uint64_t repeat, std::uint64_t count) {
        for (std::uint64_t i = 0; used_ && i < count; ++i) {
            const float value = folded[i];
            const bool better = value != value || (op_ == ReduceOp::kMax ? value > best_ : value < best_);
            if (found_ && (best_ != best_ || !better)) {
                continue;
            }
            found_ = true;
            best_ = value;
            const std::uint64_t at = repeat + i;
            state_.extreme.index = static_cast<std::uint32_t>(
                at * lanes_.per_repeat + FirstIndex(values + i * lanes_.per_repeat, value, lanes_, at));
            state_.extreme.value = 0;
            StoreValue(reinterpret_cast<std::byte*>(&state_.extreme.value), value,
                       state_.extreme.dtype == DType::kFloat32 ? 32 : 16);
        }
    }

private:
    MachineState& state_;
    const Lanes& lanes_;
    ReduceOp op_;
    bool used_;
    bool found_ = false;
    float best_ = 0.0F;
};

}  // namespace

void VectorReduce(const VectorCall& call, ReduceOp op, ReduceScope scope, std::uint8_t order) {
    Access access(CurrentCore(), call.head);
    RequireDType(access, call.dst.dtype, kFloats, "dst dtype", "float16, float32");
    RequireSameDType(access, call.dst, call.src0, "src dtype");
    access.Require(order <= kOnlyIndex, "order", order, "a ReduceOrder");
    access.Require(call.dst_stride.repeat >= 0 && call.dst_stride.repeat <= 65535, "dstRepStride",
                   call.dst_stride.repeat, "0..65535");
    const Stream src = MakeStream(access, call.src0, "src", call.src0_stride, 65535, 65535);
    const Lanes lanes = ResolveLanes(access, call.mask, call.repeat, kRepeatBytes * 8 / src.bits);
    const ResultLayout layout = LayoutOf(op, scope, order, src.bits / 8, lanes.per_repeat);
    access.RequireSpace(call.dst, "dst", Space::kUb);
    access.RequireAligned(call.dst, "dst", layout.alignment);
    if (lanes.empty()) {
        return;
    }
    const std::uint64_t repeat_step = static_cast<std::uint64_t>(call.dst_stride.repeat) * layout.repeat_unit;
    CheckReduceOverlap(access, call.dst, layout.bytes * layout.per_repeat, repeat_step, src, lanes);
    const Active body = ActiveResults(lanes, 0, layout.per_repeat);
    const Active tail = ActiveResults(lanes, lanes.body, layout.per_repeat);
    const std::byte* memory = DeclareReads(access, src, lanes);
    DeclareResults(access, call.dst, layout, repeat_step, body, 0, lanes.body);
    DeclareResults(access, call.dst, layout, repeat_step, tail, lanes.body, lanes.tail != 0 ? 1 : 0);
    std::byte* out = access.core().memory(Space::kUb) + call.dst.address;

    ExtremeRegister extreme(access, call, lanes, op, scope);
    const ReduceSource reader(src, lanes, memory, op);
    const ResultWriter writer{lanes,
                              layout,
                              out,
                              repeat_step,
                              src.bits,
                              order,
                              scope == ReduceScope::kRepeat && op != ReduceOp::kSum && order != kOnlyValue};
    const std::size_t span = lanes.per_repeat / layout.per_repeat;
    float buffer[kReduceGroup * kMaxLanes];
    FoldBuffers folds;
    for (std::uint64_t repeat = 0; repeat < lanes.repeats();) {
        const bool is_tail = repeat >= lanes.body;
        const std::uint64_t count = is_tail ? 1 : std::min<std::uint64_t>(kReduceGroup, lanes.body - repeat);
        const float* values = reader.Read(buffer, repeat, count);
        const float* folded = FoldTree(values, folds, count * lanes.per_repeat, span, op, src.bits == 16);
        extreme.Add(values, folded, repeat, count);
        writer.Write(values, folded, repeat, count, is_tail ? tail : body);
        repeat += count;
    }
}

}  // namespace ascend_attention::sim
