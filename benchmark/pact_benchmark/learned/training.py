"""Train TMC and RCML on many runs at once.

Each view has one linear layer followed by softplus; its outputs are the evidences of that view.
All runs (seeds, splits, folds, learning rates) are trained together as one batched matrix product,
with the gradients of the losses written out, so that five seeds cost little more than one.
Only this module needs torch, and only while it trains.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pact_benchmark.errors import PactError

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
Tensor = Any

ADAM_DECAY = (0.9, 0.999)
ADAM_EPSILON = 1e-8


class Model(StrEnum):
    """The trained models of the study."""

    TMC = "tmc"
    RCML = "rcml"


@dataclass(frozen=True, slots=True)
class Recipe:
    """How a model is trained; every field enters the key under which its evidences are stored."""

    model: Model
    learning_rate: float
    epochs: int = 500
    batch_size: int = 200
    annealing_epochs: int = 50
    weight_decay: float = 1e-5
    conflict_weight: float = 1.0


@dataclass(frozen=True, slots=True)
class TrainingRun:
    """One run: its own records, its own seed and, if given, its own learning rate.

    Attributes:
        train: Scaled features of the training records, one array [n, d_v] per view.
        train_label: Classes 0..K-1 of the training records, shape [n].
        test: Scaled features of the held-out records, one array [m, d_v] per view.
        seed: Seed of the initial weights and of the order of the records.
        learning_rate: Overrides the recipe's rate.
    """

    train: Sequence[FloatArray]
    train_label: IntArray
    test: Sequence[FloatArray]
    seed: int
    learning_rate: float | None = None


def import_torch() -> Any:
    """Return torch, or raise a PactError that says how to get it."""
    try:
        import torch
    except ImportError:
        raise PactError(
            "training needs torch, which is not installed: install the extra 'learned', "
            "or give stored evidences with --evidence FILE"
        ) from None
    return torch


def resolve_device(name: str) -> str:
    """Return the torch device for 'auto', 'cpu' or 'cuda'; refuse a GPU that is not there."""
    torch = import_torch()
    available = bool(torch.cuda.is_available())
    if name == "cuda" and not available:
        raise PactError("device 'cuda' was asked for, but torch sees no GPU: use --device cpu")
    return "cuda" if available and name != "cpu" else "cpu"


def trigamma(x: Tensor) -> Tensor:
    """Second derivative of ln Γ for x >= 1, by four recurrence steps and the asymptotic series."""
    total = x.square().reciprocal_()
    for shift in (1.0, 2.0, 3.0):
        total += (x + shift).square_().reciprocal_()
    inverse = (x + 4.0).reciprocal_()
    square = inverse * inverse
    series = square * (1.0 / 42.0) - 1.0 / 30.0
    series = series.mul_(square).add_(1.0 / 6.0).mul_(square).add_(1.0)
    return total.add_(series.mul_(inverse)).add_(square.mul_(0.5))


def evidential_gradient(evidence: Tensor, onehot: Tensor, annealing: float) -> Tensor:
    """Gradient of the evidential loss with respect to the evidence, shape of `evidence`.

    The loss per record is ψ(S) - ψ(α_y) + annealing · KL(Dir(α̃) || Dir(1)), with α = e + 1, S its
    sum and α̃ equal to α except for the true class, where it is one.
    """
    classes = evidence.shape[-1]
    tri = trigamma(evidence + 1.0)
    wrong = evidence * (1.0 - onehot)
    wrong_sum = wrong.sum(-1, keepdim=True)
    true_sum = (evidence * onehot).sum(-1, keepdim=True)
    spread = annealing * wrong_sum * trigamma(wrong_sum + classes)
    gradient = tri * (annealing * wrong - onehot)
    gradient -= spread * (1.0 - onehot)
    gradient += trigamma(wrong_sum + true_sum + classes)
    return gradient


def fuse_tmc(evidence: Tensor) -> Tensor:
    """Compose views [V, ..., K] by Dempster's rule in closed form: e = K (prod(1 + e_v/K) - 1)."""
    classes = evidence.shape[-1]
    return ((1.0 + evidence / classes).prod(0) - 1.0) * classes


def rcml_weights(views: int) -> FloatArray:
    """Weights [V] of the sequential pair average of RCML's own fusion; later views weigh more."""
    weights = 0.5 ** np.arange(views - 1, -1, -1, dtype=np.float64)
    weights = weights * 0.5
    weights[0] *= 2.0
    return weights


def tmc_gradient(evidence: Tensor, onehot: Tensor, annealing: float) -> Tensor:
    """Gradient of TMC's loss: the sum of the losses of the views and of the fused opinion."""
    torch = import_torch()
    classes = evidence.shape[-1]
    fused = fuse_tmc(evidence)
    terms = torch.cat([evidence, fused[None]])
    gradient = evidential_gradient(terms, onehot, annealing)
    factor = gradient[-1] * (fused / classes + 1.0)
    return gradient[:-1] + factor / (1.0 + evidence / classes)


