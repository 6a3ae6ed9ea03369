// SPDX-License-Identifier: Apache-2.0
#include "common/output_quant.h"

#include "common/text.h"

namespace ascend_attention {

Status CheckOffsetHasScale(const OutputQuantArguments& arguments, const char* rule) {
    if (arguments.offset && !arguments.scale) {
        return Refusal(arguments.op, rule, arguments.offset_name, TensorText(arguments.offset),
                       Concat("none without ", arguments.scale_name));
    }
    return OkStatus();
}

Status CheckOffsetLikeScale(const OutputQuantArguments& arguments, const char* rule) {
    const OptionalTensor& scale = arguments.scale;
    const OptionalTensor& offset = arguments.offset;
    if (offset && (offset->dtype != scale->dtype || offset->shape != scale->shape)) {
        return Refusal(arguments.op, rule, arguments.offset_name, TensorText(offset),
                       Concat("dtype and shape of ", arguments.scale_name, ": ", TensorText(scale)));
    }
    return OkStatus();
}

Status CheckScaleDType(const OutputQuantArguments& arguments, const char* rule) {
    const DType scale = arguments.scale->dtype;
    const bool bfloat16 = arguments.query == DType::kBFloat16 && scale == DType::kBFloat16;
    const bool float16 = arguments.query == DType::kFloat16 && scale == DType::kFloat16;
    if (scale != DType::kFloat32 && !bfloat16 && !(float16 && arguments.float16_scale)) {
        return Refusal(arguments.op, rule, arguments.scale_name, DTypeText(*arguments.scale),
                       arguments.float16_scale ? "float32, or the dtype of a float16 or bfloat16 query"
                                               : "float32, or bfloat16 with bfloat16 query");
    }
    return OkStatus();
}

Status CheckScaleCount(const OutputQuantArguments& arguments, const char* rule) {
    const int64_t channels = arguments.heads * arguments.head_dim;
    const int64_t count = NumElements(arguments.scale->shape);
    if (count != 1 && count != channels) {
        return Refusal(arguments.op, rule, arguments.scale_name, Concat("shape ", ShapeText(arguments.scale->shape)),
                       Concat("1 or ", arguments.heads_name, " * head_dim (", channels, ") elements"));
    }
    return OkStatus();
}

Status CheckScalePerChannel(const OutputQuantArguments& arguments, const char* rule) {
    if (NumElements(arguments.scale->shape) != 1 && arguments.head_dim % 32 != 0) {
        return Refusal(arguments.op, rule, arguments.scale_name, Concat("head_dim ", arguments.head_dim),
                       Concat("head_dim a multiple of 32 with a ", arguments.scale_name, " per channel"));
    }
    return OkStatus();
}

Status CheckPseShape(const PseArguments& arguments, const char* rule) {
    const Shape& shape = arguments.pse.shape;
    if (shape.size() == 4 && (shape[0] == 1 || shape[0] == arguments.batch) && shape[1] == arguments.heads &&
        shape[2] >= arguments.query_length && shape[3] >= arguments.key_length) {
        return OkStatus();
    }
    return Refusal(arguments.op, rule, "pse_shift", Concat("shape ", ShapeText(shape)),
                   Concat(arguments.batch == 1 ? "(1" : Concat("(1 or ", arguments.batch), ", ", arguments.heads,
                          ", at least ", arguments.query_length, ", at least ", arguments.key_length, ")"),
                   shape.size() == 3 ? "It has four axes; one bias for all sequences begins with 1." : "");
}

Status CheckPseDType(const PseArguments& arguments, const char* rule) {
    const DType pse = arguments.pse.dtype;
    const DType query = arguments.query;
    if ((IsHalfWidth(query) && pse == query) || (pse == DType::kFloat16 && query == DType::kInt8)) {
        return OkStatus();
    }
    return Refusal(arguments.op, rule, "pse_shift", DTypeText(arguments.pse),
                   "float16 with float16 or int8 query, bfloat16 with bfloat16 query");
}

}  // namespace ascend_attention
