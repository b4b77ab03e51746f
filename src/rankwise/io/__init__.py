"""Tables in and out: one set of rules for files of every usual format.

It needs the extra ``data``: ``pip install 'rankwise[data]'``.
"""

from rankwise.io._table import describe, read_table, scan_table, write_table

__all__ = ["describe", "read_table", "scan_table", "write_table"]
