"""What a shell may complete: names that are only known when they are asked for."""

from __future__ import annotations

from collections.abc import Iterable


def _starting(names: Iterable[str], incomplete: str) -> list[str]:
    return [name for name in names if name.startswith(incomplete)]


def studies(incomplete: str) -> list[str]:
    """Return the studies of the package and of plug-ins."""
    from pact_benchmark.study import all_studies

    return _starting(all_studies(), incomplete)


def scenes(incomplete: str) -> list[str]:
    """Return scene ids and geometries."""
    from pact_scenes.catalogue import Geometry, load_catalogue

    ids = [spec.scene_id for spec in load_catalogue()]
    return _starting([*(geometry.value for geometry in Geometry), *ids], incomplete)


def rules(incomplete: str) -> list[str]:
    """Return the fusion rules of the package and of plug-ins, and the word for all of them."""
    from pact_benchmark import plugins
    from pact_benchmark.formats.deciding import ALL
    from pact_core import RULES

    plugins.load("pact.rules")
    return _starting([ALL, *sorted(RULES)], incomplete)


def backends(incomplete: str) -> list[str]:
    """Return the simulators."""
    from pact_scenes.simulators import BACKENDS

    return _starting(["auto", *BACKENDS], incomplete)


def sweep_backends(incomplete: str) -> list[str]:
    """Return where the settings of a sweep may be computed."""
    from pact_benchmark.sweep.backends import Backend

    return _starting(list(Backend), incomplete)
