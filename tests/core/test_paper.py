"""Every numbered statement of the paper has a property test that names it."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

KINDS = "assumption|proposition|corollary|theorem|definition|lemma"


def test_every_statement_of_the_paper_is_named_by_a_test(shared):
    """The title of each statement stands in the docstring of a test in this folder."""
    paper = shared / "paper" / "pact.tex"
    if not paper.is_file():
        pytest.skip("the paper is not here")
    text = paper.read_text(encoding="utf-8")
    titles = [title for _, title in re.findall(rf"\\begin{{({KINDS})}}\[(.*?)\]", text)]
    assert len(titles) == len(re.findall(rf"\\begin{{(?:{KINDS})}}", text)) >= 10
    words = []
    for path in sorted(Path(__file__).parent.glob("test_*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef) and node.name.startswith("test_"):
                words.append(" ".join((ast.get_docstring(node) or "").lower().split()))
    missing = [title for title in titles if not any(title.lower() in text for text in words)]
    assert not missing
