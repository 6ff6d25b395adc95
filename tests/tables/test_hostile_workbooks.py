"""Workbooks that lie: a few kilobytes that unpack to gigabytes, cells that refer to the same long text, places that no sheet has."""

from __future__ import annotations

import zipfile
from pathlib import Path

import pytest
from openpyxl.utils import get_column_letter

from assay.errors import AssayError, DataError
from assay.tables.sources import workbook
from assay.tables.sources.excel import ExcelSheet
from tests.other_processes import printed
from tests.tables.test_excel import book, table_of

HEAD = '<c r="A1" t="inlineStr"><is><t>x</t></is></c><c r="B1" t="inlineStr"><is><t>y</t></is></c>'


def packed(path: Path, sheet: str, strings: str | None = None, styles: str | None = None) -> Path:
    """A workbook of one sheet as it is written here."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("xl/workbook.xml", '<w xmlns:r="r"><sheets><sheet name="S" r:id="a"/></sheets></w>')
        file.writestr("xl/_rels/workbook.xml.rels", '<r><Relationship Id="a" Target="worksheets/s.xml"/></r>')
        file.writestr("xl/worksheets/s.xml", sheet)
        for name, text in (("sharedStrings", strings), ("styles", styles)):
            if text is not None:
                file.writestr(f"xl/{name}.xml", text)
    return path


def rows(*texts: str) -> str:
    return "<s><sheetData>" + f"<row>{HEAD}</row>" + "".join(texts) + "</sheetData></s>"


CELL = "<c><v>1</v></c>"
MANY = 200_000
HOSTILE = {
    "a row of millions of cells": (rows("<row>" + CELL * MANY + "</row>"), None, "column 16385"),
    "millions of rows": (rows(f"<row>{CELL}</row>" * MANY), None, "unpacks to more than 1 MB"),
    "millions of empty elements": (rows("<x/>" * 500_000), None, "unpacks to more than 1 MB"),
    "a place that no sheet has": (rows('<row><c r="ZZZZ2"><v>1</v></c></row>'), None, "at most 16384"),
    "a row that no sheet has": (rows('<row r="2000000000"><c><v>1</v></c></row>'), None, "rows 1 to 1048576"),
    "rows out of order": (rows('<row r="9"/><row r="9"/>'), None, "in order"),
    "a diagonal": (rows(*(f'<row><c r="{get_column_letter(k)}1"><v>1</v></c></row>' for k in range(1, 3300))), None, "it is no table"),
    "one text for all": (
        rows('<row><c t="s"><v>0</v></c></row>' * 500),
        f"<t><si><t>{'a' * 100_000}</t></si></t>",
        "unpacks to more than",
    ),
    "a text without end": (rows(f"<row><c t='inlineStr'><is><t>{'a' * 200_000}</t></is></c></row>"), None, "characters"),
    "no such text": (rows('<row><c t="s"><v>-1</v></c></row>'), "<t><si><t>a</t></si></t>", "no shared string -1"),
    "nested without end": (rows("<a>" * 5000), None, "nested too deeply"),
    "a document type": (
        f"<!DOCTYPE s [<!ENTITY a '{'a' * 1000}'>]>" + rows(f"<row><c t='str'><v>{'&a;' * 1000}</v></c></row>"),
        None,
        "document type",
    ),
    "a number that is none": (rows("<row><c><v>1,5</v></c></row>"), None, "no workbook that can be read"),
    "a number of a thousand digits": (rows(f'<row><c t="s"><v>{"9" * 5000}</v></c></row>'), None, "no workbook"),
    "XML cut short": (rows()[:-9], None, "no workbook that can be read"),
}  # fmt: skip


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_workbook_is_refused_in_words(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    sheet, strings, words = HOSTILE[name]
    monkeypatch.setattr(workbook, "FREELY_UNPACKED", 1 << 20)
    monkeypatch.setattr(workbook, "MOST_UNPACKED", 10)
    monkeypatch.setattr(workbook, "LONGEST_TEXT", 100_000)
    with pytest.raises(DataError, match=words):
        ExcelSheet(packed(tmp_path / "t.xlsx", sheet, strings))


def test_it_costs_little_memory(tmp_path: Path) -> None:
    """As a tree the first took 345 MB."""
    for k, name in enumerate(("a row of millions of cells", "millions of rows", "millions of empty elements")):
        packed(tmp_path / f"{k}.xlsx", HOSTILE[name][0])
    script = f"""
import resource, sys
from pathlib import Path
from assay.errors import DataError
from assay.tables.sources import workbook
from assay.tables.sources.excel import ExcelSheet
workbook.FREELY_UNPACKED, workbook.MOST_UNPACKED = 3 << 20, 0
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
for k in range(3):
    try:
        ExcelSheet(Path({str(tmp_path)!r}) / f"{{k}}.xlsx")
        print("read", k)
    except DataError:
        pass
print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) // 1024)
"""
    assert int(printed(script).split()[-1]) < 30


def test_a_workbook_packed_tightly_is_read_all_the_same(tmp_path: Path) -> None:
    sheet = rows(f"<row>{CELL}<c><v>2.5</v></c></row>" * 20_000)
    found = table_of(ExcelSheet(packed(tmp_path / "t.xlsx", sheet)))
    assert found.num_rows == 20_000
    assert found.to_pylist()[-1] == {"x": 1.0, "y": 2.5}


def test_kinds_that_mix_far_apart_are_those_of_the_whole_column(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A column becomes what all of its cells allow, in whatever pieces it is read."""
    lines = [
        ["a", "b", "c", "d", "e"],
        [True, 1, 1, None, 1],
        [2, True, None, None, None],
        [None, None, "t", None, 2.5],
    ]
    lines += [[None, False, True, True, None], [False, None, None, 3, 4]]
    whole = table_of(ExcelSheet(book(tmp_path, *lines)))
    monkeypatch.setattr("assay.tables.sources.excel.AT_ONCE", 1)
    pieces = table_of(ExcelSheet(book(tmp_path, *lines)))
    assert pieces.equals(whole)
    assert whole.to_pydict() == {
        "a": [1, 2, None, None, 0], "b": [1, 1, None, 0, None], "c": ["1", None, "t", "true", None],
        "d": [None, None, None, 1, 3], "e": [1, None, 2.5, None, 4],
    }  # fmt: skip


def test_what_is_damaged_anywhere_is_read_or_refused(tmp_path: Path) -> None:
    """Any byte of the XML changed: an error of ours, or a table."""
    import random

    path = book(tmp_path, ["x", "y"], *[[k, "ab"[k % 2]] for k in range(20)])
    with zipfile.ZipFile(path) as file:
        parts = {name: file.read(name) for name in file.namelist()}
    rng, outcomes = random.Random(19), set()
    for _ in range(300):
        name = rng.choice(sorted(parts))
        changed = bytearray(parts[name])
        for _ in range(rng.randint(1, 3)):
            changed[rng.randrange(len(changed))] = rng.choice(b'<>/"&0919AZ \x00\xff-')
        with zipfile.ZipFile(tmp_path / "c.xlsx", "w") as file:
            for other, data in parts.items():
                file.writestr(other, bytes(changed) if other == name else data)
        try:
            ExcelSheet(tmp_path / "c.xlsx")
            outcomes.add("read")
        except AssayError:
            outcomes.add("refused")
    assert outcomes == {"read", "refused"}


def test_the_limits_are_those_of_excel() -> None:
    assert (workbook.MOST_ROWS, workbook.MOST_COLUMNS) == (1_048_576, 16_384)
    assert get_column_letter(workbook.MOST_COLUMNS) == "XFD"
