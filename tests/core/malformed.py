"""Instances that are malformed in every way we can name, as single sources and as arrays."""

from __future__ import annotations

from fractions import Fraction
from math import inf, nan
from random import Random
from typing import NamedTuple

import numpy as np

from pact_core import HANDOVER, HANDOVER_ROLES, CommandState, Source, SourceBatch

NAMES = HANDOVER.names
NUMBERS = ("quality", "conflict")
CURRENT = CommandState("c", "c", "current")

LAYOUTS = [
    HANDOVER_ROLES,
    ("geometry", "risk", "language"),
    ("language", "vision", "vision", "risk"),
]


def put(values):
    """Return a kind: one of the values stands in the opinion, for the quality or the conflict."""

    def spoil(random, fields):
        place = random.randrange(len(NAMES) + len(NUMBERS))
        if place < len(NAMES):
            fields["opinion"][place] = random.choice(values)
        else:
            fields[NUMBERS[place - len(NAMES)]] = random.choice(values)

    return spoil


def labelled(fields):
    """Return the opinion as a mapping, and make it the source's."""
    fields["opinion"] = dict(zip(NAMES, fields["opinion"], strict=True))
    return fields["opinion"]


def negative(random, fields):
    """Below zero: a probability in a vector that still sums to one, a quality or a conflict."""
    if random.random() < 0.7:
        below, opinion = random.choice((1e-7, 0.05, 3.0)), fields["opinion"]
        a, b = random.sample(range(len(NAMES)), 2)
        opinion[a], opinion[b] = -below, opinion[a] + opinion[b] + below
    else:
        fields[random.choice(NUMBERS)] = -random.choice((5e-324, 0.1, 1e300))


def unnormalised(random, fields):
    """A vector that sums to nothing, to nearly one, or overflows; a number just above one."""
    if random.random() < 0.7:
        scale = random.choice((0.0, 5e-324, 0.5, 1 - 2e-6, 1 + 2e-6, 1.001, 1e9, 1.7e308))
        scaled = [value * scale for value in fields["opinion"]]
        fields["opinion"] = random.choice((scaled, np.array(scaled), [1e308] * len(NAMES)))
    else:
        fields[random.choice(NUMBERS)] = 1.0 + random.choice((2.3e-16, 0.1, 1e300))


def wrong_length(random, fields):
    """A distribution over another number of contracts."""
    length = random.choice((1, 2, 3, 4, 6, 7, 10, 100))
    uniform = [1.0 / length] * length
    fields["opinion"] = random.choice((uniform, tuple(uniform), np.array(uniform), [uniform]))


def unknown_label(random, fields):
    """A mapping in which a contract is missing, goes by another name, or is one too many."""
    opinion, known = labelled(fields), random.choice(NAMES)
    way = random.randrange(3)
    value = opinion[known] if way == 2 else opinion.pop(known)
    if way:
        strange = ("X", "", 0, None, ("N",), known.lower(), known * 2, f"c{random.random()}")
        opinion[random.choice(strange)] = value


def absent(random, fields):
    """A field that is None, or an entry of the opinion that is."""
    name = random.choice(("opinion", "quality", "conflict", "declared_valid", ""))
    if name:
        fields[name] = None
    else:
        fields["opinion"][random.randrange(len(NAMES))] = None


class Frame(list):
    """A table as data frames are: as long as it has rows, but giving its columns."""

    def __iter__(self):
        return iter([0.5, 0.5])


