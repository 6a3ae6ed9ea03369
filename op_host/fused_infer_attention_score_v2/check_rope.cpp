// SPDX-License-Identifier: Apache-2.0
// FIA 11: MLA, that is query_rope and key_rope, with its full quantisation.
#include <algorithm>

#include "fused_infer_attention_score_v2/check.h"

namespace ascend_attention::fia_v2 {
namespace {

bool IsOneOf(int64_t value, std::initializer_list<int64_t> list) {
    return std::find(list.begin(), list.end(), value) != list.end();
}

Status CheckRopeTypes(const Scene& scene) {
    const Request& request = scene.request;
    if (!request.query_rope || !request.key_rope) {
        return Refuse(
            "FIA-C101", request.query_rope ? "key_rope" : "query_rope", "none",
            Concat("a tensor, because ", request.query_rope ? "query_rope" : "key_rope", " is given; or neither"));
    }
    const bool int8 = scene.int8_query();
    const DType query = int8 ? DType::kBFloat16 : request.query->dtype;
    const DType key = request.key->dtype == DType::kInt8 ? DType::kBFloat16 : request.key->dtype;
    if (request.query_rope->dtype != query) {
        return Refuse("FIA-C102", "query_rope", DTypeText(*request.query_rope), NameOf(query));
    }
    if (request.key_rope->dtype != key) {
        return Refuse("FIA-C102", "key_rope", DTypeText(*request.key_rope), NameOf(key));
    }
    return OkStatus();
}

// The shape of query or key with head_dim 64 instead of its own.
Shape RopeShape(Shape shape, bool heads_in_last_axis, int64_t heads) {
    shape.back() = heads_in_last_axis ? heads * kRopeDim : kRopeDim;
    return shape;
}

Status CheckRopeShapes(const Scene& scene) {
    const Request& request = scene.request;
    if (scene.head_dim != 512 && scene.head_dim != 128) {
        return Refuse("FIA-C103", "query", Concat("head_dim ", scene.head_dim), "512, 128 with query_rope");
    }
    const bool bsh = scene.layout->input == AxisOrder::kBSH;
    const Shape query = RopeShape(request.query->shape, bsh, scene.query_heads);
    if (request.query_rope->shape != query) {
        return Refuse("FIA-C104", "query_rope", Concat("shape ", ShapeText(request.query_rope->shape)),
                      ShapeText(query));
    }
    Shape key = RopeShape(request.key->shape, scene.paged() ? scene.cache == Cache::kBBH : bsh, scene.key_heads);
    if (scene.cache == Cache::kNZ) {  // always 16-bit: 16 values in the 32 bytes of an NZ row
        key = request.key->shape;
        key[2] = kRopeDim / 16;
        key[4] = 16;
    }
    if (request.key_rope->shape != key) {
        return Refuse("FIA-C104", "key_rope", Concat("shape ", ShapeText(request.key_rope->shape)), ShapeText(key));
    }
    return OkStatus();
}

Status CheckRopeLayout(const Scene& scene) {
    const std::string name = scene.layout->name;
    const bool narrow = name == "TND" || name == "NTD_TND";
    const bool plain = name == "BSH" || name == "BSND" || name == "BNSD";
    if (scene.head_dim == 128 && !narrow && !(plain && scene.extended())) {
        return Refuse("FIA-C105", "input_layout", "'" + name + "'", "TND, NTD_TND with query_rope and head_dim 128");
    }
    if (scene.head_dim == 512 && (name == "BNSD_BSND" || name == "NTD_TND")) {
        return Refuse("FIA-C105", "input_layout", "'" + name + "'",
                      "BSH, BSND, BNSD, BNSD_NBSD, BSND_NBSD, BSH_NBSD, TND, TND_NTD with query_rope and head_dim 512");
    }
    return OkStatus();
}

Status CheckRopeExcludes(const Scene& scene) {
    const Request& request = scene.request;
    const auto refuse = [](const char* argument, const OptionalTensor& tensor) {
        return Refuse("FIA-C106", argument, TensorText(tensor), "none with query_rope");
    };
    if (request.pse_shift) {
        return refuse("pse_shift", request.pse_shift);
    }
    if (request.quant_scale_out && !scene.int8_query()) {  // FIA-C119 for int8 queries
        return refuse("quant_scale_out", request.quant_scale_out);
    }
    if (scene.antiquant()) {
        const OptionalTensor& scale =
            request.dequant_scale_key ? request.dequant_scale_key : request.dequant_scale_value;
        return refuse("dequant_scale_key", scale);
    }
    if (scene.empty_query() || scene.empty_keys()) {
        return Refuse("FIA-C106", scene.empty_query() ? "query" : "key", "an empty tensor",
                      "a tensor with elements, with query_rope");
    }
    if (scene.head_dim == 512 && request.return_softmax_lse && !scene.extended()) {
        return Refuse("FIA-C107", "return_softmax_lse", "True", "False with query_rope and head_dim 512");
    }
    return OkStatus();
}

std::string SparseText(const Scene& scene) {
    return Concat("sparse_mode ", scene.request.sparse_mode,
                  scene.request.atten_mask ? " with atten_mask" : " without atten_mask", ", Q_S ", scene.query_length);
}

Status CheckWideMask(const Scene& scene) {
    const int64_t mode = scene.request.sparse_mode;
    const bool mask = scene.request.atten_mask.has_value();
    // One row sees every key up to its own: the mask is not needed.
    const bool one_row_causal = scene.extended() && scene.single_row() && !mask && (mode == 3 || mode == 4);
    const bool one_row = scene.single_row() && ((mode == 0 && !mask) || (mode == 4 && mask));
    const bool rows = !scene.single_row() && (mode == 3 || mode == 4) && mask;
    const bool tree = scene.extended() && mode == 9;  // legal there, not built yet
    if (!one_row && !rows && !one_row_causal && !tree) {
        return Refuse("FIA-C109", "sparse_mode", SparseText(scene),
                      "Q_S 1: 0 without atten_mask or 4 with it; Q_S > 1: 3 or 4 with it");
    }
    return mask && !tree ? CheckCompressedMask(MaskOf(scene), "FIA-C110") : OkStatus();
}

// Of layouts with and without a batch axis.
Status CheckWideBlocks(const Scene& scene) {
    const Request& request = scene.request;
    const std::string name = scene.layout->name;
    const int64_t size = request.block_size;
    const bool nz = scene.cache == Cache::kNZ;
    const bool documented = size == 128 || (size == 16 && !nz);
    if (!documented && !(scene.extended() && size % 16 == 0 && size <= 1024)) {
        return Refuse("FIA-C115", "block_size", std::to_string(size), nz ? "128 with an NZ cache" : "16, 128");
    }
    if (nz && (name == "BNSD" || name == "BNSD_NBSD")) {
        return Refuse("FIA-C116", "input_layout", "'" + name + "'", "not BNSD, BNSD_NBSD with an NZ cache");
    }
    return OkStatus();
}

Status CheckWidePaging(const Scene& scene) {
    if (!scene.paged()) {
        return scene.extended() ? OkStatus()
                                : Refuse("FIA-C114", "block_table", "none", "a block table with head_dim 512 and rope");
    }
    return CheckWideBlocks(scene);
}

Status CheckWideBand(const Scene& scene) {
    const Request& request = scene.request;
    const bool blocks = !scene.paged() || IsOneOf(request.block_size, {64, 128});
    if (request.input_layout != "BSND" || scene.query_heads != 128 || scene.cache == Cache::kNZ || !blocks) {
        return Refuse("FIA-C125", "sparse_mode",
                      Concat("input_layout '", request.input_layout, "', ", scene.query_heads,
                             " query heads, block_size ", request.block_size),
                      "with head_dim 512 and sparse_mode 4: BSND, 128 query heads, ND keys, block_size 64 or 128");
    }
    if (scene.key_length > 131088) {
        return Refuse("FIA-C126", "key", Concat("KV_S ", scene.key_length), "at most 131088");
    }
    const SequenceLengths query_lengths = QueryLengths(scene);
    const SequenceLengths key_lengths = KeyLengths(scene);
    for (size_t b = 0; b < query_lengths.size(); ++b) {
        if (query_lengths[b] > key_lengths[b]) {
            return Refuse("FIA-C126", "actual_seq_kvlen",
                          Concat("batch ", b, ": ", query_lengths[b], " queries, ", key_lengths[b], " keys"),
                          "at least as many keys as queries");
        }
    }
    return OkStatus();
}

// head_dim 512, layouts with a batch axis. Token-packed ones are in FIA 12.
Status CheckWide(const Scene& scene) {
    if (scene.key_heads != 1) {
        return Refuse("FIA-C108", "num_key_value_heads", KeyHeadsText(scene), "1 with head_dim 512 and rope");
    }
    if (Status status = CheckWideMask(scene); !status.ok()) {
        return status;
    }
    if (scene.request.sparse_mode == 4) {
        return CheckWideBand(scene);
    }
    if (scene.query_length < 1 || scene.query_length > 16) {
        return Refuse("FIA-C112", "query", Concat("Q_S ", scene.query_length), "1 to 16 with head_dim 512 and rope");
    }
    if (!IsOneOf(scene.query_heads, {1, 2, 4, 8, 16, 32, 64, 128})) {
        return Refuse("FIA-C113", "num_query_heads", std::to_string(scene.query_heads), "1, 2, 4, 8, 16, 32, 64, 128");
    }
    return CheckWidePaging(scene);
}

Status CheckFullQuantScales(const Scene& scene) {
    const Request& request = scene.request;
    Shape per_head = request.query->shape;  // without D
    per_head.back() = scene.query_heads;
    if (scene.layout->input != AxisOrder::kBSH) {
        per_head.pop_back();
    }
    struct Row {
        const char* name;
        const OptionalTensor* tensor;
        Shape shape;
    };
    const Row rows[] = {{"dequant_scale_query", &request.dequant_scale_query, per_head},
                        {"dequant_scale_key", &request.dequant_scale_key, {1}},
                        {"dequant_scale_value", &request.dequant_scale_value, {1}}};
    for (const Row& row : rows) {
        const bool typed = row.tensor->has_value() && (*row.tensor)->dtype == DType::kFloat32;
        if (!typed || (*row.tensor)->shape != row.shape) {
            return Refuse(typed ? "FIA-C121" : "FIA-C118", row.name, TensorText(*row.tensor),
                          Concat("float32 ", ShapeText(row.shape), " with int8 query"));
        }
    }
    return OkStatus();
}

}  // namespace

Status CheckRope(Scene& scene) {
    if (!scene.rope()) {
        return OkStatus();
    }
    for (const auto check : {CheckRopeTypes, CheckRopeShapes, CheckRopeLayout, CheckRopeExcludes}) {
        if (Status status = check(scene); !status.ok()) {
            return status;
        }
    }
    if (scene.head_dim == 128 && scene.paged()) {
        return Refuse("FIA-C130", "block_table", TensorText(scene.request.block_table),
                      "none with query_rope and head_dim 128");
    }
    if (!scene.wide_rope()) {
        return OkStatus();
    }
    if (scene.packed()) {  // the rest is in FIA 12
        return scene.paged() ? CheckWideBlocks(scene) : OkStatus();
    }
    return CheckWide(scene);
}

// FIA-C123 (sparse_mode 0 when Q_S is 1, else 3) cannot be reached: FIA-C109 leaves these and 4, which FIA-C127
// refuses.
Status CheckFullQuant(Scene& scene) {
    const Request& request = scene.request;
    if (!scene.int8_query()) {
        if (request.dequant_scale_query || request.query_quant_mode != 0) {
            return Refuse("FIA-C124", request.dequant_scale_query ? "dequant_scale_query" : "query_quant_mode",
                          request.dequant_scale_query ? TensorText(request.dequant_scale_query)
                                                      : std::to_string(request.query_quant_mode),
                          Concat(request.dequant_scale_query ? "none" : "0", " unless query is int8"));
        }
        return OkStatus();
    }
    if (request.key->dtype != DType::kInt8 || scene.head_dim != 512) {
        return Refuse("FIA-C117", "query",
                      Concat("int8 query, ", DTypeText(*request.key), " key, head_dim ", scene.head_dim),
                      "query, key and value all int8 with head_dim 512");
    }
    if (request.sparse_mode == 4) {
        return Refuse("FIA-C127", "sparse_mode", "4", "0, 3 with int8 query");
    }
    if (Status status = CheckFullQuantScales(scene); !status.ok()) {
        return status;
    }
    if (request.quant_scale_out || request.quant_offset_out || scene.has_key_offset()) {
        return Refuse("FIA-C119", "quant_scale_out",
                      Concat("quant_scale_out ", TensorText(request.quant_scale_out), ", dequant_offset_key ",
                             TensorText(request.dequant_offset_key)),
                      "no output quantisation and no offsets with int8 query");
    }
    if (request.query_quant_mode != 3 || request.key_quant_mode != 0 || request.value_quant_mode != 0) {
        return Refuse(
            "FIA-C120", "query_quant_mode",
            Concat(request.query_quant_mode, ", key ", request.key_quant_mode, ", value ", request.value_quant_mode),
            "query_quant_mode 3, key_quant_mode and value_quant_mode 0 with int8 query");
    }
    if (!scene.paged() || scene.layout->input == AxisOrder::kBNSD) {
        return Refuse("FIA-C122", "block_table", TensorText(request.block_table),
                      "a block table and a layout other than BNSD with int8 query");
    }
    return OkStatus();
}

}  // namespace ascend_attention::fia_v2