def conflict_gradient(evidence: Tensor) -> Tensor:
    """Gradient of RCML's conflict loss for views [V, ..., K].

    The loss is the sum over ordered pairs of views of the half l1 distance of their mean
    probabilities, times the product of their certainties, over V - 1.
    """
    views, classes = evidence.shape[0], evidence.shape[-1]
    strength = evidence.sum(-1, keepdim=True) + classes
    mean = (evidence + 1.0) / strength
    certainty = 1.0 - classes / strength
    difference = mean[:, None] - mean[None]
    distance = difference.abs().sum(-1, keepdim=True)
    by_mean = (difference.sign() * certainty[None]).sum(1) * certainty / (views - 1)
    by_certainty = (distance * certainty[None]).sum(1) / (views - 1)
    centred = by_mean - (by_mean * mean).sum(-1, keepdim=True)
    return centred / strength + by_certainty * classes / strength.square()


def rcml_gradient(
    evidence: Tensor, onehot: Tensor, annealing: float, conflict_weight: float
) -> Tensor:
    """Gradient of RCML's loss: mean evidential loss of views and fused opinion, plus conflict."""
    torch = import_torch()
    views = evidence.shape[0]
    weights = torch.as_tensor(rcml_weights(views), dtype=evidence.dtype, device=evidence.device)
    weights = weights.reshape(views, *([1] * (evidence.dim() - 1)))
    fused = (evidence * weights).sum(0)
    gradient = evidential_gradient(torch.cat([evidence, fused[None]]), onehot, annealing)
    accuracy = (gradient[:-1] + weights * gradient[-1]) / (views + 1)
    return accuracy + conflict_weight * conflict_gradient(evidence)


def train_evidence(
    recipe: Recipe,
    runs: Sequence[TrainingRun],
    classes: int,
    *,
    device: str = "cpu",
    threads: int = 1,
    progress: Callable[[int], None] | None = None,
) -> FloatArray:
    """Train all runs together and return their held-out evidences.

    Args:
        recipe: Model and optimiser.
        runs: At least one; all have the same views, feature sizes and number of held-out records.
            Numbers of training records may differ.
        classes: Number of classes K.
        device: 'cpu' or 'cuda'.
        threads: Threads of torch on a CPU.
        progress: Called with the number of finished epochs.

    Returns:
        Evidences, shape [views, runs, records, classes], non-negative.
    """
    torch = import_torch()
    torch.set_num_threads(threads)
    with torch.no_grad():
        trainer = _Trainer(recipe, runs, classes, device)
        for epoch in range(1, recipe.epochs + 1):
            trainer.epoch(epoch)
            if progress is not None:
                progress(epoch)
        evidence = trainer.held_out()
    if not np.isfinite(evidence).all():
        raise PactError(f"training of {recipe.model.value} diverged: lower the learning rate")
    return evidence


