// SPDX-License-Identifier: Apache-2.0
#include "run/failure.h"

#include <utility>

namespace ascend_attention::sim {

RunReport FinishReport(Machine& machine, double seconds) {
    RunReport report = machine.Report();
    report.seconds = seconds;
    report.findings = machine.log().Take();
    std::size_t errors = 0;
    const Finding* first = nullptr;
    for (const Finding& finding : report.findings) {
        if (finding.severity == Severity::kError) {
            first = errors++ == 0 ? &finding : first;
        }
    }
    if (errors == 0) {
        return report;
    }
    std::string text = first->kind + ": " + first->text;
    if (errors > 1) {
        text += " (and " + std::to_string(errors - 1) + " more)";
    }
    throw SimulatorFailure(text, std::move(report));
}

}  // namespace ascend_attention::sim
