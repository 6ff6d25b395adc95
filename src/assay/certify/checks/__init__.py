"""One small independent checker a kind of claim: plain NumPy, two passes where the solver took one, slow if need be.

A checker is `check(claim, rows, predict) -> Verdict`, registered by the name that its claims carry (`assay.certify.registry`). It
trusts nothing but the rows and the witness, and it must refuse a witness that does not prove the claim. It takes no formula from
what it checks: every loss, penalty, kernel, distance and bound stands here a second time, from its definition.
"""
