// SPDX-License-Identifier: Apache-2.0
#include "prompt_flash_attention/check.h"

#include "common/head_counts.h"
#include "common/tensor_rules.h"
#include "prompt_flash_attention/arguments.h"

namespace ascend_attention::pfa {
namespace {

Status CheckDTypes(const Scene& scene) {
    const Request& request = scene.request;
    const NamedTensor rows[] = {{"query", &request.query}, {"key", &request.key}, {"value", &request.value}};
    for (const NamedTensor& row : rows) {
        const DType dtype = (*row.tensor)->dtype;
        if (scene.cards() && dtype != DType::kFloat16) {
            return Refuse("PFA-C2", row.name, DTypeText(**row.tensor),
                          Concat("float16 on ", NameOf(scene.soc.product)));
        }
        if (!IsHalfWidth(dtype) && dtype != DType::kInt8) {
            return Refuse("PFA-C1", row.name, DTypeText(**row.tensor), "float16, bfloat16, int8");
        }
    }
    const std::string query = DTypeText(*request.query);
    const std::string key = DTypeText(*request.key);
    const std::string value = DTypeText(*request.value);
    if (key != query || value != query) {
        // The one that differs from the other two is at fault.
        const bool query_is_odd = key == value;
        const bool key_is_odd = !query_is_odd && value == query;
        const char* argument = query_is_odd ? "query" : key_is_odd ? "key" : "value";
        const std::string& given = query_is_odd ? query : key_is_odd ? key : value;
        return Refuse("PFA-C1", argument, given,
                      Concat("one dtype for query (", query, "), key (", key, ") and value (", value, ")"));
    }
    return OkStatus();
}

void SuspectLayout(const Scene& scene, Status* status) {
    const Request& request = scene.request;
    if (scene.layout != nullptr) {
        SuspectTnd({"PFA-C7", "PFA-C11", "PFA-C12", "PFA-C13", "PFA-C19", "PFA-C20"}, scene.layout->input,
                   request.query->shape, request.num_heads, request.actual_seq_lengths, status);
    }
}

Status CheckLayout(Scene& scene) {
    const std::string& name = scene.request.input_layout;
    const bool listed = name == "BSH" || name == "BSND" || name == "BNSD" || name == "BNSD_BSND";
    if (!listed && (name != "TND" || scene.cards())) {
        return Refuse("PFA-C3", "input_layout", Quoted(name),
                      Concat("BSH, BSND, BNSD, BNSD_BSND", scene.cards() ? "" : ", TND"), LayoutHelp(name));
    }
    scene.layout = FindLayout(name);
    return OkStatus();
}

}  // namespace

Status CheckRequired(Scene& scene) {
    const Request& request = scene.request;
    Status status =
        CheckProduct(kPromptFlashAttention, "PFA-C6", scene.soc, {Product::kAtlasA2A3, Product::kInferenceCards});
    if (!status.ok()) {
        return status;
    }
    status = CheckGiven(kPromptFlashAttention, "PFA-A2",
                        {{"query", &request.query}, {"key", &request.key}, {"value", &request.value}});
    if (status.ok() && request.padding_mask) {
        return Refuse("PFA-A2", "padding_mask", TensorText(request.padding_mask), "none",
                      "The document reserves this argument.");
    }
    return status;
}

Status CheckTypes(Scene& scene) {
    const Request& request = scene.request;
    if (Status status = CheckLayout(scene); !status.ok()) {
        return status;
    }
    if (Status status = CheckDTypes(scene); !status.ok()) {
        return status;
    }
    MemoryCheck memory(kPromptFlashAttention, "PFA-C5", "PFA-C4", {scene.layout});
    VisitArguments(request, memory);
    if (!memory.status().ok()) {
        return memory.status();
    }
    for (const NamedTensor& row : {NamedTensor{"query", &request.query}, NamedTensor{"key", &request.key},
                                   NamedTensor{"value", &request.value}}) {
        Status status = CheckRank(kPromptFlashAttention, "PFA-C4", row, RankOf(scene.layout->input), "input_layout",
                                  scene.layout->name);
        if (!status.ok()) {
            return status;
        }
    }
    return CheckScale(kPromptFlashAttention, "PFA-A4", "scale_value", request.scale_value);
}

Status CheckDocument(Scene& scene) {
    using Section = Status (*)(Scene&);
    constexpr Section kSections[] = {CheckRequired, CheckTypes,    CheckHeads, CheckLengths,
                                     CheckMask,     CheckPseShift, CheckQuant};
    Status status = FirstRefusal(kSections, scene);
    if (!status.ok()) {
        SuspectLayout(scene, &status);
    }
    return status;
}

}  // namespace ascend_attention::pfa
