"""Produce the held-out evidences of the study: which models are trained on what, stored by key.

Nothing here looks at held-out results. HandWritten and PIE use the reference rates of the models;
the rate of Scene15 is chosen once by cross-validation inside the training part of its first seed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from pact_benchmark.console import Console
from pact_benchmark.errors import UsageError
from pact_benchmark.learned import datasets
from pact_benchmark.learned.arms import nested_evidence
from pact_benchmark.learned.datasets import MultiView, Scaling, scale, stratified_split
from pact_benchmark.learned.evidence import EvidenceSet, IntArray, evidence_to_npz, read_evidence
from pact_benchmark.learned.training import (
    Model,
    Recipe,
    TrainingRun,
    resolve_device,
    train_evidence,
)
from pact_benchmark.store import RunFolder, digest

TRAINING_VERSION = 1
SCENE_BATCH = 10


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


@dataclass(frozen=True, slots=True)
class Produced:
    """The evidences of the study; None where the data set is not in the folder.

    Attributes:
        hw_tmc: TMC on the stratified half of the test records that the study uses.
        hw_tmc_all: TMC on all of them, as sensitivity.
        scene_clean: Scene15 with the scaler fitted on the training part, first five seeds.
        scene_validation: Validation accuracy per learning rate of Scene15.
        absent: Names of the data files that are not there.
    """

    hw_tmc: EvidenceSet | None = None
    hw_tmc_all: EvidenceSet | None = None
    hw_rcml: EvidenceSet | None = None
    pie_rcml: EvidenceSet | None = None
    scene: EvidenceSet | None = None
    scene_clean: EvidenceSet | None = None
    scene_validation: dict[float, float] | None = None
    absent: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Workshop:
    """Trains what the run folder does not hold yet."""

    run: RunFolder
    console: Console
    device: str = "auto"
    threads: int = 1

    def evidence(
        self,
        name: str,
        key: dict[str, Any],
        recipe: Recipe,
        make: Callable[[], tuple[list[TrainingRun], list[IntArray]]],
        data: MultiView,
        names: tuple[str, str],
    ) -> EvidenceSet:
        """Return the evidences stored under `key`, training them if they are not there.

        Args:
            name: Name of the part and of its file, `evidence/<name>.npz`.
            key: Everything that the result depends on besides data and recipe.
            recipe: How to train.
            make: Returns the runs and, per run, the indices of its held-out records.
            data: The data set.
            names: Short names of data set and model.
        """
        details = {
            "recipe": {**asdict(recipe), "model": recipe.model.value},
            "data": {"file": data.facts.file, "sha256": data.sha256},
            "training_version": TRAINING_VERSION,
            **key,
        }
        part, file = f"learned/{name}", f"evidence/{name}.npz"
        if self.run.current(part, digest(details)):
            self.console.say(f"{name}: evidences of an earlier run are used")
            return read_evidence(self.run.file(file))[0]
        runs, held_out = make()
        with self.console.progress(f"train {name}", recipe.epochs) as bar:
            evidence = train_evidence(
                recipe,
                runs,
                data.facts.classes,
                device=resolve_device(self.device),
                threads=self.threads,
                progress=lambda _: bar.advance(),
            )
        result = EvidenceSet(
            evidence.transpose(1, 2, 0, 3),
            np.stack([data.label[test] for test in held_out]),
            np.stack(held_out),
            tuple(key["seeds"]),
            names[0],
            names[1],
            tuple(view for view, _ in data.facts.views),
            details,
        )
        with self.run.part(part, digest(details)) as writer:
            writer.bytes(file, evidence_to_npz(result))
        return result


def load_folder(folder: Path | None, *, openml: bool) -> tuple[dict[str, MultiView], list[str]]:
    """Load and check every known data set of a folder before anything is trained.

    Returns:
        The data sets by 'handwritten', 'handwritten_split', 'pie', 'scene15', and the files that
        are not there.
    """
    loaders = {
        "handwritten_split": (datasets.HANDWRITTEN_SPLIT, datasets.load_handwritten_split),
        "handwritten": (datasets.HANDWRITTEN, datasets.load_handwritten),
        "pie": (datasets.PIE, datasets.load_pie),
        "scene15": (datasets.SCENE15, datasets.load_scene15),
    }
    if folder is not None and not folder.is_dir():
        raise UsageError(f"--data {folder} is not a folder")
    found: dict[str, MultiView] = {}
    absent = []
    for name, (facts, load) in loaders.items():
        if folder is not None and (folder / facts.file).exists():
            found[name] = load(folder)
        else:
            absent.append(facts.file)
    if openml and "handwritten" not in found:
        found["handwritten"] = datasets.download_handwritten()
        absent.remove(datasets.HANDWRITTEN.file)
    if not found:
        names = ", ".join(facts.file for facts, _ in loaders.values())
        raise UsageError(f"--data {folder} holds none of the known files: {names}")
    return found, absent


def produce(
    data: dict[str, MultiView], absent: Sequence[str], plan: Plan, shop: Workshop
) -> Produced:
    """Train, or take from the run folder, every evidence that the data sets allow."""
    if plan.first_only:
        first = next(iter(data))
        data = {first: data[first]}
    split, plain = data.get("handwritten_split"), data.get("handwritten")
    tmc_data = split or plain
    results: dict[str, Any] = {"absent": tuple(absent)}
    if tmc_data is not None:
        every = _fixed_split(shop, tmc_data, plan.tmc, plan, Scaling.SEPARATE, ("hw", "tmc"))
        results["hw_tmc_all"] = every
        results["hw_tmc"] = every.take_records(ledger_half(every.label[0], plan.split_seed))
    rcml_data = plain or split
    if rcml_data is not None:
        results["hw_rcml"] = _fixed_split(
            shop, rcml_data, plan.rcml, plan, Scaling.ALL, ("hw", "rcml")
        )
    if "pie" in data:
        results["pie_rcml"] = _fixed_split(
            shop, data["pie"], plan.rcml, plan, Scaling.ALL, ("pie", "rcml")
        )
    if "scene15" in data:
        results.update(_scene15(shop, data["scene15"], plan))
    return Produced(**results)


def without_validation(label: IntArray, train: IntArray, share: float, seed: int) -> IntArray:
    """Return the training records without a class-stratified share of them."""
    from sklearn.model_selection import train_test_split

    kept, _ = train_test_split(train, test_size=share, stratify=label[train], random_state=seed)
    return np.asarray(kept, dtype=np.int64)


def ledger_half(label: IntArray, seed: int) -> IntArray:
    """Positions of the class-stratified half of the test records that TMC is evaluated on."""
    from sklearn.model_selection import train_test_split

    _, test = train_test_split(
        np.arange(len(label)), test_size=0.5, stratify=label, random_state=seed
    )
    return np.sort(np.asarray(test, dtype=np.int64))


def _fixed_split(
    shop: Workshop,
    data: MultiView,
    recipe: Recipe,
    plan: Plan,
    scaling: Scaling,
    names: tuple[str, str],
) -> EvidenceSet:
    """Several training seeds on one split: the file's own, or the stratified one."""

    def make() -> tuple[list[TrainingRun], list[IntArray]]:
        train, test = data.split or stratified_split(data.label, plan.split_seed)
        if plan.validation_share > 0.0:
            train = without_validation(data.label, train, plan.validation_share, plan.split_seed)
        left, right = scale(data.views, train, test, scaling)
        runs = [TrainingRun(left, data.label[train], right, seed) for seed in plan.seeds]
        return runs, [test] * len(runs)

    key = {
        "seeds": list(plan.seeds),
        "scaling": scaling.value,
        "split": "file" if data.split else plan.split_seed,
        "validation_share": plan.validation_share,
    }
    return shop.evidence("-".join(names), key, recipe, make, data, names)


