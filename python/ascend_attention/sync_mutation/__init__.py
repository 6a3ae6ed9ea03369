# SPDX-License-Identifier: Apache-2.0
"""Would anything notice if a kernel lacked one piece of its synchronisation? See docs/simulator.md.

``study`` runs a kernel again and again, each time without one event, barrier or flag. Nothing is rebuilt: the machine
ignores the calls. What survives is either not needed or not reached by the cases.
"""

from ascend_attention.sync_mutation._calls import Site, SyncCall
from ascend_attention.sync_mutation._mutants import Mutant
from ascend_attention.sync_mutation._report import table, to_dict
from ascend_attention.sync_mutation._study import BrokenCase, Case, Outcome, Study, study

__all__ = ["BrokenCase", "Case", "Mutant", "Outcome", "Site", "Study", "SyncCall", "study", "table", "to_dict"]
