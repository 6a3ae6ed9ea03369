// SPDX-License-Identifier: Apache-2.0
// FIA 13: grouped heads with an int8 cache in NZ form.
#include "fused_infer_attention_score_v2/check.h"

namespace ascend_attention::fia_v2 {
namespace {

Status CheckNzBasics(const Scene& scene) {
    const Request& request = scene.request;
    const std::string name = scene.layout->name;
    if (request.query->dtype != DType::kBFloat16 || request.key->dtype != DType::kInt8 || scene.head_dim != 128 ||
        scene.query_length < 1 || scene.query_length > 16) {
        return Refuse("FIA-C153", "query",
                      Concat(DTypeText(*request.query), " query, ", DTypeText(*request.key), " key, head_dim ",
                             scene.head_dim, ", Q_S ", scene.query_length),
                      "with an NZ cache: bfloat16 query, int8 key and value, head_dim 128, Q_S 1 to 16");
    }
    const bool layout = name == "BSH" || name == "BSND" || name == "BNSD";
    if (!layout || (request.block_size != 128 && request.block_size != 512)) {
        return Refuse("FIA-C154", "block_size", Concat(request.block_size, ", input_layout '", name, "'"),
                      "128 or 512 and BSH, BSND or BNSD with an NZ cache");
    }
    if (request.inner_precise != 1) {
        return Refuse("FIA-C156", "inner_precise", std::to_string(request.inner_precise), "1 with an NZ cache");
    }
    const int64_t q = scene.query_heads;
    const int64_t k = scene.key_heads;
    if (!(q == 10 && k == 1) && !(q == 64 && k == 8) && !(q == 80 && k == 8) && !(q == 128 && k == 16)) {
        return Refuse("FIA-C159", "num_query_heads", HeadsText(scene), "10 over 1, 64 or 80 over 8, 128 over 16");
    }
    return OkStatus();
}

Status CheckNzScale(const Scene& scene, const char* name, const OptionalTensor& scale) {
    const int64_t mode = scene.request.key_quant_mode;
    if (mode == 1) {
        const bool fits = scale->dtype == DType::kFloat32 && scale->shape.size() == 2 &&
                          scale->shape[0] == scene.batch && scale->shape[1] >= scene.key_length;
        return fits ? OkStatus()
                    : Refuse("FIA-C155", name, TensorText(scale),
                             Concat("float32 (", scene.batch, ", at least ", scene.key_length, ")"));
    }
    const int64_t n = scene.key_heads;
    const int64_t d = scene.head_dim;
    Shape wanted = {n * d};
    if (scene.layout->input == AxisOrder::kBNSD) {
        wanted = {n, 1, d};
    } else if (scene.layout->input == AxisOrder::kBSND) {
        wanted = {n, d};
    }
    const bool fits = mode == 0 && scale->dtype == DType::kBFloat16 && scale->shape == wanted;
    return fits ? OkStatus()
                : Refuse("FIA-C155", name, Concat(TensorText(scale), ", key_quant_mode ", mode),
                         Concat("bfloat16 ", ShapeText(wanted), " with key_quant_mode 0, float32 with 1"));
}

Status CheckNzMask(const Scene& scene) {
    const OptionalTensor& mask = scene.request.atten_mask;
    const int64_t mode = scene.request.sparse_mode;
    const bool one_row = scene.single_row() && mode == 0 && !mask;
    const bool rows = !scene.single_row() && mode == 3 && mask && mask->shape == Shape{2048, 2048};
    if (!one_row && !rows) {
        return Refuse("FIA-C157", "sparse_mode", Concat(mode, ", atten_mask ", TensorText(mask)),
                      "with an NZ cache: Q_S 1: 0 without mask; Q_S > 1: 3 with a (2048, 2048) mask");
    }
    return OkStatus();
}

}  // namespace

Status CheckNzCache(Scene& scene) {
    if (scene.cache != Cache::kNZ || scene.rope()) {
        return OkStatus();
    }
    const Request& request = scene.request;
    if (Status status = CheckNzBasics(scene); !status.ok()) {
        return status;
    }
    if (scene.has_key_offset() || request.pse_shift || request.quant_scale_out) {
        return Refuse("FIA-C158",
                      scene.has_key_offset() ? "dequant_offset_key"
                      : request.pse_shift    ? "pse_shift"
                                             : "quant_scale_out",
                      "a tensor", "none with an NZ cache");
    }
    if (request.value_quant_mode != request.key_quant_mode) {
        return Refuse("FIA-C155", "value_quant_mode",
                      Concat(request.value_quant_mode, " with key_quant_mode ", request.key_quant_mode),
                      "key_quant_mode, 0 or 1, with an NZ cache");
    }
    if (Status status = CheckNzScale(scene, "dequant_scale_key", request.dequant_scale_key); !status.ok()) {
        return status;
    }
    if (Status status = CheckNzScale(scene, "dequant_scale_value", request.dequant_scale_value); !status.ok()) {
        return status;
    }
    if (Status status = CheckNzMask(scene); !status.ok()) {
        return status;
    }
    if (HasLengths(request.actual_seq_qlen) || request.return_softmax_lse) {
        return Refuse("FIA-C160", request.return_softmax_lse ? "return_softmax_lse" : "actual_seq_qlen", "given",
                      "neither actual_seq_qlen nor softmax_lse with an NZ cache");
    }
    return OkStatus();
}

}  // namespace ascend_attention::fia_v2
