"""Models one can keep and give away: saved as arrays and JSON, loaded without running anything.

`save` and `load` are also `rankwise.save` and `rankwise.load`.
`export` writes a model for a search engine, or as a plain program.
``rankwise show FILE`` prints what is in a file without loading it.
"""

from rankwise.persistence._export import export
from rankwise.persistence._models import load, read_notes, save
from rankwise.persistence._models import read_facts as read_facts  # for ``rankwise show``

__all__ = ["export", "load", "read_notes", "save"]
