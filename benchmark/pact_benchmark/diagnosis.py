"""What is installed, and what that enables."""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
import sys
import tempfile
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from typing import NamedTuple

from pact_benchmark import plugins
from pact_scenes.installation import checkout, install_command

MIN_FREE_BYTES = 500_000_000
_PLUGIN = "plug-in"


class Finding(NamedTuple):
    """One fact about this installation; `remedy` is a command where something is missing."""

    name: str
    ok: bool
    detail: str
    remedy: str = ""

    @property
    def state(self) -> str:
        """`ok`, or what is the matter: a plug-in that is there but does not load is broken."""
        return "ok" if self.ok else "broken" if self.name.startswith(_PLUGIN) else "missing"


EXTRAS = (
    ("sim", ("pxr", "ovphysx"), "USD stages and the physx backend"),
    (
        "validate",
        ("omni.asset_validator",),
        "the Omniverse asset validator in `pact scenes validate`",
    ),
    ("learned", ("torch",), "training in `pact learned` and `pact set-transformer`"),
    ("ray", ("ray",), "`pact sweep --backend ray`"),
    ("prov", ("prov",), "W3C PROV documents as provenance"),
    ("viz", ("rerun",), "Rerun recordings of rollouts"),
)


def diagnose() -> list[Finding]:
    """Return what is installed and what is not, with the remedy."""
    return [
        _python(),
        *_packages(),
        *(_extra(*extra) for extra in EXTRAS),
        *_backends(),
        *_plugins(),
        _disk(),
    ]


def _python() -> Finding:
    ok = sys.version_info >= (3, 11)
    return Finding(
        "python", ok, platform.python_version(), "" if ok else "install Python 3.11 or newer"
    )


def _packages() -> list[Finding]:
    names = ("pact-handover", "numpy", "scipy", "pandas", "pyarrow", "scikit-learn", "matplotlib")
    return [Finding(name, True, version(name)) for name in names]


def _extra(extra: str, modules: tuple[str, ...], enables: str) -> Finding:
    missing = [module for module in modules if not _importable(module)]
    if missing:
        return Finding(
            f"extra {extra}",
            False,
            f"{missing[0]} is missing; it enables {enables}",
            install_command(extra),
        )
    return Finding(f"extra {extra}", True, enables)


def _importable(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except ModuleNotFoundError:
        return False


def _backends() -> list[Finding]:
    from pact_scenes.simulators import available_backends

    return [
        Finding(f"backend {name}", reason is None, reason or "works", "")
        for name, reason in available_backends().items()
    ]


def _plugins() -> list[Finding]:
    return [
        Finding(f"{_PLUGIN} {name}", error is None, f"{group}: {error}" if error else group)
        for group in plugins.GROUPS
        for name, _, error in plugins.found(group)
    ]


def _disk() -> Finding:
    free = shutil.disk_usage(os.getcwd()).free
    ok = free >= MIN_FREE_BYTES and os.access(tempfile.gettempdir(), os.W_OK)
    return Finding(
        "disk", ok, f"{free / 1e9:.1f} GB free here", "" if ok else "free some disk space"
    )


def source_commit() -> str | None:
    """Return the commit of the checkout that this package runs from, or None where unknown."""
    root = checkout()
    if root is None or not (root / ".git").exists():
        return None
    git = ["git", "-C", str(root)]
    try:
        commit = subprocess.run(
            [*git, "rev-parse", "--short=12", "HEAD"], capture_output=True, text=True, check=True
        )
        changed = subprocess.run([*git, "diff", "--quiet", "HEAD"], capture_output=True)
    except (OSError, subprocess.CalledProcessError):
        return None
    return commit.stdout.strip() + (" with changes" if changed.returncode == 1 else "")


def installed_versions() -> dict[str, str]:
    """Return the versions of the packages that results may depend on."""
    names = (
        "numpy",
        "scipy",
        "pandas",
        "pyarrow",
        "scikit-learn",
        "matplotlib",
        "usd-core",
        "ovphysx",
        "torch",
    )
    found = {}
    for name in names:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found
