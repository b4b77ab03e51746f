"""The same fits past one machine: on a Dask cluster, or from disk within a limit of memory.

Importing this imports neither Dask nor pyarrow; they are imported when they are needed, and are
installed by the extra ``dask``.
"""

from rankwise.distributed._fit import fit
from rankwise.distributed._predict import measure, predict, rank
from rankwise.distributed._recommend import fit_taste
from rankwise.distributed.connection import cluster

__all__ = ["cluster", "fit", "fit_taste", "measure", "predict", "rank"]
