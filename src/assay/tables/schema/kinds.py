"""The rules by which a column gets its kind. They look at its Arrow type, its values and its name, in this order:

- no value at all, or one single value: **constant**;
- truth values: **boolean**; dates and timestamps: **date**; a dictionary (categories of a frame): **category**;
- numbers: **number**, but **id** where they count the rows (0, 1, 2, … or 1, 2, 3, … in order, from 20 rows on), and
  where they are whole, all different and the column is called like an id (id, uuid, …_id, …Id);
- text of several words (3 on average) or of 50 characters (but no addresses), mostly different: **text**;
- text with at most 1000 different values, and either at most 20 of them or 5 rows to each on average: **category**;
- text that is nearly all numbers (90 %) but not quite is never an id: a typing error may have made it text;
- text without spaces that differs in nearly every row (95 %): **id**, unless its parts recur (addresses, codes made of parts);
- all other text: **string** (names, codes, addresses), which is learnt from by its letters and by its values;
- lists, records, bytes, times of day and spans of time: **ignored**.

A CSV file's dates, truth values and numbers have types when its reader recognised them, and are text otherwise: text is
never parsed here unless an override asks for it. Constants, ids and ignored columns are not learnt from. Numbers that look
like ids stay numbers where they are all there is to learn from, or where the user names them as features.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal, get_args

from assay.tables.arrow_columns import Family

Kind = Literal["number", "category", "boolean", "date", "text", "string", "id", "constant", "ignored"]
Task = Literal["classification", "regression"]
KINDS: tuple[Kind, ...] = get_args(Kind)
USED: tuple[Kind, ...] = ("number", "category", "boolean", "date", "text", "string")
TEXTUAL: tuple[Kind, ...] = ("text", "string")  # what becomes counts of words or letters
CHOOSABLE: tuple[Kind, ...] = (*USED, "id", "ignored")  # a constant is found, not chosen
MOST_CLASSES = 20
ROWS_A_CLASS = 5
MOST_LEVELS = 1000
FEW_TEXTS = 20
ROWS_A_LEVEL = 5
NEARLY_ALL = 0.95
NEARLY_NUMBERS = 0.9
SEVERAL_WORDS = 3
LONG_TEXT = 50
MOSTLY = 0.9
FEWEST_COUNTED = 20
MOST_WORDS = 2000  # of all texts of a table together that hashed columns are called by
LONGEST_WORD = 40
BUT_FOR = "numbers but for"  # so begins the reason of text that a typing error may have made
CALLED_ID = re.compile(r"(?i:^(id|uuid|guid|rowid|index|key)$|[_\W](id|uuid|guid)$)|[a-z](Id|ID)$")
TREATMENT: dict[Kind, str] = {
    "number": "used as it is, scaled where the model needs it",
    "category": "a column for each frequent category, or as the model takes it",
    "boolean": "used as 0 and 1",
    "date": "split into days since 1970, month, weekday and hour",
    "text": "its words weighed, sparse or as at most 30 components, as the model takes them",
    "string": "its letters weighed likewise, how frequent its value is, and the mean target of the other rows with it",
    "id": "left out, for it names rows",
    "constant": "left out, for it tells no rows apart",
    "ignored": "left out",
}


@dataclass(frozen=True)
class Facts:
    """What the pass over the rows found in a column."""

    name: str
    family: Family
    type: str
    rows: int
    missing: int = 0
    distinct: int = 0
    about: bool = False
    low: float | None = None
    high: float | None = None
    infinite: int = 0
    whole: bool = False
    counter: bool = False  # 0, 1, 2, … or 1, 2, 3, … in order
    words: float = 0.0  # on average
    length: float = 0.0
    numbers: int = 0  # texts that are numbers, counted where nearly all of them are
    others: int = 0  # texts among them that are none, and the first of these
    first_other: str = ""
    addresses: float = 0.0  # shares of the texts looked at that are addresses of the web or of mail
    codes: float = 0.0  # … that have digits in them
    parted: bool = False  # most are made of parts that recur in others, though not in nearly all
    with_time: bool = False
    counts: dict[str, int] | None = None  # None: not counted, or too many to count

    @property
    def present(self) -> int:
        return self.rows - self.missing

    @property
    def all_differ(self) -> bool:
        """Every value is another one; of an estimate, as far as it can tell."""
        return self.distinct >= self.present if not self.about else self.distinct >= NEARLY_ALL * self.present


def is_plain_word(word: str) -> bool:
    """Whether a word can stand in a column's name: neither long nor with anything that needs quoting.

    >>> is_plain_word("excellent"), is_plain_word('"'), is_plain_word("z" * 41)
    (True, False, False)
    """
    return 1 < len(word) <= LONGEST_WORD and not any(
        c <= " " or c in '"\\\x7f' or "\ud800" <= c <= "\udfff" for c in word
    )


def decide(facts: Facts) -> tuple[Kind, str]:
    """(kind, why) of a feature.

    >>> decide(Facts("sex", "text", "string", rows=344, missing=11, distinct=2))
    ('category', '2 different texts')
    """
    if facts.family == "other":
        return "ignored", f"holds {facts.type}: no number, text or date"
    if facts.present == 0:
        return "constant", "no value at all"
    if facts.distinct == 1 and not facts.infinite:
        return "constant", "one value and missing ones" if facts.missing else "one value in all rows"
    if facts.family == "boolean":
        return "boolean", "true or false"
    if facts.family == "date":
        return "date", "dates with time of day" if facts.with_time else "dates"
    if facts.family == "number":
        return _of_number(facts)
    if facts.family == "dictionary" and not (facts.distinct > MOST_LEVELS and _nearly_all_differ(facts)):
        return "category", f"stored as categories, {amount(facts)} of them"
    return _of_text(facts)


def _of_number(facts: Facts) -> tuple[Kind, str]:
    if facts.counter and facts.rows >= FEWEST_COUNTED:
        return "id", "counts the rows"
    if facts.whole and facts.all_differ and facts.present > 1 and CALLED_ID.search(facts.name):
        return "id", f"called an id, and all {facts.present} values differ"
    if facts.infinite:
        return "number", f"numbers, {facts.infinite} of them infinite"
    return "number", "whole numbers" if facts.whole else "numbers"


def _of_text(facts: Facts) -> tuple[Kind, str]:
    wordy = facts.words >= SEVERAL_WORDS or (facts.length >= LONG_TEXT and facts.addresses < MOSTLY)
    if wordy and 2 * facts.distinct > facts.present:
        return "text", f"texts of {facts.words:.0f} words on average"
    few = facts.distinct <= min(MOST_LEVELS, max(FEW_TEXTS, facts.present / ROWS_A_LEVEL))
    if facts.others and facts.numbers >= NEARLY_NUMBERS * facts.present:
        values = "1 value" if facts.others == 1 else f"{facts.others} values"
        return "category" if few else "string", f"{BUT_FOR} {values} such as {facts.first_other[:20]!r}"
    if few:
        return "category", f"{facts.distinct} different texts"
    if _nearly_all_differ(facts) and facts.words < 2 and not facts.parted:
        which = "all" if facts.all_differ else "nearly all"
        return "id", f"{which} {facts.present} values differ: an id"
    return "string", f"{amount(facts)} different {_called(facts)} in {facts.present} rows"


def _called(facts: Facts) -> str:
    """What strings are, in a word."""
    if facts.addresses >= MOSTLY:
        return "addresses"
    return "codes" if facts.codes >= MOSTLY else "names" if facts.codes <= 1 - MOSTLY else "strings"


def _nearly_all_differ(facts: Facts) -> bool:
    return facts.distinct >= NEARLY_ALL * facts.present


def decide_target(facts: Facts) -> tuple[Kind, str]:
    """(kind, why) of the target: the same, but that a target is never an id, and text always has classes."""
    kind, why = decide(facts)
    if kind in ("id", *TEXTUAL):
        if facts.family == "number":
            return "number", "whole numbers" if facts.whole else "numbers"
        return "category", f"{amount(facts)} different texts"
    return kind, why


def amount(facts: Facts) -> str:
    """How many different values, with a sign where that is an estimate."""
    return f"{'~' if facts.about else ''}{facts.distinct}"


def are_classes(distinct: int, whole: bool, rows: int) -> tuple[bool, str]:
    """Whether the numbers of a target are classes, and why: two whole numbers, or up to 20 with five rows or more to each.

    Sixteen years with a row each are no classes.

    >>> are_classes(3, True, 150)
    (True, 'the target has 3 different whole numbers')
    """
    if not whole or distinct > MOST_CLASSES:
        return False, "the target is a number"
    if distinct > 2 and distinct * ROWS_A_CLASS > rows:
        return False, f"the target is a number, {distinct} different ones in {rows} rows"
    return True, f"the target has {distinct} different whole numbers"