def _scene15(shop: Workshop, data: MultiView, plan: Plan) -> dict[str, Any]:
    """Choose the learning rate, then train all realisations under both scaling conventions."""
    validation = _scene15_validation(shop, data, plan)
    rate = max(validation, key=lambda item: validation[item])
    recipe = replace(plan.tmc, learning_rate=rate)
    parts = []
    for start in range(0, len(plan.scene_seeds), SCENE_BATCH):
        seeds = plan.scene_seeds[start : start + SCENE_BATCH]
        name = f"scene-tmc-{start // SCENE_BATCH + 1}"
        parts.append(_realisations(shop, data, recipe, plan, seeds, Scaling.SEPARATE, name))
    clean = _realisations(
        shop,
        data,
        recipe,
        plan,
        plan.scene_seeds[: plan.interventions],
        Scaling.TRAIN,
        "scene-tmc-train-scaler",
    )
    first = parts[0]
    scene = EvidenceSet(
        np.concatenate([part.evidence for part in parts]),
        np.concatenate([part.label for part in parts]),
        np.concatenate([part.record_id for part in parts]),
        tuple(seed for part in parts for seed in part.seed),
        first.dataset,
        first.model,
        first.view_names,
        first.details,
    )
    return {"scene": scene, "scene_clean": clean, "scene_validation": validation}


