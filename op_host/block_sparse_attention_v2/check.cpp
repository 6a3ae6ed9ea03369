// SPDX-License-Identifier: Apache-2.0
#include "block_sparse_attention_v2/check.h"

#include "common/tensor_rules.h"
#include "common/unsupported.h"
#include "plan/visible_keys.h"

namespace ascend_attention::bsa_v2 {
namespace {

constexpr const char* kLayouts = "TND, BNSD, BSND";

Status CheckDTypes(const Request& request) {
    const NamedTensor rows[] = {{"query", &request.query}, {"key", &request.key}, {"value", &request.value}};
    bool any_fp8 = false;
    for (const NamedTensor& row : rows) {
        any_fp8 = any_fp8 || (*row.tensor)->dtype == DType::kFloat8E4M3FN;
    }
    const DType query = request.query->dtype;
    if (!any_fp8 && !IsHalfWidth(query)) {
        return Refuse("BSA-C2", "query", DTypeText(*request.query), "float16, bfloat16, float8_e4m3fn");
    }
    for (const NamedTensor& row : rows) {
        const DType dtype = (*row.tensor)->dtype;
        if (any_fp8 && dtype != DType::kFloat8E4M3FN) {
            return Refuse("BSA-C35", row.name, DTypeText(**row.tensor),
                          "float8_e4m3fn for query, key and value as soon as one of them has it");
        }
        if (dtype != query) {
            return Refuse("BSA-C2", row.name, DTypeText(**row.tensor),
                          Concat("the dtype of query (", NameOf(query), ")"));
        }
    }
    return OkStatus();
}

Status CheckLayouts(Scene& scene) {
    const Request& request = scene.request;
    const struct {
        const char* name;
        const std::string& given;
    } rows[] = {{"q_input_layout", request.q_input_layout}, {"kv_input_layout", request.kv_input_layout}};
    for (const auto& row : rows) {
        if (row.given != "TND" && row.given != "BNSD" && row.given != "BSND") {
            return Refuse("BSA-C4", row.name, Quoted(row.given), kLayouts, LayoutHelp(row.given));
        }
    }
    if (request.q_input_layout != request.kv_input_layout) {
        return Refuse("BSA-C4", "kv_input_layout", Quoted(request.kv_input_layout),
                      Concat("q_input_layout ('", request.q_input_layout, "')"));
    }
    scene.layout = FindLayout(request.q_input_layout);
    return OkStatus();
}

std::string ListText(const Lengths& numbers) {
    std::string text;
    for (size_t i = 0; i < numbers.size() && i < 4; ++i) {
        text += (i > 0 ? ", " : "") + std::to_string(numbers[i]);
    }
    return "[" + text + (numbers.size() > 4 ? ", ...]" : "]");
}

Status CheckBlockShape(Scene& scene) {
    const OptionalLengths& shape = scene.request.block_shape;
    if (!shape) {
        return OkStatus();  // BSA-C23
    }
    if (shape->size() < 2 || (*shape)[0] < 1 || (*shape)[1] < 1) {
        return Refuse("BSA-C5", "block_shape", ListText(*shape),
                      "[rows of query, rows of key and value] per block, both above 0");
    }
    scene.block_x = (*shape)[0];
    scene.block_y = (*shape)[1];
    return OkStatus();
}

Status CheckMapRanks(const Request& request) {
    const struct {
        const char* rule;
        NamedTensor tensor;
    } rows[] = {{"BSA-C8", {"block_sparse_mask", &request.block_sparse_mask}},
                {"BSA-C9", {"q_dequant_scale", &request.q_dequant_scale}},
                {"BSA-C9", {"k_dequant_scale", &request.k_dequant_scale}},
                {"BSA-C9", {"v_dequant_scale", &request.v_dequant_scale}}};
    for (const auto& row : rows) {
        const OptionalTensor& tensor = *row.tensor.tensor;
        if (tensor && tensor->shape.size() != 4) {
            const bool map = &row == &rows[0];
            return Refuse(row.rule, row.tensor.name, Concat("shape ", ShapeText(tensor->shape)), "4 dimensions",
                          map ? "(batch, heads of query, blocks of query rows, blocks of keys)." : "");
        }
    }
    return OkStatus();
}

}  // namespace

Status Refuse(const char* rule, const std::string& argument, const std::string& given, const std::string& allowed,
              const std::string& help) {
    return Refusal(kBlockSparseAttentionV2, rule, argument, given, allowed, help);
}

Status CheckFirstPhase(Scene& scene) {
    const Request& request = scene.request;
    Status status =
        CheckProduct(kBlockSparseAttentionV2, "BSA-A1", scene.soc, {Product::kAtlasA2A3, Product::kAscend950});
    if (status.ok()) {
        status = CheckGiven(kBlockSparseAttentionV2, "BSA-C1",
                            {{"query", &request.query}, {"key", &request.key}, {"value", &request.value}});
    }
    if (status.ok()) {
        status = CheckDTypes(request);
    }
    if (status.ok()) {
        status = CheckLayouts(scene);
    }
    if (status.ok()) {
        status = CheckBlockShape(scene);
    }
    if (!status.ok()) {
        return status;
    }
    const int64_t precise = request.inner_precise;
    if (precise != 0 && precise != 1 && precise != 4) {
        return Refuse("BSA-C6", "inner_precise", std::to_string(precise), scene.ascend950() ? "4" : "0, 1, 4");
    }
    return CheckMapRanks(request);
}

Status CheckModes(Scene& scene) {
    constexpr int64_t kAll = 2147483647;
    const Request& request = scene.request;
    if (scene.fp8() && !scene.ascend950()) {
        return Refuse("BSA-C10", "query", DTypeText(*request.query),
                      Concat("float16, bfloat16 on ", NameOf(scene.soc.product)),
                      Concat("float8_e4m3fn is for ", NameOf(Product::kAscend950), "."));
    }
    if (scene.ascend950() && request.inner_precise != 4) {
        return Refuse("BSA-C13", "inner_precise", std::to_string(request.inner_precise),
                      Concat("4 on ", NameOf(scene.soc.product)));
    }
    if (request.inner_precise == 1 && request.query->dtype != DType::kFloat16) {
        return Refuse("BSA-C12", "inner_precise", Concat("1 with ", DTypeText(*request.query)), "0, 4; 1 with float16");
    }
    if (request.atten_mask) {
        return Refuse("BSA-C24", "atten_mask", TensorText(request.atten_mask), "none",
                      "Which blocks are seen is said by block_sparse_mask.");
    }
    if (request.block_table) {
        return Refuse("BSA-C25", "block_table", TensorText(request.block_table), "none (keys are not paged)");
    }
    const struct {
        const char* rule;
        const char* name;
        int64_t given;
        int64_t allowed;
    } rows[] = {
        {"BSA-C31", "mask_type", request.mask_type, 0},
        {"BSA-C32", "block_size", request.block_size, 0},
        {"BSA-C33", "pre_tokens", request.pre_tokens, kAll},
        {"BSA-C33", "next_tokens", request.next_tokens, kAll},
    };
    for (const auto& row : rows) {
        if (row.given != row.allowed) {
            return Refuse(row.rule, row.name, std::to_string(row.given), std::to_string(row.allowed));
        }
    }
    if (request.softmax_lse_flag != 0 && request.softmax_lse_flag != 1) {
        return Refuse("BSA-C34", "softmax_lse_flag", std::to_string(request.softmax_lse_flag), "0, 1");
    }
    return CheckScale(kBlockSparseAttentionV2, "BSA-A4", "scale_value", request.scale_value);
}

// The document has no limits here. The kernels count sequences, heads and rows in fewer bits than memory could hold.
const Unsupported<Scene> kUnsupported[] = {
    {"query", "a batch of at most 16777216", [](const Scene& s) { return s.batch > int64_t(1) << 24; },
     [](const Scene& s) { return Concat("a batch of ", s.batch); }},
    {"query", "at most 65535 heads", [](const Scene& s) { return s.query_heads > 65535; },
     [](const Scene& s) { return Concat(s.query_heads, " heads"); }},
    {"query", "sequences of at most 67108864 rows", [](const Scene& s) { return s.query_longest > kSequenceLengthMax; },
     [](const Scene& s) { return Concat(s.query_longest, " rows"); }},
    {"key", "sequences of at most 67108864 rows", [](const Scene& s) { return s.key_longest > kSequenceLengthMax; },
     [](const Scene& s) { return Concat(s.key_longest, " rows"); }},
};

Status CheckDocument(Scene& scene) {
    using Section = Status (*)(Scene&);
    constexpr Section kSections[] = {CheckFirstPhase, CheckModes,    CheckShapes,
                                     CheckLengths,    CheckBlockMap, CheckScales};
    return FirstRefusal(kSections, scene);
}

Status CheckSupported(const Scene& scene) {
    if (Status status = CheckKernelsExist(kBlockSparseAttentionV2, scene.soc); !status.ok()) {
        return status;
    }
    return CheckUnsupported(kBlockSparseAttentionV2, kUnsupported, scene);
}

}  // namespace ascend_attention::bsa_v2
