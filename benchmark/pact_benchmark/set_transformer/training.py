"""Training of one Set Transformer: seeded, single-threaded, with early stopping (needs torch)."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from pact_benchmark.set_transformer.model import SetTransformer, selective_loss


@dataclass(frozen=True, slots=True)
class Recipe:
    """Optimiser and stopping rule; the defaults are the published ones."""

    learning_rate: float = 3e-3
    weight_decay: float = 1e-4
    batch: int = 1024
    epochs: int = 60
    patience: int = 8
    improvement: float = 1e-5

    @classmethod
    def from_table(cls, table: Mapping[str, float]) -> Recipe:
        """Read a recipe from plain numbers by name."""
        return cls(
            learning_rate=float(table["learning_rate"]),
            weight_decay=float(table["weight_decay"]),
            batch=int(table["batch"]),
            epochs=int(table["epochs"]),
            patience=int(table["patience"]),
            improvement=float(table["improvement"]),
        )


@dataclass(frozen=True, slots=True)
class Rows:
    """Training or validation rows: features [n, 3, 19] and labels [n]."""

    features: NDArray[np.float32]
    label: NDArray[np.int64]


@contextmanager
def _one_thread() -> Iterator[None]:
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(threads)


def train(train_rows: Rows, validation: Rows, seed: int, recipe: Recipe) -> SetTransformer:
    """Train one model and return it with the weights of its best validation epoch.

    The result depends on the rows, the recipe and `seed` only.
    """
    with _one_thread(), torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        model = SetTransformer(train_rows.features.shape[-1], int(train_rows.label.max()) + 1)
        optimiser = torch.optim.AdamW(
            model.parameters(), lr=recipe.learning_rate, weight_decay=recipe.weight_decay
        )
        features, label = torch.from_numpy(train_rows.features), torch.from_numpy(train_rows.label)
        best, best_loss, waited = copy.deepcopy(model.state_dict()), float("inf"), 0
        for _ in range(recipe.epochs):
            for rows in torch.split(torch.randperm(len(label)), recipe.batch):
                optimiser.zero_grad()
                torch.autograd.backward(_loss(model, features[rows], label[rows]))
                optimiser.step()
            loss = _validation_loss(model, validation, recipe.batch)
            if loss < best_loss - recipe.improvement:
                best, best_loss, waited = copy.deepcopy(model.state_dict()), loss, 0
            else:
                waited += 1
                if waited == recipe.patience:
                    break
        model.load_state_dict(best)
    return model


def _loss(model: SetTransformer, features: Tensor, label: Tensor) -> Tensor:
    logits, selection = model(features)
    return selective_loss(logits, selection, label)


def _validation_loss(model: SetTransformer, rows: Rows, batch: int) -> float:
    """Return the mean loss of the validation batches, weighted by their size."""
    with torch.no_grad():
        features, label = torch.from_numpy(rows.features), torch.from_numpy(rows.label)
        parts = zip(torch.split(features, batch), torch.split(label, batch), strict=True)
        total = sum(float(_loss(model, x, y)) * len(y) for x, y in parts)
    return total / len(rows.label)


def predict(model: SetTransformer, features: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return the contract probabilities and, as last column, the selection score: [n, K + 1]."""
    with _one_thread(), torch.no_grad():
        logits, selection = model(torch.from_numpy(features))
        result = torch.cat([torch.softmax(logits, dim=-1), selection[:, None]], dim=-1)
    array: NDArray[np.float32] = result.numpy()
    return array
