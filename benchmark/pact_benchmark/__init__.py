"""The headless harness: run folders, studies, statistics, tables, figures, report and the CLI."""
