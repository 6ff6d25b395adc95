"""The tables that are made rather than collected, the same on every machine and in every version.

Only `random.Random.random`, which Python promises to keep, and sums and products of floats are used: no libm, no NumPy.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable
from random import Random

SPECIFICATIONS = {
    "5c": (21.20, 3.95),
    "10c": (18.03, 1.75),
    "25c": (23.88, 4.40),
    "50c": (27.13, 6.90),
}  # mm, g (Canada)
PURSE = {"5c": 380, "10c": 360, "25c": 400, "50c": 60}
SIZE_ERROR, MASS_ERROR = 1.1, 0.25
COINS_SEED = 1967
SOFTNESS, COLOUR = (0.35, 0.75), (0.40, 0.85)
PAPAYAS_SEED = 2002


def coins(seed: int = COINS_SEED) -> str:
    """The text of coins.csv: (size, mass) → 5c, 10c, 25c, 50c, from the specifications of real coins, plus wear and measuring.

    A coin of wear u in [0, 1) has lost u·0.5 % of its diameter and u·3 % of its mass; most coins are little worn (u is the square
    of a uniform number). The size was read off a photograph, the mass off kitchen scales, so the 5c and the 25c overlap a little.
    """
    random = Random(seed)
    purse = [coin for coin, n in PURSE.items() for _ in range(n)]
    order = sorted(range(len(purse)), key=[random.random() for _ in purse].__getitem__)
    return as_csv(("size_mm", "mass_g", "coin"), (_measure(purse[i], random) for i in order))


def _measure(coin: str, random: Random) -> tuple[str, str, str]:
    size, mass = SPECIFICATIONS[coin]
    u = random.random()
    wear = u * u
    measured = size * (1 - 0.005 * wear) + SIZE_ERROR * about_normal(random)
    weighed = mass * (1 - 0.03 * wear) + MASS_ERROR * about_normal(random)
    return f"{measured:.2f}", f"{weighed:.2f}", coin


def papayas(seed: int = PAPAYAS_SEED) -> str:
    """The text of papayas.csv: (softness, colour) → tasty or not. The tasty ones are those inside a rectangle, without exception."""
    random = Random(seed)
    rows = []
    for _ in range(400):
        softness, colour = round(random.random(), 3), round(random.random(), 3)
        inside = SOFTNESS[0] <= softness <= SOFTNESS[1] and COLOUR[0] <= colour <= COLOUR[1]
        rows.append((f"{softness:.3f}", f"{colour:.3f}", "tasty" if inside else "not tasty"))
    return as_csv(("softness", "colour", "taste"), rows)


STROKES = {  # on a grid of 5 × 7, a row a word
    0: "01110 10001 10001 10001 10001 10001 01110",
    1: "00100 01100 00100 00100 00100 00100 01110",
    2: "01110 10001 00001 00110 01000 10000 11111",
    3: "11110 00001 00001 01110 00001 00001 11110",
    4: "00010 00110 01010 10010 11111 00010 00010",
    5: "11111 10000 11110 00001 00001 10001 01110",
    6: "00110 01000 10000 11110 10001 10001 01110",
    7: "11111 00001 00010 00100 01000 01000 01000",
    8: "01110 10001 10001 01110 10001 10001 01110",
    9: "01110 10001 10001 01111 00001 00010 01100",
}
DIGITS_SEED, DIGITS, SIDE = 1998, 600, 8


def digits(seed: int = DIGITS_SEED) -> str:
    """The text of digits.csv: 8 × 8 shades from 0 to 16 → 0, 1, …, 9. Strokes are shifted, slanted, thickened, blurred and made noisy."""
    random = Random(seed)
    rows = [(*_written(k % 10, random), k % 10) for k in range(DIGITS)]
    order = sorted(range(DIGITS), key=[random.random() for _ in rows].__getitem__)
    names = [f"p{r}{c}" for r in range(SIDE) for c in range(SIDE)]
    return as_csv((*names, "digit"), (rows[i] for i in order))


def _written(digit: int, random: Random) -> list[int]:
    ink = [[float(dot) for dot in line] for line in STROKES[digit].split()]
    across, down = 1.5 + 2.0 * (random.random() - 0.5), 0.5 + 1.6 * (random.random() - 0.5)
    slant, pen = 0.9 * (random.random() - 0.5), 12.0 + 6.0 * random.random()
    shades = []
    for r in range(SIDE):
        for c in range(SIDE):
            y = r - down
            x = c - across + slant * (y - 3.0)
            shade = pen * _blurred(ink, y, x) + 2.6 * about_normal(random)
            shades.append(max(0, min(16, int(shade + 0.5))))
    return shades


def _blurred(ink: list[list[float]], y: float, x: float) -> float:
    """The ink at a place between the dots, from the four around it."""
    i, j = int(y + 10.0) - 10, int(x + 10.0) - 10
    v, u = y - i, x - j
    corners = ((i, j, (1 - v) * (1 - u)), (i, j + 1, (1 - v) * u), (i + 1, j, v * (1 - u)), (i + 1, j + 1, v * u))
    return sum(share * ink[a][b] for a, b, share in corners if 0 <= a < 7 and 0 <= b < 5)


SPAM_SEED, MESSAGES = 1978, 400
OPENINGS = {
    "spam": ("Congratulations", "Dear winner", "Urgent", "Last chance", "Dear friend", "Attention", "Hello"),
    "ham": ("Hi Anna", "Hello", "Dear all", "Good morning", "Thanks", "Hi", "Dear friend"),
}
MIDDLES = {
    "spam": (
        "you have won a free prize", "claim your cash bonus now", "buy cheap pills online", "your account will be closed",
        "earn money from home", "a limited offer just for you", "click here to unlock your loan", "no risk and no fees",
        "double your money in a week", "we found an unpaid invoice",
    ),
    "ham": (
        "the meeting moved to Tuesday", "could you send me the report", "here are the notes of the lecture", "lunch at noon as usual",
        "the train was late again", "please review my draft", "we found an unpaid invoice", "your order has been shipped",
        "see you at the seminar", "the data arrived this morning",
    ),
}  # fmt: skip
ENDINGS = {
    "spam": ("act now", "reply today", "100 % guaranteed", "visit our site", "best regards", "only 24 hours left"),
    "ham": ("see you soon", "best regards", "thanks a lot", "call me if you can", "until tomorrow", "reply today"),
}


def spam(seed: int = SPAM_SEED) -> str:
    """The text of spam.csv: a message, its length, exclamation marks and hour → spam or ham. Some phrases are said by both."""
    random = Random(seed)
    rows = []
    for _ in range(MESSAGES):
        kind = "spam" if random.random() < 0.4 else "ham"
        said = "ham" if kind == "spam" and random.random() < 0.08 else kind  # a few spams sound like anybody
        parts = [_one(OPENINGS[said], random), _one(MIDDLES[said], random), _one(ENDINGS[said], random)]
        marks = int(random.random() * (4 if kind == "spam" else 1.6))
        text = f"{parts[0]}, {parts[1]}, {parts[2]}" + ("!" * marks or ".")
        rows.append((text, marks, int(random.random() * 24) if kind == "spam" else 7 + int(random.random() * 14), kind))
    return as_csv(("message", "exclamation_marks", "hour", "kind"), rows)


def _one(of: tuple[str, ...], random: Random) -> str:
    return of[int(random.random() * len(of))]


def about_normal(random: Random) -> float:
    """Nearly standard normal: the sum of twelve uniform numbers less six (Irwin and Hall)."""
    return sum(random.random() for _ in range(12)) - 6.0


def as_csv(header: Iterable[str], rows: Iterable[Iterable[object]]) -> str:
    """The text of a CSV file."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(header)
    writer.writerows(rows)
    return out.getvalue()