def _realisations(
    shop: Workshop,
    data: MultiView,
    recipe: Recipe,
    plan: Plan,
    seeds: Sequence[int],
    scaling: Scaling,
    name: str,
) -> EvidenceSet:
    """One stratified 80/20 split and one training per seed; records sorted by their id."""
    index = plan.scene_rates.index(recipe.learning_rate)
    model_seeds = [1000 * seed + 10 * index + 9 for seed in seeds]

    def make() -> tuple[list[TrainingRun], list[IntArray]]:
        runs, held_out = [], []
        for seed, model_seed in zip(seeds, model_seeds, strict=True):
            train, test = stratified_split(data.label, seed)
            test = np.sort(test)
            left, right = scale(data.views, train, test, scaling)
            runs.append(TrainingRun(left, data.label[train], right, model_seed))
            held_out.append(test)
        return runs, held_out

    key = {"seeds": list(seeds), "model_seeds": model_seeds, "scaling": scaling.value}
    return shop.evidence(name, key, recipe, make, data, ("scene", "tmc"))


def _scene15_validation(shop: Workshop, data: MultiView, plan: Plan) -> dict[float, float]:
    """Mean accuracy of TMC's own fusion over five folds of the first seed's training part."""
    seed = plan.scene_seeds[0]
    key = {
        "seed": seed,
        "rates": list(plan.scene_rates),
        "folds": plan.scene_folds,
        "recipe": {**asdict(plan.tmc), "model": plan.tmc.model.value},
        "sha256": data.sha256,
        "training_version": TRAINING_VERSION,
    }
    part, file = "learned/scene-rate", "evidence/scene-rate.json"
    if shop.run.current(part, digest(key)):
        stored = shop.run.read_json(file)["accuracy"]
        return {float(rate): float(value) for rate, value in stored.items()}
    accuracy = _cross_validate(shop, data, plan, seed)
    with shop.run.part(part, digest(key)) as writer:
        writer.json(file, {"accuracy": {str(r): a for r, a in accuracy.items()}, "key": key})
    return accuracy


def _cross_validate(shop: Workshop, data: MultiView, plan: Plan, seed: int) -> dict[float, float]:
    """Train every rate on every fold at once; each held-out fold is padded to one length."""
    from sklearn.model_selection import StratifiedKFold

    train, _ = stratified_split(data.label, seed)
    folds = StratifiedKFold(plan.scene_folds, shuffle=True, random_state=seed)
    runs: list[TrainingRun] = []
    tests: list[IntArray] = []
    for fold, (fit, check) in enumerate(folds.split(train, data.label[train])):
        left, right = scale(data.views, train[fit], train[check], Scaling.SEPARATE)
        for index, rate in enumerate(plan.scene_rates):
            model_seed = 1000 * seed + 10 * index + fold
            runs.append(TrainingRun(left, data.label[train[fit]], right, model_seed, rate))
            tests.append(train[check])
    with shop.console.progress("choose the learning rate of scene15", plan.tmc.epochs) as bar:
        evidence = train_evidence(
            plan.tmc,
            runs,
            data.facts.classes,
            device=resolve_device(shop.device),
            threads=shop.threads,
            progress=lambda _: bar.advance(),
        )
    fused = nested_evidence(evidence.transpose(1, 2, 0, 3))
    hits = [
        float((fused[r, : len(test)].argmax(-1) == data.label[test]).mean())
        for r, test in enumerate(tests)
    ]
    table = np.asarray(hits).reshape(plan.scene_folds, -1).mean(axis=0)
    return {rate: float(value) for rate, value in zip(plan.scene_rates, table, strict=True)}
