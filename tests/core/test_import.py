"""The core stands on NumPy alone."""

from __future__ import annotations

import subprocess
import sys

PROBE = """
import sys
before = set(sys.modules)
import numpy
known = set(sys.modules) | set(sys.stdlib_module_names)
import pact_core
extra = {name.partition('.')[0] for name in set(sys.modules) - known}
extra -= {'pact_core'} | set(sys.stdlib_module_names)
assert not extra, extra
class Nothing:
    def find_spec(self, name, path=None, target=None):
        if name.partition('.')[0] in ('array_api_compat', 'torch', 'scipy', 'pandas', 'prov'):
            raise ImportError(name)
sys.meta_path.insert(0, Nothing())
d = pact_core.decide_votes(['a', 'a'], ['x', 'y'])
assert d.admitted
print('ok')
"""


def test_core_imports_and_decides_with_numpy_alone():
    """A fresh interpreter loads nothing but NumPy and the standard library."""
    done = subprocess.run(
        [sys.executable, "-c", PROBE], capture_output=True, text=True, check=False
    )
    assert done.stdout.strip() == "ok", done.stderr
