"""The densities that naive Bayes multiplies, each with statistics, closed-form estimate and scores."""
