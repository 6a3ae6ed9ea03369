// SPDX-License-Identifier: Apache-2.0
// FIA 1: dtypes, contiguity, layout and ranks.
#include "common/tensor_rules.h"
#include "fused_infer_attention_score_v2/arguments.h"
#include "fused_infer_attention_score_v2/check.h"

namespace ascend_attention::fia_v2 {
namespace {

Status CheckLayoutName(Scene& scene) {
    scene.layout = FindLayout(scene.request.input_layout);
    if (scene.layout == nullptr) {
        return Refuse("FIA-C7", "input_layout", Quoted(scene.request.input_layout), LayoutNames(),
                      LayoutHelp(scene.request.input_layout));
    }
    return OkStatus();
}

std::string MixText(const Request& request) {
    return Concat("query is ", NameOf(request.query->dtype), ", key ", NameOf(request.key->dtype), ", value ",
                  NameOf(request.value->dtype), ": without quantisation all three are of one dtype.");
}

Status CheckDTypes(const Scene& scene) {
    const Request& request = scene.request;
    const DType query = request.query->dtype;
    const DType key = request.key->dtype;
    const DType value = request.value->dtype;
    const bool both_ropes = request.query_rope.has_value() && request.key_rope.has_value();
    if (query == DType::kInt8 && !both_ropes) {
        return Refuse("FIA-C1", "query", "int8 without query_rope and key_rope", "float16, bfloat16",
                      "int8 queries exist only in MLA full quantisation.");
    }
    if (!IsHalfWidth(query) && query != DType::kInt8) {
        return Refuse("FIA-C1", "query", DTypeText(*request.query),
                      "float16, bfloat16 (int8 in MLA full quantisation)");
    }
    for (const NamedTensor& row : {NamedTensor{"key", &request.key}, NamedTensor{"value", &request.value}}) {
        const DType dtype = (*row.tensor)->dtype;
        if (!IsHalfWidth(dtype) && dtype != DType::kInt8 && dtype != DType::kInt32) {
            return Refuse("FIA-C2", row.name, DTypeText(**row.tensor),
                          "float16, bfloat16, int8, int32 (eight int4 each)");
        }
    }
    if (key != value) {
        const bool key_is_odd = value == query;
        return Refuse("FIA-C3", key_is_odd ? "key" : "value", NameOf(key_is_odd ? key : value),
                      Concat("the dtype of ", key_is_odd ? "value (" : "key (", NameOf(key_is_odd ? value : key), ")"),
                      MixText(request));
    }
    if (IsHalfWidth(query) && IsHalfWidth(key) && !scene.has_key_scale() && key != query) {
        return Refuse("FIA-C4", "key", NameOf(key), Concat("the dtype of query (", NameOf(query), ")"),
                      MixText(request));
    }
    if (IsHalfWidth(query) && scene.quantised_keys() &&
        !(request.dequant_scale_key.has_value() && request.dequant_scale_value.has_value())) {
        const bool key_missing = !request.dequant_scale_key.has_value();
        return Refuse("FIA-C5", key_missing ? "dequant_scale_key" : "dequant_scale_value", "none",
                      Concat("a tensor, because key and value are ", NameOf(key)));
    }
    return OkStatus();
}

Status CheckMemory(const Scene& scene) {
    MemoryCheck memory(kFusedInferAttentionScoreV2, "FIA-C6", "FIA-C8", {scene.layout, scene.paged()});
    VisitArguments(scene.request, memory);
    return memory.status();
}

Status CheckRanks(const Scene& scene) {
    const Request& request = scene.request;
    const int rank = RankOf(scene.layout->input);
    for (const NamedTensor& row : {NamedTensor{"query", &request.query}, NamedTensor{"key", &request.key},
                                   NamedTensor{"value", &request.value}}) {
        if (scene.paged() && row.tensor != &request.query) {
            continue;  // FIA 6 looks at cache shapes
        }
        Status status = CheckRank(kFusedInferAttentionScoreV2, "FIA-C8", row, rank, "input_layout", scene.layout->name);
        if (!status.ok()) {
            return status;
        }
    }
    return OkStatus();
}

Status CheckReserved(const Request& request) {
    if (request.dequant_scale_key_rope.has_value()) {
        return Refuse("FIA-A2", "dequant_scale_key_rope", TensorText(request.dequant_scale_key_rope), "none",
                      "The document reserves this argument.");
    }
    struct Row {
        const char* name;
        const std::optional<int64_t>* dtype;
    };
    const Row rows[] = {
        {"query_dtype", &request.query_dtype},
        {"key_dtype", &request.key_dtype},
        {"value_dtype", &request.value_dtype},
        {"query_rope_dtype", &request.query_rope_dtype},
        {"key_rope_dtype", &request.key_rope_dtype},
        {"key_shared_prefix_dtype", &request.key_shared_prefix_dtype},
        {"value_shared_prefix_dtype", &request.value_shared_prefix_dtype},
        {"dequant_scale_query_dtype", &request.dequant_scale_query_dtype},
        {"dequant_scale_key_dtype", &request.dequant_scale_key_dtype},
        {"dequant_scale_value_dtype", &request.dequant_scale_value_dtype},
        {"dequant_scale_key_rope_dtype", &request.dequant_scale_key_rope_dtype},
    };
    for (const Row& row : rows) {
        if (row.dtype->has_value()) {
            return Refuse("FIA-A2", row.name, std::to_string(**row.dtype), "none",
                          "The document reserves this argument.");
        }
    }
    return OkStatus();
}

}  // namespace

Status CheckTypes(Scene& scene) {
    if (Status status = CheckLayoutName(scene); !status.ok()) {
        return status;
    }
    if (Status status = CheckTensorLists(scene); !status.ok()) {
        return status;
    }
    if (Status status = CheckDTypes(scene); !status.ok()) {
        return status;
    }
    if (Status status = CheckMemory(scene); !status.ok()) {
        return status;
    }
    if (Status status = CheckRanks(scene); !status.ok()) {
        return status;
    }
    return CheckReserved(scene.request);
}

Status CheckPrecision(Scene& scene) {
    const Request& request = scene.request;
    const auto layout = [&] { return Concat("'", scene.layout->name, "'"); };
    if (request.input_layout == "BNSD_BSND" && scene.query_length == 1) {
        return Refuse("FIA-C9", "input_layout", layout() + " with Q_S 1", "Q_S > 1 with BNSD_BSND",
                      "With one query row use BNSD and transpose the result.");
    }
    if (scene.layout->head_first_output()) {
        if (scene.query_length > 16 || scene.query_length < 1) {
            return Refuse("FIA-C10", "input_layout", Concat(layout(), " with Q_S ", scene.query_length),
                          Concat("Q_S from 1 to 16 with ", scene.layout->name));
        }
        if (!request.query_rope || !request.key_rope || scene.head_dim != 512) {
            return Refuse("FIA-C11", "input_layout",
                          Concat(layout(), " with head_dim ", scene.head_dim, ", query_rope ",
                                 TensorText(request.query_rope), ", key_rope ", TensorText(request.key_rope)),
                          Concat(scene.layout->name, " only with query_rope, key_rope and head_dim 512"));
        }
    }
    if (Status status = CheckScale(kFusedInferAttentionScoreV2, "FIA-A4", "softmax_scale", request.softmax_scale);
        !status.ok()) {
        return status;
    }
    if (request.inner_precise < 0 || request.inner_precise > 3) {
        return Refuse("FIA-C12", "inner_precise", std::to_string(request.inner_precise), "0, 1, 2, 3");
    }
    if (scene.decode_rules() && request.inner_precise > 1 && !scene.extended()) {
        return Refuse("FIA-C13", "inner_precise", std::to_string(request.inner_precise),
                      scene.single_row() ? "0, 1 when Q_S is 1"
                                         : "0, 1 with head_dim 512 in MLA and token-packed calls, as when Q_S is 1");
    }
    return OkStatus();
}

}  // namespace ascend_attention::fia_v2
