"""All workloads of the family, in the order in which they are printed."""

from bench.workloads.offpath.chains import CHAINS
from bench.workloads.offpath.drawn import DRAWN
from bench.workloads.offpath.folds import FOLDS
from bench.workloads.offpath.irregular import IRREGULAR
from bench.workloads.offpath.keyed import KEYED
from bench.workloads.offpath.sampled import SAMPLED

OFFPATH = (*SAMPLED, *CHAINS, *IRREGULAR, *KEYED, *FOLDS, *DRAWN)
