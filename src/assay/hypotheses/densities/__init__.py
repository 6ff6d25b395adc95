"""The densities that naive Bayes multiplies: one file a family, each with statistics, closed-form estimate and log density."""
