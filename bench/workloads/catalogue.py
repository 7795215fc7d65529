"""The workloads that are compared by default."""

from bench.workloads.campaigns import BY_CAMPAIGN
from bench.workloads.keyed import KEYED
from bench.workloads.tuned import WORKLOADS

ALL = (*WORKLOADS, *KEYED, *BY_CAMPAIGN)
"""Those without keys, and those with keys."""
