"""Tables and reports, and their forms: terminal, Markdown, csv, JSON, LaTeX and one HTML file."""

from rankwise.reports._formats import FORMATS
from rankwise.reports._report import Report, Section, Table, Track

__all__ = ["FORMATS", "Report", "Section", "Table", "Track"]
