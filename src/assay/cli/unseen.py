"""Whether a model has seen the rows it is to be measured on: those of its fit are told by their fingerprint."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from assay.cli.shell import Shell
    from assay.engines import Rows

OF_NEW_ROWS = ("held_out_error", "held_out_loss", "cross_validated")  # checks of claims that speak of new rows


class Unseen(NamedTuple):
    """The rows to measure on; `of_fit`: the table is that of the fit, `held_out_only`: of it these are the rows held out."""

    rows: Rows
    of_fit: bool
    held_out_only: bool


def unseen(model: Any, rows: Any) -> Unseen:
    """Of the very table of the fit the rows that were held out, where some were; of any other table all."""
    from assay.certify.certificate import UNUSABLE
    from assay.certify.same_rows import fingerprint_of

    certificate = model.certificate_
    if not certificate.fingerprint:
        return Unseen(rows, False, False)
    try:
        found = _sides(model, rows)
        same = found is not None and fingerprint_of(found[0], certificate.classes) == certificate.fingerprint
    except UNUSABLE:  # the split cannot be made again, or a label is unknown: then it is another table
        same = False
    if not same or found is None:
        return Unseen(rows, False, False)
    return Unseen(rows if found[1] is None else found[1], True, found[1] is not None)


def _sides(model: Any, rows: Any) -> tuple[Rows, Rows | None] | None:
    """The rows that a fit on this table saw, and those it did not; None where it cannot be the same table."""
    from assay.engines import engine_for
    from assay.engines.split import split_rows

    if getattr(model, "encoding_", None) is None:
        split = model.certificate_.split
        return (rows, None) if split is None else split_rows(rows, *split)
    from assay.select.table_model import held_out_of, sides

    table = rows.table
    if table.n_rows not in (None, model.schema_.n_rows):
        return None
    opened = engine_for(table, model.model_.n_jobs).open(table)
    return sides(opened, model.encoding_, held_out_of(model.to_record().provenance.get("split"), table))


def tell_seen(model: Any, found: Unseen, shell: Shell) -> None:
    """Say on standard error that the model was fitted on this table, and what speaks of new rows."""
    if found.held_out_only:
        shell.note(
            "this is the table of the fit: measured only on the rows that were held out, the others were seen in training"
        )
    elif found.of_fit:
        names = [repr(claim.name) for claim in model.certificate_ if claim.check in OF_NEW_ROWS]
        speaks = f"of new rows speaks the certificate's claim {' and '.join(names)} (assay inspect)"
        none = "no claim of the certificate speaks of new rows: give rows it has not seen, or train with --holdout"
        shell.note(f"these rows were seen in training, so that new rows may fare worse; {speaks if names else none}")
