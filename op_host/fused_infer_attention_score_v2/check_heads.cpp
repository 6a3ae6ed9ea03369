// SPDX-License-Identifier: Apache-2.0
// FIA 2: head counts, shapes and size limits. Reads the sizes into the scene.
#include "common/head_counts.h"
#include "fused_infer_attention_score_v2/check.h"

namespace ascend_attention::fia_v2 {
namespace {

// An int32 element of key or value holds eight int4 values.
int64_t Packing(const Scene& scene) { return scene.int4_keys() ? 8 : 1; }

Status CheckHeadCounts(Scene& scene) {
    const Request& request = scene.request;
    if (request.num_query_heads < 1) {
        return Refuse("FIA-C14", "num_query_heads", std::to_string(request.num_query_heads), "at least 1");
    }
    if (request.num_key_value_heads < 0) {
        return Refuse("FIA-C15", "num_key_value_heads", std::to_string(request.num_key_value_heads),
                      "0 (as many as query heads) or more");
    }
    scene.query_heads = request.num_query_heads;
    scene.key_heads = request.num_key_value_heads == 0 ? scene.query_heads : request.num_key_value_heads;
    if (scene.query_heads % scene.key_heads != 0) {
        return Refuse("FIA-C16", "num_key_value_heads", std::to_string(scene.key_heads),
                      Concat("a divisor of num_query_heads (", scene.query_heads, ")"),
                      SwappedHeads("num_query_heads", scene.query_heads, scene.key_heads));
    }
    if (!scene.rope() && scene.query_heads / scene.key_heads > 64) {
        return Refuse("FIA-C17", "num_key_value_heads",
                      Concat(scene.query_heads, " query heads over ", scene.key_heads, " key/value heads"),
                      "at most 64 query heads per key/value head",
                      "Only query_rope and key_rope (MLA) lift this limit.");
    }
    return OkStatus();
}

Status ReadQuery(Scene& scene) {
    const Shape& shape = scene.request.query->shape;
    const Axes query = ReadAxes(scene.layout->input, shape);
    scene.batch = query.batch;
    (scene.packed() ? scene.tokens : scene.query_length) = query.length;
    scene.head_dim = query.width;
    if (scene.layout->input == AxisOrder::kBSH) {
        if (query.width % scene.query_heads != 0) {
            return Refuse("FIA-C20", "query", Concat("shape ", ShapeText(shape)),
                          Concat("H a multiple of num_query_heads (", scene.query_heads, ")"));
        }
        scene.head_dim = query.width / scene.query_heads;
    } else if (query.heads != scene.query_heads) {
        return Refuse("FIA-C18", "num_query_heads", QueryHeadsText(scene.query_heads),
                      Concat("the N axis of query (", query.heads, ", shape ", ShapeText(shape), ")"),
                      OtherOrder(scene.layout->input, "query", shape, scene.query_heads));
    }
    return OkStatus();
}

Status CheckKeyHeads(const Scene& scene, const char* name, const Shape& shape, int64_t heads) {
    if (scene.layout->input != AxisOrder::kBSH && heads != scene.key_heads) {
        return Refuse(scene.packed() ? "FIA-C152" : "FIA-C19", "num_key_value_heads", KeyHeadsText(scene),
                      Concat("the N axis of ", name, " (", heads, ", shape ", ShapeText(shape), ")"));
    }
    return OkStatus();
}

Status ReadDenseKeys(Scene& scene) {
    const Request& request = scene.request;
    const AxisOrder order = scene.layout->input;
    const Axes key = ReadAxes(order, request.key->shape);
    const Axes value = ReadAxes(order, request.value->shape);
    if (Status status = CheckKeyHeads(scene, "key", request.key->shape, key.heads); !status.ok()) {
        return status;
    }
    if (!scene.packed() && request.key->shape != request.value->shape) {
        return Refuse("FIA-C21", "value", Concat("shape ", ShapeText(request.value->shape)),
                      Concat("the shape of key ", ShapeText(request.key->shape)));
    }
    if (scene.packed() && (key.heads != value.heads || key.length != value.length)) {
        return Refuse("FIA-C152", "value", Concat("shape ", ShapeText(request.value->shape)),
                      Concat("heads and tokens of key ", ShapeText(request.key->shape)));
    }
    if (!scene.packed() && key.batch != scene.batch) {
        return Refuse("FIA-C22", "key", Concat("batch ", key.batch), Concat("the batch of query (", scene.batch, ")"));
    }
    (scene.packed() ? scene.key_tokens : scene.key_length) = key.length;
    int64_t key_width = 0;
    int64_t value_width = 0;
    if (__builtin_mul_overflow(key.width, Packing(scene), &key_width) ||
        __builtin_mul_overflow(value.width, Packing(scene), &value_width)) {
        return Refuse("FIA-C24", "key", Concat("shape ", ShapeText(request.key->shape)), "head_dim at most 512");
    }
    const int64_t heads = order == AxisOrder::kBSH ? scene.key_heads : 1;
    const std::string one_head = OneHeadOfH("num_query_heads", order, scene.query_heads);
    if (key_width % heads != 0 || key_width / heads != scene.head_dim) {
        return Refuse(
            "FIA-C23", "key", Concat("shape ", ShapeText(request.key->shape)),
            Concat("head_dim of query (", scene.head_dim, ") for each of ", scene.key_heads, " key/value heads"),
            !one_head.empty() || order != AxisOrder::kBSH ? one_head : FittingKeyHeads(scene, key_width));
    }
    scene.value_head_dim = scene.packed() ? value_width : scene.head_dim;
    return OkStatus();
}

Status CheckSizeLimits(const Scene& scene) {
    const auto at_most = [](const char* rule, const char* argument, const char* what, int64_t given, int64_t limit) {
        return given <= limit ? OkStatus()
                              : Refuse(rule, argument, Concat(what, " ", given), Concat(what, " at most ", limit));
    };
    if (Status status = at_most("FIA-C24", "query", "head_dim", scene.head_dim, 512); !status.ok()) {
        status.help = scene.head_dim == 576 ? "MLA: give the last 64 channels apart, as query_rope and key_rope."
                                            : OneHeadOfH("num_query_heads", scene.layout->input, scene.query_heads);
        return status;
    }
    if (Status status = at_most("FIA-C25", "query", "batch", scene.batch, 65536); !status.ok()) {
        return status;
    }
    if (scene.prefill_rules()) {
        if (Status status = at_most("FIA-C26", "num_query_heads", "heads", scene.query_heads, 256); !status.ok()) {
            return status;
        }
        if (Status status = at_most("FIA-C28", "query", "Q_S", scene.query_length, 20971520); !status.ok()) {
            return status;
        }
        return at_most("FIA-C28", "key", "KV_S", scene.key_length, 20971520);
    }
    if (Status status = at_most("FIA-C27", "num_key_value_heads", "heads", scene.key_heads, 256); !status.ok()) {
        return status;
    }
    return scene.extended() ? OkStatus() : at_most("FIA-C29", "key", "KV_S", scene.key_length, 262144);
}

// FIA-C31 (batch at most 128 when head_dim * itemsize is no multiple of 32 bytes) cannot be reached: this rule already
// makes it a multiple.
Status CheckHeadDimStep(const Scene& scene) {
    if (scene.decode_rules()) {
        return OkStatus();
    }
    const bool int8 = scene.request.key->dtype == DType::kInt8 || scene.int8_query();
    const int64_t step = scene.int4_keys() ? 64 : int8 ? 32 : 16;
    for (const int64_t dim : {scene.head_dim, scene.value_head_dim}) {
        if (dim % step != 0) {
            return Refuse("FIA-C30", "query", Concat("head_dim ", dim),
                          Concat("a multiple of ", step, " when query is ", DTypeText(*scene.request.query),
                                 " and key ", DTypeText(*scene.request.key)),
                          "Pad head_dim with zeros and keep softmax_scale.");
        }
    }
    return OkStatus();
}

}  // namespace

Status CheckHeads(Scene& scene) {
    if (Status status = CheckHeadCounts(scene); !status.ok()) {
        return status;
    }
    if (Status status = ReadQuery(scene); !status.ok()) {
        return status;
    }
    if (!scene.paged()) {  // paged keys are read in FIA 6
        if (Status status = ReadDenseKeys(scene); !status.ok()) {
            return status;
        }
    }
    if (Status status = CheckSizeLimits(scene); !status.ok()) {
        return status;
    }
    return CheckHeadDimStep(scene);
}

}  // namespace ascend_attention::fia_v2
