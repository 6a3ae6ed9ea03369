// SPDX-License-Identifier: Apache-2.0
// PFA 5 (pse_shift) and PFA 6 (int8).
#include "common/tensor_rules.h"
#include "prompt_flash_attention/check.h"

namespace ascend_attention::pfa {
namespace {

// PFA-C41, C42, C46: what turns int8 products into numbers and back.
Status CheckInnerScales(const Scene& scene) {
    const Request& request = scene.request;
    const NamedTensor rows[] = {{"deq_scale1", &request.deq_scale1},
                                {"quant_scale1", &request.quant_scale1},
                                {"deq_scale2", &request.deq_scale2}};
    for (const NamedTensor& row : rows) {
        const OptionalTensor& scale = *row.tensor;
        if (!scene.int8_query()) {
            if (scale) {
                return Refuse("PFA-C42", row.name, TensorText(scale),
                              Concat("none with ", DTypeText(*request.query), " inputs"));
            }
            continue;
        }
        if (!scale || NumElements(scale->shape) == 0) {
            return Refuse("PFA-C41", row.name, TensorText(scale), "a tensor of one element with int8 inputs",
                          "deq_scale1, quant_scale1 and deq_scale2 belong together.");
        }
        const bool packed = row.tensor != &request.quant_scale1 && scale->dtype == DType::kUInt64;
        if ((scale->dtype != DType::kFloat32 && !packed) || NumElements(scale->shape) != 1) {
            return Refuse("PFA-C46", row.name, TensorText(scale),
                          Concat(row.tensor == &request.quant_scale1 ? "float32" : "uint64, float32", ", one element"));
        }
    }
    return OkStatus();
}

Status CheckOutputScale(const Scene& scene) {
    const Request& request = scene.request;
    const OutputQuantArguments arguments = OutputQuantOf(scene);
    if (Status status = CheckOffsetHasScale(arguments, "PFA-C43"); !status.ok() || !request.quant_scale2) {
        return status;
    }
    if (Status status = CheckOffsetLikeScale(arguments, "PFA-C43"); !status.ok()) {
        return status;
    }
    if (Status status = CheckScaleDType(arguments, "PFA-C44"); !status.ok()) {
        return status;
    }
    if (Status status = CheckScaleCount(arguments, "PFA-C45"); !status.ok()) {
        return status;
    }
    if (Status status = CheckScalePerChannel(arguments, "PFA-C47"); !status.ok()) {
        return status;
    }
    if (request.sparse_mode == 4 && (request.pre_tokens < 0 || request.next_tokens < 0)) {
        return Refuse("PFA-C48", "pre_tokens",
                      Concat("pre_tokens ", request.pre_tokens, ", next_tokens ", request.next_tokens),
                      "neither negative with sparse_mode 4 and quant_scale2");
    }
    if (!request.quant_offset2 || NumElements(request.quant_offset2->shape) == 0) {
        return OkStatus();
    }
    return CheckEmptyRows(MaskOf(scene), "PFA-C49", "quant_offset2", QueryLengths(scene), KeyLengths(scene));
}

}  // namespace

Status CheckPseShift(Scene& scene) {
    const Request& request = scene.request;
    if (!request.pse_shift) {
        return OkStatus();
    }
    if (scene.cards()) {
        return Refuse("PFA-C38", "pse_shift", TensorText(request.pse_shift),
                      Concat("none on ", NameOf(scene.soc.product)));
    }
    if (scene.packed()) {
        return Refuse("PFA-C39", "pse_shift", TensorText(request.pse_shift), "none with input_layout TND");
    }
    const PseArguments arguments = {kPromptFlashAttention, *request.pse_shift, request.query->dtype, scene.batch,
                                    scene.query_heads,     scene.query_length, scene.key_length};
    if (Status status = CheckPseShape(arguments, "PFA-C36"); !status.ok()) {
        return status;
    }
    return CheckPseDType(arguments, "PFA-C37");
}

Status CheckQuant(Scene& scene) {
    const Request& request = scene.request;
    const NamedTensor rows[] = {{"deq_scale1", &request.deq_scale1},
                                {"quant_scale1", &request.quant_scale1},
                                {"deq_scale2", &request.deq_scale2},
                                {"quant_scale2", &request.quant_scale2},
                                {"quant_offset2", &request.quant_offset2}};
    for (const NamedTensor& row : rows) {
        if (scene.cards() && row.tensor->has_value()) {
            return Refuse("PFA-C40", row.name, TensorText(*row.tensor), Concat("none on ", NameOf(scene.soc.product)));
        }
    }
    if (Status status = CheckInnerScales(scene); !status.ok()) {
        return status;
    }
    return CheckOutputScale(scene);
}

}  // namespace ascend_attention::pfa
