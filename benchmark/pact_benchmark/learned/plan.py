"""What is trained, with which recipes and seeds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pact_benchmark.errors import UsageError
from pact_benchmark.learned.training import Model, Recipe


@dataclass(frozen=True, slots=True)
class Plan:
    """How much is trained, and how.

    Attributes:
        tmc: Recipe of TMC on HandWritten; Scene15 takes its own learning rate.
        rcml: Recipe of RCML.
        split_seed: Seed of the splits that are not published.
        validation_share: Share of the training part that HandWritten and PIE do not train on.
        seeds: Training seeds of HandWritten and PIE.
        scene_seeds: Seeds of the Scene15 realisations.
        scene_rates: Candidate learning rates of Scene15.
        scene_folds: Folds of the choice among them.
        interventions: Number of Scene15 realisations that the reassignments use.
        draws: Resamples.
        first_only: Train on the first data set that is found and on nothing else.
    """

    tmc: Recipe
    rcml: Recipe
    split_seed: int
    validation_share: float
    seeds: tuple[int, ...]
    scene_seeds: tuple[int, ...]
    scene_rates: tuple[float, ...]
    scene_folds: int
    interventions: int
    draws: int
    first_only: bool = False

    @classmethod
    def from_section(
        cls, section: dict[str, Any], *, quick: bool = False, seed: int | None = None
    ) -> Plan:
        """Build the plan from the configuration section `learned`.

        Args:
            section: The section.
            quick: One data set, one seed, fewer epochs and resamples.
            seed: In place of the section's `split_seed`.
        """
        scene, fast = section["scene15"], section["quick"]
        shared = {
            "epochs": fast["epochs"] if quick else section["epochs"],
            "batch_size": section["batch_size"],
            "annealing_epochs": section["annealing_epochs"],
            "weight_decay": section["weight_decay"],
            "conflict_weight": section["conflict_weight"],
        }
        plan = cls(
            tmc=Recipe(Model.TMC, section["tmc_rate"], **shared),
            rcml=Recipe(Model.RCML, section["rcml_rate"], **shared),
            split_seed=section["split_seed"] if seed is None else seed,
            validation_share=section["validation_share"],
            seeds=tuple(section["seeds"][:1] if quick else section["seeds"]),
            scene_seeds=tuple(scene["seeds"][:1] if quick else scene["seeds"]),
            scene_rates=tuple(scene["rates"]),
            scene_folds=scene["folds"],
            interventions=scene["interventions"],
            draws=fast["draws"] if quick else section["draws"],
            first_only=quick,
        )
        return plan.checked()

    def checked(self) -> Plan:
        """Return the plan; raise a UsageError that names a value which cannot be used."""
        whole = {
            "epochs": self.tmc.epochs,
            "batch_size": self.tmc.batch_size,
            "annealing_epochs": self.tmc.annealing_epochs,
            "draws": self.draws,
            "seeds": len(self.seeds),
            "scene15.seeds": len(self.scene_seeds),
            "scene15.rates": len(self.scene_rates),
            "scene15.interventions": self.interventions,
            "scene15.folds": self.scene_folds - 1,
        }
        for name, value in whole.items():
            if value < 1:
                raise UsageError(f"learned.{name} is too small; see configs/learned.toml")
        for rate in (self.tmc.learning_rate, self.rcml.learning_rate, *self.scene_rates):
            if not (isinstance(rate, float) and 0.0 < rate < 1.0):
                raise UsageError(f"learning rate {rate!r} is not between 0 and 1")
        if not 0.0 <= self.validation_share < 0.9:
            raise UsageError("learned.validation_share must be at least 0 and below 0.9")
        for seed in (*self.seeds, *self.scene_seeds, self.split_seed):
            if not isinstance(seed, int) or not 0 <= seed < 2**31:
                raise UsageError(f"seed {seed!r} is not a whole number between 0 and 2**31")
        return self