WRONG_NUMBERS = [
    True, np.True_, "0.2", b"0.2", bytearray(b"0.2"), [0.2], {}, 1j, np.complex128(0.2 + 1j),
    object(), Random, np.array([0.2, 0.3]), np.void(b"1"), np.datetime64("2020"), 10**400,
    Fraction(10**400),
]  # fmt: skip
WRONG_OPINIONS = [
    None, "", "words", b"bytes", 7, True, nan, 1j, object(), dict, len, [], {}, [1.0], [0.2] * 6,
    ["0.2"] * 5, [[0.2]] * 5, [None] * 5, [True, False, False, False, False], [1j, 0, 0, 0, 0],
    [10**400, 0, 0, 0, 0], bytearray([1, 0, 0, 0, 0]), {0.5, 0.2, 0.15, 0.1, 0.05}, {"N": 1.0},
    dict.fromkeys("NSHTX", 0.2), {**dict.fromkeys("NSHTU", 0.2), "Z": 0.0}, Frame([0.2] * 5),
    dict.fromkeys("NSHTU", 0.2).values(), np.array(0.2), np.full((5, 5), 0.2), np.full((5, 1), 0.2),
    np.full(5, 0.2 + 1j), np.array(["0.2"] * 5), np.array([1, 0, 0, 0, 0], dtype=bool),
]  # fmt: skip


def wrong_type(random, fields):
    """Something that is no number where one belongs, or no vector where one belongs."""
    if random.random() < 0.1:
        fields["opinion"] = iter(fields["opinion"])  # whoever reads it second finds nothing
    elif random.random() < 0.5:
        fields["opinion"] = random.choice(WRONG_OPINIONS)
    else:
        put(WRONG_NUMBERS)(random, fields)


LOOKALIKES = ["Ｎ", "Ν", "ℕ", "N\u0301", "N\u200b", "\u200fN", "N\x00", "\ud800", "ñ", "☃"]


def unicode(random, fields):
    """A label that only looks like a contract, or a text that only looks like a number."""
    if random.random() < 0.5:
        opinion = labelled(fields)
        opinion[random.choice(LOOKALIKES)] = opinion.pop("N")
    else:
        put(["½", "٠.٥", "０.２", "∞", "−0.2", "0\u200b.2", "\ud800", "☃"])(random, fields)


def empty(random, fields):
    """Nothing in the opinion, or an empty text or collection for a number."""
    if random.random() < 0.7:
        nothing = ([], (), {}, "", b"", set(), [[]] * 5, np.array([]), np.empty((0, 5)))
        fields["opinion"] = random.choice(nothing)
    else:
        fields[random.choice(NUMBERS)] = random.choice(("", [], {}, ()))


def timing(random, fields):
    """The command of a language source: absent, incomplete, another one, the previous one."""
    fields["command"] = random.choice((
        None, CommandState(), CommandState("c", "c"), CommandState("c", None, "current"),
        CommandState("", "c", "current"), CommandState("c", "с", "current"),
        CommandState("c", "c", "stale_previous_command", "b", "r0"),
    ))  # fmt: skip


INVALID = {
    "nan": put([nan, np.float64(nan), np.float32(nan)]),
    "infinite": put([inf, -inf, np.float64(inf), np.float32(-inf)]),
    "negative": negative,
    "unnormalised": unnormalised,
    "wrong length": wrong_length,
    "unknown label": unknown_label,
    "absent": absent,
    "wrong type": wrong_type,
    "unicode": unicode,
    "empty": empty,
}
"""Kinds that make their source invalid."""

KINDS = [*INVALID, "parents", "timing"]
"""All kinds; strange parents alone are no fault, and timing is answered by a check of its own."""

PLAIN, *STRANGE = (
    [frozenset({f"p{j}"}) for j in range(4)],
    [frozenset({f"{'☃' * 50}{j}", f"\ud800{j}", f"é{j}", f"e\u0301{j}"}) for j in range(4)],
    [frozenset({str(j) * 100_000}) for j in range(4)],
    [(j, (j, None), j + 0.5, b"%d" % j, f"{j}", f"{j}") for j in range(4)],
    [frozenset(f"parent {j}-{i}" for i in range(5_000)) for j in range(4)],
)
"""Parents of up to four sources: plain names, unicode, long ones, mixed types, thousands."""

STRANGE_WEIGHTS = (10, 10, 10, 1)


class Malformed(NamedTuple):
    """One instance with its kind, the damaged source and whether two sources share parents."""

    sources: list[Source]
    kind: str
    victim: int
    shared: bool