class _Trainer:
    """State of the batched optimisation: features, parameters and Adam moments of all runs."""

    def __init__(
        self, recipe: Recipe, runs: Sequence[TrainingRun], classes: int, device: str
    ) -> None:
        torch = import_torch()
        self.recipe, self.classes, self.device = recipe, classes, device
        self.runs, self.views = len(runs), len(runs[0].train)
        self.sizes = [int(view.shape[1]) for view in runs[0].train]
        self.count = np.array([len(run.train_label) for run in runs])
        self.rows = int(self.count.max())
        self.generators = [np.random.default_rng(np.random.SeedSequence(r.seed)) for r in runs]
        self.train = [self._stack([run.train[v] for run in runs]) for v in range(self.views)]
        self.test = [self._stack([run.test[v] for run in runs]) for v in range(self.views)]
        label = np.zeros((self.runs, self.rows), dtype=np.int64)
        for row, run in zip(label, runs, strict=True):
            row[: len(run.train_label)] = run.train_label
        onehot = np.eye(classes, dtype=np.float32)[label]
        self.onehot = torch.as_tensor(onehot, device=device).reshape(-1, classes)
        rates = [recipe.learning_rate if r.learning_rate is None else r.learning_rate for r in runs]
        self.rates = torch.tensor(rates, dtype=torch.float32, device=device)[:, None]
        self.parameters = torch.as_tensor(self._initial(), device=device)
        self.first = torch.zeros_like(self.parameters)
        self.second = torch.zeros_like(self.parameters)
        self.steps = torch.zeros((self.runs, 1), dtype=torch.float64, device=device)

    def _stack(self, arrays: Sequence[FloatArray]) -> Tensor:
        """Stack per-run features to [runs, rows, d], short runs padded with zeros."""
        torch = import_torch()
        rows = max(len(array) for array in arrays)
        stacked = np.zeros((len(arrays), rows, arrays[0].shape[1]), dtype=np.float32)
        for target, array in zip(stacked, arrays, strict=True):
            target[: len(array)] = array
        return torch.as_tensor(stacked, device=self.device)

    def _initial(self) -> NDArray[np.float32]:
        """Uniform weights and biases within ±1/sqrt(d_v), shape [runs, parameters]."""
        blocks = []
        for generator in self.generators:
            parts = []
            for size in self.sizes:
                bound = 1.0 / np.sqrt(size)
                parts.append(generator.uniform(-bound, bound, (size + 1) * self.classes))
            blocks.append(np.concatenate(parts))
        return np.asarray(blocks, dtype=np.float32)

    def _layers(self, flat: Tensor) -> list[tuple[Tensor, Tensor]]:
        """Views of a flat [runs, parameters] buffer as one (weight, bias) per view."""
        layers, start = [], 0
        for size in self.sizes:
            middle, stop = start + size * self.classes, start + (size + 1) * self.classes
            weight = flat[:, start:middle].view(self.runs, size, self.classes)
            layers.append((weight, flat[:, middle:stop].view(self.runs, 1, self.classes)))
            start = stop
        return layers

    def _logits(self, features: Sequence[Tensor]) -> Tensor:
        """Linear outputs of all views, shape [views, runs, rows, classes]."""
        torch = import_torch()
        layers = self._layers(self.parameters)
        return torch.stack(
            [torch.baddbmm(b, x, w) for x, (w, b) in zip(features, layers, strict=True)]
        )

    def epoch(self, number: int) -> None:
        """Visit every training record of every run once, in an order drawn per run."""
        torch = import_torch()
        batch = self.recipe.batch_size
        steps = int(np.ceil(self.rows / batch))
        order = np.zeros((self.runs, steps * batch), dtype=np.int64)
        for row, count, generator in zip(order, self.count, self.generators, strict=True):
            row[:count] = generator.permutation(count)
        used = np.arange(steps * batch) < self.count[:, None]
        annealing = min(1.0, number / self.recipe.annealing_epochs)
        offset = np.arange(self.runs)[:, None] * self.rows
        flat = torch.as_tensor(order + offset, device=self.device)
        for start in range(0, steps * batch, batch):
            part = used[:, start : start + batch]
            width = int(part.sum(1).max())
            weight = part[:, :width] / np.maximum(part.sum(1, keepdims=True), 1)
            index = flat[:, start : start + width].reshape(-1)
            self._update(index, torch.as_tensor(weight.astype(np.float32)), annealing)

    def _update(self, index: Tensor, weight: Tensor, annealing: float) -> None:
        """One Adam step on the records at flat positions `index` with weights [runs, width]."""
        torch = import_torch()
        width = weight.shape[1]
        features = [
            x.view(-1, x.shape[2]).index_select(0, index).view(self.runs, width, -1)
            for x in self.train
        ]
        onehot = self.onehot.index_select(0, index).view(self.runs, width, self.classes)
        logits = self._logits(features)
        evidence = torch.nn.functional.softplus(logits)
        if self.recipe.model is Model.TMC:
            gradient = tmc_gradient(evidence, onehot, annealing)
        else:
            gradient = rcml_gradient(evidence, onehot, annealing, self.recipe.conflict_weight)
        gradient *= torch.sigmoid(logits)
        gradient *= weight.to(self.device)[None, :, :, None]
        flat = torch.empty_like(self.parameters)
        for view, (by_weight, by_bias) in enumerate(self._layers(flat)):
            by_weight.copy_(torch.bmm(features[view].transpose(1, 2), gradient[view]))
            by_bias.copy_(gradient[view].sum(1, keepdim=True))
        self._adam(flat, weight.to(self.device).sum(1, keepdim=True) > 0)

    def _adam(self, gradient: Tensor, active: Tensor) -> None:
        """Adam with weight decay added to the gradient and one learning rate per run.

        A run that has no record left in this epoch stays as it is, moments included.
        """
        torch = import_torch()
        gradient.add_(self.parameters, alpha=self.recipe.weight_decay)
        self.steps += active
        keep, fresh = torch.where(active, ADAM_DECAY[0], 1.0), torch.where(active, 1.0, 0.0)
        self.first.mul_(keep).add_(gradient * (fresh * (1.0 - ADAM_DECAY[0])))
        keep = torch.where(active, ADAM_DECAY[1], 1.0)
        self.second.mul_(keep).add_(gradient.square_().mul_(fresh * (1.0 - ADAM_DECAY[1])))
        first_share = 1.0 - ADAM_DECAY[0] ** self.steps
        second_share = 1.0 - ADAM_DECAY[1] ** self.steps
        scale = (self.second / second_share.float()).sqrt_().add_(ADAM_EPSILON)
        rates = self.rates * fresh / first_share.float()
        self.parameters -= rates * self.first / scale

    def held_out(self) -> FloatArray:
        """Evidences of the held-out records, shape [views, runs, records, classes]."""
        torch = import_torch()
        evidence = torch.nn.functional.softplus(self._logits(self.test))
        return np.asarray(evidence.cpu().numpy(), dtype=np.float64)
