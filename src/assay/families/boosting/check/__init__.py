"""Checks of boosted trees: every stage is played again from the rows, the stated trees and the definitions of the losses."""
