// SPDX-License-Identifier: Apache-2.0
#include "launch/sim/run_settings.h"
#include "timing/result.h"

namespace ascend_attention::launch {

void ReportLog::LetOldRecordsGo() {
    if (reports_.back().timing == nullptr) {
        return;
    }
    std::size_t held = 0;
    for (std::size_t i = reports_.size() - 1; i-- > 0;) {
        std::shared_ptr<const sim::TimingResult>& timing = reports_[i].timing;
        if (timing == nullptr) {
            continue;
        }
        if (timing->record == nullptr) {
            return;  // let go before, as all that are older
        }
        const std::shared_ptr<const sim::RunRecord> record = timing->record->Get();
        held += record == nullptr ? 0 : record->bytes();
        if (held > most_record_bytes_) {
            auto without = std::make_shared<sim::TimingResult>(*timing);
            without->record = nullptr;
            timing = std::move(without);
        }
    }
}

}  // namespace ascend_attention::launch