def instances(seed, n):
    """Return n instances of one layout, every kind equally often.

    The sources agree, so that nothing but what is malformed withholds them. Sources other than
    the damaged one are missing now and then, with anything in their fields.
    """
    random, rng = Random(seed), np.random.default_rng(seed)
    roles = LAYOUTS[seed % len(LAYOUTS)]
    opinions = rng.dirichlet([40, 2, 2, 2, 2], (n, len(roles))).tolist()
    return [one_instance(random, KINDS[i % len(KINDS)], roles, opinions[i]) for i in range(n)]


def one_instance(random, kind, roles, opinions):
    """Return an instance of a kind; the opinions become its own."""
    count = len(roles)
    victim = roles.index("language") if kind == "timing" else random.randrange(count)
    shared = random.random() < 0.5
    origin = list(range(count))
    origin[(victim + 1) % count] = victim if shared else (victim + 1) % count
    strange = kind == "parents" or random.random() < 0.05
    pool = random.choices(STRANGE, STRANGE_WEIGHTS)[0] if strange else PLAIN
    sources = []
    for j, role in enumerate(roles):
        fields = {
            "opinion": opinions[j],
            "quality": 0.9 + 0.1 * random.random(),
            "conflict": 0.1 * random.random(),
            "command": CURRENT if role == "language" else None,
        }
        if j == victim and kind != "parents":
            (timing if kind == "timing" else INVALID[kind])(random, fields)
        elif j != victim and kind != "parents" and random.random() < 0.1:
            fields["available"] = random.choice((False, None))
            wrong_type(random, fields)
        sources.append(Source(role, parents=pool[origin[j]], **fields))
    return Malformed(sources, kind, victim, shared)


BAD = np.array([nan, inf, -inf, -0.3, 1.7, 1e308, -1e-7, 5e-324])


def batch(seed, n):
    """Return arrays of sharp agreeing sources; at least one present source per row is damaged."""
    rng = np.random.default_rng(seed)
    opinion = rng.dirichlet([20, 1, 1, 1, 1], (n, 3))
    quality, conflict = rng.uniform(0.9, 1.0, (n, 3)), rng.uniform(0.0, 0.1, (n, 3))
    declared = np.zeros((n, 3), dtype=bool)
    victim = rng.integers(0, 3, n)
    unavailable = rng.random((n, 3)) < 0.1
    unavailable[np.arange(n), victim] = False
    kind = rng.integers(0, 6, n)
    rows = np.arange(n)
    spoiled, place = rng.choice(BAD, n), rng.integers(0, 5, n)

    def where(code):
        return rows[kind == code], victim[kind == code]

    i, j = where(0)
    opinion[i, j, place[i]] = np.where(spoiled[i] == 5e-324, 1.5, spoiled[i])
    i, j = where(1)
    opinion[i, j] *= rng.choice([0.0, 0.5, 1.001, 1e9], len(i))[:, None]
    i, j = where(2)
    quality[i, j] = rng.choice([nan, inf, -inf, -0.1, 1.1], len(i))
    i, j = where(3)
    conflict[i, j] = rng.choice([nan, inf, -inf, -0.1, 1.1], len(i))
    declared[where(4)] = True
    opinion[where(5)] = nan
    component = np.where(rng.random((n, 1)) < 0.5, [[0, 1, 1]], [[0, 1, 2]])
    return SourceBatch.build(
        opinion, quality, conflict, component=component, roles=HANDOVER_ROLES,
        unavailable=unavailable, declared_invalid=declared,
    )  # fmt: skip


def row(arrays, i):
    """Return one row of such arrays as single sources."""
    return [
        Source(
            role,
            arrays.opinion[i, j].tolist(),
            float(arrays.quality[i, j]),
            float(arrays.conflict[i, j]),
            {f"p{arrays.component[i, j]}"},
            available=not arrays.unavailable[i, j],
            declared_valid=not arrays.declared_invalid[i, j],
            command=CURRENT if j == 0 else None,
        )
        for j, role in enumerate(HANDOVER_ROLES)
    ]
