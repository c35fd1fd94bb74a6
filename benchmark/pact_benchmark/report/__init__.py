"""The HTML report of a run: one self-contained page."""

from pact_benchmark.report.page import render_report, report_current, write_report

__all__ = ["render_report", "report_current", "write_report"]
