"""Reports: one page that says what a model does on labelled rows, to be read, printed and sent to a colleague.

`write_report` writes it: the data, errors with intervals by class and rule, confusions, reliability, wrong rows,
reasons, certificate, and how all of it was made, in one HTML file without scripts that refers to nothing outside it.
``votron report`` does the same for model files and data files.
"""

from votron.report.page import write_report

__all__ = ["write_report"]
