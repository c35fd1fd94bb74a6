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
from pact_benchmark.learned.plan import Plan
from pact_benchmark.learned.training import (
    Recipe,
    TrainingRun,
    resolve_device,
    train_evidence,
)
from pact_benchmark.store import RunFolder, digest

TRAINING_VERSION = 1
SCENE_BATCH = 10


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
