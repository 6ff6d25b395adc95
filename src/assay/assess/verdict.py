"""What the numbers say, in plain sentences."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace

from assay.assess.bayes_error import BayesBracket
from assay.assess.bias_variance import BiasVariance
from assay.assess.learning_curve import UNSURE, LearningCurve
from assay.assess.paired import SAME, PairedTest
from assay.assess.score import Score

LITTLE_LEFT = (
    0.1  # share of the error within which the best possible must lie for sure before little is said to be left
)
NEXT_TO_NOTHING = 0.1  # share of the error below which the lower end of the bracket is as good as 0
RATES = ("error", "balanced error", "train", "test", "zero-one")


def percent(share: float) -> str:
    """A share with one decimal, and small ones with two digits that matter.

    >>> percent(0.0641), percent(0.31), percent(0.0), percent(0.00042), percent(1.0)
    ('6.4 %', '31.0 %', '0 %', '0.042 %', '100 %')
    """
    p = 100 * share
    return f"{p:.0f} %" if p in (0.0, 100.0) else f"{p:.2g} %" if abs(p) < 1 else f"{p:.1f} %"


def amount(value: float, digits: int = 4) -> str:
    """A number without an exponent wherever people write it without one; thousands apart.

    >>> amount(21.7934), amount(50119.3), amount(0.00123456), amount(2.5e12)
    ('21.79', '50 119', '0.001235', '2.500e+12')
    """
    size = abs(float(f"{value:.{digits}g}"))  # 999.6 has four digits once it is rounded
    if 10.0**digits <= size < 1e10:
        return f"{value:,.0f}".replace(",", " ")
    return f"{value:#.{digits}g}".rstrip(".") if size >= 1e-4 else f"{value:.{digits}g}"


def in_unit(score: Score) -> Score:
    """A mean of squares as its root, which is in the target's own unit, with the roots of the ends; other scores as they are.

    >>> str(in_unit(Score("MSE", 9.0, 4.0, 16.0, "approximate", "low", 50)))
    'RMSE 3 [2, 4] about'
    """
    if score.name != "MSE":
        return score
    value, low, high = (math.sqrt(max(0.0, end)) for end in (score.value, score.low, score.high))
    return replace(score, name="RMSE", value=value, low=low, high=high)


def grouped(number: int) -> str:
    """A whole number in groups of three digits.

    >>> grouped(20000)
    '20 000'
    """
    return f"{number:,}".replace(",", " ")


def shown(score: Score) -> str:
    """The value with its interval; shares in per cent, means of squares as their roots.

    >>> shown(Score("error", 0.05, 0.01, 0.12, "exact", "low", 80))
    '5.0 % (1.0 % to 12.0 %)'
    """
    if score.name in RATES and score.low >= 0 and score.high <= 1:
        return f"{percent(score.value)} ({percent(score.low)} to {percent(score.high)})"
    score = in_unit(score)
    return f"{amount(score.value)} ({amount(score.low)} to {amount(score.high)})"


def best_possible(bracket: BayesBracket, error: Score) -> str:
    """The error beside the bracket of the best one there is, with the uncertainty of both; how much may be left to gain.

    The whole bracket must lie near the error before little is said to be left. A model below the bracket shows that the nearest neighbour
    has not reached its limit, and the bracket says nothing; nor does one that begins next to nothing.

    >>> from assay.assess.score import proportion
    >>> e = proportion("1-NN", 60, 1000)
    >>> best_possible(BayesBracket(0.031, 0.06, 0.02, 0.08, 2, e), proportion("error", 64, 1000))
    'Best possible is between 2.0 % and 8.0 % (estimate, from nearest neighbours); at 6.4 % you may have up to 4.4 points to gain.'
    """
    if error.value < bracket.low:
        return (
            f"How far below {percent(error.value)} any model could come cannot be told: the nearest neighbour, from which that is "
            f"estimated, errs on {percent(bracket.high)} itself and would need more rows, or fewer columns."
        )
    if not tells(bracket, error):
        return (
            f"How far below {percent(error.value)} any model could come cannot be told from these rows: by the nearest neighbour, "
            f"which errs on {percent(bracket.high)}, it may be all the way."
        )
    most = min(bracket.most, error.high)
    between = (
        f"Best possible is between {percent(bracket.least)} and {percent(most)} (estimate, from nearest neighbours)"
    )
    if error.value == 0:
        return f"{between}: the classes do not seem to overlap."
    if error.high - bracket.least <= LITTLE_LEFT * error.value:
        return f"{between}: at {percent(error.value)} there is little left to gain."
    gain = 100 * (error.value - bracket.least)
    return f"{between}; at {percent(error.value)} you may have up to {gain:.2g} points to gain."


def tells(bracket: BayesBracket, error: Score) -> bool:
    """Whether the bracket says more of the best possible error than that it lies between nothing and that of the model."""
    return error.value == 0 or bracket.least >= NEXT_TO_NOTHING * error.value


def span(low: float, high: float) -> str:
    """Two shares as one range.

    >>> span(0.031, 0.064)
    '3.1–6.4 %'
    """
    a, b = percent(low).removesuffix(" %"), percent(high)
    return b if f"{a} %" == b else f"{a}–{b}"


def train_and_test(train: Score, test: Score) -> str:
    """Training and held-out risk side by side; where the intervals do not meet, which of the two counts.

    >>> from assay.assess.score import proportion
    >>> train_and_test(proportion("error", 12, 1000), proportion("error", 98, 1000))
    'Training 1.2 %, held out 9.8 %: it knows the rows of its fit by heart; what counts is the second.'
    >>> train_and_test(proportion("error", 12, 100), proportion("error", 22, 100))
    'Training 12.0 %, held out 22.0 %: it may know the rows of its fit better, which so few rows cannot tell; what counts is the second.'
    """
    rate = test.name in RATES
    a, b = (percent(s.value) if rate else amount(in_unit(s).value) for s in (train, test))
    both = f"Training {a}, held out {b}"
    if train.high < test.low if test.better == "low" else train.low > test.high:
        gap = abs(test.value - train.value)
        heart = gap > 0.5 * abs(test.value if test.better == "low" else train.value)
        known = "it knows the rows of its fit by heart" if heart else "it knows the rows of its fit somewhat better"
        return f"{both}: {known}; what counts is the second."
    if test.high < train.low if test.better == "low" else test.low > train.high:
        return f"{both}: better on held-out rows than chance allows; are the two parts alike?"
    if train.value < test.low if test.better == "low" else train.value > test.high:
        return (
            f"{both}: it may know the rows of its fit better, which so few rows cannot tell; what counts is the second."
        )
    return f"{both}: no sign of overfitting."


def ranking(risk: Score, tests: Mapping[str, PairedTest]) -> str:
    """How the best model does, and which others cannot be told apart from it."""
    equal = [name for name, test in tests.items() if test.verdict == SAME]
    sentence = f"it does best, with {in_unit(risk).name} {shown(risk)}."
    if not tests:
        return sentence
    if not equal:
        return f"{sentence} It is better than {'the other' if len(tests) == 1 else f'all {len(tests)} others'}."
    listed = "; ".join(equal[:3]) + (f"; and {len(equal) - 3} more" if len(equal) > 3 else "")
    return f"{sentence} The rows cannot tell it apart from: {listed}."


def more_rows(curve: LearningCurve) -> str:
    """What the learning curve says about more rows."""
    last = curve.points[-1]
    if curve.verdict == "flat":
        return f"At {last.n} rows the curve is flat: more rows alone would help little."
    if curve.verdict == UNSURE:
        return f"At {last.n} rows it cannot be told whether more would help: the last step changed the error no more than chance may."
    return f"At {last.n} rows the error still falls: more rows would help."


def where_it_errs(parts: BiasVariance) -> str:
    """Whether the fit is too stiff or too nervous."""
    bias = next(iter(parts.pieces.values()))
    net = parts.mean_loss.value - bias.value if parts.loss == "zero-one" else parts.variance.value
    share = net / parts.mean_loss.value if parts.mean_loss.value > 0 else 0.0
    what = f"{min(1.0, max(0.0, share)):.0%} of the loss comes from how much the fit changes with the rows (variance)"
    if share > 0.5:
        return f"{what}: a simpler model, more regularisation or more rows would help."
    return f"{what}, the rest from what it cannot express and from noise: a simpler model would not help."
