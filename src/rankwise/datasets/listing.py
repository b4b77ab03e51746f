"""Printed lists of data sets and of checked files, for both command lines."""

from collections.abc import Sequence
from dataclasses import fields
from textwrap import fill
from typing import TYPE_CHECKING

from rankwise.datasets._registry import REGISTRY, dataset_info

if TYPE_CHECKING:
    from rankwise.datasets.check import Finding


def print_list() -> None:
    """Print what every data set is, a few lines each."""
    for entry in REGISTRY.values():
        print(f"{entry.name:16} {entry.what}\n{'':16} {entry.rows}; {entry.access}")


def print_entry(name: str) -> None:
    """Print all that is known of one."""
    entry = dataset_info(name)
    for field in fields(entry):
        value = getattr(entry, field.name)
        text = " ".join(value) if isinstance(value, tuple) else value
        title = field.name.replace("_", " ")
        shown = text or ("not known" if field.name == "checksum" and entry.urls else "none")
        print(fill(shown, 100, initial_indent=f"{title:16}", subsequent_indent=" " * 16))


def print_findings(findings: "Sequence[Finding]") -> None:
    """Print what was found out about files."""
    for finding in findings:
        what = f"{finding.format or 'unknown'}: {finding.rows or finding.problem or finding.remark}"
        print(f"{finding.path}: {what}")
        if finding.remark and finding.format:
            print(f"    {finding.remark}")


def is_good(findings: "Sequence[Finding]") -> bool:
    """Whether at least one file is known, and none has a mistake."""
    known = any(finding.format for finding in findings)
    return known and not any(finding.problem for finding in findings)
