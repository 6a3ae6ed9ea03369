// SPDX-License-Identifier: Apache-2.0
#include "common/mask_rules.h"

#include <algorithm>

#include "common/text.h"

namespace ascend_attention {
namespace {

// A negative reach must leave something to see: `reach` < 0 needs -reach below every length. Negating INT64_MIN would
// overflow, so both sides are compared negated.
Status CheckReach(const char* op, const char* rule, const char* argument, int64_t reach, const char* what,
                  LengthsView lengths) {
    if (reach >= 0) {
        return OkStatus();
    }
    for (size_t i = 0; i < lengths.size(); ++i) {
        if (reach <= -lengths[i]) {
            return Refusal(op, rule, argument, std::to_string(reach),
                           lengths[i] == 0 ? Concat("at least 0, because batch ", i, " has no ", what)
                                           : Concat("above -", lengths[i], ": batch ", i, " has so many ", what));
        }
    }
    return OkStatus();
}

}  // namespace

bool IsCompressedMask(const Shape& shape) {
    constexpr int64_t kSide = 2048;
    const size_t rank = shape.size();
    if (rank < 2 || rank > 4 || shape[rank - 1] != kSide || shape[rank - 2] != kSide) {
        return false;
    }
    return std::all_of(shape.begin(), shape.end() - 2, [](int64_t dim) { return dim == 1; });
}

Status CheckMaskDType(const MaskArguments& arguments, const char* rule) {
    const OptionalTensor& mask = arguments.mask;
    if (mask && mask->dtype != DType::kBool && mask->dtype != DType::kInt8 && mask->dtype != DType::kUInt8) {
        return Refusal(arguments.op, rule, "atten_mask", DTypeText(*mask), "bool, int8, uint8",
                       "Non-zero hides the pair. From additive values: atten_mask = values < 0; from True where a key "
                       "is seen: atten_mask = ~mask.");
    }
    return OkStatus();
}

std::string CompressedMaskHelp() {
    return "The (2048, 2048) mask is ones above the diagonal, whatever the lengths: triu(ones((2048, 2048), "
           "dtype=bool), "
           "1), both functions of torch or both of numpy. Non-zero hides, and the content is not read.";
}

Status CheckCompressedMask(const MaskArguments& arguments, const char* rule) {
    const OptionalTensor& mask = arguments.mask;
    if (!mask || !IsCompressedMask(mask->shape)) {
        return Refusal(
            arguments.op, rule, "atten_mask", mask ? Concat("shape ", ShapeText(mask->shape)) : "none",
            Concat("(2048, 2048), (1, 2048, 2048) or (1, 1, 2048, 2048) with sparse_mode ", arguments.sparse_mode),
            mask && !arguments.packed
                ? Concat("A mask of (Q_S, KV_S) goes with sparse_mode 0 or 1. ", CompressedMaskHelp())
                : CompressedMaskHelp());
    }
    return OkStatus();
}

Status CheckFullMask(const MaskArguments& arguments, const char* rule) {
    const Shape& shape = arguments.mask->shape;
    const size_t rank = shape.size();
    bool fits =
        rank >= 2 && rank <= 4 && shape[rank - 2] >= arguments.query_length && shape[rank - 1] >= arguments.key_length;
    if (fits && rank >= 3) {
        fits = shape[0] == 1 || shape[0] == arguments.batch;
    }
    if (fits && rank == 4) {
        fits = shape[1] == 1;
    }
    if (!fits) {
        const std::string pair = Concat(arguments.query_length, ", ", arguments.key_length, ")");
        const std::string batch = arguments.batch == 1 ? "(1, " : Concat("(1 or ", arguments.batch, ", ");
        return Refusal(
            arguments.op, rule, "atten_mask", Concat("shape ", ShapeText(shape)),
            Concat("(", pair, ", ", batch, pair, " or ", batch, "1, ", pair, "; the last two dimensions may be larger"),
            IsCompressedMask(shape)     ? "The (2048, 2048) mask that stands for any lengths goes with "
                                          "sparse_mode 2, 3 or 4."
            : rank == 4 && shape[1] > 1 ? "A mask has no axis of heads: all heads share it. Non-zero hides the pair."
            : rank >= 3 && shape[0] != 1 && shape[0] != arguments.batch
                ? "Axis 0 is the batch: a mask has no axis of heads. Non-zero hides the pair."
                : "Non-zero hides the pair.");
    }
    return OkStatus();
}

Status CheckAllMask(const MaskArguments& arguments, const char* rule) {
    if (arguments.sparse_mode != 1 || arguments.mask) {
        return OkStatus();
    }
    return Refusal(
        arguments.op, rule, "atten_mask", "none",
        Concat("a mask of at least (", arguments.query_length, ", ", arguments.key_length, ") with sparse_mode 1"));
}

Status CheckTokens(const MaskArguments& arguments, const TokenRules& rules, LengthsView query_lengths,
                   LengthsView key_lengths) {
    const int64_t pre = arguments.pre_tokens;
    const int64_t next = arguments.next_tokens;
    const char* op = arguments.op;
    const auto both = [&] { return Concat("pre_tokens ", pre, ", next_tokens ", next); };
    if (pre < 0 && next < 0) {
        return Refusal(op, rules.both_negative, "pre_tokens", both(), "not both negative");
    }
    int64_t width = 0;
    if (!__builtin_add_overflow(pre, next, &width) && width < 0) {
        return Refusal(op, rules.width, "pre_tokens", both(), "pre_tokens + next_tokens >= 0");
    }
    const bool top_left = arguments.sparse_mode == 0;
    const char* rule = top_left ? rules.top_left : rules.bottom_right;
    const LengthsView next_lengths = top_left ? query_lengths : key_lengths;
    const LengthsView pre_lengths = top_left ? key_lengths : query_lengths;
    Status status = CheckReach(op, rule, "next_tokens", next, top_left ? "queries" : "keys", next_lengths);
    if (!status.ok()) {
        return status;
    }
    return CheckReach(op, rule, "pre_tokens", pre, top_left ? "keys" : "queries", pre_lengths);
}

Status CheckEmptyRows(const MaskArguments& arguments, const char* rule, const char* offset, LengthsView query_lengths,
                      LengthsView key_lengths) {
    constexpr int64_t kFar = int64_t(1) << 40;
    const int64_t pre = std::clamp(arguments.pre_tokens, -kFar, kFar);
    const int64_t next = std::clamp(arguments.next_tokens, -kFar, kFar);
    const int64_t mode = arguments.sparse_mode;
    for (size_t b = 0; b < query_lengths.size(); ++b) {
        const int64_t excess = query_lengths[b] - key_lengths[b];
        const bool empty = (mode == 0 && arguments.mask && (excess - pre > 0 || next < 0)) ||
                           (mode == 3 && excess > 0) || (mode == 4 && (pre < 0 || next < excess));
        if (empty) {
            return Refusal(arguments.op, rule, offset,
                           Concat("sparse_mode ", mode, ", pre_tokens ", arguments.pre_tokens, ", next_tokens ",
                                  arguments.next_tokens, ", batch ", b, " with ", query_lengths[b], " queries and ",
                                  key_lengths[b], " keys"),
                           Concat("no query row without keys when ", offset, " is given"));
        }
    }
    return OkStatus();
}

}  // namespace ascend_attention
