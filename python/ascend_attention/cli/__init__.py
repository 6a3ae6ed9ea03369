# SPDX-License-Identifier: Apache-2.0
"""Programs: `python -m ascend_attention.cli.quickstart`, `python -m ascend_attention.cli.bench_simulator`."""
