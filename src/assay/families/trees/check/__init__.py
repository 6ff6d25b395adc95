"""Checks of trees and forests: leaves, splits and answers are found in the rows again."""
