// SPDX-License-Identifier: Apache-2.0
// What the host's part of a call costs, before anything runs; started by scripts/bench_host. Prints the fastest of many
// repetitions, in microseconds: what else the machine does at the time is not the question.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <iostream>
#include <memory>

#include "api.h"
#include "fused_infer_attention_score_v2/check.h"
#include "fused_infer_attention_score_v2/infer.h"
#include "fused_infer_attention_score_v2/lower.h"
#include "op_host/case_file.h"

namespace {

using namespace ascend_attention;
using case_file::Request;

constexpr int kBatch = 256;
constexpr double kTarget = 20;  // microseconds, for checks, lowering and the plan

std::string Repeated(int64_t first, int64_t step) {
    std::string list = "{";
    for (int b = 0; b < kBatch; ++b) {
        list += (b == 0 ? "" : ",") + std::to_string(first + b * step);
    }
    return list + "}";
}

template <class Body>
double Microseconds(Body body) {
    constexpr int kRepetitions = 2000;
    double best = 1e30;
    for (int i = 0; i < kRepetitions; ++i) {
        const auto begin = std::chrono::steady_clock::now();
        body();
        const std::chrono::duration<double, std::micro> took = std::chrono::steady_clock::now() - begin;
        best = std::min(best, took.count());
    }
    return best;
}

void Require(const Status& status) {
    if (!status.ok()) {
        std::cerr << status.Text() << "\n";
        std::exit(1);
    }
}

// Checks and shapes of the results; then the canonical problem; then the plan. Whether the engine can run it all yet
// makes no difference to what it costs.
class Call {
public:
    explicit Call(const std::string& words) : request_(case_file::MakeRequest(words)) {
        Require(FindSoc("Ascend910B2", &soc_));
    }

    double Check() const {
        return Microseconds([&] { Checked(); });
    }
    double Lower() const {
        return Microseconds([&] { Keep(fia_v2::Lower(*Checked()).sequences.size()); });
    }
    double Plan() const {
        return Microseconds([&] {
            const std::unique_ptr<fia_v2::Scene> scene = Checked();
            const Request& r = request_;
            const KernelInputs inputs = {r.query,      r.key,       r.value,          r.query_rope, r.key_rope,
                                         r.atten_mask, r.pse_shift, r.learnable_sink, r.block_table};
            Prepared prepared;
            Require(PlanLaunch(fia_v2::Lower(*scene), inputs, fia_v2::ListAddresses(*scene), soc_, &prepared));
            Keep(prepared.plan.bytes.size());
        });
    }

private:
    std::unique_ptr<fia_v2::Scene> Checked() const {
        auto scene = std::make_unique<fia_v2::Scene>(request_, Contract::kDocument);
        Require(fia_v2::CheckListed(soc_));
        Require(fia_v2::CheckDocument(*scene));
        Keep(fia_v2::InferShapes(*scene).attention_out.shape.size());
        return scene;
    }
    // What nobody looks at is not computed.
    void Keep(size_t number) const { kept_ = kept_ + number; }

    Request request_;
    Soc soc_;
    mutable volatile size_t kept_ = 0;
};

void Measure(const char* name, const std::string& words) {
    const Call call(words);
    const double plan = call.Plan();
    std::printf("%-62s %8.1f %8.1f %8.1f %8s\n", name, call.Check(), call.Lower(), plan,
                plan < kTarget ? "met" : "NOT met");
}

}  // namespace

int main() {
    const std::string table = " block_table=int32[256,64] block_size=128 ";
    const std::string keys = "actual_seq_kvlen=" + Repeated(1, 30);
    std::printf("%-62s %8s %8s %8s %8s\n", "in C++, microseconds; 256 sequences", "check", "+ lower", "+ plan",
                "under 20");
    Measure("decode, BSND, 32 heads over 8, paged",
            "input_layout=BSND query=bfloat16[256,1,32,128] key=bfloat16[8192,128,1024] value=bfloat16[8192,128,1024] "
            "num_query_heads=32 num_key_value_heads=8" +
                table + keys);
    Measure(
        "decode, the same with dense keys",
        "input_layout=BSND query=bfloat16[256,1,32,128] key=bfloat16[256,8192,8,128] value=bfloat16[256,8192,8,128] "
        "num_query_heads=32 num_key_value_heads=8 " +
            keys);
    Measure("decode, TND, 32 heads over 8, paged",
            "input_layout=TND query=bfloat16[256,32,128] key=bfloat16[8192,128,1024] value=bfloat16[8192,128,1024] "
            "num_query_heads=32 num_key_value_heads=8 sparse_mode=3 atten_mask=int8[2048,2048] actual_seq_qlen=" +
                Repeated(1, 1) + table + keys);
    Measure(
        "decode, MLA, BSND_NBSD, 128 heads, paged",
        "input_layout=BSND_NBSD query=bfloat16[256,1,128,512] query_rope=bfloat16[256,1,128,64] "
        "key=bfloat16[8192,128,512] value=bfloat16[8192,128,512] key_rope=bfloat16[8192,128,64] num_query_heads=128 "
        "num_key_value_heads=1" +
            table + keys);
    Measure(
        "two rows for each sequence, BSND, 32 heads over 8, dense",
        "input_layout=BSND query=bfloat16[256,2,32,128] key=bfloat16[256,1024,8,128] value=bfloat16[256,1024,8,128] "
        "num_query_heads=32 num_key_value_heads=8 actual_seq_kvlen=" +
            Repeated(1, 4));
    return 0;
}
