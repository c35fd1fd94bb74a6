"""A small Set Transformer with a contract head and a selection head (needs torch)."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional

WIDTH = 96
HEADS = 4
FEED_FORWARD = 192


class Attention(nn.Module):
    """Multi-head attention of `queries` [n, a, WIDTH] over `keys` [n, b, WIDTH]."""

    def __init__(self) -> None:
        super().__init__()
        self.query = nn.Linear(WIDTH, WIDTH)
        self.key_value = nn.Linear(WIDTH, 2 * WIDTH)
        self.out = nn.Linear(WIDTH, WIDTH)

    def forward(self, queries: Tensor, keys: Tensor) -> Tensor:
        """Return the attended values, shape [n, a, WIDTH]."""
        rows, slots = queries.shape[0], queries.shape[1]
        split = (rows, -1, HEADS, WIDTH // HEADS)
        query = self.query(queries).view(split).transpose(1, 2)
        key, value = (
            part.view(split).transpose(1, 2) for part in self.key_value(keys).chunk(2, -1)
        )
        weights = torch.softmax(query @ key.transpose(-2, -1) * (WIDTH // HEADS) ** -0.5, dim=-1)
        merged = (weights @ value).transpose(1, 2).reshape(rows, slots, WIDTH)
        attended: Tensor = self.out(merged)
        return attended


class Block(nn.Module):
    """Attention and a feed-forward layer, each with a residual connection and layer norm."""

    def __init__(self) -> None:
        super().__init__()
        self.attention = Attention()
        self.norm_attention = nn.LayerNorm(WIDTH)
        self.feed_forward = nn.Sequential(
            nn.Linear(WIDTH, FEED_FORWARD), nn.ReLU(), nn.Linear(FEED_FORWARD, WIDTH)
        )
        self.norm_feed_forward = nn.LayerNorm(WIDTH)

    def forward(self, queries: Tensor, keys: Tensor) -> Tensor:
        """Return the transformed queries, shape [n, a, WIDTH]."""
        hidden = self.norm_attention(queries + self.attention(queries, keys))
        transformed: Tensor = self.norm_feed_forward(hidden + self.feed_forward(hidden))
        return transformed


class SetTransformer(nn.Module):
    """Contract logits and a selection score from an unordered set of sources.

    Two self-attention blocks of width 96 with four heads and feed-forward width 192, pooling
    by one learned query with four heads, and a linear head each for contract and selection.
    """

    def __init__(self, features: int, contracts: int) -> None:
        super().__init__()
        self.embed = nn.Linear(features, WIDTH)
        self.blocks = nn.ModuleList([Block(), Block()])
        self.query = nn.Parameter(torch.randn(1, 1, WIDTH) * WIDTH**-0.5)
        self.pool = Block()
        self.contract = nn.Linear(WIDTH, contracts)
        self.selection = nn.Linear(WIDTH, 1)

    def forward(self, sources: Tensor) -> tuple[Tensor, Tensor]:
        """Return logits [n, contracts] and selection scores [n] in (0, 1)."""
        hidden = self.embed(sources)
        for block in self.blocks:
            hidden = block(hidden, hidden)
        pooled = self.pool(self.query.expand(len(sources), -1, -1), hidden)[:, 0]
        return self.contract(pooled), torch.sigmoid(self.selection(pooled))[:, 0]


def selective_loss(
    logits: Tensor,
    selection: Tensor,
    label: Tensor,
    *,
    floor: float = 1e-6,
    coverage: float = 0.40,
    coverage_penalty: float = 32.0,
    full_weight: float = 0.5,
) -> Tensor:
    """Return selection-weighted cross-entropy, coverage penalty and full cross-entropy in sum.

    The penalty is the squared shortfall of the mean selection from `coverage`.
    """
    cross_entropy = functional.cross_entropy(logits, label, reduction="none")
    selective = (selection * cross_entropy).sum() / selection.sum().clamp_min(floor)
    shortfall = (coverage - selection.mean()).clamp_min(0.0)
    return selective + coverage_penalty * shortfall**2 + full_weight * cross_entropy.mean()
