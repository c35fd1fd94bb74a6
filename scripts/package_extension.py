"""Make self-contained copies of the Isaac Sim extensions: a folder and a zip each, ready to move.

The packages `pact_core`, `pact_scenes` and `pact_configs` go into `pip_prebundle`, so that nothing
is installed or fetched when the extension starts. The zip is the same, byte for byte, for the same
sources.

    python scripts/package_extension.py [--output build/extension]
"""

from __future__ import annotations

import argparse
import shutil
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
EXTENSIONS = ("pact.handover", "pact.handover.ui")
BUNDLE = {"pact_configs": "configs", "pact_core": "pact_core", "pact_scenes": "scenes/pact_scenes"}
"""Import name and source folder of what `pact.handover` carries along."""

LEFT_OUT = (
    "pact_scenes/placement",
    "pact_scenes/planning",
    "pact_scenes/simulators/physx",
    "pact_scenes/validation",
    "pact_scenes/viewpoints",
)
"""Authoring-time and embedded-engine modules: they need packages that Kit does not have."""

SUFFIXES = {".py", ".typed", ".toml", ".json", ".md", ".png"}
EPOCH = (1980, 1, 1, 0, 0, 0)


def wanted(folder: Path) -> Iterator[Path]:
    """Yield the files of a folder that belong into a package, sorted."""
    for path in sorted(folder.rglob("*")):
        hidden = {"__pycache__", "pip_prebundle"} & set(path.relative_to(folder).parts)
        if path.is_file() and path.suffix in SUFFIXES and not hidden:
            yield path


def assemble(name: str, output: Path) -> Path:
    """Copy one extension with its packages to `output`; return its folder."""
    source, target = ROOT / "extension" / name, output / name
    if target.exists():
        shutil.rmtree(target)
    for path in wanted(source):
        _copy(path, target / path.relative_to(source))
    _copy(ROOT / "LICENSE", target / "docs" / "LICENSE.md")
    if name == EXTENSIONS[0]:
        for package, place in BUNDLE.items():
            for path in wanted(ROOT / place):
                relative = Path(package) / path.relative_to(ROOT / place)
                if not relative.as_posix().startswith(LEFT_OUT):
                    _copy(path, target / "pip_prebundle" / relative)
    return target


def _copy(source: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_bytes(source.read_bytes())


def pack(folder: Path, archive: Path) -> Path:
    """Write a zip of a folder in which only names and contents count."""
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as zipped:
        for path in sorted(path for path in folder.rglob("*") if path.is_file()):
            entry = zipfile.ZipInfo(path.relative_to(folder.parent).as_posix(), EPOCH)
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.external_attr = 0o644 << 16
            entry.create_system = 3
            zipped.writestr(entry, path.read_bytes())
    return archive


def main(arguments: list[str] | None = None) -> int:
    """Package both extensions and print what was made."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else "")
    parser.add_argument("--output", type=Path, default=ROOT / "build" / "extension")
    output = parser.parse_args(arguments).output
    output.mkdir(parents=True, exist_ok=True)
    for name in EXTENSIONS:
        folder = assemble(name, output)
        archive = pack(folder, output / f"{name}.zip")
        print(f"{folder}\n{archive} ({archive.stat().st_size / 1024:.0f} KiB)")
    print(f"Start Isaac Sim with: --ext-folder {output} --enable {EXTENSIONS[-1]}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
