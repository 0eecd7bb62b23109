"""Reports: one HTML page that says what a model does on labelled rows; `write_report` writes it."""

from votron.report.page import write_report

__all__ = ["write_report"]
