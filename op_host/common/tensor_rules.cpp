// SPDX-License-Identifier: Apache-2.0
#include "common/tensor_rules.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

#include "common/own_rules.h"
#include "common/text.h"

namespace ascend_attention {

Status CheckGiven(const char* op, const char* rule, std::initializer_list<NamedTensor> tensors) {
    for (const NamedTensor& row : tensors) {
        if (!row.tensor->has_value()) {
            return MissingTensor(op, rule, row.name, "query, key and value are required.");
        }
    }
    return OkStatus();
}

namespace {

// The layout of the same data before or after its axes 1 and 2 were exchanged, with the same results; null when none.
const char* TransposedLayout(const Layout& layout) {
    const char* pairs[][2] = {
        {"BNSD", "BSND"}, {"BSND", "BNSD"}, {"BNSD_NBSD", "BSND_NBSD"}, {"BSND_NBSD", "BNSD_NBSD"}};
    for (const auto& pair : pairs) {
        if (layout.name == std::string(pair[0])) {
            return pair[1];
        }
    }
    return layout.name == std::string("BNSD_BSND") ? "BSND" : nullptr;
}

// A copy of a cache is dear: what needs none comes first.
std::string ContiguousHelp(const std::string& name, const Shape& shape, const Placement& placement) {
    const bool rope = name == "query_rope" || name == "key_rope";
    const bool keys = !rope && (name.rfind("key", 0) == 0 || name.rfind("value", 0) == 0);
    const bool latent = (keys || name == "query") && !shape.empty() && shape.back() == 512;
    std::string help = "A kernel is given an address and a shape, no strides.";
    const char* other = TransposedLayout(*placement.layout);
    if (rope || latent) {
        help += " A slice of the last axis has gaps: keep what rope is in, and the rest, in tensors of their own.";
    }
    const bool transposed = shape.size() == 4;  // as far as can be told
    if (transposed && keys && placement.paged) {
        help += " Blocks of (block_size, N, D) need no transpose: view them as (blocks, block_size, N * D).";
    } else if (transposed && other != nullptr && (keys || name == "query")) {
        help += Concat(" If this is a transpose, give the tensor as it was before, in layout ", other, ".");
    }
    if (keys) {
        help +=
            " Of a stacked cache kv[:, 0] has gaps; two tensors, or kv[0] and kv[1] of a stack on axis 0, have none.";
    }
    return help +
           " Otherwise copy: torch: .contiguous(); NumPy: numpy.ascontiguousarray, for arrays in Fortran order too.";
}

}  // namespace

int64_t MisalignedBytes(const TensorView& tensor) {
    const uintptr_t bytes = uintptr_t(SizeOf(tensor.dtype));
    return bytes == 0 ? 0 : int64_t(reinterpret_cast<uintptr_t>(tensor.data) % bytes);
}

Status RefuseMisaligned(const char* op, const std::string& name, const TensorView& tensor) {
    const int64_t bytes = SizeOf(tensor.dtype);
    return Refusal(op, own_rule::kMemory, name,
                   Concat("an address that is ", MisalignedBytes(tensor), " bytes above a multiple of ", bytes),
                   Concat("a multiple of ", bytes, ", the size of an element"),
                   "NumPy: array.copy(), of a view into bytes.");
}

void MemoryCheck::operator()(const char* name, const OptionalTensor& tensor) {
    if (!tensor || !status_.ok()) {
        return;
    }
    if (!tensor->contiguous) {
        status_ = Refusal(op_, contiguous_rule_, name, "a non-contiguous tensor", "a contiguous tensor",
                          ContiguousHelp(name, tensor->shape, placement_));
        return;
    }
    if (MisalignedBytes(*tensor) != 0) {
        status_ = RefuseMisaligned(op_, name, *tensor);
        return;
    }
    const Shape& shape = tensor->shape;
    const bool negative = std::any_of(shape.begin(), shape.end(), [](int64_t dim) { return dim < 0; });
    if (negative) {
        status_ = Refusal(op_, shape_rule_, name, Concat("shape ", ShapeText(shape)), "no negative dimension");
    } else if (NumElements(shape) == std::numeric_limits<int64_t>::max()) {
        status_ = Refusal(op_, shape_rule_, name, Concat("shape ", ShapeText(shape)), "fewer than 2^63 elements");
    }
}

Status CheckRank(const char* op, const char* rule, const NamedTensor& tensor, int rank,
                 const std::string& layout_argument, const std::string& layout) {
    const Shape& shape = (*tensor.tensor)->shape;
    if (int(shape.size()) != rank) {
        return Refusal(op, rule, tensor.name, Concat("shape ", ShapeText(shape)),
                       Concat(rank, " dimensions for ", layout_argument, " ", layout),
                       layout == "BSH" && shape.size() == 4
                           ? Concat(layout_argument, " is none or BSH; BSND and BNSD have 4 dimensions.")
                       : rank == 3 && shape.size() == 4 ? "BSND and BNSD have 4 dimensions."
                       : rank == 4 && shape.size() == 3 ? "(B, S, N*D) is BSH, and packed tokens (T, N, D) are TND."
                                                        : "");
    }
    return OkStatus();
}

Status CheckScale(const char* op, const char* rule, const char* argument, double scale) {
    constexpr float kLargest = std::numeric_limits<float>::max();
    if (std::abs(scale) <= kLargest) {  // what is not a number fails the comparison too
        return OkStatus();
    }
    return Refusal(op, rule, argument, Concat(scale), Concat("a finite float32: at most ", kLargest, " in magnitude"),
                   "The usual value is 1 / sqrt(head_dim).");
}

}  // namespace ascend_attention
